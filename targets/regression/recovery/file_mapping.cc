// Recovery writes through a mapping of a file: what it writes outlives the execution. The twin only reads one.
//
// class: mappings
// bug: unknown: a file that target code maps to write to it is not modelled
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  using Slots::Slots;
  powercut_status recover() override {
#if BUG
    const int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0) return POWERCUT_CORRUPT;
    void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
#else
    const int file = open("/proc/self/exe", O_RDONLY);
    void* at = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
#endif
    close(file);
    if (at == MAP_FAILED) return POWERCUT_CORRUPT;
#if BUG
    static_cast<uint64_t*>(at)[1] = 1;
#else
    if (std::memcmp(at,
                    "\x7f"
                    "ELF",
                    4) != 0)
      return POWERCUT_CORRUPT;
#endif
    munmap(at, 4096);
    return Slots::recover();
  }
};

}  // namespace

POWERCUT_PAIR(Table)
