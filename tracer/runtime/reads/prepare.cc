// How libpowercut_fork.so makes the runs of a program report their reads (read_log.h).
#include <cstring>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/pending_store.h"
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
  see_unannounced(run_log);
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
  if (has_callbacks()) impossible = "it is instrumented by -fsanitize=thread, which does not tell of reads";
  const powercut_sink sink = listener();
  powercut_set_sink(&sink);
  return begin;
}
