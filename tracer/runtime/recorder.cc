#include "tracer/runtime/recorder.h"

#include <absl/container/flat_hash_map.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tracer/runtime/module_map.h"

namespace powercut {
namespace {

constexpr uint64_t kLine = 64;
constexpr uint32_t kMaxFrames = 64;
constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
constexpr uint32_t kFlagMask = kStoreAtomic | kStoreMemcall | kStoreRmw;

using Addresses = std::span<const uint64_t>;

struct AddressesHash {
  using is_transparent = void;
  size_t operator()(Addresses addresses) const { return XXH3_64bits(addresses.data(), addresses.size_bytes()); }
};

struct AddressesEqual {
  using is_transparent = void;
  bool operator()(Addresses a, Addresses b) const { return std::ranges::equal(a, b); }
};

}  // namespace

// From raw return addresses to the trace's stack ids. A program has few distinct stacks and visits them
// millions of times: only a new one is mapped to modules.
struct Recorder::Stacks {
  ModuleMap modules;
  // A vector's elements stay where they are when the map grows.
  absl::flat_hash_map<std::vector<uint64_t>, uint32_t, AddressesHash, AddressesEqual> ids;

  // The stack that was last met at a call site with this frame: almost always the one that is there again. Comparing
  // the walk with it is cheaper than storing, hashing and looking up, and as exact.
  struct Recent {
    const uint64_t* addresses = nullptr;  // those of a key of `ids`
    uint32_t count = 0, id = 0;
  };
  static constexpr size_t kRecent = 1024;
  std::array<Recent, kRecent> recent{};

  static size_t slot(const void* pc, const void* frame) {
    const uint64_t mixed = (reinterpret_cast<uint64_t>(pc) ^ reinterpret_cast<uint64_t>(frame) << 32) * kOdd;
    return mixed >> 54;
  }

  uint32_t find(TraceWriter& writer, const void* pc, const void* frame) {
    std::array<uint64_t, kMaxFrames> raw;
    const Addresses addresses(raw.data(), powercut_stack(pc, frame, raw.data(), kMaxFrames));
    auto known = ids.find(addresses);
    if (known == ids.end()) known = add(writer, addresses);
    recent[slot(pc, frame)] = {known->first.data(), static_cast<uint32_t>(known->first.size()), known->second};
    return known->second;
  }

  auto add(TraceWriter& writer, Addresses addresses) -> decltype(ids)::iterator {
    std::vector<Frame> frames;
    for (const uint64_t address : addresses) {
      // A return address: one byte back lies in the call itself, whose line is wanted.
      const std::optional<ModuleMap::Place> place = modules.find(address - 1);
      if (!place) break;
      frames.push_back({writer.module(*place->module), place->offset});
    }
    const uint32_t id = frames.empty() ? 0 : writer.stack(frames);
    return ids.emplace(std::vector<uint64_t>(addresses.begin(), addresses.end()), id).first;
  }
};

Recorder::Recorder(TraceWriter& writer, uint64_t pool_base, uint64_t pool_size)
    : writer_(writer), base_(pool_base), size_(pool_size), stacks_(std::make_unique<Stacks>()) {}

Recorder::~Recorder() = default;

uint32_t Recorder::stack(const void* pc, const void* frame) {
  const Stacks::Recent& recent = stacks_->recent[Stacks::slot(pc, frame)];
  if (powercut_stack_is(pc, frame, recent.addresses, recent.count, kMaxFrames) != 0) [[likely]]
    return recent.id;
  return stacks_->find(writer_, pc, frame);
}

void Recorder::append_store(uint64_t addr, uint64_t size, uint32_t flags, const uint8_t* value, uint32_t stack) {
  Event event;
  event.kind = (flags & POWERCUT_STORE_NT) != 0 ? EventKind::kNtStore : EventKind::kStore;
  event.flags = static_cast<uint8_t>(flags & kFlagMask);
  event.thread = thread_;
  event.stack = stack;
  event.addr = addr - base_;
  event.size = size;
  event.value = {value, size};
  writer_.append(event);
}

void Recorder::store(uint64_t addr, uint64_t size, uint32_t flags, const void* value, const void* pc,
                     const void* frame) {
  // Clip to the pool. Differences from the base, so that a pool at the end of the address space is fine.
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
  if (size <= kLine) {
    append_store(addr, size, flags, bytes, id);
    return;
  }
  while (size != 0) {
    const uint64_t piece = std::min(size, kLine - addr % kLine);
    append_store(addr, piece, flags, bytes, id);
    addr += piece;
    bytes += piece;
    size -= piece;
  }
}

void Recorder::flush(uint64_t addr, uint32_t kind, const void* pc, const void* frame) {
  // The line, not the byte: a flush of an address before the pool may still be of its first line.
  const uint64_t line = addr & ~(kLine - 1);
  if (line + kLine <= base_ || line >= base_ + size_) return;
  Event event;
  event.kind = EventKind::kFlush;
  event.code = static_cast<uint8_t>(kind);
  event.thread = thread_;
  event.stack = stack(pc, frame);
  event.addr = line < base_ ? 0 : line - base_;
  event.size = kLine;
  writer_.append(event);
}

void Recorder::fence(uint32_t kind, const void* pc, const void* frame) {
  Event event;
  event.kind = EventKind::kFence;
  event.code = static_cast<uint8_t>(kind);
  event.thread = thread_;
  event.stack = stack(pc, frame);
  writer_.append(event);
}

void Recorder::rmw_begin(uint64_t, uint64_t, const void* pc, const void* frame) {
  fence(POWERCUT_RMW_FENCE, pc, frame);
}

void Recorder::rmw_end(uint64_t addr, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
  if (stored == 0) return;
  store(addr, size, POWERCUT_STORE_RMW | POWERCUT_STORE_ATOMIC, reinterpret_cast<const void*>(addr), pc, frame);
}

void Recorder::mark(std::string_view name) {
  Event event;
  event.kind = EventKind::kMarker;
  event.thread = thread_;
  event.text = name;
  writer_.append(event);
}

void Recorder::thread_start() {
  Event event;
  event.kind = EventKind::kThreadStart;
  event.thread = thread_;
  writer_.append(event);
}

void Recorder::thread_end() {
  Event event;
  event.kind = EventKind::kThreadEnd;
  event.thread = thread_;
  writer_.append(event);
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
  const uint64_t before = std::min(base_, kLine - 1);
  return {base_ - before, size_ + before};
}

}  // namespace powercut
