// adr: the write-pending queues of the memory controller are inside the persistence domain, caches are not.
// Sources: Px86 (Raad, Wickerson, Neis, Vafeiadis, POPL 2020): a line's stores persist in order, lines are
// independent, clwb/clflushopt take effect at the thread's next fence; Khyzha & Lahav, POPL 2021, for the
// same rules seen as per-line buffers; Raad, Maranget & Vafeiadis, POPL 2022, for non-temporal stores.
//
// Crash points: before every event that raises a floor so that a line loses a content; after the end of every
// operation; before an operation begins, if there were stores since the last one; and at the end. Why these points
// suffice: MODELS.md, "Crash points".
#include "replayer/media/memory/memory.h"

namespace powercut {
namespace {

class Adr final : public MemoryRules {
 public:
  std::string_view name() const override { return "adr"; }
  Durable by_flush(FlushKind kind) const override {
    if (kind == FlushKind::kClflush) return Durable::kLine;
    return kind == FlushKind::kForce ? Durable::kNothing : Durable::kWithFence;
  }
};

}  // namespace

const Persistency& adr() {
  static const Adr rules;
  return rules;
}

}  // namespace powercut
