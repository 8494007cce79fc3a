// A system call on the folder, from its entry to its end: what has to be known before, and what it has done.
#ifndef POWERCUT_TRACER_CALLS_FOLLOWED_CALL_H_
#define POWERCUT_TRACER_CALLS_FOLLOWED_CALL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "tracer/calls/calling_thread.h"
#include "tracer/calls/more_calls.h"
#include "tracer/calls/tree_log.h"
#include "tracer/file_calls/file_calls.h"

namespace powercut {

struct SystemCall {
  uint64_t number = 0;
  std::array<uint64_t, 6> arguments{};
  uint64_t counter = 0, stack = 0;  // of the program and of its stack
};

class FollowedCall {
 public:
  FollowedCall() = default;
  // Looks at the call before it is made. follows() then says whether it may change or sync the folder: such a call runs
  // alone, and after() takes its result.
  FollowedCall(const CallingThread& thread, const SystemCall& call, TreeLog& log);

  bool follows() const { return follows_; }
  // Whether the call may wait for a call of another thread.
  bool may_wait() const { return powercut_call_does_what(row_) == kPowercutCopies; }
  // Makes a plain write or sync in the place of the thread, which saves the stop at its end. Returns the result that
  // the thread is to see, and records the call; nothing for a call that the thread has to make itself.
  std::optional<int64_t> make(const CallingThread& thread, TreeLog& log);
  const char* name() const { return attributes_ != nullptr ? attributes_->name : row_->name; }
  void after(const CallingThread& thread, int64_t result, TreeLog& log);
  // The thread was killed within the call, which may have been made. Records what is seen to have changed, since no
  // other call was made meanwhile; a sync is none, as nobody has heard of its end. Returns false if that is not known.
  bool cut_off(TreeLog& log);

 private:
  // Bytes of a write that the recorder makes itself; longer ones cost more than a stop.
  static constexpr size_t kMostMade = size_t{16} << 10;
  // The position in the file at which a call without an offset of its own begins is told by its end.
  static constexpr uint64_t kFromPosition = ~uint64_t{0};

  int argument(char role) const { return powercut_argument(row_, role); }
  bool has(char role) const { return argument(role) >= 0; }
  uint64_t value(char role) const { return call_.arguments[static_cast<size_t>(argument(role))]; }
  // True for fsync, false for fdatasync.
  bool syncs_all_of_it() const { return call_.number == powercut_file_calls[kPowercutRowOf_fsync].number; }
  int folder_of(char role) const;
  // The place that a call without a path has nowhere: its folder is none.
  Place find(const CallingThread& thread, char folder, char path, bool follows) const;

  std::optional<int64_t> make_write(const CallingThread& thread, TreeLog& log);
  uint64_t written_at(int64_t size) const;
  bool look(const CallingThread& thread, TreeLog& log);
  // Takes a copy of the thread's descriptor into `file_`. Returns false if there is none; a note says why, if the call
  // may have effects nevertheless.
  bool open_file(const CallingThread& thread, int descriptor, struct stat* status, TreeLog& log);
  bool look_at_file(const CallingThread& thread, TreeLog& log);
  bool look_at_write(const CallingThread& thread, TreeLog& log);
  bool look_at_open(const CallingThread& thread, TreeLog& log);
  bool look_at_rename(const CallingThread& thread, TreeLog& log);
  bool look_at_attributes(const CallingThread& thread, TreeLog& log);
  void after_open(const CallingThread& thread, int descriptor, TreeLog& log);
  void after_taking(TreeLog& log);
  void after_rename(TreeLog& log);
  void for_mappings(const CallingThread& thread, const TreeLog& log,
                    const std::function<void(uint64_t, uint64_t, uint64_t)>& use) const;
  static bool may_be_inside(const Place& place, const TreeLog& log);
  static void look_again(Place& place);

  SystemCall call_;
  const powercut_file_call* row_ = nullptr;
  const AttributesCall* attributes_ = nullptr;
  bool follows_ = false;

  OwnDescriptor file_;
  uint64_t inode_ = 0;
  ToldFile* told_ = nullptr;  // the file outside that is written to, if somebody asks for it
  uint64_t offset_ = 0;
  uint8_t through_ = 0;
  bool direct_ = false;
  Place from_, to_;
  bool takes_the_folder_ = false;
  bool makes_ = false, empties_ = false, nameless_ = false;  // of an open
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_FOLLOWED_CALL_H_
