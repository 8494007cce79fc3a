// The trace in memory: what TraceWriter writes and TraceReader yields. FORMAT.md is the file layout.
#ifndef POWERCUT_TRACER_FORMAT_TRACE_H_
#define POWERCUT_TRACER_FORMAT_TRACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace powercut {

inline constexpr uint32_t kTraceVersion = 6;
inline constexpr uint32_t kOldestTraceVersion = 4;  // that is still read

inline constexpr uint64_t kLineSize = 64;  // of a cache line, in bytes

enum class EventKind : uint8_t {
  kStore = 1,    // addr (pool-relative), value, flags
  kNtStore = 2,  // the same, non-temporal
  kFlush = 3,    // addr of the line, code = FlushKind
  kFence = 4,    // code = FenceKind
  kOpBegin = 5,  // code = OpKind, text = command of kMaintain, key, value
  kOpEnd = 6,    // code = powercut_status, value = what a lookup returned
  kThreadStart = 7,
  kThreadEnd = 8,
  kAllocate = 9,  // addr, size
  kFree = 10,     // addr
  kMarker = 11,   // text
  kPhase = 12,    // text = name, code = 1 explored / 0 warm-up
  kCut = 13,      // a deliberate power cut in the scenario: everything visible becomes durable
  // A tree of schedules (FORMAT.md). Between two of its crash points the events are those of one schedule.
  kFork = 14,        // the tree's root is the instant after this event; code = threads of the workload
  kBack = 15,        // the next event follows the `size`-th one after the root; all later ones are undone
  kContent = 16,     // value = what a sector or page of a device holds, before a store names it (powercut/contents.h)
  kCrashPoint = 19,  // of the schedule at hand: the power may be cut here, and nowhere else in the tree
  kSearched = 21,    // text = what the tree covers, as JSON: its last event
  kTrouble = 20,     // code = Trouble; text = what went wrong with no power cut, in the schedule at hand
};
enum class Trouble : uint8_t {
  kNotLinearizable = 1,
  kDeadlock = 2,
  kLivelock = 3,
  kUseAfterFree = 4,
  kDoubleFree = 5,
  kDied = 6,
};
// The text of a marker in program mode. The flushes and fences of its thread that follow at once are made by the kernel
// for the size of a file. The size has no event of its own.
inline constexpr std::string_view kSizeMarker = "size of a file";
// kForce is a call on a device: the writes to the word at addr are durable.
enum class FlushKind : uint8_t { kClwb = 1, kClflushopt = 2, kClflush = 3, kForce = 4 };
// kDevice: all writes to the device are durable.
enum class FenceKind : uint8_t { kSfence = 1, kMfence = 2, kRmw = 3, kLock = 4, kDevice = 5 };
enum class OpKind : uint8_t {
  kFormat = 1,
  kOpen = 2,
  kInsert = 3,
  kUpdate = 4,
  kErase = 5,
  kLookup = 6,
  kMaintain = 7,
  kClose = 8,
  kIncrement = 9,  // of a counter; the value is the difference, 8 bytes
};

// Whether an operation of this kind is on a key.
constexpr bool has_key(OpKind kind) {
  return kind == OpKind::kInsert || kind == OpKind::kUpdate || kind == OpKind::kErase || kind == OpKind::kLookup ||
         kind == OpKind::kIncrement;
}

// Flags of a store: the low bits of powercut_store_flags without NT.
inline constexpr uint8_t kStoreAtomic = 1u << 1, kStoreMemcall = 1u << 2, kStoreRmw = 1u << 3;
// The event continues the store of the event before it, which has the same kind and thread. All pieces are one store:
// its atoms persist in any order, and it is in flight as a whole.
inline constexpr uint8_t kStoreContinues = 1u << 4;

// A call of the program on the file of a pool, as it was made. Only this format has this kind of event: a reader hands
// it to the medium, which turns it into other events (file_calls.h).
inline constexpr uint64_t kNoPool = ~uint64_t{0};
inline constexpr EventKind kFileCall{18};
enum class PoolCall : uint8_t {
  kContent = 0,         // value: what the file held at addr before the program
  kWrite = 1,           // value: what was written at addr
  kSize = 2,            // size: of the file from now on
  kMsync = 3,           // of [addr, addr + size)
  kFsync = 4,           // of [addr, addr + size); fsync or fdatasync
  kWrittenThrough = 5,  // what was written to [addr, addr + size) before was durable when its write returned
};

// A call of the program on the folder whose files are judged, as it took effect (tree_calls.h). A reader yields such
// events only to whoever has asked for them.
inline constexpr EventKind kTreeCall{22};

struct Event {
  uint64_t index = 0;  // position in the trace, from 0
  EventKind kind{};
  uint8_t code = 0;
  uint8_t flags = 0;
  uint32_t thread = 0;
  uint32_t stack = 0;              // call-stack id; 0 = unknown
  uint64_t addr = 0;               // pool-relative offset in bytes
  uint64_t size = 0;               // bytes; for stores == value.size()
  uint64_t pool = 0;               // of a call on a file: the offset of its window; kNoPool: it has none
  std::span<const uint8_t> value;  // valid until the next call of the reader
  std::span<const uint8_t> key;
  std::string_view text;
};

// One call stack: return addresses as (module index, offset in the module's file image), innermost first.
struct Frame {
  uint32_t module = 0;
  uint64_t offset = 0;
  bool operator==(const Frame&) const = default;
};

struct TraceModule {
  std::string path;
  std::string build_id;  // hex; the reader's user refuses a trace of another build
};

// Errors of reading and writing: `what` went wrong, `where` (file and byte offset), `next` step.
struct TraceError {
  std::string what, where, next;
  std::string message() const { return where + ": " + what + ". " + next; }
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_TRACE_H_
