// A torn value is appended to a std::string, whose code nobody instrumented.
//
// class: accesses that nobody saw
// bug: torn-value
// operations: [("insert", 1), ("update", 1)]
#include <string>

#include "targets/regression/in_place.h"

namespace {

struct Map final : regression::InPlace {
  using InPlace::InPlace;
  void read_value(uint8_t* out, const uint8_t* from, uint64_t size) override {
    std::string text(3, '.');
    text.append(reinterpret_cast<const char*>(from), size);
    std::memcpy(out, text.data() + 3, size);
  }
};

}  // namespace

POWERCUT_PAIR(Map)
