#include "checker/faults/media_error.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/system_call.h"
#include "tracer/world/quiet_heap.h"

namespace powercut {

MediaError::MediaError() { sigaction(SIGBUS, nullptr, &own_); }

MediaError::~MediaError() { heal(); }

void MediaError::heal() {
  poisoned_ = {};
  sigaction(SIGBUS, &own_, nullptr);
}

void MediaError::check(uint64_t address, uint64_t size, CodePlace place) {
  if (address >= poisoned_.end || address + size <= poisoned_.begin || size == 0) return;
  if (hits_++ == 0) {
    QuietHeap quiet;
    stack_ = place.stack();
  }
  raise_at(std::max(address, poisoned_.begin));
  // A handler of the target returned. The load would fault for ever: the executor's handler ends it.
  sigaction(SIGBUS, &own_, nullptr);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  raise_at(std::max(address, poisoned_.begin));
}

void MediaError::raise_at(uint64_t address) {
  siginfo_t info{};
  info.si_signo = SIGBUS;
  info.si_code = BUS_MCEERR_AR;
  info.si_addr = reinterpret_cast<void*>(address);
  info.si_addr_lsb = static_cast<short>(std::countr_zero(kMediaBlock));
  // Not by an instruction of ours: a fault in the engine's own code is no fault of the target (executor.cc).
  syscall(SYS_rt_tgsigqueueinfo, system_call(SYS_getpid), system_call(SYS_gettid), SIGBUS, &info);
}

}  // namespace powercut
