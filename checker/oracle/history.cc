#include "checker/oracle/history.h"

#include <algorithm>

#include "powercut/target.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

bool has_key(OpKind kind) {
  return kind == OpKind::kInsert || kind == OpKind::kUpdate || kind == OpKind::kErase || kind == OpKind::kLookup;
}

}  // namespace

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
  if (event.kind == EventKind::kCut) in_flight_ = false;  // what it had begun stays possible
  if (event.kind != EventKind::kOpBegin && event.kind != EventKind::kOpEnd) return;
  if (event.kind == EventKind::kOpBegin) {
    const auto kind = static_cast<OpKind>(event.code);
    operation_ = {operations_++, kind, 0, has_key(kind), std::string(event.text)};
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

void History::begin(const Event& event) {
  KeyHistory& key = keys_[operation_.key];
  if (operation_.kind == OpKind::kInsert || operation_.kind == OpKind::kUpdate) {
    key.written.push_back(text_of(event.value));
    // An update of an absent key has no effect.
    if (operation_.kind == OpKind::kInsert || key.acknowledged != kAbsent || key.possible) {
      key.possible = static_cast<int32_t>(key.written.size()) - 1;
    }
  } else if (operation_.kind == OpKind::kErase) {
    key.possible = kAbsent;
  }
}

void History::end(const Event& event) {
  KeyHistory& key = keys_[operation_.key];
  const bool ok = event.code == POWERCUT_OK;
  if (operation_.kind == OpKind::kLookup) {
    // What a lookup returned settles what an earlier cut left open.
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

std::string name_of(const KeyHistory& key) { return key.id ? key_name(*key.id) : describe_value(key.bytes); }

std::string describe_value(std::string_view bytes) {
  constexpr size_t kShown = 16;
  const auto shown = std::min(bytes.size(), kShown);
  return "0x" + hex({reinterpret_cast<const uint8_t*>(bytes.data()), shown}) + (bytes.size() > kShown ? "…" : "");
}

}  // namespace powercut
