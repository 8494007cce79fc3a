// The value is written to the pool through /proc/self/mem, where nothing can see it.
//
// class: accesses that nobody saw
// bug: unknown: a store by the kernel through /proc/self/mem
#include <fcntl.h>
#include <unistd.h>

#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  void write_item(regression::Slot* slot, powercut_bytes key, powercut_bytes value) override {
    if (!BUG) return Slots::write_item(slot, key, value);
    std::memcpy(slot->key, key.data, key.size);
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (memory < 0) return;
    if (pwrite(memory, value.data, value.size, static_cast<off_t>(reinterpret_cast<uintptr_t>(slot->value))) < 0) {
      slot->key[0] ^= 0xff;
    }
    close(memory);
  }
};

}  // namespace

POWERCUT_PAIR(Map)
