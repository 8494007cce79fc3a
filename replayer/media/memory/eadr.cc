// eadr: caches are inside the persistence domain. A store is durable once it is visible, so all lines share
// one instant: the medium is the visible memory of the moment of the cut. A cut may still lose atoms of the store in
// flight, in any legal subset. It may also lose non-temporal stores that no fence has drained yet, since
// write-combining buffers stay outside the domain. Sources: Raad, Maranget & Vafeiadis, POPL 2022; Intel's eADR note.
//
// Crash points: one for each store, while the store is in flight; after the end of every operation; and at the end.
// Only the event behind a store tells that the store is whole, for it may go on. Why these points suffice: MODELS.md,
// "eadr".
#include "replayer/media/memory/memory.h"
#include "replayer/models/model.h"
#include "tracer/format/event_groups.h"

namespace powercut {
namespace {

class EadrModel final : public Model {
 public:
  using Model::Model;

  bool crash_ahead_of(const Event* next) override {
    const bool goes_on = next != nullptr && continues(*next);
    const bool crash = (stored_ && !goes_on) || crash_ahead_of_begin(next);
    if (crash) visited();
    return crash;
  }

  bool crash_before(const Event& event) override {
    if (event.kind != EventKind::kCut) return false;
    visited();
    return true;
  }

  void apply(const Event& event) override {
    if (!continues(event)) settle();  // the store that was in flight has landed
    stored_ = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
    change(event);
    note_for_begin(event);
  }

  bool crash_after(const Event& event) override {
    if (event.kind != EventKind::kOpEnd) return false;
    visited();
    return true;
  }

  void finish() override { settle(); }

  void keep() override {
    Model::keep();
    kept_in_flight_ = in_flight_;
    kept_stored_ = stored_;
  }

  void go_back() override {
    Model::go_back();
    in_flight_ = kept_in_flight_;
    stored_ = kept_stored_;
  }

 private:
  static bool continues(const Event& event) {
    return event.kind <= EventKind::kNtStore && (event.flags & kStoreContinues) != 0;
  }

  void change(const Event& event) {
    switch (event.kind) {
      case EventKind::kStore:
      case EventKind::kNtStore:
        store(event);
        if (event.kind == EventKind::kStore && !event.value.empty()) {
          const uint64_t last = (event.addr + event.value.size() - 1) / kLineSize;
          for (uint64_t line = event.addr / kLineSize; line <= last; ++line) in_flight_.push_back(line);
        }
        return;
      case EventKind::kFence:
        fence(event);
        return;
      case EventKind::kCut:
        cut();
        return;
      case EventKind::kFlush:
      case POWERCUT_OPERATION_EVENTS:
      case POWERCUT_PROCESS_EVENTS:
      case POWERCUT_NAME_EVENTS:
      case POWERCUT_TREE_EVENTS:
      case EventKind::kContent:
        return;
    }
  }

  void settle() {
    // Every event settles first, so no other line has cacheable stores pending.
    for (uint64_t line : in_flight_) {
      pending_.settle_chain(line);
      absorb(line);
    }
    in_flight_.clear();
  }

  std::vector<uint64_t> in_flight_;  // lines of the store that is landing; some of them more than once
  bool stored_ = false;              // the last event was a store
  std::vector<uint64_t> kept_in_flight_;
  bool kept_stored_ = false;
};

class Eadr final : public MemoryRules {
 public:
  std::string_view name() const override { return "eadr"; }
  Durable by_flush(FlushKind) const override { return Durable::kNothing; }
  bool stores_at_once() const override { return true; }
  std::unique_ptr<Model> model(AtomPolicy wanted, uint64_t pool_size) const override {
    return std::make_unique<EadrModel>(*this, wanted, pool_size);
  }
};

}  // namespace

const Persistency& eadr() {
  static const Eadr rules;
  return rules;
}

}  // namespace powercut
