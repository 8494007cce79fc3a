// One masked store writes value and seal, and the seal's lane comes last: nothing orders the lanes.
//
// class: stores in pieces
// bug: torn-value
// operations: [("insert", 1), ("insert", 2)]
// options: {"nested": 0}
// flags: -O2 -mavx2
// needs: avx2
#include <immintrin.h>

#include "targets/regression/sealed.h"

namespace {

struct Map final : regression::Sealed {
  using Sealed::Sealed;
  void write_sealed(powercut::regression::Slot* slot, const uint64_t (&value)[2]) override {
    // Words 4 to 7; the first half of the value is the store before it.
    powercut::pmem::atomic_store(&words(slot)[3], value[0]);
    powercut::pmem::persist(slot, sizeof *slot);
    const __m256i lanes = _mm256_set_epi64x(1, 0, 0, static_cast<int64_t>(value[1]));
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(&words(slot)[4]), _mm256_set_epi64x(-1, 0, 0, -1), lanes);
  }
};

}  // namespace

POWERCUT_PAIR(Map)
