// adr: the write-pending queues of the memory controller are inside the persistence domain, caches are not.
// Sources: Px86 (Raad, Wickerson, Neis, Vafeiadis, POPL 2020): a line's stores persist in order, lines are
// independent, clwb/clflushopt take effect at the thread's next fence; Khyzha & Lahav, POPL 2021, for the
// same rules seen as per-line buffers; Raad, Maranget & Vafeiadis, POPL 2022, for non-temporal stores.
//
// Crash points: before every event that raises a floor so that a line loses a content, after every operation's
// end, and at the end. Why these suffice: MODELS.md, "Crash points".
#include "replayer/models/model.h"

namespace powercut {
namespace {

class Adr final : public Model {
 public:
  using Model::Model;
  std::string_view name() const override { return "adr"; }

  bool crash_before(const Event& event) override {
    switch (event.kind) {
      case EventKind::kFence: {
        for (uint64_t line : pending_.raised_by_fence(event.thread)) {
          if (shrinks(line, [&](LineLog* log) { log->fence(event.thread, pending_.policy()); })) return true;
        }
        return false;
      }
      case EventKind::kFlush:
        return static_cast<FlushKind>(event.code) == FlushKind::kClflush && pending_.raised_by_clflush(event.addr) &&
               shrinks(event.addr / kLineSize, [&](LineLog* log) { log->settle_chain(pending_.policy()); });
      case EventKind::kCut:
        return true;
      default:
        return false;
    }
  }

  void apply(const Event& event) override {
    switch (event.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        store(event);
        return;
      case EventKind::kFlush:
        pending_.flush(event.thread, event.addr, static_cast<FlushKind>(event.code));
        absorb(event.addr / kLineSize);
        return;
      case EventKind::kFence: {
        const std::vector<uint64_t> raised = pending_.raised_by_fence(event.thread);
        pending_.fence(event.thread);
        for (uint64_t line : raised) absorb(line);
        return;
      }
      case EventKind::kCut:
        pending_.settle_all();
        absorb_all();
        return;
      default:
        return;
    }
  }

  bool crash_after(const Event& event) override { return event.kind == EventKind::kOpEnd; }

 private:
  // The contents after raising a floor are a subset of those before, so equal counts mean equal sets.
  template <typename Raise>
  bool shrinks(uint64_t line, const Raise& raise) const {
    const CandidateSet before = candidates(line);
    if (before.contents.size() == 1) return false;
    if (before.truncated) return true;
    LineLog copy = *pending_.find(line);
    raise(&copy);
    Content base;
    std::memcpy(base.bytes.data(), durable_.data() + line * kLineSize, kLineSize);
    return powercut::candidates(copy, {&base, 1}, pending_.policy(), kCandidateLimit).contents.size() !=
           before.contents.size();
  }
};

}  // namespace

std::unique_ptr<Model> make_adr(AtomPolicy policy, uint64_t pool_size) {
  return std::make_unique<Adr>(policy, pool_size);
}

}  // namespace powercut
