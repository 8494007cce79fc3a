// Cost of following a trace without recovery: the persistency model and the frontier alone. Prints one JSON object: for
// each stream, nanoseconds an event and a crash point, and the resident memory that the stream added.
//   insert    31-byte store, clwb, sfence, 1-byte store, clwb, sfence, end of the operation; new lines each time
//   pending   the same after N lines were written once and never flushed
//   counter   a counter that every operation stores to and nobody flushes, beside the insert
// Options: a number of operations (default 200000).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "replayer/crash_points/crash_points.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/media/medium.h"

namespace powercut {
namespace {

constexpr uint64_t kPool = uint64_t{64} << 20;
constexpr uint64_t kCounters = 0, kUnflushed = 4096, kTable = uint64_t{1} << 20;

uint64_t resident_bytes() {
  uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * 4096;
}

// Feeds events to a model and follows it at each crash point, as exploring does.
class Run {
 public:
  explicit Run(const std::string& model)
      : pool_(static_cast<uint8_t*>(std::calloc(kPool, 1))),
        model_(make_model(model, AtomPolicy::kAny, kPool)),
        frontier_(pool_.get()) {}

  void store(uint64_t offset, uint64_t seed, size_t size) {
    std::array<uint8_t, 64> bytes;
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(1 + (seed >> (8 * (i % 8))) + i);
    Event event = of(EventKind::kStore, 0, offset);
    event.size = size;
    event.value = {bytes.data(), size};
    apply(event);
  }
  void flush(uint64_t offset) { apply(of(EventKind::kFlush, static_cast<uint8_t>(FlushKind::kClwb), offset)); }
  void fence() { apply(of(EventKind::kFence, static_cast<uint8_t>(FenceKind::kSfence), 0)); }
  void end() { apply(of(EventKind::kOpEnd, 0, 0)); }

  uint64_t events() const { return events_; }
  uint64_t crash_points() const { return crash_points_.count(); }
  uint64_t changes() const { return changes_; }
  const Frontier& frontier() const { return frontier_; }
  std::string digits() const { return std::to_string(states_.str().size()); }

 private:
  static Event of(EventKind kind, uint8_t code, uint64_t offset) {
    Event event;
    event.kind = kind;
    event.code = code;
    event.addr = offset;
    return event;
  }
  void apply(Event event) {
    event.index = events_++;
    while (crash_points_.next(&event)) {
      changes_ += frontier_.follow(model_.get()).size();
      states_ += frontier_.states();
    }
  }

  struct Free {
    void operator()(uint8_t* pool) const { std::free(pool); }
  };
  std::unique_ptr<uint8_t, Free> pool_;
  std::unique_ptr<Model> model_;
  CrashPoints crash_points_{model_.get()};
  Frontier frontier_;
  BigInt states_ = 0;
  uint64_t events_ = 0, changes_ = 0;
};

void insert(Run* run, uint64_t i) {
  const uint64_t bucket = kTable + i * 128 % (kPool - kTable);
  run->store(bucket + 64 + 1, i, 31);
  run->flush(bucket + 64 + 1);
  run->fence();
  run->store(bucket, i, 1);
  run->flush(bucket);
  run->fence();
  run->end();
}

nlohmann::json measure(const std::string& stream, const std::string& model, uint64_t unflushed, uint64_t operations,
                       const std::function<void(Run*, uint64_t)>& operation) {
  const uint64_t resident = resident_bytes();
  Run run(model);
  for (uint64_t i = 0; i < unflushed; ++i) run.store(kUnflushed + i * 64, i, 8);
  run.end();
  const uint64_t resident_at_start = resident_bytes();
  const uint64_t events = run.events(), crash_points = run.crash_points();
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < operations; ++i) operation(&run, i);
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  return {{"stream", stream},
          {"model", model},
          {"lines_never_flushed", unflushed},
          {"operations", operations},
          {"events", run.events() - events},
          {"crash_points", run.crash_points() - crash_points},
          {"changes", run.changes()},
          {"pending_at_end", run.frontier().pending()},
          {"digits_of_states", run.digits()},
          {"ns_per_event", ns / static_cast<double>(run.events() - events)},
          {"ns_per_crash_point", ns / static_cast<double>(run.crash_points() - crash_points)},
          {"bytes_per_line_never_flushed",
           unflushed == 0 ? 0 : static_cast<int64_t>(resident_at_start - resident) / static_cast<int64_t>(unflushed)},
          {"resident_growth_bytes", static_cast<int64_t>(resident_bytes()) - static_cast<int64_t>(resident)}};
}

}  // namespace
}  // namespace powercut

int main(int argc, char** argv) {
  using namespace powercut;
  char* end = nullptr;
  const uint64_t operations = argc > 1 ? std::strtoull(argv[1], &end, 10) : 200'000;
  if (operations == 0 || (end != nullptr && *end != '\0')) {
    std::fprintf(stderr, "usage: %s [OPERATIONS]: a number above 0\n", argv[0]);
    return 2;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const char* model : {"adr", "eadr"}) {
    rows.push_back(measure("insert", model, 0, operations, insert));
    for (uint64_t lines : {10, 100, 1'000, 10'000}) {
      rows.push_back(measure("pending", model, lines, operations, insert));
    }
    rows.push_back(measure("counter", model, 0, operations / 4, [](Run* run, uint64_t i) {
      run->store(kCounters, i, 8);
      insert(run, i);
    }));
  }
  std::printf("%s\n", nlohmann::json{{"benchmark", "frontier"}, {"rows", rows}}.dump(1).c_str());
  return 0;
}
