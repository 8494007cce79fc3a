#include "checker/oracle/life.h"

#include <algorithm>
#include <utility>

#include "checker/oracle/value_room.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "xxhash.h"

namespace powercut {
namespace {

// Behind the numbers of all values that a scenario can have, and before those of the probes (key_bytes.h).
constexpr uint64_t kFirstValue = (uint64_t{1} << 33) - 64;

std::span<const uint8_t> span_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

bool surely_there(const KeyHistory& key) {
  const std::vector<int32_t> legal = key.all_legal();
  return !legal.empty() && std::find(legal.begin(), legal.end(), kAbsent) == legal.end();
}

bool surely_absent(const KeyHistory& key) { return key.all_legal() == std::vector<int32_t>{kAbsent}; }

}  // namespace

std::shared_ptr<const Life> Life::begin(const Program& program, const History& history) {
  std::shared_ptr<Life> out(new Life(program, history));
  History& now = out->history_;
  now.begin_life();
  const DataSizes& sizes = program.config.sizes();
  out->new_ = text_of(sizes.key_of(kNewKey));
  const bool counts = now.counts();
  const OperationInfo& operation = history.operation();
  const bool has_first = operation.has_key && operation.key < history.keys().size();
  if (has_first) out->first_ = history.keys()[operation.key].bytes;
  for (uint32_t number = 0; number < now.keys().size() && out->there_.empty(); ++number) {
    const KeyHistory& key = now.keys()[number];
    if (key.bytes != out->first_ && (counts || surely_there(key))) out->there_ = key.bytes;
  }
  now.know(out->new_);
  const std::string keys = out->first_ + '/' + out->there_;
  out->continuation = XXH3_64bits(keys.data(), keys.size());
  out->settle();
  return out;
}

// A counter has no value that could be told from another: it is incremented wherever a map writes.
std::optional<Life::Step> Life::step(uint32_t number) const {
  const powercut_target& target = program_.target;
  const bool counts = history_.counts();
  const auto value = [&] {
    if (counts) return bytes_of_sum(1);
    return text_of(program_.config.sizes().value_of(kFirstValue + number));
  };
  const auto write = [&](const std::string& key) -> std::optional<Step> {
    if (key.empty()) return std::nullopt;
    if (counts) return Step{OpKind::kIncrement, key, value()};
    const KeyHistory& known = history_.keys()[*history_.find(key)];
    if (surely_absent(known) && target.insert != nullptr) return Step{OpKind::kInsert, key, value()};
    if (surely_there(known) && target.update != nullptr) return Step{OpKind::kUpdate, key, value()};
    return std::nullopt;
  };
  switch (number) {
    case 0:
      if (first_.empty()) return std::nullopt;
      return Step{OpKind::kLookup, first_, ""};
    case 1:
      return write(there_);
    case 2:
      return write(new_);
    case 3:
      if (there_.empty() || target.erase == nullptr) return std::nullopt;
      return Step{OpKind::kErase, there_, ""};
    case 4:
      return write(first_);
    default:
      return std::nullopt;
  }
}

void Life::settle() {
  legal_digests_.clear();
  for (const KeyHistory& key : history_.keys()) {
    const std::vector<int32_t> legal = key.all_legal();
    legal_digests_.push_back(XXH3_64bits_withSeed(legal.data(), legal.size() * sizeof legal[0],
                                                  XXH3_64bits(key.bytes.data(), key.bytes.size())));
  }
  obligations = XXH3_64bits_withSeed(legal_digests_.data(), legal_digests_.size() * 8, history_.table_tightenings());
}

void Life::apply(EventKind kind, uint8_t code, const Step& step, std::string_view value) {
  Event event;
  event.kind = kind;
  event.code = code;
  event.key = span_of(step.key);
  event.value = span_of(value);
  history_.apply(event);
  settle();
}

std::shared_ptr<const Life> Life::step_begun() const {
  uint32_t number = next_;
  std::optional<Step> found;
  while (number < kSteps && !(found = step(number))) ++number;
  if (!found) return nullptr;
  auto out = std::make_shared<Life>(*this);
  out->next_ = number + 1;
  out->under_way_ = std::move(found);
  out->apply(EventKind::kOpBegin, static_cast<uint8_t>(out->under_way_->kind), *out->under_way_,
             out->under_way_->value);
  const std::string& key = out->under_way_->key;
  const std::string name = key == new_ ? "a new key" : name_of(out->history_.keys()[*out->history_.find(key)]);
  out->operations_.push_back(std::string(name_of(out->under_way_->kind)) + "(" + name + ")");
  return out;
}

std::shared_ptr<const Life> Life::step_ended(const Outcome& outcome, std::string_view result,
                                             std::string* trouble) const {
  const std::string what = operations_.back() + " behind recovery, in the second life,";
  if (outcome.kind == Outcome::Kind::kUnknown) return nullptr;  // which the executor has told
  if (!outcome.returned() || result.empty()) {
    *trouble = what + " did not return: " + outcome.text;
    return nullptr;
  }
  auto out = std::make_shared<Life>(*this);
  out->apply(EventKind::kOpEnd, static_cast<uint8_t>(result[0]), *under_way_, result.substr(1));
  out->under_way_.reset();
  for (const uint32_t key : out->history_.unexplained()) {
    if (out->history_.keys()[key].bytes != under_way_->key) continue;
    *trouble = what + " answered " + status_name(static_cast<powercut_status>(result[0])) +
               ", which no order of the operations before explains";
    return nullptr;
  }
  return out;
}

void Life::run(powercut_table* table, ResultBuffer* out) const {
  const Step& step = *under_way_;
  if (step.kind != OpKind::kLookup) {
    const powercut_status status =
        call_change(program_.target, table, step.kind, bytes_of(step.key), bytes_of(step.value), nullptr);
    return out->put_byte(static_cast<uint8_t>(status));
  }
  with_value_room(program_.config.sizes().value.most, [&](std::span<char> room) {
    size_t size = 0;
    const powercut_status status = program_.target.lookup(table, bytes_of(step.key), room.data(), room.size(), &size);
    out->put_byte(static_cast<uint8_t>(status));
    if (status == POWERCUT_OK) out->put(room.data(), std::min(size, room.size()));
    return 0;
  });
}

}  // namespace powercut
