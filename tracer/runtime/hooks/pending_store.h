// A store that was announced without its value, before it is made: callbacks of -fsanitize=thread say no more
// (callbacks.cc). Its bytes are read back from memory when the thread next does anything that is recorded.
//
// Exact for one thread. Pool memory is memory that others may see, so no compiler moves a store to it across a
// callback, which is a call of unknown code; and the next store, flush, fence or mark of the thread begins with
// settle(). So at settle() the store has been made and nothing that is recorded has happened since: the bytes are those
// that it stored, and its place in the order is right. Not exact:
// - what code without callbacks (inline assembly, libraries that were not rebuilt) stored to the same bytes in between
//   is taken for the store's;
// - another thread's events in between come before the store, although it may have been made earlier. So a recording of
//   several threads that was made this way gets no verdict (StreamTrace::finish).
#ifndef POWERCUT_TRACER_RUNTIME_HOOKS_PENDING_STORE_H_
#define POWERCUT_TRACER_RUNTIME_HOOKS_PENDING_STORE_H_

#include <cstdint>

#include "tracer/runtime/hooks/call_site.h"

namespace powercut::runtime {

struct PendingStore {
  uint64_t address = 0, size = 0;  // a size of 0: there is none
  uint32_t flags = 0;
  CallSite site{};
};
extern constinit thread_local PendingStore pending_store;

// Announces the calling thread's pending store.
void settle_pending_store();
inline void settle() {
  if (pending_store.size != 0) [[unlikely]]
    settle_pending_store();
}

// Whether code that was compiled with -fsanitize=thread has run in this process.
bool has_callbacks();

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_HOOKS_PENDING_STORE_H_
