// A torn value is read by rep movsb in inline assembly.
//
// class: accesses that nobody saw
// bug: torn-value
// operations: [("insert", 1), ("update", 1)]
#include "targets/regression/in_place.h"

namespace {

struct Map final : regression::InPlace {
  using InPlace::InPlace;
  void read_value(uint8_t* out, const uint8_t* from, uint64_t size) override {
    asm volatile("rep movsb" : "+D"(out), "+S"(from), "+c"(size) : : "memory");
  }
};

}  // namespace

POWERCUT_PAIR(Map)
