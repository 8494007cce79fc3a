// The files that recovery is given: one for each pool, with the bytes of the crash image at hand. A run may change,
// truncate, rename or delete the files and leave others beside them; restore() undoes all such changes.
//
// A run that reports its reads tells which pages it may have changed. For any other run, restore() compares the pages
// that the files have data in with the expected bytes: a store through a shared mapping leaves no other reliable trace.
// Pages that nobody ever touched are holes and cost nothing.
//
// The medium of a pool says what a line of the image is in the file (replayer/media/image_writer.h).
//
// A recovery may ask for facts that a power cut does not leave: when its files were changed, and which inodes they are.
// Each run is given times of the caller's choice, and now and then other inodes. Not restored: owner and extended
// attributes.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_IMAGE_FILES_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_IMAGE_FILES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checker/subjects/program/images/image_name.h"
#include "checker/subjects/program/images/trace_pools.h"
#include "replayer/models/line_log.h"
#include "tracer/runtime/reads/read_log.h"

namespace powercut {

class ImageFiles {
 public:
  // Makes the files, all zeros, in `folder`, which must be empty and stays the caller's.
  static Result<std::unique_ptr<ImageFiles>> create(const std::string& folder, const TracePools& pools);
  ~ImageFiles();
  ImageFiles(const ImageFiles&) = delete;
  ImageFiles& operator=(const ImageFiles&) = delete;

  // One path for each window of the pools, in their order.
  const std::vector<std::string>& paths() const { return paths_; }
  // Sets the line's content in the image from now on. Call put() only between restore() and the next run, and see
  // full().
  void put(uint64_t line, const Content& content);
  // The name of the image that put() has made, from all lines that put() was given, whatever the files hold.
  const ImageName& name() const { return name_; }
  // An error, set when the files do not hold the image that put() has made.
  const std::optional<EngineError>& full() const { return full_; }
  // Sets the times of the files and their folders, before a run: changed and accessed `before` nanoseconds before
  // create().
  void set_times(uint64_t before);
  // Replaces the files and their folders by other inodes with the same bytes. Call change_inodes() between two runs.
  std::optional<EngineError> change_inodes();
  // Restores the image after a run and all its processes have ended. Returns how many pages the run had changed.
  // `changed`: the run can have changed no other pages.
  using Pages = std::vector<powercut_image_page>;
  Result<uint64_t> restore(const std::optional<Pages>& changed = std::nullopt);

 private:
  struct File {
    std::string folder;  // the folder in which the file lies alone
    std::string name;
    uint64_t offset = 0;           // of its bytes in `expected_`
    uint64_t room = 0, size = 0;   // bytes: at most, and now
    uint64_t line = 0, lines = 0;  // in the trace's offset space
    PoolFile pool;
    const ImageWriter* writer = nullptr;
    int fd = -1;
    uint64_t inode = 0;
    uint8_t* mapped = nullptr;
  };
  ImageFiles() = default;
  // `folder`: the folder in which the file is made, for now; empty: its own.
  std::optional<EngineError> open(File* file, const std::string& folder = {});
  // Writes the expected bytes to a file that holds none.
  std::optional<EngineError> fill(const File& file);
  std::optional<EngineError> make_anew(File* file);
  uint64_t restore_all(const File& file);
  // Does to one file what its writer asks for.
  class Writing;
  void put_bytes(const File& file, uint64_t within, std::span<const uint8_t> bytes);
  void set_size(File* file, uint64_t size);
  uint64_t compare(const File& file, uint64_t begin, uint64_t end);
  // Whether the page of the expected image, by its number in the space, ever held anything but zeros.
  bool written(uint64_t page) const { return (written_[page / 64] >> (page % 64) & 1) != 0; }

  std::vector<File> files_;
  std::vector<std::string> paths_;
  uint64_t space_ = 0;
  uint8_t* expected_ = nullptr;  // the whole offset space, and behind it the bytes of files that lie elsewhere
  ImageName name_;               // of the offset space
  std::vector<uint64_t> written_;
  uint64_t made_ = 0;  // nanoseconds of the clock
  std::optional<EngineError> full_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_IMAGE_FILES_H_
