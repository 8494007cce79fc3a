// The log of what happens to the folder: calls on trees for the trace, and the tree that they make so far. It knows
// which inode of the trace a real file is, reads back what a write has left, and finds what a mapping has changed.
#ifndef POWERCUT_TRACER_CALLS_TREE_LOG_H_
#define POWERCUT_TRACER_CALLS_TREE_LOG_H_

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tracer/calls/calling_thread.h"
#include "tracer/calls/own_descriptor.h"
#include "tracer/calls/told_file.h"
#include "tracer/calls/tree.h"
#include "tracer/format/writer.h"

namespace powercut {

class TreeLog {
 public:
  TreeLog(TraceWriter& trace, std::string folder) : trace_(trace), folder_(std::move(folder)) {}

  // Takes the tree at the start. Returns an error if the folder cannot be recorded.
  std::optional<EngineError> begin();

  // The calls that follow are of this thread, by the system call of this name.
  void by(uint32_t thread, std::string_view call, uint32_t stack);

  uint32_t thread() const { return thread_; }
  uint32_t stack() const { return stack_; }
  // Appends an event that is no call on the tree.
  void append(const Event& event) { trace_.append(event); }
  uint64_t events() const { return trace_.events(); }
  // The calls since the start, as people count them: the further pieces of one write are none.
  uint64_t calls() const { return calls_; }

  // Returns the inode of a real file; 0 for a file outside.
  uint64_t inode_of(const struct stat& status) const;
  const Tree& tree() const { return tree_; }
  // Whether this is the folder itself or one above it.
  bool holds_the_folder(const struct stat& status) const { return above_.contains(key_of(status)); }
  uint64_t device() const { return device_; }
  // False for a file system that a process serves: the recorded program may be this process.
  bool is_of_the_kernel() const { return is_of_the_kernel_; }

  // These record the effect of a call. A `Place` is where the name leads to after the call.
  void created(const Place& place);                   // a new file, folder or link
  void made_without_name(const struct stat& status);  // by O_TMPFILE
  void linked(const Place& place);
  void unlinked(uint64_t folder, const std::string& name);
  void renamed(uint64_t folder, const std::string& name, uint64_t new_folder, const std::string& new_name,
               bool exchange);
  void moved_in(const Place& place);                                                    // from outside of the folder
  void wrote(uint64_t inode, int file, uint64_t offset, uint64_t size, uint8_t flags);  // reads the bytes back
  void wrote(uint64_t inode, uint64_t offset, std::span<const uint8_t> bytes, uint8_t flags);
  void resized(uint64_t inode, uint64_t size);
  void allocated(uint64_t inode, uint64_t offset, uint64_t size, uint8_t mode);
  void synced(uint64_t inode, TreeSync what, unsigned flags, uint64_t offset, uint64_t size);
  void synced_all();
  void attributes_changed(uint64_t inode);
  // The folder itself has gone, or has another path: nothing is recorded from now on.
  void lost_the_folder();
  void note(TreeNote kind, const std::string& sentence);
  void ended(bool by_signal, int how);

  // Writes to this file are told to `file`, which outlives the log.
  void tells(const struct stat& status, ToldFile& file) { told_[key_of(status)] = &file; }
  // Returns null for a file whose writes nobody asks for.
  ToldFile* told_file(const struct stat& status) const;

  // A write to a file outside of the folder, for people who named another one.
  void wrote_elsewhere(int file, const struct stat& status);
  uint64_t files_elsewhere() const { return elsewhere_.size(); }
  // Returns those with the most writes.
  std::vector<std::string> likely_elsewhere(size_t most) const;

  // Records how the file differs from the recorded calls. Returns false if it cannot be read.
  bool look_at(uint64_t inode, const OwnDescriptor& file);
  // The file has a shared mapping of a descriptor that may write: it may be read-only, and become writable later.
  void mapped(uint64_t inode, const OwnDescriptor& file);
  // The mapping is writable.
  void may_store_to(uint64_t inode);
  // Another tracer tells of every store through a mapping.
  void stores_are_told() { stores_are_told_ = true; }
  bool has_mappings() const { return !mapped_.empty(); }
  bool is_mapped(uint64_t inode) const { return mapped_.contains(inode); }
  // Records what was stored through mappings since the last time.
  void catch_up(uint64_t inode);
  void catch_up();

  // Keeps the inode of a file whose last name may go, so that no other file gets its number. Call keep() before.
  void keep(const Place& place);
  // Compares the folder with the recorded calls, and notes what nobody has recorded.
  void compare_at_the_end();
  // Sentences; empty if all calls on the folder were followed.
  const std::vector<std::string>& missed() const { return missed_; }

 private:
  struct Key {
    uint64_t device, inode;
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }

  Event event(TreeCall call) const;
  // Returns false, with a note, if the call does not fit the tree.
  bool emit(Event& event);
  void let_kept_go();
  void record_differences(uint64_t inode, const OwnDescriptor& reader, uint8_t flags);
  EngineError refused(std::string what, const char* next) const;
  std::optional<EngineError> take(int folder, uint64_t number);
  void contents(TreeCall call, uint64_t inode, int file, uint64_t size, uint8_t flags);
  void bytes_at(TreeCall call, uint64_t inode, uint64_t offset, std::span<const uint8_t> bytes, uint8_t flags);
  std::string target_of(const Place& place) const;
  uint64_t fresh(const struct stat& status);
  OwnDescriptor reader_of(int file) const;

  TraceWriter& trace_;
  std::string folder_;
  uint64_t device_ = 0;
  bool is_of_the_kernel_ = false;
  bool stores_are_told_ = false;
  Tree tree_;
  uint64_t bytes_ = 0;  // of the files at the start
  uint64_t calls_ = 0;
  std::set<Key> above_;  // the folder, and those above it
  bool lost_ = false;
  std::map<Key, uint64_t> numbers_;
  uint64_t next_ = kTreeRoot + 1;
  std::set<uint64_t> nameless_;  // made by O_TMPFILE, and not linked yet
  std::map<uint64_t, OwnDescriptor> mapped_;
  struct Kept {
    Key key;
    OwnDescriptor file;
    uint64_t bytes;  // of the disk, which the file takes as long as it is kept
  };
  std::deque<Kept> kept_;
  uint64_t kept_bytes_ = 0;
  struct Elsewhere {
    std::string path;
    uint64_t writes = 0;
  };
  std::map<Key, Elsewhere> elsewhere_;
  std::map<Key, ToldFile*> told_;
  std::set<std::string> noted_;
  std::vector<std::string> missed_;

  uint32_t thread_ = 0, stack_ = 0;
  std::string call_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_TREE_LOG_H_
