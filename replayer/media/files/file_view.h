// The contents that one file may have, given the operations that are on disk ("Legal trees" of PROFILES.md, step 3).
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_FILE_VIEW_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_FILE_VIEW_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/media/files/disk.h"

namespace powercut::files {

// The operations that are on disk. `replacing`: renames over other files that are on disk beside the prefix, and need
// not be.
struct OnDisk {
  std::optional<uint32_t> prefix;   // nothing: operations are in no order
  std::vector<uint32_t> replacing;  // ascending
};

class FileView {
 public:
  FileView(const Disk& disk, const Inode& inode, const OnDisk& on_disk);

  const Inode& inode() const { return *inode_; }
  uint64_t sector_size() const { return sector_; }

  // Versions of a sector are legal from `low` to `high`.
  struct Legal {
    uint32_t low, high;
  };
  // Returns nothing for a sector whose newest version is its floor.
  const Legal* legal(uint64_t sector) const;
  // Legal versions of the size, by their numbers.
  uint32_t first_size() const { return first_size_; }
  uint32_t last_size() const { return last_size_; }
  // Returns the largest size among the versions [from, to].
  uint64_t largest(uint32_t from, uint32_t to) const;
  // Sizes that end within the sector's bytes, or before its first byte.
  const std::vector<uint32_t>& ending_in(uint64_t sector) const { return of(ending_in_, sector); }
  const std::vector<uint32_t>& ending_before(uint64_t sector) const { return of(ending_before_, sector); }
  // If the sector shows `version`, the sizes of these ranges are not there.
  std::vector<std::pair<uint32_t, uint32_t>> excluded_by(uint64_t sector, uint32_t version) const;
  // Sectors that some size needs, ascending.
  const std::vector<uint64_t>& needed() const { return needed_; }
  // Sectors with a choice of versions, ascending.
  std::vector<uint64_t> open() const;
  // Sectors at which there is something to choose, ascending.
  const std::vector<uint64_t>& interesting() const { return interesting_; }

  // Where write calls are on disk as a whole: calls that certainly are, those that are not, and the last sector in
  // which a call has a choice.
  bool on_disk(uint32_t call) const { return on_.contains(call); }
  bool missing(uint32_t call) const { return off_.contains(call); }
  uint64_t last_sector(uint32_t call) const;

 private:
  static const std::vector<uint32_t>& of(const absl::flat_hash_map<uint64_t, std::vector<uint32_t>>& map,
                                         uint64_t sector);
  void find_sizes(const OnDisk& on_disk, const Replacement& replaced);
  void find_sectors(const OnDisk& on_disk, const Replacement& replaced, bool whole_calls);
  void find_needs();

  const Inode* inode_;
  const uint64_t sector_;
  uint32_t first_size_ = 0, last_size_ = 0;
  absl::flat_hash_map<uint64_t, Legal> legal_;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> ending_in_, ending_before_;
  std::vector<std::vector<uint64_t>> largest_;  // [i][k]: of 2^i versions from first_size_ + k on
  struct Excluded {
    uint32_t least, from, to;
  };
  absl::flat_hash_map<uint64_t, std::vector<Excluded>> excluded_;  // by sector
  std::vector<uint64_t> needed_, interesting_;
  absl::flat_hash_set<uint32_t> on_, off_;
  absl::flat_hash_map<uint32_t, uint64_t> last_sector_;
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_FILE_VIEW_H_
