// A disk under one profile: what each call adds to the versions of its objects, and which floors a sync raises.
//
// PROFILES.md beside this states the model; sections are named as there. Versions, operations and floors have the
// numbers that the brute force (disk.py) gives them. Versions below a floor are dropped: no tree shows them again.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_DISK_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_DISK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "replayer/media/files/contents.h"
#include "replayer/media/files/effect.h"
#include "replayer/media/files/switches.h"

namespace powercut::files {

struct Units {
  uint64_t sector = 512, page = 4096;  // bytes; a page is one or more sectors
};

struct SectorVersion {
  ContentId value;
  uint32_t at;      // operations that were made before; an operation's own version counts the operation
  uint32_t call;    // the write call that made it; 0: none
  bool bound;       // on disk exactly when its operation is
  uint32_t by = 0;  // the number of the recorded call that made it
};

struct Sector {
  uint32_t first = 0;  // the number of versions[0]
  uint32_t floor = 0;  // the number of a version
  bool written = false, allocated = false;
  absl::InlinedVector<SectorVersion, 1> versions;

  uint32_t newest() const { return first + static_cast<uint32_t>(versions.size()) - 1; }
  const SectorVersion& operator[](uint32_t number) const { return versions[number - first]; }
};

// A sector that must have this version or a later one.
struct Need {
  uint64_t sector;
  uint32_t least;
};

struct SizeVersion {
  uint64_t size;
  uint32_t at, call;
  bool bound;
  bool chained;           // it needs what the version before it needs, too
  std::vector<Need> own;  // what it needs beside that
  uint32_t by = 0;        // the number of the recorded call that made it
};

// The newest versions of a file when it was renamed over another one. Sectors at their floors are left out.
struct Replacement {
  uint32_t size = 0;
  absl::flat_hash_map<uint64_t, uint32_t> sectors;

  void raise_to(const Replacement& other);
};

struct Inode {
  InodeKind kind{};
  std::string target;
  bool is_new = false;  // was made together with its first name
  bool there = true;    // is on disk
  bool synced = false;  // by a call on itself, since all operations were durable

  // Operations that were made before the last change of the inode, and of its size or blocks ("Syncs").
  uint32_t changed = 0, resized = 0;
  uint32_t first_size = 0, size_floor = 0;  // the number of sizes[0], and of a version
  std::vector<SizeVersion> sizes{{}};
  absl::flat_hash_map<uint64_t, Sector> sectors;  // others are zeroes that nobody has written
  std::set<uint64_t> open;                        // sectors with versions behind their floors
  absl::flat_hash_set<uint32_t> sure_calls;       // write calls that are on disk, since a sector of theirs is
  // Renames over other files that may be on disk, by operation; and what the others have left.
  std::map<uint32_t, Replacement> replacements;
  Replacement replaced;
  std::vector<uint32_t> bound_operations;  // those that brought bound versions, since the last sync of the whole file
  uint64_t stamp = 0;                      // the number of the last change of versions or floors
  uint64_t start_size = 0;                 // nobody knows which bytes of the start are holes: all count as written

  uint32_t newest_size() const { return first_size + static_cast<uint32_t>(sizes.size()) - 1; }
  const SizeVersion& size_at(uint32_t number) const { return sizes[number - first_size]; }
  uint64_t size() const { return sizes.back().size; }
};

// A step by its operation and its place in it.
struct StepNumber {
  uint32_t operation;
  uint8_t place;
  auto operator<=>(const StepNumber&) const = default;
};

struct EntryName {
  uint64_t folder;
  std::string name;
  auto operator<=>(const EntryName&) const = default;
};

struct Entry {
  uint64_t base = 0;              // the inode that the entry leads to at least: by the last step that is on disk
  std::vector<StepNumber> later;  // steps behind that
};
using NamedEntry = std::pair<const EntryName, Entry>;

struct Step {
  NamedEntry* entry;
  uint64_t leads_to;  // 0: the name is gone
  uint64_t concerns;  // the inode that gains or loses this name
  bool sure = false;  // durable, by itself or in the durable prefix
};

struct Operation {
  absl::InlinedVector<Step, 2> steps;
  uint64_t replaces = 0;  // the inode that is renamed over another one; 0: none
  uint64_t resizes = 0;   // the inode whose bound versions the operation brings; 0: none
  uint32_t by = 0;        // the number of the recorded call that made it

  // Whether a step is on disk with the first one alone, under `new-first`.
  bool needs_first(uint8_t place) const { return place > 0 || (steps.size() > 1 && steps[1].leads_to > 0); }
};

// The floors that a sync raises. Each part names only what is not durable yet.
struct Raise {
  uint32_t prefix = 0;  // 0: stays
  std::set<StepNumber> steps;
  std::set<uint64_t> there;                            // inodes
  std::vector<uint64_t> whole;                         // inodes whose floors become their newest versions
  uint64_t synced = 0;                                 // the inode that the call is on; 0: none
  bool all = false;                                    // all operations
  std::vector<std::pair<uint64_t, uint32_t>> sizes;    // inode, floor
  std::vector<std::pair<uint64_t, uint64_t>> sectors;  // inode, sector: the floor becomes its newest version

  bool empty() const {
    return prefix == 0 && steps.empty() && there.empty() && whole.empty() && sizes.empty() && sectors.empty();
  }
};

class Disk {
 public:
  Disk(const Switches& switches, Units units, Contents* contents);
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // Says which recorded call makes the effects that follow.
  void set_call(uint64_t number) { call_ = static_cast<uint32_t>(number); }
  // Makes an effect that is no sync. Returns false for one that no program can have made.
  bool apply(const Effect& effect);
  // Returns what a sync raises.
  Raise raise_of(const Effect& sync) const;
  void apply(const Raise& raise);

  const Switches& switches() const { return switches_; }
  Units units() const { return units_; }
  Contents& contents() const { return *contents_; }
  const Inode& inode(uint64_t number) const { return inodes_.at(number); }
  const std::map<uint64_t, Inode>& inodes() const { return inodes_; }
  // Returns the newest content of a sector: of one without a choice, the only one.
  ContentId settled(const Inode& inode, uint64_t sector) const {
    const auto found = inode.sectors.find(sector);
    return found == inode.sectors.end() ? contents_->zeroes() : found->second.versions.back().value;
  }
  const std::vector<Operation>& operations() const { return operations_; }
  const Step& step(StepNumber number) const { return operations_[number.operation].steps[number.place]; }
  uint32_t prefix() const { return prefix_; }
  const std::map<EntryName, Entry>& entries() const { return entries_; }
  uint64_t now(const Entry& entry) const {
    return entry.later.empty() ? entry.base : step(entry.later.back()).leads_to;
  }
  // Entries that may lead to the inode.
  const std::set<const NamedEntry*>& holders(uint64_t inode) const;
  // Entries whose last step on disk is not known, in their order.
  const std::map<EntryName, const NamedEntry*>& undecided() const { return undecided_; }
  // In one order: operations that make a difference if they are missing.
  const std::set<uint32_t>& live() const { return live_; }
  // Steps that may be on disk together, by themselves ("Steps that overtake"). Some may be sure.
  const std::vector<std::vector<StepNumber>>& overtaking() const { return overtaking_; }
  // Inodes with more than one state.
  const std::set<uint64_t>& open_inodes() const { return open_inodes_; }
  bool may_be_bad(uint64_t inode) const;
  // Whether a call had a range of so many sectors that the disk does not follow it. Trees are not known then.
  bool too_large() const { return too_large_; }

 private:
  Inode* file(uint64_t number);
  Sector& sector_of(Inode& inode, uint64_t number);
  void add(Inode& inode, uint64_t number, Sector& sector, SectorVersion version);
  bool take_inode(const Effect& effect);
  bool take_content(Inode& inode, uint64_t offset, std::string_view data, uint64_t size);
  void overlay(std::string* content, uint64_t number, uint64_t offset, std::string_view data) const;
  bool rename(const Effect& effect);
  void operate(std::vector<Step> steps, uint64_t replaces = 0, Replacement replacement = {});
  uint64_t at(uint64_t folder, const std::string& name) const;
  void may_overtake(uint64_t number, uint64_t old_folder);
  NamedEntry* entry(uint64_t folder, const std::string& name) { return &*entries_.try_emplace({folder, name}).first; }
  bool has_block(const Inode& inode, uint64_t page) const;
  void write(Inode& inode, uint64_t offset, std::string_view data);
  void begin_resizing(uint64_t number, Inode& inode);
  void add_size(Inode& inode, SizeVersion version);
  Operation& add_operation();
  void bring(Inode& inode);
  void resize(uint64_t number, Inode& inode, uint64_t size);
  void allocate(uint64_t number, Inode& inode, const Effect& effect);
  void zero(Inode& inode, uint64_t begin, uint64_t end, uint64_t stays);
  void changed(uint64_t number, Inode& inode);

  void raise_inode(uint64_t number, Raise* raise) const;
  void raise_file(const Effect& sync, const Inode& inode, Raise* raise) const;
  void raise_names(uint64_t number, Raise* raise) const;
  void raise_first_name(uint64_t number, Raise* raise) const;
  void raise_step(StepNumber number, Raise* raise) const;
  void raise_prefix(uint32_t prefix, Raise* raise) const;
  uint32_t size_for(const Inode& inode, uint64_t end) const;
  void settle_whole(uint64_t number, Inode& inode);
  void settle_sector(Inode& inode, uint64_t number);
  void make_sure(StepNumber number);
  void drop_holder(const NamedEntry* entry, uint64_t inode);

  const Switches switches_;
  const Units units_;
  Contents* const contents_;
  std::map<uint64_t, Inode> inodes_;
  std::map<EntryName, Entry> entries_;
  std::map<uint64_t, std::set<const NamedEntry*>> holders_;
  std::map<EntryName, const NamedEntry*> undecided_;
  std::vector<Operation> operations_;
  std::map<uint64_t, std::vector<StepNumber>> in_folder_, concerning_;  // steps that are not durable; none in one order
  std::map<uint64_t, StepNumber> first_name_;                           // the first step that leads to an inode
  std::set<uint32_t> live_;
  std::set<uint64_t> open_inodes_;
  std::vector<std::vector<StepNumber>> overtaking_;
  uint32_t prefix_ = 0;
  uint32_t calls_ = 0;    // of writes
  uint32_t call_ = 0;     // that makes effects, by its number in the recording
  uint64_t changes_ = 0;  // for stamps
  bool too_large_ = false;
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_DISK_H_
