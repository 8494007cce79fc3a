// Which operations may be on disk, and where names lead then ("Legal trees" of PROFILES.md, steps 1 and 2).
//
// Entries whose last step is not known, and all names below such entries, fall into parts that do not depend on each
// other: the trees of all parts are a product. A part has alternatives, and the union of their trees is the part's.
// Files that stay where they are belong to a part only if their contents depend on its operations.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_CHOICES_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_CHOICES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "replayer/media/files/disk.h"
#include "replayer/media/files/file_view.h"

namespace powercut::files {

// Stops what takes too long.
struct Effort {
  uint64_t most = 0, made = 0;
  bool exceeded() const { return made > most; }
  // Begins another task, which may take as much as the one before. An effort that was exceeded stays so.
  void begin() {
    if (!exceeded()) made = 0;
  }
  // To follow some names is cheaper than a step of reading.
  void follow(size_t names) { made += names / 16 + 1; }
};

struct Place {
  std::string path;
  uint64_t inode = 0;
  bool bad = false;  // a folder that never reached the disk
  auto operator<=>(const Place&) const = default;
};

struct Alternative {
  OnDisk on_disk;
  std::vector<Place> places;  // by path
};

struct ChoicePart {
  uint64_t folder = kTreeRoot;  // the part is there if this folder is; the root is always there
  std::vector<Alternative> alternatives = {};
};

class Choices {
 public:
  enum class Parts : uint8_t {
    kApart,  // as small as can be, and without what stays as it is
    kWhole,  // one part, which has every path of every tree
  };
  // The parts are incomplete if the effort was exceeded.
  Choices(const Disk& disk, Parts parts, Effort* effort);

  const std::vector<ChoicePart>& parts() const { return parts_; }
  // Whether a folder's parts are counted apart from the part that the folder belongs to.
  bool holds_parts(uint64_t folder) const { return holders_of_parts_.contains(folder); }
  // Inodes of no part that stay where they are, and have several states; `any` is one choice of operations for them.
  const std::vector<uint64_t>& apart() const { return apart_; }
  const OnDisk& any() const { return any_; }

 private:
  using Entries = std::vector<const NamedEntry*>;
  using Shows = std::map<const NamedEntry*, uint64_t>;  // the inode that each entry leads to

  bool stays(uint64_t folder);
  bool stays(const NamedEntry* entry);
  bool has_staying_name(uint64_t inode);
  bool may_hold_parts(uint64_t folder);
  std::vector<uint64_t> may_lead_to(const NamedEntry* entry) const;
  Entries names_in(uint64_t folder) const;
  void collect();
  void take(const NamedEntry* entry);

  const NamedEntry* top(const NamedEntry* entry);
  bool join(const NamedEntry* one, const NamedEntry* other);
  void join_coupled();
  bool join_folders();
  std::map<const NamedEntry*, Entries> joined();

  std::vector<uint32_t> prefixes() const;
  std::set<std::set<StepNumber>> overtaking();
  bool depends_on_order(const Inode& inode, uint32_t least) const;
  void find_by_order(const Entries& entries);
  void find_by_operations(const Entries& entries, uint64_t folder);
  void add_alternatives(const Entries& entries, const Shows& shows, const OnDisk& on_disk,
                        const std::set<uint64_t>& staying, ChoicePart* part);
  std::vector<Place> places_of(const Entries& entries, const Shows& shows, const std::set<uint64_t>& bad,
                               const std::set<uint64_t>& staying, uint64_t folder);
  void walk(const Shows& shows, const std::set<uint64_t>& bad, const NamedEntry* entry, std::string path,
            std::vector<uint64_t>* above, std::vector<Place>* out) const;
  std::set<uint64_t> staying_inodes(const Entries& entries);

  const Disk& disk_;
  const Parts kind_;
  Effort* const effort_;
  std::map<uint64_t, bool> stays_;                        // folders
  std::map<const NamedEntry*, const NamedEntry*> known_;  // entries of parts, joined (union-find)
  std::set<uint64_t> holders_of_parts_;
  std::set<uint64_t> coupled_;  // inodes that stay, and belong to a part
  std::vector<ChoicePart> parts_;
  std::vector<uint64_t> apart_;
  OnDisk any_;
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_CHOICES_H_
