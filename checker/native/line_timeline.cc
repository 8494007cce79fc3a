#include "checker/native/line_timeline.h"

#include <algorithm>
#include <cstring>

namespace powercut {

void LineTimeline::add(uint64_t line, const Event& event, uint64_t size, const char* state) {
  std::deque<Entry>& entries = lines_[line];
  entries.push_back({event.index, event.kind, event.code, static_cast<uint32_t>(size), event.stack, state});
  if (entries.size() > kKept) entries.pop_front();
}

void LineTimeline::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore: {
      const uint64_t end = event.addr + event.value.size();
      for (uint64_t at = event.addr; at < end;) {
        const uint64_t next = std::min(end, (at / 64 + 1) * 64);
        const bool streaming = event.kind == EventKind::kNtStore;
        add(at / 64, event, next - at, streaming ? "flushed" : "dirty");
        if (streaming) unfenced_[event.thread].push_back(at / 64);
        at = next;
      }
      return;
    }
    case EventKind::kFlush: {
      const uint64_t line = event.addr / 64;
      const auto found = lines_.find(line);
      if (found == lines_.end()) return;
      if (static_cast<FlushKind>(event.code) == FlushKind::kClflush) {
        add(line, event, 0, "durable");
      } else if (std::strcmp(found->second.back().state, "dirty") == 0) {
        add(line, event, 0, "flushed");
        unfenced_[event.thread].push_back(line);
      }
      return;
    }
    case EventKind::kFence: {
      const auto waiting = unfenced_.find(event.thread);
      if (waiting == unfenced_.end()) return;
      std::sort(waiting->second.begin(), waiting->second.end());
      waiting->second.erase(std::unique(waiting->second.begin(), waiting->second.end()), waiting->second.end());
      for (uint64_t line : waiting->second) {
        // A store after the flush keeps the line dirty: the fence covers only what was flushed.
        const bool dirty = std::strcmp(lines_[line].back().state, "dirty") == 0;
        add(line, event, 0, dirty ? "dirty" : "durable");
      }
      waiting->second.clear();
      return;
    }
    default:
      return;
  }
}

const std::deque<LineTimeline::Entry>& LineTimeline::entries(uint64_t line) const {
  static const std::deque<Entry> none;
  const auto found = lines_.find(line);
  return found == lines_.end() ? none : found->second;
}

}  // namespace powercut
