// adr: the write-pending queues of the memory controller are inside the persistence domain, caches are not.
// Sources: Px86 (Raad, Wickerson, Neis, Vafeiadis, POPL 2020): a line's stores persist in order, lines are
// independent, clwb/clflushopt take effect at the thread's next fence; Khyzha & Lahav, POPL 2021, for the
// same rules seen as per-line buffers; Raad, Maranget & Vafeiadis, POPL 2022, for non-temporal stores.
//
// Crash points: before every event that raises a floor so that a line loses a content, after every operation's
// end, before one begins where there were stores since, and at the end. Why these suffice: MODELS.md, "Crash points".
#include "replayer/models/raising_model.h"

namespace powercut {
namespace {

class Adr final : public RaisingModel {
 public:
  using RaisingModel::RaisingModel;
  std::string_view name() const override { return "adr"; }

 private:
  bool raises(const Event& event) override {
    switch (event.kind) {
      case EventKind::kFence:
        for (uint64_t line : pending_.raised_by_fence(event.thread)) {
          const LineLog& log = *pending_.find(line);
          if (takes_away(line, log, log.durable_by_fence(event.thread, pending_.policy()))) return true;
        }
        return false;
      case EventKind::kFlush: {
        if (static_cast<FlushKind>(event.code) != FlushKind::kClflush) return false;
        if (!pending_.raised_by_clflush(event.addr)) return false;
        const uint64_t line = event.addr / kLineSize;
        const LineLog& log = *pending_.find(line);
        return takes_away(line, log, log.durable_by_settling(pending_.policy()));
      }
      case EventKind::kCut:
        return true;
      case EventKind::kStore:
      case EventKind::kNtStore:
      case EventKind::kOpBegin:
      case EventKind::kOpEnd:
      case EventKind::kThreadStart:
      case EventKind::kThreadEnd:
      case EventKind::kAllocate:
      case EventKind::kFree:
      case EventKind::kMarker:
      case EventKind::kPhase:
      case EventKind::kFork:
      case EventKind::kBack:
      case EventKind::kContent:
      case EventKind::kCrashPoint:
      case EventKind::kSearched:
      case EventKind::kTrouble:
        break;
    }
    return false;
  }

  void change(const Event& event) override {
    switch (event.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        store(event);
        return;
      case EventKind::kFlush:
        pending_.flush(event.thread, event.addr, static_cast<FlushKind>(event.code));
        if (static_cast<FlushKind>(event.code) == FlushKind::kClflush) absorb(event.addr / kLineSize);
        return;
      case EventKind::kFence:
        fence(event);
        return;
      case EventKind::kCut:
        cut();
        return;
      case EventKind::kOpBegin:
      case EventKind::kOpEnd:
      case EventKind::kThreadStart:
      case EventKind::kThreadEnd:
      case EventKind::kAllocate:
      case EventKind::kFree:
      case EventKind::kMarker:
      case EventKind::kPhase:
      case EventKind::kFork:
      case EventKind::kBack:
      case EventKind::kContent:
      case EventKind::kCrashPoint:
      case EventKind::kSearched:
      case EventKind::kTrouble:
        return;
    }
  }
};

}  // namespace

std::unique_ptr<Model> make_adr(AtomPolicy policy, uint64_t pool_size) {
  return std::make_unique<Adr>(policy, pool_size);
}

}  // namespace powercut
