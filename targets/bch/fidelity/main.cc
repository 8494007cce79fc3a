// powercut-fidelity-bch: the figures of the Level hashing paper about BCH that do not depend on a machine, as one
// JSON object on stdout. Deterministic.
#include <algorithm>

#include "targets/common/cuckoo/fidelity/bench_table.h"

namespace powercut::cuckoo::fidelity {
namespace {

// Returns the number of buckets for a fixed number of slots in the table, given the slots of a bucket.
std::string BucketsFor(bool paper_size, int slots) {
  return std::to_string(uint64_t{1} << powercut::fidelity::PaperLog2(paper_size, slots == 4   ? 16
                                                                                 : slots == 8 ? 15
                                                                                              : 14));
}

}  // namespace

void Measure(Figures* figures) {
  const bool paper_size = figures->paper_size();
  std::vector<double> loads;
  for (int slots : {4, 8, 16}) {
    const std::string text = std::to_string(slots);
    const double load = MaximumLoad({{"slots", text}, {"buckets", BucketsFor(paper_size, slots)}},
                                    paper_size ? powercut::fidelity::kPaperPool : powercut::fidelity::kSmallPool);
    loads.push_back(load);
    figures->AddAtItsSize("Fig. 8: maximum load factor, " + text + " slots", "> 0.90", load, "items/slots", load > 0.90,
                          "random 16-byte keys until an insert finds no place after 500 evictions");
  }
  figures->AddAtItsSize("Fig. 8: more slots in a bucket, higher maximum load factor", "rising", Join(loads),
                        "items/slots", std::is_sorted(loads.begin(), loads.end()), "4, 8 and 16 slots");
  figures->Add("4.2.6: maximum load factor of the 4-slot BCH", 0.85, loads[0], "items/slots",
               loads[0] > 0.80 && loads[0] < 0.90,
               "the text of 4.2.6; that of Fig. 8 says over 0.90 for every scheme, and both cannot hold; "
               "reproduced: within 0.05");

  BenchTable bench({{"buckets", "8192"}});
  while (bench.load() < 0.85) bench.InsertNext();
  Marks().clear();
  bench.table().Maintain("expand");
  const double share = static_cast<double>(Marks()["rehash.copied"]) / static_cast<double>(bench.items());
  figures->Add("4.2.6: items rehashed by a resize at load 0.85", "all", share, "of items", share == 1.0,
               "\"need to rehash all items from the old hash table to the new one\"");
}

}  // namespace powercut::cuckoo::fidelity
