#include "replayer/models/pending_lines.h"

#include <algorithm>

#include "replayer/models/moves.h"

namespace powercut {

void NumberList::add(uint64_t number) {
  if (!numbers_.empty() && numbers_.back() == number) return;
  if (numbers_.size() == numbers_.capacity()) {
    sorted();
    if (numbers_.size() > numbers_.capacity() / 2) numbers_.reserve(std::max<size_t>(16, 2 * numbers_.capacity()));
  }
  numbers_.push_back(number);
}

const std::vector<uint64_t>& NumberList::sorted() {
  if (numbers_.size() > 1) {
    std::sort(numbers_.begin(), numbers_.end());
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  }
  return numbers_;
}

uint32_t PendingLines::slot_of(uint64_t line) const {
  if (line == last_line_) return last_slot_;
  const auto at = at_.find(line);
  last_line_ = line;
  last_slot_ = at == at_.end() ? kNoSlot : at->second;
  return last_slot_;
}

LineLog* PendingLines::log_of(uint64_t line) {
  uint32_t slot = slot_of(line);
  if (slot == kNoSlot) {
    if (free_.empty()) {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot].line = line;
    at_.emplace(line, slot);
    last_slot_ = slot;
  }
  return &slots_[slot].log;
}

const LineLog* PendingLines::find(uint64_t line) const {
  const uint32_t slot = slot_of(line);
  return slot == kNoSlot ? nullptr : &slots_[slot].log;
}

NumberList* PendingLines::watched_by(uint32_t thread) {
  for (Watch& watch : watches_) {
    if (watch.thread == thread) return &watch.lines;
  }
  return &watches_.emplace_back(Watch{thread, {}}).lines;
}

void PendingLines::store(uint64_t event, uint32_t thread, uint32_t stack, StoreTraits traits, uint64_t offset,
                         std::span<const uint8_t> bytes) {
  if (!traits.continues || !last_store_) last_store_ = event;
  const uint64_t first = *last_store_;
  const uint64_t begin = offset, size = bytes.size();
  while (!bytes.empty()) {
    const uint64_t line = offset / kLineSize;
    const uint64_t in_line = offset % kLineSize;
    const size_t length = std::min<size_t>(bytes.size(), kLineSize - in_line);
    const uint64_t cuts = traits.memcall && policy_ == AtomPolicy::kAny ? move_cuts(begin, size, line) : 0;
    log_of(line)->append(first, thread, stack, traits, static_cast<uint32_t>(in_line), bytes.first(length), cuts,
                         policy_);
    if (traits.non_temporal) watched_by(thread)->add(line);
    changed(line, first != event);
    offset += length;
    bytes = bytes.subspan(length);
  }
}

bool PendingLines::flush(uint32_t thread, uint64_t offset, FlushKind kind) {
  last_store_.reset();
  const uint64_t line = offset / kLineSize;
  const uint32_t slot = slot_of(line);
  if (slot == kNoSlot || !slots_[slot].log.pending()) return false;
  LineLog& log = slots_[slot].log;
  if (kind == FlushKind::kClflush) {
    const bool raised = log.settle_chain(policy_);
    if (raised) changed(line, true);
    return raised;
  }
  log.remember(thread);
  const bool useful = log.fence_raises(thread);
  if (useful) watched_by(thread)->add(line);
  return useful;
}

void PendingLines::fence(uint32_t thread) {
  last_store_.reset();
  NumberList* watched = watched_by(thread);
  for (uint64_t line : watched->sorted()) {
    const uint32_t slot = slot_of(line);
    if (slot != kNoSlot && slots_[slot].log.fence(thread, policy_)) changed(line, true);
  }
  watched->clear();
}

void PendingLines::settle_chain(uint64_t line) {
  last_store_.reset();
  const uint32_t slot = slot_of(line);
  if (slot != kNoSlot && slots_[slot].log.settle_chain(policy_)) changed(line, true);
}

void PendingLines::force(uint64_t offset) {
  last_store_.reset();
  const uint64_t line = offset / kLineSize;
  const uint32_t slot = slot_of(line);
  if (slot == kNoSlot) return;
  LineLog& log = slots_[slot].log;
  if (log.commit(log.durable_by_forcing(static_cast<uint32_t>(offset % kLineSize / 8)), policy_)) changed(line, true);
}

void PendingLines::settle_all() {
  last_store_.reset();
  for (const auto& [line, slot] : at_) {
    slots_[slot].log.settle_all();
    changed(line, true);
  }
  watches_.clear();
}

void PendingLines::become(const PendingLines& other) {
  NumberList changed = std::move(changed_);
  for (const auto& [line, slot] : at_) changed.add(line << 1 | 1);
  *this = other;
  changed_ = std::move(changed);
  for (const auto& [line, slot] : at_) touch(line);
}

const std::vector<uint64_t>& PendingLines::raised_by_fence(uint32_t thread) {
  raised_.clear();
  for (uint64_t line : watched_by(thread)->sorted()) {
    const LineLog* log = find(line);
    if (log != nullptr && log->fence_raises(thread)) raised_.push_back(line);
  }
  return raised_;
}

bool PendingLines::raised_by_clflush(uint64_t offset) const {
  const LineLog* log = find(offset / kLineSize);
  return log != nullptr && log->settle_raises();
}

std::vector<PendingLines::Line> PendingLines::lines() const {
  std::vector<std::pair<uint64_t, uint32_t>> order(at_.begin(), at_.end());
  std::sort(order.begin(), order.end());
  std::vector<Line> out;
  out.reserve(order.size());
  for (const auto& [line, slot] : order) out.push_back({line, slots_[slot].log});
  return out;
}

const std::vector<PendingLines::Change>& PendingLines::take_changes() {
  changes_.clear();
  for (uint64_t entry : changed_.sorted()) {
    // The two entries of a line stand together, the raised one last.
    if (!changes_.empty() && changes_.back().line == entry >> 1) changes_.pop_back();
    changes_.push_back({entry >> 1, (entry & 1) != 0});
  }
  changed_.clear();
  return changes_;
}

std::vector<uint64_t> PendingLines::take_changed() {
  std::vector<uint64_t> out;
  for (const Change& change : take_changes()) out.push_back(change.line);
  return out;
}

Overlay PendingLines::absorb(uint64_t line) {
  const uint32_t slot = slot_of(line);
  if (slot == kNoSlot) return {};
  LineLog& log = slots_[slot].log;
  Overlay floor = log.take_floor();
  if (!log.pending()) {
    log.clear();
    free_.push_back(slot);
    at_.erase(line);
    last_slot_ = kNoSlot;
  }
  return floor;
}

}  // namespace powercut
