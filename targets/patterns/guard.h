// Pattern checked: a call that meets damage answers POWERCUT_CORRUPT, whether a checksum tells or a block that cannot
// be read (SIGBUS).
#ifndef POWERCUT_TARGETS_PATTERNS_GUARD_H_
#define POWERCUT_TARGETS_PATTERNS_GUARD_H_

#include <setjmp.h>
#include <signal.h>

#include "targets/patterns/map.h"

namespace powercut::patterns {

// Where a SIGBUS of the call at hand leads. One thread at a time.
inline sigjmp_buf* guard = nullptr;

inline void LeaveCall(int) { siglongjmp(*guard, 1); }

// Keeps nothing that needs a destructor: a SIGBUS leaves the body by a jump. Outside of the call, whoever handled
// SIGBUS before handles it.
template <typename Body>
powercut_status Guarded(const Options& options, Body body) {
  if (options.pattern != Pattern::kChecked) return body();
  sigjmp_buf here;
  guard = &here;
  struct sigaction mine{};
  struct sigaction before{};
  mine.sa_handler = LeaveCall;
  sigaction(SIGBUS, &mine, &before);
  if (sigsetjmp(here, 1) != 0) {
    sigaction(SIGBUS, &before, nullptr);
    return options.bug == Bug::kSwallowed ? POWERCUT_NOT_FOUND : POWERCUT_CORRUPT;
  }
  const powercut_status status = body();
  sigaction(SIGBUS, &before, nullptr);
  return status;
}

template <typename Body>
powercut_status Guarded(const Map& map, Body body) {
  return Guarded(map.options(), [&] { return map.Intact() ? body() : POWERCUT_CORRUPT; });
}

}  // namespace powercut::patterns
#endif  // POWERCUT_TARGETS_PATTERNS_GUARD_H_
