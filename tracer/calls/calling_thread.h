// A thread of the recorded program that stands at a system call: its memory, its descriptors, and its names of files.
// The kernel is asked about each of them, so that descriptors which came by fork, dup or a socket are as good as
// others.
#ifndef POWERCUT_TRACER_CALLS_CALLING_THREAD_H_
#define POWERCUT_TRACER_CALLS_CALLING_THREAD_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tracer/calls/own_descriptor.h"

namespace powercut {

// A name in a folder, found as the kernel finds it for the call.
struct Place {
  OwnDescriptor folder;  // opened with O_PATH; none: there is no such folder
  std::string name;      // empty for a path without one
  struct stat folder_status{};
  struct stat status{};  // of what stands at the name, a link itself
  bool exists = false;
};

class CallingThread {
 public:
  CallingThread(pid_t thread, uint32_t number) : thread_(thread), process_of_it_(process_of(thread)), number_(number) {}

  pid_t thread() const { return thread_; }
  pid_t process() const { return process_of_it_; }
  uint32_t number() const { return number_; }  // in the trace

  bool read(uint64_t address, void* data, size_t size) const;
  // Returns the text at the address; nothing if there is none, and the call will fail.
  std::optional<std::string> text(uint64_t address) const;
  // Returns a copy of the thread's descriptor, which shares its position. The copy lives no longer than the stop of the
  // thread: a lock goes with the last copy. No descriptor: errno says why.
  OwnDescriptor open_file(int descriptor) const;
  // Whether the thread, or this process in its place, may be told that a file is too large for its limit.
  bool may_exceed_a_file_limit() const;
  // Returns a descriptor of what the path leads to, for looking at it alone (O_PATH).
  OwnDescriptor file_at(int folder, const std::string& path) const;
  // Finds the name that the path ends in. `follows`: a link at the name is followed, also to a name that is not there.
  Place find(int folder, const std::string& path, bool follows) const;
  // Returns the status of what the path leads to.
  std::optional<struct stat> status(int folder, const std::string& path, bool follows) const;

 private:
  static pid_t process_of(pid_t thread);
  std::string seen_from_here(int folder, const std::string& path) const;

  pid_t thread_, process_of_it_;
  uint32_t number_;
  mutable OwnDescriptor process_;  // for open_file()
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_CALLING_THREAD_H_
