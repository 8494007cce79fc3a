// eadr: caches are inside the persistence domain. A store is durable once it is visible, so all lines share
// one instant: the medium is the visible memory of the moment of the cut. What remains open is the store in
// flight (any legal subset of its atoms) and the non-temporal stores that no fence has drained yet, since
// write-combining buffers stay outside the domain (Raad, Maranget & Vafeiadis, POPL 2022; Intel's eADR note).
//
// Crash points: one per store, with that store in flight, after every operation's end, and at the end. Why these
// suffice: MODELS.md, "eadr".
#include "replayer/models/model.h"

namespace powercut {
namespace {

class Eadr final : public Model {
 public:
  using Model::Model;
  std::string_view name() const override { return "eadr"; }

  bool crash_before(const Event& event) override { return event.kind == EventKind::kCut; }

  void apply(const Event& event) override {
    settle();  // the store that was in flight has landed
    switch (event.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        store(event);
        if (event.kind == EventKind::kStore && !event.value.empty()) {
          first_in_flight_ = event.addr / kLineSize;
          last_in_flight_ = (event.addr + event.value.size() - 1) / kLineSize;
          in_flight_ = true;
        }
        return;
      case EventKind::kFence:
        fence(event);
        return;
      case EventKind::kCut:
        cut();
        return;
      default:
        return;
    }
  }

  bool crash_after(const Event& event) override {
    return event.kind == EventKind::kStore || event.kind == EventKind::kNtStore || event.kind == EventKind::kOpEnd;
  }

  void finish() override { settle(); }

 private:
  void settle() {
    if (!in_flight_) return;
    in_flight_ = false;
    // Every event settles first, so no other line has cacheable stores pending.
    for (uint64_t line = first_in_flight_; line <= last_in_flight_; ++line) {
      pending_.settle_chain(line);
      absorb(line);
    }
  }

  bool in_flight_ = false;
  uint64_t first_in_flight_ = 0, last_in_flight_ = 0;
};

}  // namespace

std::unique_ptr<Model> make_eadr(AtomPolicy policy, uint64_t pool_size) {
  return std::make_unique<Eadr>(policy, pool_size);
}

}  // namespace powercut
