// A torn value is passed by value: the copy is made by code of the call that no pass sees.
//
// class: accesses that nobody saw
// bug: torn-value
// operations: [("insert", 1), ("update", 1)]
#include "targets/regression/in_place.h"

namespace {

// Larger than two registers and as aligned as the stack: passed in memory, and copied there by the call.
struct Value {
  uint64_t words[3];
};

[[gnu::noinline]] void copy_out(Value value, uint8_t* out, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i) out[i] = reinterpret_cast<const uint8_t*>(value.words)[i];
}

struct Map final : regression::InPlace {
  using InPlace::InPlace;
  void read_value(uint8_t* out, const uint8_t* from, uint64_t size) override {
    copy_out(*reinterpret_cast<const Value*>(from), out, size);
  }
};

}  // namespace

POWERCUT_PAIR(Map)
