// Which trees a reader that was told some answers about one file may have before itself, and which answers are left.
//
// The operations on disk are decided (file_view.h). The file then has a size and a content of each sector, and a size
// excludes versions of sectors. Answers are letters (readings.h), so a sector's answer tells where the file ends, too.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_FILE_ANSWERS_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_FILE_ANSWERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "replayer/media/files/readings.h"
#include "replayer/media/files/versions_shown.h"

namespace powercut::files {

// Answers that a reader got about one file.
struct FileAnswers {
  std::optional<bool> bad = std::nullopt;       // whether the inode never reached the disk
  std::optional<uint64_t> size = std::nullopt;  // in bytes
  std::map<uint64_t, Letter> sectors = {};      // kSector, kCut or kEnd

  // Adds the other's answers. Returns false if the two contradict each other.
  bool add(const FileAnswers& other);
  bool empty() const { return !bad && !size && sectors.empty(); }
  bool operator==(const FileAnswers&) const = default;
};

// The contents of one file of a tree: its size, and its sectors with a choice of versions.
struct FileContents {
  bool bad = false;
  uint64_t size = 0;
  std::map<uint64_t, ContentId> sectors = {};
  bool operator==(const FileContents&) const = default;
};

// Returns the answers of a reader who reads all of the file.
FileAnswers answers_of(const FileContents& contents, const Disk& disk);

class FileReader {
 public:
  // `effort` counts steps; once it is exceeded, answers may be missing.
  FileReader(const Disk& disk, const FileView& file, Effort* effort);

  // Whether some legal contents agree with the answers.
  bool agrees(const FileAnswers& answers) const;
  // Returns the sizes that the file may have beside these answers, ascending.
  std::vector<uint64_t> sizes(const FileAnswers& answers) const;
  // Returns the letters that a sector may show beside these answers, the newest content first.
  std::vector<Letter> letters(const FileAnswers& answers, uint64_t sector) const;
  // Returns the contents that agree with the answers and have lost least. Precondition: agrees().
  FileContents newest(const FileAnswers& answers) const;

  // For tests: decides by all combinations of versions.
  void decide_slowly() { by_calls_ = true; }

 private:
  // An end of reading all sectors: the content of the sector that is asked for, and the excluded sizes.
  struct End {
    ContentId content = 0;
    Ranges excluded = {};
  };
  // The sizes that agree with the answers themselves: at least `low`, at most `high`.
  struct Limits {
    uint64_t low = 0, high = UINT64_MAX;
  };
  // Returns nothing if no size agrees.
  std::optional<Limits> limits(const FileAnswers& answers) const;
  bool matches(const FileAnswers& answers, uint64_t sector, ContentId content) const;
  // Returns the ends, by `sector` if a sector is asked for. Contents come newest first.
  std::vector<End> ends(const FileAnswers& answers, std::optional<uint64_t> sector) const;
  std::vector<End> ends_by_calls(const FileAnswers& answers, std::optional<uint64_t> sector) const;
  bool has_size(const Ranges& excluded, const Limits& limits) const;
  // Returns the highest version that matches; nothing if none does.
  std::optional<uint32_t> newest_match(const FileAnswers& answers, uint64_t sector) const;

  const Disk& disk_;
  const FileView& file_;
  Effort* const effort_;
  bool by_calls_;
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_FILE_ANSWERS_H_
