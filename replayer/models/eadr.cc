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
        in_flight_ = event.kind == EventKind::kStore;
        return;
      case EventKind::kFence:
        pending_.fence(event.thread);
        absorb_all();
        return;
      case EventKind::kCut:
        pending_.settle_all();
        absorb_all();
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
    pending_.settle_chains();
    absorb_all();
  }

  bool in_flight_ = false;
};

}  // namespace

std::unique_ptr<Model> make_eadr(AtomPolicy policy, uint64_t pool_size) {
  return std::make_unique<Eadr>(policy, pool_size);
}

}  // namespace powercut
