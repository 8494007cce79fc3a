#include "tracer/runtime/recording/recorder.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tracer/runtime/hooks/call_site.h"

namespace powercut {
namespace {

constexpr uint32_t kFlagMask = kStoreAtomic | kStoreMemcall | kStoreRmw | kStoreContinues;

}  // namespace

Recorder::Recorder(TraceWriter& writer, uint64_t pool_base, uint64_t pool_size)
    : writer_(writer),
      base_(pool_base),
      size_(pool_size),
      stacks_([this](std::span<const uint64_t> addresses) { return define_stack(addresses); }) {}

uint32_t Recorder::define_stack(std::span<const uint64_t> addresses) {
  std::vector<Frame> frames;
  for (const uint64_t address : addresses) {
    // A return address: one byte back lies in the call itself, whose line is wanted.
    const std::optional<ModuleMap::Place> place = modules_.find(address - 1);
    if (!place) break;
    frames.push_back({writer_.module(*place->module), place->offset});
  }
  return frames.empty() ? 0 : writer_.stack(frames);
}

void Recorder::append(const Event& event) {
  const bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
  piece_of_ = store ? std::optional(event.thread) : std::nullopt;
  redirected_ ? redirected_(event) : writer_.append(event);
}

void Recorder::append_store(uint64_t addr, uint64_t size, uint32_t flags, const uint8_t* value, uint32_t stack) {
  Event event;
  event.kind = (flags & POWERCUT_STORE_NT) != 0 ? EventKind::kNtStore : EventKind::kStore;
  event.flags = static_cast<uint8_t>(flags & kFlagMask);
  // A piece counts as a store of its own if its first piece lay outside of the pool, or another thread's event came in
  // between.
  if (piece_of_ != thread_) event.flags &= static_cast<uint8_t>(~kStoreContinues);
  event.thread = thread_;
  event.stack = stack;
  event.addr = addr - base_;
  event.size = size;
  event.value = {value, size};
  append(event);
}

void Recorder::store(uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                     const void* frame) {
  if ((flags & POWERCUT_STORE_CONTINUES) == 0) piece_of_.reset();
  // Clips the store to the pool. Differences from the base are compared, so that a pool at the end of the address space
  // is fine.
  const uint8_t* bytes = static_cast<const uint8_t*>(value);
  if (addr < base_) {
    const uint64_t outside = base_ - addr;
    if (size <= outside) return;
    bytes += outside;
    size -= outside;
    addr = base_;
  }
  const uint64_t offset = addr - base_;
  if (offset >= size_) return;
  size = std::min(size, size_ - offset);
  const uint32_t id = stack(pc, frame);
  if (size <= kLineSize) {
    append_store(addr, size, flags, bytes, id);
    return;
  }
  while (size != 0) {
    const uint64_t piece = std::min(size, kLineSize - addr % kLineSize);
    append_store(addr, piece, flags, bytes, id);
    flags |= POWERCUT_STORE_CONTINUES;
    addr += piece;
    bytes += piece;
    size -= piece;
  }
}

void Recorder::flush(uint64_t addr, uint32_t kind, const void* pc, const void* frame) {
  // The line is tested, not the byte: a flush of an address before the pool may still be of the pool's first line.
  const uint64_t line = addr & ~(kLineSize - 1);
  if (line + kLineSize <= base_ || line >= base_ + size_) return;
  Event event;
  event.kind = EventKind::kFlush;
  event.code = static_cast<uint8_t>(kind);
  event.thread = thread_;
  event.stack = stack(pc, frame);
  event.addr = line < base_ ? 0 : line - base_;
  event.size = kLineSize;
  if (kind == POWERCUT_FORCE) {
    event.addr = addr - base_;
    event.size = sizeof(uint64_t);
  }
  append(event);
}

void Recorder::fence(uint32_t kind, const void* pc, const void* frame) {
  Event event;
  event.kind = EventKind::kFence;
  event.code = static_cast<uint8_t>(kind);
  event.thread = thread_;
  event.stack = stack(pc, frame);
  append(event);
}

void Recorder::rmw_begin(uint64_t, uint64_t, const void* pc, const void* frame) {
  fence(POWERCUT_RMW_FENCE, pc, frame);
}

void Recorder::rmw_end(uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
  if (stored == 0) return;
  const void* bytes = runtime::place_of(reinterpret_cast<const void*>(addr));
  store(addr, size, POWERCUT_STORE_RMW | POWERCUT_STORE_ATOMIC, bytes, pc, frame);
}

void Recorder::content(uint64_t name, std::span<const uint8_t> bytes) {
  if (!named_.insert(name).second) return;
  Event event;
  event.kind = EventKind::kContent;
  event.thread = thread_;
  event.value = bytes;
  append(event);
}

void Recorder::mark(std::string_view name) {
  Event event;
  event.kind = EventKind::kMarker;
  event.thread = thread_;
  event.text = name;
  append(event);
}

void Recorder::thread_start() {
  Event event;
  event.kind = EventKind::kThreadStart;
  event.thread = thread_;
  append(event);
}

void Recorder::thread_end() {
  Event event;
  event.kind = EventKind::kThreadEnd;
  event.thread = thread_;
  append(event);
}

powercut_sink Recorder::sink() {
  powercut_sink sink{};
  sink.self = this;
  sink.store = [](void* self, uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                  const void* frame) { static_cast<Recorder*>(self)->store(addr, size, flags, value, pc, frame); };
  sink.rmw_begin = [](void* self, uint64_t addr, uint64_t size, const void* pc, const void* frame) {
    static_cast<Recorder*>(self)->rmw_begin(addr, size, pc, frame);
  };
  sink.rmw_end = [](void* self, uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
    static_cast<Recorder*>(self)->rmw_end(addr, size, stored, pc, frame);
  };
  sink.flush = [](void* self, uint64_t addr, uint32_t kind, const void* pc, const void* frame) {
    static_cast<Recorder*>(self)->flush(addr, kind, pc, frame);
  };
  sink.fence = [](void* self, uint32_t kind, const void* pc, const void* frame) {
    static_cast<Recorder*>(self)->fence(kind, pc, frame);
  };
  sink.mark = [](void* self, const char* name) { static_cast<Recorder*>(self)->mark(name); };
  return sink;
}

powercut_window Recorder::store_window() const {
  const uint64_t before = std::min(base_, kLineSize - 1);
  return {base_ - before, size_ + before};
}

}  // namespace powercut
