#include "checker/native/oracle.h"

#include "absl/strings/str_cat.h"
#include "checker/native/key_bytes.h"

namespace powercut {
namespace {

// Values of probes come from the far end of the serial numbers, which no scenario reaches.
constexpr uint64_t kProbeSerial = kMaxKeyId - 1;

// Images asked for per kind of violation and chunk of work: they differ in the stores involved, and those name
// the finding.
constexpr int kImagesPerKind = 24;

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

Oracle::Oracle(const powercut_target& target, const TargetConfig& config, const powercut_traits& traits,
               powercut_pool pool, const History* history, Report report)
    : target_(target), config_(config), traits_(traits), pool_(pool), history_(history), report_(std::move(report)) {
  probe_one_ = text_of(value_bytes(kProbeSerial, config.get()->value_size));
  probe_two_ = text_of(value_bytes(kProbeSerial + 1, config.get()->value_size));
}

void Oracle::recover(ResultBuffer* result) {
  usable_ = false;
  powercut_table* table = nullptr;
  const powercut_status status = target_.open(pool_, config_.get(), &table);
  result->put_byte(static_cast<uint8_t>(status));
  if (status != POWERCUT_OK || table == nullptr) return;
  table_ = table;
  regions_ = target_.regions != nullptr ? target_.regions(table) : 0;
  usable_ = true;
}

const std::vector<QueryId>& Oracle::queries(uint64_t* version) {
  wrong_keys_.clear();
  const size_t keys = history_->keys().size();
  if (keys == queries_keys_ && regions_ == queries_regions_) {
    *version = queries_version_;
    return queries_;
  }
  *version = ++queries_version_;
  queries_keys_ = keys;
  queries_regions_ = regions_;
  queries_.clear();
  for (size_t k = 0; k < keys; ++k) queries_.push_back(query_id(QueryKind::kLookup, k));
  for (size_t k = 0; k < keys && target_.copies != nullptr; ++k) queries_.push_back(query_id(QueryKind::kCopies, k));
  for (size_t k = 0; k < keys; ++k) queries_.push_back(query_id(QueryKind::kProbe, k));
  for (uint64_t r = 0; r < regions_ && target_.walk != nullptr; ++r) queries_.push_back(query_id(QueryKind::kWalk, r));
  for (uint64_t r = 0; r < regions_ && target_.verify != nullptr; ++r)
    queries_.push_back(query_id(QueryKind::kVerify, r));
  if (target_.blocks != nullptr && target_.owner != nullptr) queries_.push_back(query_id(QueryKind::kBlocks, 0));
  for (size_t k = 0; k < keys && target_.erase != nullptr; ++k) queries_.push_back(query_id(QueryKind::kEraseProbe, k));
  return queries_;
}

// Keys whose obligation changed since their queries were judged last, and the walks that showed them.
const std::vector<QueryId>& Oracle::obliged() {
  obliged_.clear();
  const std::vector<KeyHistory>& keys = history_->keys();
  judged_.resize(keys.size(), 0);
  shown_in_.resize(keys.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    if (judged_[k] == keys[k].version) continue;
    judged_[k] = keys[k].version;
    for (QueryKind kind : {QueryKind::kLookup, QueryKind::kCopies, QueryKind::kProbe, QueryKind::kEraseProbe})
      obliged_.push_back(query_id(kind, k));
    for (uint64_t region : shown_in_[k]) obliged_.push_back(query_id(QueryKind::kWalk, region));
  }
  return obliged_;
}

void Oracle::run(QueryId query, ResultBuffer* result) {
  run_query(target_, table_, query, history_->keys(), probe_one_, probe_two_, result);
}

std::string Oracle::first_key(const Violation& violation, int depth, QueryId query) const {
  const OperationInfo& operation = history_->operation();
  return absl::StrCat(violation.invariant, "/", static_cast<int>(operation.kind), "/", operation.text, "/",
                      static_cast<int>(kind_of(query)), "/", depth > 0);
}

Subject::Judgement Oracle::weigh(int depth, QueryId query, std::string_view result,
                                 std::optional<Violation> violation) {
  const QueryKind kind = kind_of(query);
  const bool key_level = asks_key(kind);
  if (collecting_) {
    collected_.insert(absl::StrCat(depth, " ", describe_query(*history_, query), " ",
                                   hex({reinterpret_cast<const uint8_t*>(result.data()), result.size()})));
  }
  if (!violation) return Judgement::kGood;
  if (depth == 0) {
    seen_after_one_cut_.insert(first_key(*violation, 0, query));
  } else if (seen_after_one_cut_.contains(first_key(*violation, 0, query))) {
    return Judgement::kBad;
  }
  if (key_level) {
    const auto key = static_cast<uint32_t>(argument_of(query));
    if (kind == QueryKind::kLookup) {
      wrong_keys_.insert(key);
    } else if (wrong_keys_.contains(key)) {
      return Judgement::kBad;
    }
  } else if (kind == QueryKind::kWalk && !wrong_keys_.empty()) {
    return Judgement::kBad;
  }
  const uint64_t obligation = key_level ? history_->keys()[argument_of(query)].version : 0;
  if (!reported_.insert(absl::StrCat(query, "/", obligation, "/", depth > 0, "/", std::string(result))).second) {
    return Judgement::kBad;
  }
  if (++explained_[first_key(*violation, depth, query)] > kImagesPerKind) return Judgement::kBad;
  pending_ = std::move(*violation);
  return Judgement::kExplain;
}

Subject::Judgement Oracle::recovered(int depth, const Outcome& outcome, std::string_view result) {
  return weigh(depth, kRecoveryQuery, result,
               judge_recovery(*history_, parse_answer(QueryKind::kRecovery, result), outcome.text));
}

Subject::Judgement Oracle::answered(int depth, QueryId query, std::string_view result) {
  if (kind_of(query) == QueryKind::kWalk) {
    shown_in_.resize(history_->keys().size());
    for (const Item& item : parse_items(parse_answer(QueryKind::kWalk, result).rest)) {
      if (const auto key = history_->find(item.key)) shown_in_[*key].insert(argument_of(query));
    }
  }
  return weigh(depth, query, result, judge_query(*history_, traits_, query, result));
}

void Oracle::explained(int depth, QueryId query, std::string_view, const Outcome* outcome, const Image& image) {
  Exposure exposure{pending_, "", depth, query, outcome == nullptr ? Outcome{} : *outcome, image};
  if (depth > 0) {
    exposure.underlying = exposure.violation.invariant;
    exposure.violation.invariant = "not-idempotent";
  }
  report_(exposure);
}

void Oracle::forget() {
  reported_.clear();
  explained_.clear();
  seen_after_one_cut_.clear();
  judged_.clear();
}

}  // namespace powercut
