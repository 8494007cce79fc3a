// block: sectors behind a volatile write cache (powercut/block.h). A line is an atomic write unit, a word of it a
// sector, by the name of its content. What was written is durable after the device's flush, or once its word is forced
// (FUA); until then any set of the writes to a unit may have reached the medium, each whole. Which thread asks plays no
// part.
//
// Crash points: those of adr (adr.cc), with the device's flush and force in the place of fence and clflush. Why these
// suffice: MODELS.md, "block".
#include "replayer/models/raising_model.h"

namespace powercut {
namespace {

class Block final : public RaisingModel {
 public:
  explicit Block(uint64_t pool_size) : RaisingModel(AtomPolicy::kUnits, pool_size) {}
  std::string_view name() const override { return "block"; }

 private:
  bool raises(const Event& event) override {
    if (event.kind == EventKind::kCut) return true;
    if (is_device_flush(event)) {
      for (const auto& [line, log] : pending_.lines()) {
        if (takes_away(line, log, log.all())) return true;
      }
    }
    if (!is_force(event)) return false;
    const uint64_t line = event.addr / kLineSize;
    const LineLog* log = pending_.find(line);
    return log != nullptr && log->pending() &&
           takes_away(line, *log, log->durable_by_forcing(static_cast<uint32_t>(event.addr % kLineSize / 8)));
  }

  void change(const Event& event) override {
    if (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore) {
      pending_.store(event.index, 0, event.stack, unit_write(), event.addr, event.value);
    } else if (is_device_flush(event) || event.kind == EventKind::kCut) {
      cut();
    } else if (is_force(event)) {
      pending_.force(event.addr);
      absorb(event.addr / kLineSize);
    }
  }
};

}  // namespace

std::unique_ptr<Model> make_block(uint64_t pool_size) { return std::make_unique<Block>(pool_size); }

}  // namespace powercut
