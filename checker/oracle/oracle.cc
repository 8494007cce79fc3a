#include "checker/oracle/oracle.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "tracer/world/work_beside.h"
#include "xxhash.h"

namespace powercut {
namespace {

// Violations told per kind and chunk of work: they differ in the stores involved, and those name the finding.
constexpr int kToldOfAKind = 24;

// Names of wrong answers that are kept.
constexpr size_t kMostReported = size_t{1} << 22;

bool told_before(const Exposure& a, const Exposure& b) {
  return std::tie(a.depth, a.query, a.result, a.died_at) < std::tie(b.depth, b.query, b.result, b.died_at);
}

bool has_blocks(const powercut_target& target) { return target.blocks != nullptr && target.owner != nullptr; }

}  // namespace

// Where a loop is when its steps are used up, and what libc calls to abort, says nothing.
uint64_t died_at(const Outcome& outcome) {
  const bool placed = outcome.kind == Outcome::Kind::kSignal || outcome.kind == Outcome::Kind::kWildStore;
  return placed && !outcome.stack.empty() ? outcome.stack.front() : 0;
}

Oracle::Oracle(const powercut_target& target, const TargetConfig& config, const powercut_traits& traits,
               powercut_pool pool, const History* history, Report report)
    : target_(target),
      config_(config),
      traits_(traits),
      pool_(pool),
      history_(history),
      first_history_(history),
      report_(std::move(report)),
      new_keys_(config.sizes()) {
  tightened_ = history->tightened().size();
  table_tightenings_ = history->table_tightenings();
  probe_one_ = text_of(config.sizes().first_probe());
  probe_two_ = text_of(config.sizes().second_probe());
}

void Oracle::recover(ResultBuffer* result) {
  opened_ = {};
  powercut_table* table = nullptr;
  const powercut_status status = target_.open(pool_, config_.get(), &table);
  result->put_byte(static_cast<uint8_t>(status));
  if (status != POWERCUT_OK || table == nullptr) return;
  opened_ = {reinterpret_cast<uint64_t>(table), target_.regions != nullptr ? target_.regions(table) : 0, true};
}

GroupCounts Oracle::groups() const {
  const bool asks_regions = target_.walk != nullptr || target_.verify != nullptr;
  const auto keys = static_cast<uint32_t>(history_->keys().size());
  return {keys, asks_regions ? static_cast<uint32_t>(opened_.regions) : 0, 1 + (dumps() ? keys : 0), 1 + keys};
}

bool Oracle::can_ask(QueryId query) const {
  const GroupCounts counts = groups();
  const QueryKind kind = kind_of(query);
  if (kind == QueryKind::kInsertProbe || kind == QueryKind::kNewKey) return true;
  if (kind == QueryKind::kDump) return dumps() && argument_of(query) == counts.keys;
  if (kind == QueryKind::kBlocks) return has_blocks(target_) && argument_of(query) == 0;
  return argument_of(query) < (asks_key(kind) ? counts.keys : counts.regions);
}

// The intruder is a new key.
std::span<const QueryId> Oracle::members(Group group) {
  members_.clear();
  const auto add = [&](QueryKind kind, bool offered = true) {
    if (offered) members_.push_back(query_id(kind, group.index));
  };
  switch (group.kind) {
    case GroupKind::kKey:
      add(QueryKind::kLookup);
      add(QueryKind::kCopies, target_.copies != nullptr && traits_.counts == 0);
      add(QueryKind::kProbe);
      // A counter has no update that may mend anything: the two probes are one.
      add(QueryKind::kEraseProbe, target_.erase != nullptr && traits_.counts == 0);
      break;
    case GroupKind::kRegion:
      add(QueryKind::kWalk, target_.walk != nullptr);
      add(QueryKind::kVerify, target_.verify != nullptr);
      break;
    case GroupKind::kTable:
      // With more keys than one, the dump of all says more.
      if (group.index > 0) {
        add(QueryKind::kDump, group.index == history_->keys().size());
        break;
      }
      add(QueryKind::kBlocks, has_blocks(target_));
      add(QueryKind::kInsertProbe);
      break;
    case GroupKind::kIntrusion:
      members_.push_back(group.index == 0 ? query_id(QueryKind::kNewKey, 0)
                                          : query_id(QueryKind::kBystander, group.index - 1));
  }
  return members_;
}

void Oracle::judge_at(const LifePoint& at) {
  life_ = std::static_pointer_cast<const Life>(at);
  history_ = life_ != nullptr ? &life_->history() : first_history_;
}

void Oracle::oblige(uint32_t key) {
  obliged_.push_back({GroupKind::kKey, key});
  if (key >= shown_in_.size()) return;
  for (uint32_t region : shown_in_[key]) obliged_.push_back({GroupKind::kRegion, region});
}

// Keys whose obligation was tightened, and the regions whose walks showed them. From one instant of a second life to
// another, any change of what is legal counts as one.
const std::vector<Group>& Oracle::obliged() {
  obliged_.clear();
  if (life_ != nullptr) {
    const auto keys = static_cast<uint32_t>(history_->keys().size());
    life_judged_.resize(keys);
    for (uint32_t key = 0; key < keys; ++key) {
      if (std::exchange(life_judged_[key], life_->legal_digest(key)) != life_->legal_digest(key)) oblige(key);
    }
    if (dumps()) obliged_.push_back({GroupKind::kTable, keys});
    return obliged_;
  }
  const std::vector<uint32_t>& tightened = history_->tightened();
  for (; tightened_ < tightened.size(); ++tightened_) {
    oblige(tightened[tightened_]);
  }
  if (table_tightenings_ != history_->table_tightenings()) {
    table_tightenings_ = history_->table_tightenings();
    obliged_.push_back({GroupKind::kTable, static_cast<uint32_t>(history_->keys().size())});
  }
  return obliged_;
}

// [target]
bool Oracle::work_beside_query(void* self) {
  const auto* oracle = static_cast<Oracle*>(self);
  const uint32_t threads = oracle->background_->threads(oracle->table());
  bool worked = false;
  for (uint32_t number = 0; number < threads; ++number) {
    worked = oracle->background_->work(oracle->table(), number) == POWERCUT_OK || worked;
  }
  return worked;
}

void Oracle::run(QueryId query, ResultBuffer* result) {
  if (background_ != nullptr) work_beside = {work_beside_query, this};
  if (NewKeys::asks(kind_of(query))) {
    new_keys_.run(target_, table(), query, history_->keys(), result);
  } else {
    run_query(target_, table(), query, history_->keys(), probe_one_, probe_two_, result);
  }
}

void Oracle::noticed(size_t before, ResultBuffer* answers) const { NewKeys::noticed(before, answers); }

void Oracle::ended(QueryId query, const Outcome& outcome, ResultBuffer* result) {
  if (NewKeys::asks(kind_of(query))) {
    new_keys_.ended(query, outcome, result);
  } else {
    put_failure(outcome, result);
  }
}

std::string Oracle::kind_key(const Violation& violation, int depth, QueryId query, bool second_life) const {
  const OperationInfo& operation = first_history_->operation();
  return absl::StrCat(violation.invariant, "/", static_cast<int>(operation.kind), "/", operation.text, "/",
                      static_cast<int>(kind_of(query)), "/", depth > 0, second_life ? "/life" : "");
}

Subject::Judgement Oracle::weigh(int depth, QueryId query, std::string_view result, std::optional<Violation> violation,
                                 uint64_t died_at) {
  const QueryKind kind = kind_of(query);
  const bool key_level = asks_key(kind);
  if (collecting_) {
    collected_.insert(absl::StrCat(depth, life_ != nullptr ? " second life " : " ", describe_query(*history_, query),
                                   " ", hex({reinterpret_cast<const uint8_t*>(result.data()), result.size()})));
  }
  if (!violation) return Judgement::kGood;
  if (collecting_violations_) {
    const uint64_t legal = !key_level         ? 0
                           : life_ != nullptr ? life_->legal_digest(static_cast<uint32_t>(argument_of(query)))
                                              : history_->keys()[argument_of(query)].version;
    violations_.insert(absl::StrCat(life_ != nullptr ? "second "
                                    : depth > 0      ? "nested "
                                                     : "first ",
                                    describe_query(*history_, query), " ", legal, " ",
                                    hex({reinterpret_cast<const uint8_t*>(result.data()), result.size()})));
  }
  const uint64_t obligation = life_ != nullptr && key_level
                                  ? life_->legal_digest(static_cast<uint32_t>(argument_of(query)))
                              : key_level                ? history_->keys()[argument_of(query)].tightenings
                              : kind == QueryKind::kDump ? history_->table_tightenings()
                                                         : 0;
  // A name of fixed size: there may be millions of wrong answers, each as long as a value. Some of very many are not
  // remembered, since an answer that is met again is told once.
  const std::string asked =
      absl::StrCat(query, "/", obligation, "/", depth > 0, "/", died_at, life_ != nullptr ? "/life" : "");
  const XXH128_hash_t name =
      XXH3_128bits_withSeed(result.data(), result.size(), XXH3_64bits(asked.data(), asked.size()));
  if (reported_.size() == kMostReported) reported_.clear();
  if (!reported_.insert({name.low64, name.high64}).second) return Judgement::kBad;
  const std::string key = kind_key(*violation, depth, query, life_ != nullptr);
  if (depth == 0) seen_after_one_cut_.insert(key);
  if (life_ == nullptr) bad_invariants_.insert(violation->invariant);
  if (exposures_.size() >= next_sifting_) sift();
  exposures_.push_back(
      {std::move(*violation), "", depth, query, {}, {}, std::string(result), died_at, true, true, life_});
  // The image that it was met on is only told of where the search for the least one gives up.
  return ++images_[key] > kToldOfAKind ? Judgement::kBad : Judgement::kExplain;
}

// Drops what tell() would not tell of.
void Oracle::sift() {
  std::sort(exposures_.begin(), exposures_.end(), told_before);
  absl::flat_hash_map<std::string, int> kept;
  std::erase_if(exposures_, [&](const Exposure& exposure) { return ++kept[kind_key(exposure)] > kToldOfAKind; });
  next_sifting_ = std::max<size_t>(kLeastSifted, 2 * exposures_.size());
}

void Oracle::tell(bool new_kinds_alone) {
  std::vector<Exposure> met = std::exchange(exposures_, {});
  next_sifting_ = kLeastSifted;
  // As many of a kind as are told, the same ones whatever order they were met in.
  std::sort(met.begin(), met.end(), told_before);
  for (Exposure& exposure : met) {
    // A second life tells nothing of a table that the first has shown to be wrong.
    if (exposure.life != nullptr && bad_invariants_.contains(exposure.violation.invariant)) continue;
    if (exposure.life == nullptr && exposure.depth > 0 &&
        seen_after_one_cut_.contains(kind_key(exposure.violation, 0, exposure.query, false))) {
      continue;
    }
    int& told = told_[kind_key(exposure)];
    if (++told > (new_kinds_alone ? 1 : kToldOfAKind)) continue;
    if (exposure.depth > 0 && exposure.life == nullptr)
      exposure.underlying = std::exchange(exposure.violation.invariant, "not-idempotent");
    report_(exposure);
  }
}

Subject::Judgement Oracle::recovered(int depth, const Outcome& outcome, std::string_view result) {
  return weigh(depth, kRecoveryQuery, result,
               judge_recovery(*history_, parse_answer(QueryKind::kRecovery, result), outcome.text), died_at(outcome));
}

void Oracle::note_most(QueryId query, std::string_view result) {
  const QueryKind kind = kind_of(query);
  if (kind != QueryKind::kCopies && kind != QueryKind::kBlocks) return;
  const Answer answer = parse_answer(kind, result);
  if (answer.failed) return;
  if (kind == QueryKind::kBlocks) {
    most_.asked_leaks = true;
    most_.leaks = std::max<uint64_t>(most_.leaks, answer.rest.size() / 16);
    return;
  }
  const uint64_t copies = count_items(answer.rest);
  most_.asked_copies = true;
  if (copies <= most_.copies) return;
  most_.copies = copies;
  most_.key = static_cast<uint32_t>(argument_of(query));
}

Subject::Judgement Oracle::answered(int depth, QueryId query, std::string_view result) {
  if (life_ == nullptr) note_most(query, result);  // its keys are those of the trace
  if (kind_of(query) == QueryKind::kWalk) {
    if (shown_in_.size() < history_->keys().size()) shown_in_.resize(history_->keys().size());
    const auto region = static_cast<uint32_t>(argument_of(query));
    for (const Item& item : parse_items(parse_answer(QueryKind::kWalk, result).rest)) {
      const auto key = history_->find(item.key);
      if (!key) continue;
      std::vector<uint32_t>& regions = shown_in_[*key];
      if (std::find(regions.begin(), regions.end(), region) == regions.end()) regions.push_back(region);
    }
  }
  return weigh(depth, query, result, judge_query(*history_, traits_, query, result));
}

void Oracle::explained(int, QueryId, std::string_view, const Outcome* outcome, const Image& image) {
  Exposure& exposure = exposures_.back();
  if (outcome != nullptr) exposure.outcome = *outcome;
  exposure.image = image;
}

}  // namespace powercut
