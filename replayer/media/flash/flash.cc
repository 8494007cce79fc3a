// flash: raw NAND (powercut/flash.h). A line is a page or an erase block. An operation stores twice to its line. The
// first store holds what a cut in the middle of the operation leaves, the second one its result. The operation returns
// once the line is forced, and is durable then. Only the operation under way is pending.
//
// Crash points: those of a RaisingModel. Why these points suffice: MODELS.md, "flash".
#include <array>

#include "powercut/target.h"
#include "replayer/media/media.h"

namespace powercut {
namespace {

class Flash final : public Persistency {
 public:
  std::string_view name() const override { return "flash"; }
  Durable by_flush(FlushKind kind) const override {
    return kind == FlushKind::kForce ? Durable::kLine : Durable::kNothing;
  }
  bool has_fence(FenceKind kind) const override { return kind == FenceKind::kDevice; }
  Durable by_fence() const override { return Durable::kNothing; }
  StoreTraits taken(const StoreTraits&) const override { return {.whole = true}; }
  bool by_threads() const override { return false; }
  std::optional<AtomPolicy> own_policy() const override { return AtomPolicy::kAny; }
  std::vector<std::string> assumptions(std::string_view, bool) const override {
    return {"an interrupted program leaves a page that is erased, complete, or cannot be read"};
  }
};

}  // namespace

const Medium& flash_medium() {
  static const Flash rules;
  static const std::array<const Persistency*, 1> models = {&rules};
  static const Medium medium = {.name = "flash", .called = "raw flash", .kind = POWERCUT_FLASH, .models = models};
  return medium;
}

}  // namespace powercut
