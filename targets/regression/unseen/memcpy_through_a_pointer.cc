// A torn value is read by the C library's memcpy, through a table of operations.
//
// class: accesses that nobody saw
// bug: torn-value
// operations: [("insert", 1), ("update", 1)]
#include "targets/regression/in_place.h"

namespace {

struct Operations {
  void* (*copy)(void*, const void*, size_t);
};
Operations* volatile operations = new Operations{std::memcpy};

struct Map final : regression::InPlace {
  using InPlace::InPlace;
  void read_value(uint8_t* out, const uint8_t* from, uint64_t size) override { operations->copy(out, from, size); }
};

}  // namespace

POWERCUT_PAIR(Map)
