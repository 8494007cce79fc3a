// The meaning of system calls for the pools (the first half of pool_files.h).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "tracer/file_calls/file_calls.h"
#include "tracer/pin/pool_files.h"

namespace powercut {
namespace pin {
namespace {

// Calls on memory that are no calls on files. Their numbers never change; the run-time library's headers may lack the
// newer ones.
enum : uint64_t { kSendto = 44, kRecvfrom = 45, kGetrandom = 318 };
enum : uint64_t { kMapTypeMask = 15, kMapPrivate = 2, kMapAnonymous = 32, kRemapKeepsOld = 4 };
enum : uint64_t { kPunchHole = 2, kZeroRange = 16, kSyncNow = 4 };  // the last one is MS_SYNC
constexpr int kDataSync = 010000;                                   // O_DSYNC
constexpr uint64_t kHere = UINT64_MAX;                              // an offset that stands for the file's position

uint64_t to_pages(uint64_t length) { return (length + kFilePage - 1) & ~(kFilePage - 1); }

}  // namespace

void PoolFiles::before(uint32_t thread, const SystemCall& call) {
  if (!recorder_.recording()) return;
  const powercut_file_call* const known = powercut_file_call_of(call.number);
  const powercut_call_does does = powercut_call_does_what(known);
  if (does == kPowercutUnmaps) {
    // The range is unmapped before the call: after the call the addresses may at once be another thread's.
    if (!recorder_.touches_pools(call.arguments[0], to_pages(call.arguments[1]))) return;
    Recorder::Entry(recorder_, thread, Frames{nullptr, 0}).unmap(call.arguments[0], to_pages(call.arguments[1]));
  } else if (does == kPowercutExecutes) {
    // A search along PATH tries files that are not there. A program that is there goes on without this tool.
    char path[kPowercutMostText] = {};
    const size_t got = recorder_.host().copy(path, call.arguments[powercut_argument(known, 'p')], sizeof path - 1);
    if (got == 0 || (powercut_argument(known, 'F') < 0 && access(path, X_OK) != 0)) return;
    recorder_.note(kPowercutNoteExec, "the program replaced itself (exec): the new one was not recorded");
    recorder_.write_out();
  }
}

int PoolFiles::closes_stream(const SystemCall& call) const {
  const powercut_file_call* const known = powercut_file_call_of(call.number);
  if (!recorder_.recording() || powercut_call_does_what(known) != kPowercutCloses) return -1;
  const int descriptor = powercut_argument(known, 'd');
  return call.arguments[descriptor] == static_cast<uint64_t>(recorder_.file().descriptor()) ? descriptor : -1;
}

Effect PoolFiles::on_file(Effect::Kind kind, uint64_t descriptor, uint64_t offset, uint64_t length) const {
  Effect effect;
  const int file = static_cast<int>(descriptor);
  effect.pool = pool_of(file);
  if (effect.pool < 0) return effect;
  effect.kind = kind;
  effect.offset = offset;
  effect.length = length;
  if (kind != Effect::kFileWritten) return effect;
  effect.synced = (fcntl(file, F_GETFL) & kDataSync) != 0;
  if (offset != kHere) return effect;
  const off_t end = lseek(file, 0, SEEK_CUR);
  if (end < static_cast<off_t>(length)) return Effect();
  effect.offset = static_cast<uint64_t>(end) - length;
  return effect;
}

// Returns the effect of a call that has written `length` bytes to a descriptor, perhaps to a pool.
Effect PoolFiles::written(const powercut_file_call& known, const uint64_t* arguments, uint64_t length) const {
  const int offset = powercut_argument(&known, 'o'), pointer = powercut_argument(&known, 'e');
  uint64_t from = offset < 0 ? kHere : arguments[offset];  // -1 of pwritev2 is kHere
  if (pointer >= 0 && arguments[pointer] != 0) {
    if (recorder_.host().copy(&from, arguments[pointer], sizeof from) != sizeof from) return Effect();
    from -= length;
  }
  return on_file(Effect::kFileWritten, arguments[powercut_argument(&known, 'd')], from, length);
}

Effect PoolFiles::mapped(const SystemCall& call, uint64_t address) const {
  const uint64_t flags = call.arguments[3];
  Effect effect;
  if ((flags & kMapAnonymous) == 0) effect = on_file(Effect::kMapped, call.arguments[4], call.arguments[5], 0);
  if (effect.pool >= 0 && (flags & kMapTypeMask) == kMapPrivate) effect.kind = Effect::kPrivate;
  effect.address = address;
  effect.length = to_pages(call.arguments[1]);
  // An earlier mapping at these addresses is gone.
  if (effect.pool < 0 && recorder_.near_pools(address, effect.length)) effect.kind = Effect::kMapped;
  return effect;
}

Effect PoolFiles::remapped(const SystemCall& call, uint64_t address) const {
  Effect effect;
  effect.from = call.arguments[0];
  effect.from_length = to_pages(call.arguments[1]);
  effect.address = address;
  effect.length = to_pages(call.arguments[2]);
  effect.moves = (call.arguments[3] & kRemapKeepsOld) == 0;
  const bool touches = recorder_.near_pools(effect.from, std::max<uint64_t>(effect.from_length, 1)) ||
                       recorder_.near_pools(effect.address, effect.length);
  if (touches) effect.kind = Effect::kRemapped;
  return effect;
}

Effect PoolFiles::on_memory(Effect::Kind kind, uint64_t address, uint64_t length) const {
  Effect effect;
  if (length == 0 || !recorder_.near_pools(address, length)) return effect;
  effect.kind = kind;
  effect.pieces.push_back(Piece{address, length});
  return effect;
}

// Returns the first `length` bytes that the parts of a readv have room for.
Effect PoolFiles::on_vector(uint64_t vector, uint64_t count, uint64_t length) const {
  Effect effect;
  for (uint64_t i = 0; i < count && length != 0; ++i) {
    uint64_t part[2];  // struct iovec
    if (recorder_.host().copy(part, vector + i * sizeof part, sizeof part) != sizeof part) break;
    const uint64_t used = std::min(part[1], length);
    if (used != 0 && recorder_.near_pools(part[0], used)) effect.pieces.push_back(Piece{part[0], used});
    length -= used;
  }
  if (!effect.pieces.empty()) effect.kind = Effect::kMemoryWritten;
  return effect;
}

Effect PoolFiles::effect_of(const SystemCall& call, uint64_t result) const {
  Effect effect;
  if (!recorder_.recording()) return effect;
  const Held held(recorder_.lock());
  const uint64_t* const arguments = call.arguments;
  const powercut_file_call* const known = powercut_file_call_of(call.number);
  const int descriptor = known == nullptr ? -1 : powercut_argument(known, 'd');
  const int buffer = known == nullptr ? -1 : powercut_argument(known, 'b');
  switch (powercut_call_does_what(known)) {
    case kPowercutMaps:
      return mapped(call, result);
    case kPowercutRemaps:
      return remapped(call, result);
    case kPowercutWrites:
      effect = written(*known, arguments, result);
      if (effect.kind != Effect::kNothing || !loads_ || buffer < 0) return effect;
      return on_memory(Effect::kMemoryRead, arguments[buffer], result);
    case kPowercutCopies:
      return written(*known, arguments, result);
    case kPowercutReads:
      return buffer >= 0 ? on_memory(Effect::kMemoryWritten, arguments[buffer], result)
                         : on_vector(arguments[powercut_argument(known, 'v')], arguments[2], result);
    case kPowercutResizes:
      if (descriptor >= 0) return on_file(Effect::kFileLooked, arguments[descriptor], 0, 0);
      effect.kind = Effect::kFileLooked;  // all pools: the path may be any name of one
      return effect;
    case kPowercutAllocates: {
      const bool zeroes = (arguments[1] & (kPunchHole | kZeroRange)) != 0;
      return on_file(zeroes ? Effect::kFileZeroed : Effect::kFileLooked, arguments[0], arguments[2], arguments[3]);
    }
    case kPowercutOpens:  // the file may have been truncated, made or replaced
      return on_file(Effect::kFileLooked, result, 0, 0);
    case kPowercutSyncsMemory:
      if ((arguments[2] & kSyncNow) == 0) return effect;
      effect = on_memory(Effect::kRangeSynced, arguments[0], to_pages(arguments[1]));
      effect.address = arguments[0];
      effect.length = to_pages(arguments[1]);
      return effect;
    case kPowercutSyncs:
      return on_file(Effect::kFileSynced, arguments[descriptor], 0, UINT64_MAX);
    case kPowercutSyncsAll:
      if (!pools_.empty()) effect.kind = Effect::kFileSynced;
      return effect;
    case kPowercutNoFileCall:
      if (call.number == kSendto && loads_) return on_memory(Effect::kMemoryRead, arguments[1], result);
      if (call.number == kRecvfrom) return on_memory(Effect::kMemoryWritten, arguments[1], result);
      if (call.number == kGetrandom) return on_memory(Effect::kMemoryWritten, arguments[0], result);
      return effect;
    default:
      return effect;
  }
}

}  // namespace pin
}  // namespace powercut
