#include "targets/turbohash/tags.h"

#include <immintrin.h>

#include <cstring>

namespace powercut::turbohash {
namespace {

// Asked once, when the library is loaded: CPUID is slow in a virtual machine. The builtin knows as well whether the
// operating system saves the registers; what it reads is set by a constructor that comes before this one.
const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
const bool kHasAvx512 = __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;

// The paper's "_mm_cmpeq_epi8_mask".
[[gnu::target("avx512bw,avx512vl")]] uint32_t MatchAvx512(const uint8_t* tags, uint8_t tag) {
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags));
  return _mm_cmpeq_epi8_mask(all, _mm_set1_epi8(static_cast<char>(tag)));
}

// 16 tags fill half a register: AVX2 gives the broadcast, the comparison is its 128-bit form.
[[gnu::target("avx2")]] uint32_t MatchAvx2(const uint8_t* tags, uint8_t tag) {
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(tag)))));
}

uint32_t MatchScalar(const uint8_t* tags, uint8_t tag) {
  uint8_t all[16];
  std::memcpy(all, tags, sizeof all);
  uint32_t match = 0;
  for (uint32_t i = 0; i < sizeof all; ++i) match |= uint32_t{all[i] == tag} << i;
  return match;
}

}  // namespace

bool HasTags(Tags kind) {
  switch (kind) {
    case Tags::kAvx512:
      return kHasAvx512;
    case Tags::kAvx2:
      return kHasAvx2;
    case Tags::kScalar:
    case Tags::kAuto:
    case Tags::kCount:
      break;
  }
  return true;
}

Tags BestTags() { return kHasAvx512 ? Tags::kAvx512 : kHasAvx2 ? Tags::kAvx2 : Tags::kScalar; }

uint32_t MatchTags(Tags kind, const uint8_t* tags, uint8_t tag) {
  switch (kind) {
    case Tags::kAvx512:
      return MatchAvx512(tags, tag);
    case Tags::kAvx2:
      return MatchAvx2(tags, tag);
    case Tags::kScalar:
    case Tags::kAuto:
    case Tags::kCount:
      break;
  }
  return MatchScalar(tags, tag);
}

}  // namespace powercut::turbohash
