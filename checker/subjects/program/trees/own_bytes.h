// The bytes of a file that a run has written itself, over those that the image has.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_OWN_BYTES_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_OWN_BYTES_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace powercut {

// Ranges [begin, end) of a file.
using FileRange = std::pair<uint64_t, uint64_t>;

// A set of bytes of a file.
class FileRanges {
 public:
  void add(uint64_t begin, uint64_t end);
  // Returns the parts of [begin, end) that the set lacks, ascending.
  std::vector<FileRange> missing(uint64_t begin, uint64_t end) const;

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin to end; disjoint, and none touches another
};

class OwnBytes {
 public:
  void write(uint64_t offset, std::span<const uint8_t> bytes);
  // Makes [begin, end) zeros that the run has written. They take no memory.
  void zero(uint64_t begin, uint64_t end);
  // Forgets all bytes from `end` on.
  void cut(uint64_t end);
  // Returns the parts of [begin, end) that the run has not written, ascending.
  std::vector<FileRange> missing(uint64_t begin, uint64_t end) const;
  // Puts the run's bytes over `bytes`, which are those of the file from `offset` on.
  void lay_over(uint64_t offset, std::span<uint8_t> bytes) const;

 private:
  struct Piece {
    uint64_t size = 0;
    std::string bytes;  // as many as `size`, or none: zeros
  };
  using Pieces = std::map<uint64_t, Piece>;  // by the offset of the first byte; disjoint
  // Returns the first piece that ends behind `offset`.
  Pieces::const_iterator ends_behind(uint64_t offset) const;
  // Takes [begin, end) out of all pieces.
  void take_out(uint64_t begin, uint64_t end);

  Pieces pieces_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_OWN_BYTES_H_
