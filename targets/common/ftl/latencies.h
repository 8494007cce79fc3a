// Latencies of operations on the devices of Table 1 of "Hash in a Flash", in seconds.
#ifndef POWERCUT_TARGETS_COMMON_FTL_LATENCIES_H_
#define POWERCUT_TARGETS_COMMON_FTL_LATENCIES_H_

#include <cstdint>

#include "targets/common/ftl/settings.h"

namespace powercut::ftl {

// Table 1; block operations from footnote 4, as so many page operations.
struct Device {
  const char* name;
  uint32_t page_bytes;
  double read_us, write_us;        // of a page at a random place
  double read_mb_s, write_mb_s;    // sustained, of pages in a row
  double block_read, block_write;  // of a block, in reads and writes of a page

  double PageRead() const { return read_us * 1e-6; }
  double PageWrite() const { return write_us * 1e-6; }
  double SequentialRead() const { return page_bytes / (read_mb_s * 1e6); }    // of a page
  double SequentialWrite() const { return page_bytes / (write_mb_s * 1e6); }  // of a page
  double BlockRead() const { return block_read * PageRead(); }
  double BlockWrite() const { return block_write * PageWrite(); }
};

inline constexpr Device kDevices[] = {
    {"MLC-1", 4096, 65, 110, 170, 35, 30, 50},
    {"MLC-2", 4096, 65, 85, 250, 70, 25, 35},
    {"SLC", 4096, 75, 85, 250, 170, 24, 28},
};

// The paper has no time of an erase; its simulator has this one (Agrawal and others, USENIX ATC 2008, Table 1).
inline constexpr double kErase = 1.5e-3;

// Returns the seconds that the medium was busy. Moved pages are read and written in a row, all other pages one by one.
inline double TimeOf(const Device& device, const Counts& counts) {
  return static_cast<double>(counts.page_reads - counts.moved) * device.PageRead() +
         static_cast<double>(counts.page_programs - counts.moved) * device.PageWrite() +
         static_cast<double>(counts.moved) * (device.SequentialRead() + device.SequentialWrite()) +
         static_cast<double>(counts.block_erases) * kErase;
}

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_LATENCIES_H_
