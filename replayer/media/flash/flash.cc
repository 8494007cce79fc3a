// flash: raw NAND (powercut/flash.h). A line is a page or an erase block. An operation stores twice to its line, first
// what a cut in the middle of it leaves, then what it does, and is durable once the line is forced: it returns then. So
// nothing but the operation under way is pending.
//
// Crash points: those of adr (adr.cc), with force in the place of clflush. Why these suffice: MODELS.md, "flash".
#include "replayer/models/raising_model.h"

namespace powercut {
namespace {

class Flash final : public RaisingModel {
 public:
  explicit Flash(uint64_t pool_size) : RaisingModel(AtomPolicy::kAny, pool_size) {}
  std::string_view name() const override { return "flash"; }

 private:
  bool raises(const Event& event) override {
    if (event.kind == EventKind::kCut) return true;
    if (!is_force(event) || !pending_.raised_by_clflush(event.addr)) return false;
    const uint64_t line = event.addr / kLineSize;
    const LineLog& log = *pending_.find(line);
    return takes_away(line, log, log.durable_by_settling(pending_.policy()));
  }

  void change(const Event& event) override {
    if (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore) {
      pending_.store(event.index, 0, event.stack, page_write(), event.addr, event.value);
    } else if (event.kind == EventKind::kCut) {
      cut();
    } else if (is_force(event)) {
      pending_.flush(0, event.addr, FlushKind::kClflush);
      absorb(event.addr / kLineSize);
    }
  }
};

}  // namespace

std::unique_ptr<Model> make_flash(uint64_t pool_size) { return std::make_unique<Flash>(pool_size); }

}  // namespace powercut
