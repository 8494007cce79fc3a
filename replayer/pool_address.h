// Where the pool lies, in every process of every run: pointers that a target keeps in it mean the same everywhere.
#ifndef POWERCUT_REPLAYER_POOL_ADDRESS_H_
#define POWERCUT_REPLAYER_POOL_ADDRESS_H_

#include <cstdint>

namespace powercut {

// Below 8 TiB, since Valgrind keeps what is above for itself; far from where the kernel, without randomisation, puts
// programs (85 TiB) and libraries (127 TiB), and from where Valgrind puts them (below 256 GiB).
inline constexpr uint64_t kPoolBase = 0x060000000000;

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_POOL_ADDRESS_H_
