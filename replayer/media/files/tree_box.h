// The legal trees of one crash point that give some answers to some questions of a reader.
//
// A reader asks where a name leads, which names a folder has, how large a file is, what a sector holds. The box knows
// each answer that some tree in it gives, so an explorer that follows every answer leaves no tree out
// (checker/exploration/trees). A question about a path is asked behind the question about its folder.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_TREE_BOX_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_TREE_BOX_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replayer/media/files/tree_world.h"

namespace powercut::files {

struct Question {
  enum class Kind : uint8_t { kName, kNames, kLinks, kSize, kSector };
  Kind kind{};
  PathId path = kRootPath;
  uint64_t sector = 0;
  auto operator<=>(const Question&) const = default;
  template <typename H>
  friend H AbslHashValue(H hash, const Question& question) {
    return H::combine(std::move(hash), question.kind, question.path, question.sector);
  }
};

struct Answer {
  enum class Kind : uint8_t {
    kNothing,  // there is no such name
    kBad,      // the name leads to an inode that never reached the disk
    kFile,
    kFolder,
    kLink,    // value: the target, a ContentId
    kSame,    // value: the path of a file that was asked for before: another name of it
    kNames,   // value: the listing, a ContentId
    kLinks,   // value: number of names that lead to the inode
    kSize,    // value: bytes
    kSector,  // value: a ContentId
    kCut,     // value: a ContentId; extra: bytes before the file ends
    kEnd,     // the file ends before the sector
  };
  Kind kind{};
  uint32_t extra = 0;
  uint64_t value = 0;
  auto operator<=>(const Answer&) const = default;
  template <typename H>
  friend H AbslHashValue(H hash, const Answer& answer) {
    return H::combine(std::move(hash), answer.kind, answer.extra, answer.value);
  }
};

class TreeBox {
 public:
  // All legal trees. `world` outlives this.
  explicit TreeBox(TreeWorld* world);

  // Returns every answer that some tree in the box gives, the one that has lost least first. With an effort that is
  // exceeded, answers may be missing: ask the world.
  std::vector<Answer> answers(const Question& question);
  // Leaves the trees that give the answer, which is one of answers(). `only`: no tree of the box gives another answer.
  void narrow(const Question& question, const Answer& answer, bool only = false);
  // Returns a tree of the box that has lost as little as possible.
  ChosenTree newest();

  // Returns the files whose names were asked for, in order.
  const std::vector<PathId>& asked() const { return asked_; }

  using Mark = std::pair<size_t, size_t>;
  Mark mark() const { return {undo_alive_.size(), undo_files_.size()}; }
  // Takes back what was narrowed since the mark.
  void undo(Mark mark);

 private:
  using Resolved = TreeWorld::Resolved;
  using Alive = std::vector<uint32_t>;
  using Listing = std::map<std::string, InodeKind>;
  static constexpr uint32_t kSettled = TreeWorld::kSettled;

  const Alive& alive(uint32_t part) const;
  void leave(uint32_t part, const std::function<bool(uint32_t)>& stays);
  void tell(PathId path, FileAnswers answers);
  // Returns all answers about the inode that a path leads to in an alternative.
  std::optional<FileAnswers> told_of(PathId path, uint32_t part, uint32_t alternative, const FileAnswers& more);
  FileReader reader(PathId path, uint32_t part, uint32_t alternative);
  bool agrees(PathId path, uint32_t part, uint32_t alternative, const FileAnswers& more);
  uint32_t links(uint32_t part, uint32_t alternative, uint64_t inode);
  PathId same_as(PathId path, uint32_t part, uint32_t alternative);

  std::vector<Answer> names_of(PathId path, uint32_t part, uint32_t alternative);
  std::vector<Answer> listings(PathId path);
  Listing listing(uint64_t folder, uint32_t part, uint32_t alternative) const;
  std::vector<uint32_t> parts_in(uint64_t folder, uint32_t but) const;
  std::vector<Answer> of_file(const Question& question);
  void narrow_listing(PathId path, const Answer& answer);

  TreeWorld& world_;
  std::vector<Alive> alive_;
  std::map<PathId, FileAnswers> files_;
  std::vector<PathId> asked_;  // files, in the order in which their names were asked for
  std::vector<std::pair<uint32_t, Alive>> undo_alive_;
  std::vector<std::pair<PathId, std::optional<FileAnswers>>> undo_files_;
};

// Returns the answer of one tree. `asked`: the files whose names were asked for before, in order.
Answer answer_of(TreeWorld* world, const ChosenTree& tree, const std::vector<PathId>& asked, const Question& question);

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_TREE_BOX_H_
