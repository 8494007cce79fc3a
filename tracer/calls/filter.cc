#include "tracer/calls/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tracer/calls/more_calls.h"
#include "tracer/file_calls/file_calls.h"

namespace powercut {
namespace {

constexpr uint32_t kOtherInterface = 0x40000000;  // numbers of x32 calls

class Filter {
 public:
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<uint32_t>(offset)); }
  void load_argument(int index) { load(offsetof(seccomp_data, args) + static_cast<size_t>(index) * sizeof(uint64_t)); }
  void stop(StopReason reason) { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRACE | reason); }
  void allow() { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW); }
  void unless(uint16_t test, uint32_t value, uint8_t skipped) { add(BPF_JMP | test | BPF_K, 0, skipped, value); }

  void stop_at(uint64_t number, StopReason reason = kStopsAsCall) {
    unless(BPF_JEQ, static_cast<uint32_t>(number), 1);
    stop(reason);
  }
  void stop_unless(uint32_t value, StopReason reason) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
    stop(reason);
  }
  // Stops only if the argument has one of the bits.
  void stop_with_bits(uint64_t number, int argument, uint32_t bits) {
    unless(BPF_JEQ, static_cast<uint32_t>(number), 4);
    load_argument(argument);
    unless(BPF_JSET, bits, 1);
    stop(kStopsAsCall);
    allow();
  }
  std::vector<sock_filter> code;

 private:
  void add(uint16_t instruction, uint8_t when_true, uint8_t when_false, uint32_t value) {
    code.push_back({instruction, when_true, when_false, value});
  }
};

void stop_at_call(Filter& filter, const powercut_file_call& call) {
  const int flags = powercut_argument(&call, 'l');
  switch (powercut_call_does_what(&call)) {
    case kPowercutOpens:
      // O_TMPFILE holds the bit of O_DIRECTORY, which changes nothing.
      if (flags < 0) return filter.stop_at(call.number);
      return filter.stop_with_bits(call.number, flags, O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY));
    case kPowercutMaps:
      return filter.stop_with_bits(call.number, flags, MAP_SHARED);
    case kPowercutProtects:
      return filter.stop_with_bits(call.number, powercut_argument(&call, 'r'), PROT_WRITE);
    case kPowercutControls:
      for (const uint32_t request : {kShareFile, kShareRange}) {
        filter.unless(BPF_JEQ, call.number, 4);
        filter.load_argument(powercut_argument(&call, 'r'));
        filter.unless(BPF_JEQ, request, 1);
        filter.stop(kStopsAsRefused);
        filter.load(offsetof(seccomp_data, nr));
      }
      return;
    case kPowercutRings:
    case kPowercutSubmits:
      return filter.stop_at(call.number, kStopsAsRefused);
    case kPowercutWrites:
    case kPowercutCopies:
    case kPowercutAllocates:
    case kPowercutResizes:
    case kPowercutSyncs:
    case kPowercutSyncsRange:
    case kPowercutSyncsAll:
    case kPowercutSyncsMemory:
    case kPowercutUnmaps:
    case kPowercutMakes:
    case kPowercutLinks:
    case kPowercutRenames:
    case kPowercutTakes:
    case kPowercutTakesFolder:
    case kPowercutHides:
      return filter.stop_at(call.number);
    default:
      return;
  }
}

}  // namespace

std::vector<sock_filter> calls_filter() {
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.stop_unless(AUDIT_ARCH_X86_64, kStopsAsForeign);
  filter.load(offsetof(seccomp_data, nr));
  filter.unless(BPF_JGE, kOtherInterface, 1);
  filter.stop(kStopsAsForeign);
  for (const powercut_file_call& call : powercut_file_calls) stop_at_call(filter, call);
  for (const AttributesCall& call : kAttributesCalls) filter.stop_at(call.number);
  for (const HidingCall& call : kHidingCalls) filter.stop_at(call.number);
  filter.stop_at(SYS_io_setup, kStopsAsRefused);
  filter.allow();
  return filter.code;
}

bool install_filter(const std::vector<sock_filter>& filter) {
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
  const auto install = [&] {
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
  };
  // A mighty user needs no promise; for others programs with rights of their own (set-uid) do not get them.
  if (install()) return true;
  return errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install();
}

}  // namespace powercut
