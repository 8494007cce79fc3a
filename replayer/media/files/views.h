// The contents that files of a disk may have, by the operations that are on disk. Choices of operations that make no
// difference for a file have one view.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_VIEWS_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_VIEWS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "replayer/media/files/file_view.h"

namespace powercut::files {

class Views {
 public:
  // `disk` outlives this, and does not change while views of it are used.
  explicit Views(const Disk& disk) : disk_(disk) {}

  // Returns the view of a file, which stays until clear().
  const FileView* of(uint64_t inode, const OnDisk& on_disk);
  void clear();

 private:
  using FileChoice = std::tuple<uint64_t, std::optional<uint32_t>, std::vector<uint32_t>>;

  const Disk& disk_;
  std::map<FileChoice, std::unique_ptr<FileView>> views_;
  std::map<uint64_t, std::vector<uint32_t>> thresholds_;  // prefixes at which an inode's choices change
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_VIEWS_H_
