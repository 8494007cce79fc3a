// As masked_store_avx2, with the masks of AVX-512.
//
// class: stores in pieces
// bug: torn-value
// operations: [("insert", 1), ("insert", 2)]
// options: {"nested": 0}
// flags: -O2 -mavx512f
// needs: avx512f
#include <immintrin.h>

#include "targets/regression/sealed.h"

namespace {

struct Map final : regression::Sealed {
  using Sealed::Sealed;
  void write_sealed(powercut::regression::Slot* slot, const uint64_t (&value)[2]) override {
    const __m512i lanes =
        _mm512_set_epi64(1, 0, 0, static_cast<int64_t>(value[1]), static_cast<int64_t>(value[0]), 0, 0, 0);
    _mm512_mask_storeu_epi64(slot, 0b10011000, lanes);
  }
};

}  // namespace

POWERCUT_PAIR(Map)
