// Recovery keeps its index in memory that it maps (mmap, mremap, munmap), not in memory of malloc.
//
// class: mappings
// bug: lost-item, torn-value
// operations: [("insert", 1), ("insert", 2)]
#include <sys/mman.h>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
    constexpr size_t kSize = 8192;
    void* at = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return POWERCUT_CORRUPT;
    index = static_cast<uint64_t*>(at);
    for (uint64_t i = 0; i < count; ++i) {
      if (index[i] != 0) return POWERCUT_CORRUPT;  // what is mapped is zeroed
      index[i] = slots[i].used;
    }
    at = mremap(at, kSize, 4 * kSize, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) return POWERCUT_CORRUPT;
    index = static_cast<uint64_t*>(at);
    index[3 * kSize / 8] = 1;
    void* other = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(other, 1, kSize);
    munmap(other, kSize);
    return Slots::recover();
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    put(slot, key, value);
    index[slot - slots] = 1;
    return POWERCUT_OK;
  }
  uint64_t* index = nullptr;
};

}  // namespace

POWERCUT_PAIR(Table)
