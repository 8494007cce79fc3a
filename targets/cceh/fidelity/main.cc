// powercut-fidelity-cceh: figures of CCEH that do not depend on a machine, as one JSON object {"figures": [...]} on
// stdout. Deterministic.
//
// The load factor is items per slot of all segments while the table grows from one segment. The load factor swings
// between two doublings, and by more the fewer segments there are.
#include <algorithm>

#include "targets/cceh/table.h"
#include "targets/common/bench_table.h"

namespace {

uint64_t splits = 0;

}  // namespace

extern "C" void powercut_mark(const char* name) {
  if (std::string(name) == "split.done" || std::string(name) == "cow.redirected") ++splits;
}

namespace powercut::cceh::fidelity {
namespace {

constexpr uint64_t kSample = 10'000;     // inserts between two samples, as in clevel's Fig. 6
constexpr uint64_t kManySegments = 512;  // from here on one segment more or less does not show

struct Run {
  double sampled = 0;  // the maximum of the samples
  double large = 0;    // the maximum over all inserts into kManySegments segments or more
  double mean = 0;     // of the samples
  double flushes = 0;  // of one insert, with its share of the splits
};

Run Grow(const Options& options, uint64_t items) {
  powercut::fidelity::FreshTable<Table> bench(options, 256u << 20);
  Run run;
  splits = 0;
  pmem::counters = {};
  for (uint64_t i = 1; i <= items; ++i) {
    const uint64_t key = Mix(i), value = i;
    const powercut_status status =
        bench.table().Insert(reinterpret_cast<const uint8_t*>(&key), reinterpret_cast<const uint8_t*>(&value));
    if (status != POWERCUT_OK) throw std::runtime_error("the pool is too small");
    const uint64_t segments = (uint64_t{1} << options.depth) + splits;
    const double load = static_cast<double>(i) / static_cast<double>(segments * options.slots);
    if (segments >= kManySegments) run.large = std::max(run.large, load);
    if (i % kSample != 0) continue;
    run.sampled = std::max(run.sampled, load);
    run.mean += load * static_cast<double>(kSample) / static_cast<double>(items);
  }
  run.flushes = static_cast<double>(pmem::counters.flushes) / static_cast<double>(items);
  return run;
}

Options Paper(uint8_t probe, bool cow) {
  Options options = powercut::fidelity::Defaults<Table>(8, 8);
  options.hardened = true;
  options.slots = 1024;
  options.depth = 0;
  options.probe = probe;
  options.cow = cow;
  return options;
}

void Measure(powercut::fidelity::Figures* figures) {
  const Run lazy = Grow(Paper(4, false), 4'000'000), near = Grow(Paper(1, false), 400'000);
  const Run few = Grow(Paper(4, false), 400'000), cow = Grow(Paper(4, true), 400'000);
  const char* const run = "16 KiB segments, random 8-byte keys, 4,000,000 inserts into a table of one segment";
  figures->Add("clevel (ATC'20), Fig. 6: maximum load factor, sampled every 10K inserts", "<= 0.45", lazy.sampled,
               "items/slots", lazy.sampled <= 0.45,
               std::string(run) +
                   "; while there are few segments, one that splits early or late shows in the load; "
                   "\"no more than 45%\" may be rounded, which the paper does not say");
  figures->Add(
      "TurboHash, Fig. 10: maximum load factor with at most 4 buckets probed", "< 0.44", lazy.large, "items/slots",
      lazy.large < 0.44,
      "the same run, every insert once there are 512 segments; not the paper's run, which has out-of-line items, "
      "room for 12 million of them at the beginning, and a sample every million inserts");
  figures->AddOurs("load factor, mean of the same samples", lazy.mean, "items/slots",
                   "the table splits all its segments at about the same time");
  figures->AddOurs(
      "maximum load factor without linear probing, sampled every 10K inserts", near.sampled, "items/slots",
      "probe=1, 400,000 inserts: an insert splits its segment once its home bucket is full; with probe=4 " +
          powercut::fidelity::Join({few.sampled}));
  figures->Add("line flushes of an insert, copy-on-write against lazy deletion", "more", cow.flushes / few.flushes,
               "times", cow.flushes > few.flushes,
               "clevel, 4.1: lazy deletion inserts faster than copy-on-write; 400,000 inserts, with their splits");
}

}  // namespace
}  // namespace powercut::cceh::fidelity

int main(int argc, char** argv) {
  return powercut::fidelity::Run(argc, argv, "cceh", powercut::cceh::fidelity::Measure);
}
