// The history of a table of counters (History, `Promise::counts`): each key has a sum, and what a power cut may leave
// of it is a set of sums. An acknowledged increment is in all of them, one that runs in some. A buffered table keeps,
// of each key by itself, what a beginning of its operations left: every sum since the last sync.
//
// An operation costs the sums that it adds or takes away; one that failed, those that there are.
//
// From where operations of several threads overlap, a counter has its Linearizations, as the key of a map has.
//
// Known inaccuracy: a scenario may cut the power of a buffered table and go on with a key that it has not looked up
// since. Increments then count from every sum that the cut may have left, and combinations that cannot be are legal
// too.
#include <algorithm>
#include <cstring>

#include "checker/oracle/history.h"
#include "powercut/target.h"
#include "tracer/record/key_bytes.h"

namespace powercut {

std::string bytes_of_sum(int64_t sum) {
  std::string bytes(sizeof sum, '\0');
  std::memcpy(bytes.data(), &sum, sizeof sum);
  return bytes;
}

std::optional<int64_t> sum_of(std::string_view bytes) {
  int64_t sum = 0;
  if (bytes.size() != sizeof sum) return std::nullopt;
  std::memcpy(&sum, bytes.data(), sizeof sum);
  return sum;
}

int64_t KeyHistory::sum(int32_t state) const { return state == kAbsent ? 0 : sum_of(written[state]).value_or(0); }

void History::add_counter(uint32_t number) {
  while (counters_.size() <= number) {
    if (!keys_[counters_.size()].legal_states) keys_[counters_.size()].legal_states.emplace({kAbsent});
    counters_.emplace_back();
  }
}

int32_t History::state_of_sum(uint32_t number, int64_t sum) {
  if (sum == 0) return kAbsent;
  KeyHistory& key = keys_[number];
  const auto [at, added] = key.sums.try_emplace(sum, static_cast<int32_t>(key.written.size()));
  if (added) key.written.push_back(bytes_of_sum(sum));
  return at->second;
}

std::set<int32_t> History::states_of(uint32_t number, const std::vector<int64_t>& sums) {
  std::set<int32_t> states;
  for (const int64_t sum : sums) states.insert(state_of_sum(number, sum));
  return states;
}

// The key has these legal states, and no others.
void History::make_legal(uint32_t number, std::set<int32_t> states) {
  KeyHistory& key = keys_[number];
  if (*key.legal_states == states) return;
  const bool lost = !std::includes(states.begin(), states.end(), key.legal_states->begin(), key.legal_states->end());
  key.legal_states = std::move(states);
  ++key.version;
  if (!lost) return;
  ++key.tightenings;
  tightened_.push_back(number);
}

void History::apply_counting(const Event& event) {
  if (event.kind == EventKind::kCut) return cut_counting();
  if (event.kind == EventKind::kOpBegin) return begin_counting(event);
  if (event.kind == EventKind::kOpEnd) end_counting(event);
}

void History::cut_counting() {
  in_flight_ = false;
  for (uint32_t number = 0; number < keys_.size(); ++number) {
    std::vector<int64_t>& now = counters_[number].now;
    now.clear();
    for (const int32_t state : *keys_[number].legal_states) now.push_back(keys_[number].sum(state));
  }
  unsynced_.clear();
}

void History::begin_counting(const Event& event) {
  const auto kind = static_cast<OpKind>(event.code);
  operation_ = {operations_++, kind, 0, has_key(kind), std::string(event.text), event.thread};
  in_flight_ = true;
  if (!operation_.has_key) return;
  const uint32_t number = operation_.key = key_of(event);
  add_counter(number);
  Counter& counter = counters_[number];
  counter.next.clear();
  counter.added.clear();
  if (kind == OpKind::kErase) {
    counter.next = {0};
  } else if (kind == OpKind::kIncrement) {
    delta_ = sum_of(text_of(event.value)).value_or(0);
    const auto delta = static_cast<uint64_t>(delta_);
    for (const int64_t sum : counter.now)
      counter.next.push_back(static_cast<int64_t>(static_cast<uint64_t>(sum) + delta));
  }
  for (const int64_t sum : counter.next) {
    const int32_t state = state_of_sum(number, sum);
    if (keys_[number].legal_states->insert(state).second) counter.added.push_back(state);
  }
  if (!counter.added.empty()) ++keys_[number].version;
}

void History::end_counting(const Event& event) {
  in_flight_ = false;
  const bool ok = event.code == POWERCUT_OK;
  if (operation_.kind == OpKind::kFormat) formatted_ = formatted_ || ok;
  if (ok && is_sync_command(operation_.kind, operation_.text)) {
    for (const uint32_t number : unsynced_) make_legal(number, states_of(number, counters_[number].now));
    unsynced_.clear();
  }
  if (!operation_.has_key) return;
  const uint32_t number = operation_.key;
  Counter& counter = counters_[number];
  if (operation_.kind == OpKind::kLookup) {
    // The value of a lookup settles the choices that an earlier cut left open.
    const std::optional<int64_t> sum =
        event.code == POWERCUT_NOT_FOUND ? std::optional<int64_t>(0) : sum_of(text_of(event.value));
    if (!sum || std::find(counter.now.begin(), counter.now.end(), *sum) == counter.now.end()) return;
    counter.now = {*sum};
    if (!promise_.buffered) make_legal(number, states_of(number, counter.now));
    return;
  }
  if (ok || (operation_.kind == OpKind::kErase && event.code == POWERCUT_NOT_FOUND)) {
    counter.now = counter.next;
    if (!promise_.buffered) return make_legal(number, states_of(number, counter.now));
    unsynced_.insert(number);
    return;
  }
  std::set<int32_t> without = *keys_[number].legal_states;
  for (const int32_t state : counter.added) without.erase(state);
  make_legal(number, std::move(without));
}

}  // namespace powercut
