#include "tracer/format/trace_names.h"

#include <iterator>

namespace powercut {

const char* name_of(TreeCall call) {
  static constexpr const char* kNames[] = {"inode",    "content",    "entry", "started", "create",   "link",
                                           "unlink",   "rename",     "write", "size",    "allocate", "sync",
                                           "sync-all", "attributes", "note",  "ended"};
  static_assert(std::size(kNames) == static_cast<size_t>(kLastTreeCall) + 1);
  return call <= kLastTreeCall ? kNames[static_cast<size_t>(call)] : "unknown";
}

const char* name_of(EventKind kind) {
  if (kind == kTreeCall) return "tree-call";
  switch (kind) {
    case EventKind::kStore:
      return "store";
    case EventKind::kNtStore:
      return "nt-store";
    case EventKind::kFlush:
      return "flush";
    case EventKind::kFence:
      return "fence";
    case EventKind::kOpBegin:
      return "op-begin";
    case EventKind::kOpEnd:
      return "op-end";
    case EventKind::kThreadStart:
      return "thread-start";
    case EventKind::kThreadEnd:
      return "thread-end";
    case EventKind::kAllocate:
      return "allocate";
    case EventKind::kFree:
      return "free";
    case EventKind::kMarker:
      return "marker";
    case EventKind::kPhase:
      return "phase";
    case EventKind::kCut:
      return "cut";
    case EventKind::kFork:
      return "fork";
    case EventKind::kBack:
      return "back";
    case EventKind::kCrashPoint:
      return "crash-point";
    case EventKind::kTrouble:
      return "trouble";
    case EventKind::kSearched:
      return "searched";
    case EventKind::kContent:
      return "content";
  }
  return "unknown";
}

const char* name_of(Trouble trouble) {
  switch (trouble) {
    case Trouble::kNotLinearizable:
      return "not-linearizable";
    case Trouble::kDeadlock:
      return "deadlock";
    case Trouble::kLivelock:
      return "livelock";
    case Trouble::kUseAfterFree:
      return "use-after-free";
    case Trouble::kDoubleFree:
      return "double-free";
    case Trouble::kDied:
      return "died";
  }
  return "unknown";
}

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kFormat:
      return "format";
    case OpKind::kOpen:
      return "open";
    case OpKind::kInsert:
      return "insert";
    case OpKind::kUpdate:
      return "update";
    case OpKind::kErase:
      return "erase";
    case OpKind::kLookup:
      return "lookup";
    case OpKind::kMaintain:
      return "maintain";
    case OpKind::kClose:
      return "close";
    case OpKind::kIncrement:
      return "increment";
  }
  return "unknown";
}

const char* name_of(FlushKind kind) {
  switch (kind) {
    case FlushKind::kClwb:
      return "clwb";
    case FlushKind::kClflushopt:
      return "clflushopt";
    case FlushKind::kClflush:
      return "clflush";
    case FlushKind::kForce:
      return "force";
  }
  return "unknown";
}

const char* name_of(FenceKind kind) {
  switch (kind) {
    case FenceKind::kSfence:
      return "sfence";
    case FenceKind::kMfence:
      return "mfence";
    case FenceKind::kRmw:
      return "locked";
    case FenceKind::kLock:
      return "lock";
    case FenceKind::kDevice:
      return "device flush";
  }
  return "unknown";
}

std::string hex(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace powercut
