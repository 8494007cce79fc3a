// A torn value is read by a function that nobody instrumented.
//
// class: accesses that nobody saw
// bug: torn-value
// operations: [("insert", 1), ("update", 1)]
#include "targets/regression/in_place.h"

extern "C" void plain_copy(uint8_t* out, const uint8_t* from, uint64_t size);

namespace {

struct Map final : regression::InPlace {
  using InPlace::InPlace;
  void read_value(uint8_t* out, const uint8_t* from, uint64_t size) override { plain_copy(out, from, size); }
};

}  // namespace

POWERCUT_PAIR(Map)
