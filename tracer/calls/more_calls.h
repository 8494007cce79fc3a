// Calls that no other tracer asks the table of calls for (file_calls/): they change attributes, or what names mean.
#ifndef POWERCUT_TRACER_CALLS_MORE_CALLS_H_
#define POWERCUT_TRACER_CALLS_MORE_CALLS_H_

#include <sys/syscall.h>

#include <cstdint>

namespace powercut {

// Where a call that changes attributes finds its file.
enum class AttributesOf : uint8_t { kDescriptor, kPath, kPathItself, kPathAt };

struct AttributesCall {
  uint64_t number;
  AttributesOf of;
  const char* name;
};

inline constexpr AttributesCall kAttributesCalls[] = {
    {SYS_chmod, AttributesOf::kPath, "chmod"},
    {SYS_fchmod, AttributesOf::kDescriptor, "fchmod"},
    {SYS_chown, AttributesOf::kPath, "chown"},
    {SYS_fchown, AttributesOf::kDescriptor, "fchown"},
    {SYS_lchown, AttributesOf::kPathItself, "lchown"},
    {SYS_utime, AttributesOf::kPath, "utime"},
    {SYS_setxattr, AttributesOf::kPath, "setxattr"},
    {SYS_lsetxattr, AttributesOf::kPathItself, "lsetxattr"},
    {SYS_fsetxattr, AttributesOf::kDescriptor, "fsetxattr"},
    {SYS_removexattr, AttributesOf::kPath, "removexattr"},
    {SYS_lremovexattr, AttributesOf::kPathItself, "lremovexattr"},
    {SYS_fremovexattr, AttributesOf::kDescriptor, "fremovexattr"},
    {SYS_utimes, AttributesOf::kPath, "utimes"},
    {SYS_fchownat, AttributesOf::kPathAt, "fchownat"},
    {SYS_futimesat, AttributesOf::kPathAt, "futimesat"},
    {SYS_fchmodat, AttributesOf::kPathAt, "fchmodat"},
    {SYS_utimensat, AttributesOf::kPathAt, "utimensat"},
    {452, AttributesOf::kPathAt, "fchmodat2"},
};

// Returns null for every other call.
constexpr const AttributesCall* attributes_call(uint64_t number) {
  for (const AttributesCall& call : kAttributesCalls) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

struct HidingCall {
  uint64_t number;
  const char* reason;  // for the verdict `unknown`
};

inline constexpr const char* kMounts = "the program changes mounts, so names may mean other files";
inline constexpr HidingCall kHidingCalls[] = {
    {SYS_ptrace, "the program traces a process itself (ptrace), and a process has one tracer at a time"},
    {SYS_mount, kMounts},
    {SYS_umount2, kMounts},
    {SYS_move_mount, kMounts},
    {SYS_fsmount, kMounts},
    {SYS_open_tree, kMounts},
};

constexpr const char* hides_files(uint64_t number) {
  for (const HidingCall& call : kHidingCalls) {
    if (call.number == number) return call.reason;
  }
  return nullptr;
}

// Requests of ioctl that share blocks of files (linux/fs.h).
inline constexpr uint32_t kShareFile = 0x40049409, kShareRange = 0x4020940d;

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_MORE_CALLS_H_
