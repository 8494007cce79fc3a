// Numbers and byte helpers of the trace file, shared by writer and reader. FORMAT.md explains them.
#ifndef POWERCUT_TRACER_FORMAT_LAYOUT_H_
#define POWERCUT_TRACER_FORMAT_LAYOUT_H_

#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "tracer/format/trace.h"

namespace powercut::layout {

// The PNG trick: a high bit, CR LF, ctrl-Z and LF expose transfers that were not binary.
inline constexpr std::array<uint8_t, 8> kMagic = {0x89, 'P', 'C', 'T', 0x0D, 0x0A, 0x1A, 0x0A};
inline constexpr std::array<uint8_t, 8> kFooterMagic = {'P', 'C', 'T', 'E', 'N', 'D', 0x0D, 0x0A};
inline constexpr uint32_t kFrameMagic = 0x52464350;  // "PCFR" as it lies in the file
inline constexpr uint32_t kEndianMark = 0x0A0B0C0D;
inline constexpr uint32_t kSwappedEndianMark = 0x0D0C0B0A;

inline constexpr size_t kHeaderSize = 40;
inline constexpr size_t kFrameHeaderSize = 40;
inline constexpr size_t kFooterSize = 72;

// Limits. A reader refuses greater sizes, so hostile sizes cost no memory.
inline constexpr size_t kMaxMetadata = 16u << 20;
inline constexpr size_t kFrameTarget = 256u << 10;  // the writer closes a frame at this many raw bytes
inline constexpr size_t kMaxFrameRaw = 1u << 20;
inline constexpr size_t kMaxFrameCompressed = kMaxFrameRaw + (kMaxFrameRaw >> 7) + 512;  // zstd's bound is smaller
inline constexpr size_t kMaxStoreBytes = 4096;
inline constexpr size_t kMaxOperationBytes = 64u << 10;  // key or value of an operation; a content
inline constexpr size_t kMaxText = 4096;                 // marker, phase, command, module path, build id
inline constexpr size_t kMaxStackDepth = 256;
inline constexpr size_t kMaxModules = 1u << 16;
inline constexpr size_t kMaxStacks = 1u << 24;
inline constexpr size_t kMaxStackFrames = 1u << 25;  // summed over all stacks
// The largest record, rounded up: an operation with key, value and command.
inline constexpr size_t kMaxRecord = 2 * kMaxOperationBytes + 4 * kMaxText;

// Byte strings of these sizes are numbered within their frame and may be referred to again.
inline constexpr size_t kMinShared = 8;
inline constexpr size_t kMaxShared = 64;

// Type in the low 5 bits of a record's first byte: the event kinds of trace.h and the kinds below.
inline constexpr uint8_t kTypeMask = 0x1F;
inline constexpr uint8_t kDeviceRecord = 17;  // a flush or a fence of a device
inline constexpr uint8_t kFileCallRecord = 18;
inline constexpr uint8_t kTreeCallRecord = 22;
inline constexpr uint8_t kThreadRecord = 24;
inline constexpr uint8_t kModuleRecord = 25;
inline constexpr uint8_t kStackRecord = 26;
inline constexpr int kBitsShift = 5;  // two type-specific bits
inline constexpr uint8_t kImplicitStack = 0x80;

// The two bits of a store: how its bytes are spelled.
enum StoreForm : uint8_t { kFormFlags = 0, kFormByte = 1, kFormEight = 2, kFormBytes = 3 };

inline constexpr uint8_t kStoreFlagMask = 0x1E;  // those of trace.h

// Whether records of this kind usually have the stack of the record before, which then is not spelled out. Other
// records usually have no stack.
inline bool has_code_stack(EventKind kind) {
  return kind <= EventKind::kFence || kind == EventKind::kAllocate || kind == EventKind::kFree || kind == kFileCall ||
         kind == kTreeCall;
}

template <typename Int>
inline void put(uint8_t* at, Int value) {
  for (size_t i = 0; i < sizeof(Int); ++i) at[i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
}

template <typename Int>
inline Int get(const uint8_t* at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(Int); ++i) value |= static_cast<uint64_t>(at[i]) << (8 * i);
  return static_cast<Int>(value);
}

// The footer's running checksum: each frame's payload checksum, in order, folded into the last value.
inline uint64_t chain_checksum(uint64_t chain, uint64_t checksum) {
  uint8_t bytes[8];
  put<uint64_t>(bytes, checksum);
  return XXH3_64bits_withSeed(bytes, sizeof bytes, chain);
}

inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

// Writes at most 10 bytes; returns the place of the next byte.
inline uint8_t* put_varint(uint8_t* at, uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<uint8_t>(value);
  return at;
}

}  // namespace powercut::layout
#endif  // POWERCUT_TRACER_FORMAT_LAYOUT_H_
