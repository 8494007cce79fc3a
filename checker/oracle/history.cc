#include "checker/oracle/history.h"

#include <algorithm>

#include "powercut/target.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"

namespace powercut {

bool is_sync_command(OpKind kind, std::string_view text) { return kind == OpKind::kMaintain && text == "sync"; }

uint32_t History::key_of(const Event& event) {
  const auto [at, added] = index_.try_emplace(text_of(event.key), static_cast<uint32_t>(keys_.size()));
  if (added) {
    KeyHistory& key = keys_.emplace_back();
    key.bytes = at->first;
    if (event.key.size() >= kMinIdentityBytes) key.id = key_id(event.key);
  }
  return at->second;
}

std::optional<uint32_t> History::find(std::string_view key) const {
  const auto at = index_.find(std::string(key));
  if (at == index_.end()) return std::nullopt;
  return at->second;
}

void History::apply(const Event& event) {
  if (event.kind == EventKind::kFork) return keep();
  if (event.kind == EventKind::kOpBegin && in_flight_ && event.thread != operation_.thread) overlap();
  if (overlaps_) return apply_overlapping(event);
  promise_.counts ? apply_counting(event) : apply_alone(event);
}

void History::apply_alone(const Event& event) {
  if (event.kind == EventKind::kCut) in_flight_ = false;  // an operation that had begun stays possible
  if (event.kind != EventKind::kOpBegin && event.kind != EventKind::kOpEnd) return;
  if (event.kind == EventKind::kOpBegin) {
    const auto kind = static_cast<OpKind>(event.code);
    operation_ = {operations_++, kind, 0, has_key(kind), std::string(event.text), event.thread};
    in_flight_ = true;
    if (operation_.has_key) operation_.key = key_of(event);
  } else {
    in_flight_ = false;
    if (operation_.kind == OpKind::kFormat) formatted_ = formatted_ || event.code == POWERCUT_OK;
  }
  if (!operation_.has_key) return;
  const KeyHistory& key = keys_[operation_.key];
  const int32_t acknowledged = key.acknowledged;
  const std::optional<int32_t> possible = key.possible;
  event.kind == EventKind::kOpBegin ? begin(event) : end(event);
  if (key.acknowledged == acknowledged && key.possible == possible) return;
  ++keys_[operation_.key].version;
  const bool lost = !key.legal(acknowledged) || (possible && !key.legal(*possible));
  if (!lost) return;
  ++keys_[operation_.key].tightenings;
  tightened_.push_back(operation_.key);
}

int32_t History::state_of_write(KeyHistory* key, std::span<const uint8_t> value) {
  if (value.size() < kMinIdentityBytes) return number_of(key, value);
  key->written.push_back(text_of(value));
  return static_cast<int32_t>(key->written.size()) - 1;
}

void History::begin(const Event& event) {
  KeyHistory& key = keys_[operation_.key];
  if (operation_.kind == OpKind::kInsert || operation_.kind == OpKind::kUpdate) {
    written_state_ = state_of_write(&key, event.value);
    // An update of an absent key has no effect.
    if (operation_.kind == OpKind::kInsert || key.acknowledged != kAbsent || key.possible)
      key.possible = written_state_;
  } else if (operation_.kind == OpKind::kErase) {
    key.possible = kAbsent;
  }
}

void History::end(const Event& event) {
  KeyHistory& key = keys_[operation_.key];
  const bool ok = event.code == POWERCUT_OK;
  if (operation_.kind == OpKind::kLookup) {
    // The value of a lookup settles the choices that an earlier cut left open.
    if (!key.possible) return;
    if (event.code == POWERCUT_NOT_FOUND) {
      key.acknowledged = kAbsent;
    } else if (ok) {
      const auto found = std::find(key.written.rbegin(), key.written.rend(), text_of(event.value));
      if (found == key.written.rend()) return;
      key.acknowledged = static_cast<int32_t>(key.written.rend() - found) - 1;
    }
    key.possible.reset();
    return;
  }
  if (ok && key.possible) key.acknowledged = *key.possible;
  key.possible.reset();
}

// ---- operations that overlap -----------------------------------------------------------------------

std::vector<int32_t> KeyHistory::all_legal() const {
  if (legal_states) return {legal_states->begin(), legal_states->end()};
  std::vector<int32_t> out{acknowledged};
  if (possible && *possible != acknowledged) out.push_back(*possible);
  return out;
}

void History::begin_life() {
  Event cut;
  cut.kind = EventKind::kCut;
  apply(cut);
  overlap();
}

void History::know(std::string_view key) {
  Event event;
  event.key = {reinterpret_cast<const uint8_t*>(key.data()), key.size()};
  key_of(event);
}

// The one operation under way, if there is one, began alone; its key goes on with all that may come of it.
void History::overlap() {
  if (overlaps_) return;
  overlaps_ = true;
  if (!in_flight_) return;
  Running& running = running_[operation_.thread] = {operation_, {}, {}, {}};
  if (!operation_.has_key) return;
  KeyHistory& key = keys_[operation_.key];
  const bool writes = operation_.kind == OpKind::kInsert || operation_.kind == OpKind::kUpdate;
  const Linearizations::State value = promise_.counts ? delta_ : writes ? written_state_ : kAbsent;
  key.possible.reset();
  begin_overlapping(&running, value);
}

History::Overlapping& History::overlapping(uint32_t key) {
  if (kept_ && !kept_->keys.contains(key)) {
    const KeyHistory& now = keys_[key];
    const auto known = overlapping_.find(key);
    kept_->keys[key] = {now.acknowledged, now.possible, now.legal_states, now.legal_unread,
                        known == overlapping_.end() ? std::nullopt : std::optional(known->second)};
  }
  const auto known = overlapping_.find(key);
  if (known != overlapping_.end()) return known->second;
  std::set<Linearizations::State> initial;
  if (promise_.counts) {
    add_counter(key);
    initial.insert(counters_[key].now.begin(), counters_[key].now.end());
  } else {
    const std::vector<int32_t> legal = keys_[key].all_legal();
    initial.insert(legal.begin(), legal.end());
  }
  const Linearizations begun(initial, promise_.counts);
  return overlapping_.insert({key, {begun, begun}}).first->second;
}

void History::changed(uint32_t key) {
  KeyHistory& now = keys_[key];
  settled_.try_emplace(key, now.all_legal());
  const Overlapping& of_key = overlapping_.at(key);
  now.legal_states = numbers_of(key, of_key.all.states());
  now.legal_unread = numbers_of(key, of_key.unread.states());
  ++now.version;
}

// Sums are numbered here, values were before.
std::set<int32_t> History::numbers_of(uint32_t key, const std::set<Linearizations::State>& states) {
  std::set<int32_t> out;
  for (const Linearizations::State state : states) {
    out.insert(promise_.counts ? state_of_sum(key, state) : static_cast<int32_t>(state));
  }
  return out;
}

// Values are numbered as they are met first, in whatever schedule, so that a number means one value in all of them.
int32_t History::number_of(KeyHistory* key, std::span<const uint8_t> value) {
  const std::string text = text_of(value);
  const auto known = std::find(key->written.begin(), key->written.end(), text);
  if (known == key->written.end()) key->written.push_back(text);
  return static_cast<int32_t>(std::find(key->written.begin(), key->written.end(), text) - key->written.begin());
}

void History::apply_overlapping(const Event& event) {
  if (event.kind == EventKind::kCut) {
    cut_overlapping();
    running_.clear();
  } else if (event.kind == EventKind::kOpBegin) {
    const auto kind = static_cast<OpKind>(event.code);
    Running& running = running_[event.thread];
    running = {{operations_++, kind, 0, has_key(kind), std::string(event.text), event.thread}, {}, {}, {}};
    if (running.operation.has_key) running.operation.key = key_of(event);
    operation_ = running.operation;
    const bool writes = kind == OpKind::kInsert || kind == OpKind::kUpdate;
    begin_overlapping(&running, kind == OpKind::kIncrement ? sum_of(text_of(event.value)).value_or(0)
                                : writes                   ? number_of(&keys_[operation_.key], event.value)
                                                           : kAbsent);
  } else if (event.kind == EventKind::kOpEnd && running_.contains(event.thread)) {
    const Running running = running_.at(event.thread);
    running_.erase(event.thread);
    operation_ = running.operation;
    if (operation_.kind == OpKind::kFormat) formatted_ = formatted_ || event.code == POWERCUT_OK;
    end_overlapping(running, event);
  }
  in_flight_ = !running_.empty();
}

void History::cut_overlapping() {
  if (prefixes_) {
    prefixes_->cut();
    prefixes_changed();
  }
  for (auto& [key, of_key] : overlapping_) {
    overlapping(key).all.cut();
    of_key.unread.cut();
    changed(key);
  }
}

void History::begin_overlapping(Running* running, Linearizations::State value) {
  const OperationInfo& operation = running->operation;
  if (prefixes_) {
    const bool is_sync = is_sync_command(operation.kind, operation.text);
    if (!operation.has_key && !is_sync) return;
    running->in_prefixes = is_sync ? prefixes_->begin_sync()
                                   : prefixes_->begin(operation.kind, operation.key, static_cast<int32_t>(value));
    return prefixes_changed();
  }
  if (!operation.has_key) return;
  Overlapping& of_key = overlapping(operation.key);
  running->in_all = of_key.all.begin(operation.kind, value);
  if (operation.kind != OpKind::kLookup) running->in_unread = of_key.unread.begin(operation.kind, value);
  changed(operation.key);
}

void History::end_overlapping(const Running& running, const Event& event) {
  const OperationInfo& operation = running.operation;
  Linearizations::Answer answer{static_cast<powercut_status>(event.code)};
  if (operation.kind == OpKind::kLookup && event.code == POWERCUT_OK) {
    // A sum of 0 and what is no sum are no answer that goes with OK.
    answer.found = promise_.counts ? sum_of(text_of(event.value)).value_or(0)
                                   : Linearizations::State{number_of(&keys_[operation.key], event.value)};
  }
  if (running.in_prefixes) {
    prefixes_->end(*running.in_prefixes, answer);
    prefixes_changed();
  }
  if (!running.in_all) return;
  Overlapping& of_key = overlapping(operation.key);
  of_key.all.end(*running.in_all, answer);
  if (running.in_unread) of_key.unread.end(*running.in_unread, answer);
  changed(operation.key);
}

void History::prefixes_changed() {
  legal_tables_ = prefixes_->tables();
  tables_lost_ = tables_lost_ || !legal_tables_;
  for (uint32_t number = 0; number < keys_.size(); ++number) {
    KeyHistory& key = keys_[number];
    std::set<int32_t> legal;
    if (legal_tables_) {
      for (const Prefixes::Table& table : *legal_tables_) legal.insert(Prefixes::state_in(table, number));
    } else {
      for (int32_t state = kAbsent; state < static_cast<int32_t>(key.written.size()); ++state) legal.insert(state);
    }
    if (key.legal_states == legal) continue;
    settled_.try_emplace(number, key.all_legal());
    key.legal_states = std::move(legal);
    ++key.version;
  }
}

std::vector<OperationInfo> History::under_way() const {
  std::vector<OperationInfo> out;
  if (!overlaps_ && in_flight_) return {operation_};
  for (const auto& [thread, running] : running_) out.push_back(running.operation);
  std::sort(out.begin(), out.end(), [](const OperationInfo& a, const OperationInfo& b) { return a.index < b.index; });
  return out;
}

std::vector<uint32_t> History::unexplained() const {
  std::vector<uint32_t> out;
  for (const auto& [key, of_key] : overlapping_) {
    if (keys_[key].legal_states && keys_[key].legal_states->empty()) out.push_back(key);
  }
  std::sort(out.begin(), out.end());
  return out;
}

void History::keep() {
  overlap();
  kept_ = {operation_, operations_, {}, prefixes_};
}

// Preconditions: keep() stood between operations.
void History::go_back() {
  for (auto& [number, legal] : kept_->keys) {
    KeyHistory& key = keys_[number];
    settled_.try_emplace(number, key.all_legal());
    key.acknowledged = legal.acknowledged;
    key.possible = legal.possible;
    key.legal_states = std::move(legal.states);
    key.legal_unread = std::move(legal.unread);
    ++key.version;
    if (legal.overlapping) {
      overlapping_.insert_or_assign(number, *legal.overlapping);
    } else {
      overlapping_.erase(number);
    }
  }
  kept_->keys.clear();
  if (prefixes_) {
    prefixes_ = kept_->prefixes;
    prefixes_changed();
  }
  operation_ = kept_->operation;
  operations_ = kept_->operations;
  running_.clear();
  in_flight_ = false;
}

void History::settle() {
  if (prefixes_ && settled_tables_ != legal_tables_) {
    const bool lost =
        !settled_tables_ || !legal_tables_ ||
        !std::includes(legal_tables_->begin(), legal_tables_->end(), settled_tables_->begin(), settled_tables_->end());
    if (lost) ++table_tightenings_;
    settled_tables_ = legal_tables_;
  }
  for (const auto& [key, before] : settled_) {
    const bool lost =
        std::any_of(before.begin(), before.end(), [&](int32_t state) { return !keys_[key].legal(state); });
    if (!lost) continue;
    ++keys_[key].tightenings;
    tightened_.push_back(key);
  }
  settled_.clear();
}

std::string name_of(const KeyHistory& key) { return key.id ? key_name(*key.id) : describe_value(key.bytes); }

std::string describe_value(std::string_view bytes) {
  constexpr size_t kShown = 16;
  const auto shown = std::min(bytes.size(), kShown);
  return "0x" + hex({reinterpret_cast<const uint8_t*>(bytes.data()), shown}) + (bytes.size() > kShown ? "…" : "");
}

}  // namespace powercut
