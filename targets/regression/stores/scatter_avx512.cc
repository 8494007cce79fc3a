// A scatter writes value and seal: only lanes that overlap are ordered.
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
        _mm512_set_epi64(0, 0, 0, 0, 0, 1, static_cast<int64_t>(value[1]), static_cast<int64_t>(value[0]));
    const __m512i indices = _mm512_set_epi64(0, 0, 0, 0, 0, 7, 4, 3);
    _mm512_mask_i64scatter_epi64(slot, 0b111, indices, lanes, 8);
  }
};

}  // namespace

POWERCUT_PAIR(Map)
