// How libpowercut_fork.so makes the runs of a program report their reads (read_log.h).
//
// Why no read of a pool is missing. A byte of an image comes into the process by memory or by a system call.
// - By memory: each mmap of an image's file comes to the handler. A shared mapping is made in the closed area, where an
//   access without a hook faults; a private mapping counts as read when it is made.
// - By a system call: a call that is not on the list of harmless calls comes to the handler. A listed call reads memory
//   by its arguments only, and comes to the handler if an argument lies in the closed area. A call that the handler
//   does not know ends the run.
//
// With one thread nothing comes between an access and its record; threads and children are followed as other_threads.h
// says. A program without any hook is followed in the same way: all its accesses fault.
//
// Known inaccuracies: code before main may have read an image that it has unmapped again. Its bytes are the same for
// all runs, with a report and without. Only an image's bytes are reported, not its times or other facts that the file
// system knows.
#include <signal.h>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/hooks/pending_store.h"
#include "tracer/runtime/reads/calls.h"
#include "tracer/runtime/reads/followed_pools.h"
#include "tracer/runtime/reads/unannounced.h"

namespace powercut::runtime {
namespace {

constinit powercut_read_log* run_log = nullptr;
constinit const char* impossible = nullptr;

powercut_sink listener() {
  powercut_sink sink{};
  sink.store = [](void*, uint64_t address, uint64_t size, uint32_t, const void*, const void*, const void*) {
    access_memory(address, size, true);
  };
  sink.load = [](void*, uint64_t address, uint64_t size) { access_memory(address, size, false); };
  sink.rmw_begin = [](void*, uint64_t address, uint64_t size, const void*, const void*) {
    access_memory(address, size, false);
  };
  return sink;
}

void begin() {
  if (impossible != nullptr) refuse(impossible);
  begin_pools();
  run_log->state = kPowercutReadsFollowed;
  see_calls();
}

}  // namespace
}  // namespace powercut::runtime

extern "C" powercut_reads_begin_function* powercut_reads_prepare(uint32_t version, powercut_read_log* log,
                                                                 const char* const* images, uint32_t count) {
  using namespace powercut::runtime;
  run_log = log;
  impossible = prepare_pools(log, images, count);
  if (version != POWERCUT_READ_LOG_VERSION) impossible = "it was built with another version of powercut";
  for (const int number : kOurSignals) {
    struct sigaction before{};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_DFL) impossible = "it handles the signals of faults itself";
  }
  if (has_callbacks()) impossible = "it is instrumented by -fsanitize=thread, which does not tell of reads";
  if (impossible == nullptr) {
    if (!see_unannounced(log)) impossible = "the library that decodes its instructions cannot be loaded";
    if (!prepare_calls()) impossible = "this kernel does not tell of its system calls (seccomp)";
  }
  const powercut_sink sink = listener();
  powercut_set_sink(&sink);
  return begin;
}
