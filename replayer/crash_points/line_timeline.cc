#include "replayer/crash_points/line_timeline.h"

#include <algorithm>
#include <limits>

#include "tracer/format/event_groups.h"

namespace powercut {

// Records are numbered from 1; number n lies in block (n - 1) / kBlock.
const LineTimeline::Record* LineTimeline::find(uint64_t number) const {
  const uint64_t block = (number - 1) / kBlock;
  if (number == 0 || blocks_[block] == nullptr) return nullptr;
  return &blocks_[block][(number - 1) % kBlock];
}

void LineTimeline::add(uint64_t line, const Event& event, uint64_t size, State state) {
  if (count_ % kBlock == 0) {
    blocks_.push_back(std::make_unique_for_overwrite<Record[]>(kBlock));
    if (blocks_.size() > kept_blocks_) blocks_[blocks_.size() - 1 - kept_blocks_].reset();
  }
  const uint64_t number = ++count_;
  const uint64_t back = newest_[line] == 0 ? 0 : number - newest_[line];
  blocks_.back()[(number - 1) % kBlock] = {
      .event = event.index,
      .size = size,
      .kind = static_cast<uint8_t>(event.kind),
      .code = event.code,
      .state = static_cast<uint8_t>(state),
      .stack = event.stack,
      .back = back > std::numeric_limits<uint32_t>::max() ? 0 : static_cast<uint32_t>(back)};
  if (kept_) kept_->newest.try_emplace(line, newest_[line]);
  newest_[line] = number;
}

void LineTimeline::keep() { kept_ = {{}, unfenced_}; }

void LineTimeline::go_back() {
  for (const auto& [line, number] : kept_->newest) newest_[line] = number;
  kept_->newest.clear();
  unfenced_ = kept_->unfenced;
}

void LineTimeline::wait_for_fence(uint32_t thread, uint64_t line) {
  std::vector<uint64_t>& waiting = unfenced_[thread];
  if (waiting.empty() || waiting.back() != line) waiting.push_back(line);
}

void LineTimeline::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore: {
      const uint64_t end = std::min<uint64_t>(event.addr + event.value.size(), newest_.size() * 64);
      for (uint64_t at = event.addr; at < end;) {
        const uint64_t next = std::min(end, (at / 64 + 1) * 64);
        const bool streaming = event.kind == EventKind::kNtStore;
        add(at / 64, event, next - at, streaming ? State::kFlushed : State::kDirty);
        if (streaming) wait_for_fence(event.thread, at / 64);
        if (device_) unfenced_[kWholeDevice].push_back(at / 64);
        at = next;
      }
      return;
    }
    case EventKind::kFlush: {
      const uint64_t line = event.addr / 64;
      if (line >= newest_.size() || newest_[line] == 0) return;
      const Record* last = find(newest_[line]);
      if (static_cast<FlushKind>(event.code) >= FlushKind::kClflush) {
        add(line, event, 0, State::kDurable);
      } else if (last == nullptr || static_cast<State>(last->state) == State::kDirty) {
        add(line, event, 0, State::kFlushed);
        wait_for_fence(event.thread, line);
      }
      return;
    }
    case EventKind::kFence: {
      const bool whole = static_cast<FenceKind>(event.code) == FenceKind::kDevice;
      const auto waiting = unfenced_.find(whole ? kWholeDevice : event.thread);
      if (waiting == unfenced_.end() || waiting->second.empty()) return;
      std::vector<uint64_t>& lines = waiting->second;
      std::sort(lines.begin(), lines.end());
      lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
      for (uint64_t line : lines) {
        // A store after the flush keeps the line dirty: the fence covers only what was flushed.
        const Record* last = find(newest_[line]);
        const bool dirty = !whole && last != nullptr && static_cast<State>(last->state) == State::kDirty;
        add(line, event, 0, dirty ? State::kDirty : State::kDurable);
      }
      lines.clear();
      return;
    }
    case EventKind::kContent:
      device_ = true;
      return;
    case POWERCUT_OPERATION_EVENTS:
    case POWERCUT_PROCESS_EVENTS:
    case POWERCUT_NAME_EVENTS:
    case EventKind::kCut:
    case POWERCUT_TREE_EVENTS:
      return;
  }
}

std::vector<LineTimeline::Entry> LineTimeline::entries(uint64_t line) const {
  static constexpr const char* kNames[] = {"dirty", "flushed", "durable"};
  std::vector<Entry> out;
  if (line >= newest_.size()) return out;
  for (uint64_t number = newest_[line]; out.size() < kShown;) {
    const Record* record = find(number);
    if (record == nullptr) break;
    out.push_back({record->event, static_cast<EventKind>(record->kind), static_cast<uint8_t>(record->code),
                   static_cast<uint32_t>(record->size), record->stack, kNames[record->state]});
    if (record->back == 0) break;
    number -= record->back;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace powercut
