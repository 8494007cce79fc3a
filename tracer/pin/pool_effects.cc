// What system calls mean for the pools (the first half of pool_files.h).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "tracer/pin/pool_files.h"

namespace powercut {
namespace pin {
namespace {

constexpr uint64_t kPage = 4096;

// Numbers and flags of x86-64 Linux, which never change; the run-time library's headers may lack the newer ones.
enum : uint64_t {
  kRead = 0,
  kWrite = 1,
  kOpen = 2,
  kClose = 3,
  kMmap = 9,
  kMunmap = 11,
  kPread = 17,
  kPwrite = 18,
  kReadv = 19,
  kWritev = 20,
  kMremap = 25,
  kMsync = 26,
  kDup2 = 33,
  kSendfile = 40,
  kSendto = 44,
  kRecvfrom = 45,
  kExecve = 59,
  kFsync = 74,
  kFdatasync = 75,
  kTruncate = 76,
  kFtruncate = 77,
  kCreat = 85,
  kSync = 162,
  kOpenat = 257,
  kSplice = 275,
  kFallocate = 285,
  kDup3 = 292,
  kPreadv = 295,
  kPwritev = 296,
  kSyncfs = 306,
  kGetrandom = 318,
  kExecveat = 322,
  kCopyFileRange = 326,
  kPreadv2 = 327,
  kPwritev2 = 328,
  kOpenat2 = 437,
};
enum : uint64_t {
  kMapTypeMask = 15,
  kMapPrivate = 2,
  kMapAnonymous = 32,
  kRemapKeepsOld = 4,
  kPunchHole = 2,
  kZeroRange = 16,
  kSyncNow = 4,  // MS_SYNC
};
constexpr int kDataSync = 010000;       // O_DSYNC
constexpr uint64_t kHere = UINT64_MAX;  // an offset that stands for the file's position

uint64_t to_pages(uint64_t length) { return (length + kPage - 1) & ~(kPage - 1); }

}  // namespace

void PoolFiles::before(uint32_t thread, const SystemCall& call) {
  if (!recorder_.recording()) return;
  if (call.number == kMunmap) {
    // Afterwards the addresses may at once be another thread's.
    if (!recorder_.touches_pools(call.arguments[0], to_pages(call.arguments[1]))) return;
    Recorder::Entry(recorder_, thread, Frames{nullptr, 0}).unmap(call.arguments[0], to_pages(call.arguments[1]));
  } else if (call.number == kExecve || call.number == kExecveat) {
    // A search along PATH tries files that are not there. Whatever follows one that is there runs without this tool.
    char path[kPowercutMostText] = {};
    const size_t got = recorder_.host().copy(path, call.arguments[call.number == kExecve ? 0 : 1], sizeof path - 1);
    if (got == 0 || (call.number == kExecve && access(path, X_OK) != 0)) return;
    recorder_.note(kPowercutNoteExec, "the program replaced itself (exec): the new one was not recorded");
    recorder_.write_out();
  }
}

int PoolFiles::closes_stream(const SystemCall& call) const {
  const uint64_t own = static_cast<uint64_t>(recorder_.file().descriptor());
  if (!recorder_.recording()) return -1;
  if (call.number == kClose && call.arguments[0] == own) return 0;
  return (call.number == kDup2 || call.number == kDup3) && call.arguments[1] == own ? 1 : -1;
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

Effect PoolFiles::at_position(uint64_t descriptor, uint64_t length) const {
  return on_file(Effect::kFileWritten, descriptor, kHere, length);
}

Effect PoolFiles::mapped(const SystemCall& call, uint64_t address) const {
  const uint64_t flags = call.arguments[3];
  Effect effect;
  if ((flags & kMapAnonymous) == 0) effect = on_file(Effect::kMapped, call.arguments[4], call.arguments[5], 0);
  if (effect.pool >= 0 && (flags & kMapTypeMask) == kMapPrivate) effect.kind = Effect::kPrivate;
  effect.address = address;
  effect.length = to_pages(call.arguments[1]);
  // What was mapped there before is gone.
  if (effect.pool < 0 && recorder_.near_pools(address, effect.length)) effect.kind = Effect::kMapped;
  return effect;
}

Effect PoolFiles::on_memory(Effect::Kind kind, uint64_t address, uint64_t length) const {
  Effect effect;
  if (length == 0 || !recorder_.near_pools(address, length)) return effect;
  effect.kind = kind;
  effect.pieces.push_back(Piece{address, length});
  return effect;
}

// The first `length` bytes that the parts of a readv have room for.
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
  switch (call.number) {
    case kMmap:
      return mapped(call, result);
    case kMremap:
      effect.kind = Effect::kRemapped;
      effect.from = arguments[0];
      effect.from_length = to_pages(arguments[1]);
      effect.address = result;
      effect.length = to_pages(arguments[2]);
      effect.moves = (arguments[3] & kRemapKeepsOld) == 0;
      if (!recorder_.near_pools(effect.from, std::max<uint64_t>(effect.from_length, 1)) &&
          !recorder_.near_pools(effect.address, effect.length)) {
        effect.kind = Effect::kNothing;
      }
      return effect;
    case kWrite:
    case kWritev:
      effect = at_position(arguments[0], result);
      if (effect.kind == Effect::kNothing && loads_ && call.number == kWrite) {
        effect = on_memory(Effect::kMemoryRead, arguments[1], result);
      }
      return effect;
    case kPwrite:
    case kPwritev:
    case kPwritev2:  // whose -1 is kHere
      return on_file(Effect::kFileWritten, arguments[0], arguments[3], result);
    case kSendfile:
      return at_position(arguments[0], result);
    case kCopyFileRange:
    case kSplice: {
      uint64_t end = 0;
      if (arguments[3] == 0) return at_position(arguments[2], result);
      if (recorder_.host().copy(&end, arguments[3], sizeof end) != sizeof end) return effect;
      return on_file(Effect::kFileWritten, arguments[2], end - result, result);
    }
    case kSendto:
      return loads_ ? on_memory(Effect::kMemoryRead, arguments[1], result) : effect;
    case kRead:
    case kPread:
    case kRecvfrom:
      return on_memory(Effect::kMemoryWritten, arguments[1], result);
    case kGetrandom:
      return on_memory(Effect::kMemoryWritten, arguments[0], result);
    case kReadv:
    case kPreadv:
    case kPreadv2:
      return on_vector(arguments[1], arguments[2], result);
    case kFtruncate:
      return on_file(Effect::kFileLooked, arguments[0], 0, 0);
    case kFallocate: {
      const bool zeroes = (arguments[1] & (kPunchHole | kZeroRange)) != 0;
      return on_file(zeroes ? Effect::kFileZeroed : Effect::kFileLooked, arguments[0], arguments[2], arguments[3]);
    }
    case kOpen:
    case kOpenat:
    case kOpenat2:
    case kCreat:  // it may have been truncated, made or replaced
      return on_file(Effect::kFileLooked, result, 0, 0);
    case kTruncate:
      effect.kind = Effect::kFileLooked;  // of all: the path may be any name
      return effect;
    case kMsync:
      if ((arguments[2] & kSyncNow) == 0) return effect;
      effect = on_memory(Effect::kRangeSynced, arguments[0], to_pages(arguments[1]));
      effect.address = arguments[0];
      effect.length = to_pages(arguments[1]);
      return effect;
    case kFsync:
    case kFdatasync:
      return on_file(Effect::kFileSynced, arguments[0], 0, UINT64_MAX);
    case kSync:
    case kSyncfs:
      if (!pools_.empty()) effect.kind = Effect::kFileSynced;
      return effect;
    default:
      return effect;
  }
}

}  // namespace pin
}  // namespace powercut
