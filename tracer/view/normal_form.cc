#include "tracer/view/normal_form.h"

#include <absl/strings/str_cat.h>

#include "tracer/format/event_groups.h"
#include "tracer/format/trace_names.h"

namespace powercut {

void NormalForm::store(const Event& event) {
  ++order_;
  for (size_t i = 0; i < event.value.size(); ++i) {
    uint64_t addr = event.addr + i;
    uint64_t base = addr / kLineSize * kLineSize;
    Line& line = lines_[base];
    Byte byte{order_, event.value[i]};
    line.visible[addr % kLineSize] = byte;
    if (event.kind == EventKind::kNtStore) {
      threads_[event.thread].streamed.emplace_back(addr, byte);
    } else {
      line.cached[addr % kLineSize] = byte;
    }
    changed_.insert(base);
  }
}

void NormalForm::raise(uint64_t addr, const Byte& byte) {
  Byte& floor = lines_[addr / kLineSize * kLineSize].floor[addr % kLineSize];
  // Floors only rise: a fence never un-persists.
  if (byte.order <= floor.order) return;
  floor = byte;
  changed_.insert(addr / kLineSize * kLineSize);
}

void NormalForm::raise(uint64_t line, const Content& content) {
  for (uint64_t i = 0; i < kLineSize; ++i) raise(line + i, content[i]);
}

void NormalForm::flush(const Event& event) {
  uint64_t base = event.addr / kLineSize * kLineSize;
  auto line = lines_.find(base);
  if (line == lines_.end()) return;
  // Copied: raise() looks the line up again.
  Content content = line->second.cached;
  if (static_cast<FlushKind>(event.code) == FlushKind::kClflush) {
    raise(base, content);
  } else {
    threads_[event.thread].flushed[base] = content;
  }
}

void NormalForm::fence(uint32_t thread) {
  Thread& mine = threads_[thread];
  for (const auto& [line, content] : mine.flushed) raise(line, content);
  for (const auto& [addr, byte] : mine.streamed) raise(addr, byte);
  mine = {};
}

std::string NormalForm::changes() {
  std::string text;
  for (uint64_t base : changed_) {
    std::array<uint8_t, kLineSize> visible, floor;
    const Line& line = lines_[base];
    for (uint64_t i = 0; i < kLineSize; ++i) {
      visible[i] = line.visible[i].value;
      floor[i] = line.floor[i].value;
    }
    absl::StrAppend(&text, "  line 0x", absl::Hex(base), " visible ", hex(visible), " floor ", hex(floor), "\n");
  }
  changed_.clear();
  return text;
}

std::string NormalForm::add(const Event& event) {
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      store(event);
      return "";
    case EventKind::kFlush:
      flush(event);
      return "";
    case EventKind::kFence: {
      fence(event.thread);
      std::string text = changes();
      return text.empty() ? "" : absl::StrCat("fence t", event.thread, "\n", text);
    }
    case EventKind::kOpBegin: {
      std::string head = absl::StrCat("op-begin t", event.thread, " ", name_of(static_cast<OpKind>(event.code)));
      if (!event.key.empty()) absl::StrAppend(&head, " key ", hex(event.key));
      if (!event.value.empty()) absl::StrAppend(&head, " value ", hex(event.value));
      if (!event.text.empty()) absl::StrAppend(&head, " ", std::string(event.text));
      return head + "\n" + changes();
    }
    case EventKind::kOpEnd: {
      std::string head = absl::StrCat("op-end t", event.thread, " status ", event.code);
      if (!event.value.empty()) absl::StrAppend(&head, " value ", hex(event.value));
      return head + "\n" + changes();
    }
    case EventKind::kMarker:
      return "marker " + std::string(event.text) + "\n";
    case EventKind::kCut:
      // Everything visible becomes durable.
      for (auto& [base, line] : lines_) {
        line.cached = line.visible;
        raise(base, line.visible);
      }
      threads_.clear();
      return "cut\n" + changes();
    case EventKind::kPhase:
      return "phase " + std::string(event.text) + "\n";
    case EventKind::kContent:
    case POWERCUT_PROCESS_EVENTS:
    case POWERCUT_TREE_EVENTS:
      return "";
  }
  return "";
}

}  // namespace powercut
