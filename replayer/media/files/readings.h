// Counts and lists what a reader may find at some paths: each distinct finding once, though many choices of versions
// and of operations lead to it.
//
// A reader goes through the files of the paths side by side, sector by sector. A finding so far is a word. The choices
// that lead to a word are kept as a set, so equal words are one; findings are counted by counting words ("Counting" in
// PROFILES.md). Files are read side by side, since two paths may lead to one file, and then hold the same.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_READINGS_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_READINGS_H_

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replayer/media/files/choices.h"
#include "replayer/media/files/file_view.h"

namespace powercut::files {

using Count = boost::multiprecision::cpp_int;
// Alternatives by their numbers, ascending: each is a choice of operations.
using Alternatives = std::vector<uint32_t>;

// An inode that a path leads to.
struct Shown {
  uint64_t inode = 0;
  const FileView* file = nullptr;  // of a file
  bool bad = false;                // a folder that never reached the disk
  bool may_be_bad = false;         // of a file or a link
  bool operator==(const Shown&) const = default;
};

// A letter of a word.
struct Letter {
  enum class Kind : uint8_t { kFile, kFolder, kLink, kBad, kSector, kCut, kEnd, kEnded };
  Kind kind{};
  uint32_t size = 0;  // of kCut: bytes
  ContentId content = 0;
  auto operator<=>(const Letter&) const = default;
};

class Readings {
 public:
  // `shown[alternative][path]`.
  Readings(const Disk& disk, std::vector<std::vector<Shown>> shown, Effort* effort);

  // Returns the number of distinct findings by the alternatives that lead to them. Stops early when the effort is
  // exceeded.
  std::map<Alternatives, Count> count(const Alternatives& of) const;
  // Calls `use` with each distinct finding: the letters of each path, and the alternatives that lead to it.
  void each(const Alternatives& of,
            const std::function<void(const std::vector<std::vector<Letter>>&, const Alternatives&)>& use) const;

 private:
  // A file on the way: the versions of its size that are excluded, and write calls that are or are not on disk.
  struct Part {
    uint32_t shown = 0;  // the first path of this alternative that leads to the file
    bool ended = false;
    std::vector<std::pair<uint32_t, uint32_t>> excluded = {};
    std::vector<std::pair<uint32_t, bool>> calls = {};
    auto operator<=>(const Part&) const = default;
  };
  struct Item {
    uint32_t alternative = 0;
    std::vector<Part> parts = {};
    auto operator<=>(const Item&) const = default;
  };
  using State = std::vector<Item>;   // ascending, each once
  using Word = std::vector<Letter>;  // a letter for each path

  std::map<Word, State> begin(const Alternatives& of) const;
  std::map<Word, State> read(const State& state, uint64_t sector) const;
  std::map<Word, State> choose(
      const State& state,
      const std::function<std::vector<std::pair<Letter, Part>>(const Item&, const Part&)>& choices_of) const;
  std::vector<std::pair<Letter, Part>> read(const FileView& file, const Part& part, uint64_t sector) const;
  void cut(const FileView& file, Part part, uint64_t sector, ContentId content,
           std::vector<std::pair<Letter, Part>>* out) const;
  // Returns the next sector at which the state's words may differ; nothing behind the end of all files.
  std::optional<uint64_t> next(const State& state, uint64_t sector) const;
  const Shown& shown(const Item& item, const Part& part) const { return shown_[item.alternative][part.shown]; }

  const Disk& disk_;
  const std::vector<std::vector<Shown>> shown_;
  std::vector<std::vector<uint32_t>> first_;  // [alternative][path]: the first path with the same inode
  Effort* const effort_;
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_READINGS_H_
