// Where the files of a log lie. In the trace each file has a window (as tracer/stream/STREAM.md lays pools out). In the
// program a file lies wherever its last registration mapped it.
#ifndef POWERCUT_TRACER_PMEMCHECK_POOLS_H_
#define POWERCUT_TRACER_PMEMCHECK_POOLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tracer/pmemcheck/log.h"

namespace powercut::pmemcheck {

inline constexpr uint64_t kPage = 4096;
// An address above those of any process, larger than any file, and so low that sums do not wrap.
inline constexpr uint64_t kMaxAddress = uint64_t{1} << 57;

// One file and its window of the trace's offsets, which begins with the first byte of the file.
struct PoolFile {
  std::string path{};
  uint64_t offset = 0;   // where the window begins
  uint64_t size = 0;     // size of the file as far as it is known
  uint64_t address = 0;  // where the file's first byte lies in its largest mapping
};

// The files of a log, as a first pass over the log collects them.
class PoolTable {
 public:
  // Takes in a REGISTER_FILE entry. Returns the fault of a wrong entry as text.
  std::optional<std::string> add(const Entry& entry);
  // Makes a file at least this large. Returns false when the log registers no such file.
  bool grow(const std::string& path, uint64_t size);
  // Gives each file its window. Returns a text when the windows do not fit into the trace's offsets.
  std::optional<std::string> place();

  const std::vector<PoolFile>& pools() const { return pools_; }
  size_t index_of(const std::string& path) const { return indexes_.at(path); }
  uint64_t space() const { return space_; }  // bytes of all windows

 private:
  std::vector<PoolFile> pools_;
  std::map<std::string, size_t> indexes_;
  std::map<std::string, uint64_t> largest_;
  uint64_t space_ = 0;
};

// The mappings at one moment of the second pass. Logs do not tell of unmapping: a later registration of an address
// replaces the earlier one.
class AddressSpace {
 public:
  void map(uint64_t address, uint64_t size, uint64_t target);

  struct Piece {
    uint64_t size = 0;
    std::optional<uint64_t> offset;  // offset in the trace; nothing outside every mapping
  };
  // Returns the longest piece from `address` on, at most `size` bytes, that is mapped as one or not at all.
  Piece piece(uint64_t address, uint64_t size) const;

 private:
  struct Range {
    uint64_t end = 0, target = 0;
  };
  std::map<uint64_t, Range> ranges_;  // disjoint, by their first address
};

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_POOLS_H_
