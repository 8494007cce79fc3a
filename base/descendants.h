// Ends what the engine, or code that it ran, has started: target code may fork, and its children may leave the process
// group and the session. They cannot leave the tree: each process that calls keep_descendants() is a subreaper
// (prctl(2)), so what loses its parent comes to it.
//
// Known inaccuracies: a process that changed its user cannot be ended; when the engine dies of SIGKILL, what has a
// session of its own goes to whoever is the next subreaper (`powercut` is one).
#ifndef POWERCUT_BASE_DESCENDANTS_H_
#define POWERCUT_BASE_DESCENDANTS_H_

#include <sys/types.h>

#include <span>

namespace powercut {

// From now on orphans among the descendants of this process become its children.
void keep_descendants();

// True when this process has children, living or dead. One system call.
bool has_children();

// Kills and reaps every descendant but the `spared` processes and their own descendants; also processes that are forked
// meanwhile. Gives up on a process that does not die within two seconds (it sleeps in the kernel). Async-signal-safe.
void end_descendants(std::span<const pid_t> spared = {});

// The guardian (program/guardian.h) outlives the engine on purpose, to clean up after it. 0: none.
void spare_always(pid_t process);

// For the main process of the engine: SIGTERM, SIGINT and SIGHUP end what it has started before they end itself.
// Commands that stop in order have handlers of their own.
void end_descendants_on_signals();

// Sends SIGHUP to this process as soon as its caller has ended, also when that was killed. The caller keeps one end of
// a pipe open and names the descriptor of the other one in the variable POWERCUT_CALLER; without it, nothing happens.
void end_with_the_caller();

}  // namespace powercut
#endif  // POWERCUT_BASE_DESCENDANTS_H_
