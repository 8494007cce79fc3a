// nor: NOR flash, and memories without an erase (powercut/nor.h). A line is a sector's count of erases, or a cell. An
// operation stores to its lines each content that a cut in its middle leaves, in their order, and its result last. The
// operation is durable after the device's flush, so only the operation under way is pending.
//
// Crash points: those of a RaisingModel. Why these points suffice: MODELS.md, "nor".
#include <array>

#include "powercut/target.h"
#include "replayer/media/media.h"

namespace powercut {
namespace {

class Nor final : public Persistency {
 public:
  std::string_view name() const override { return "nor"; }
  Durable by_flush(FlushKind) const override { return Durable::kNothing; }
  bool has_fence(FenceKind kind) const override { return kind == FenceKind::kDevice; }
  Durable by_fence() const override { return Durable::kAll; }
  StoreTraits taken(const StoreTraits&) const override { return {.whole = true}; }
  bool by_threads() const override { return false; }
  std::optional<AtomPolicy> own_policy() const override { return AtomPolicy::kAny; }
  std::vector<std::string> assumptions(std::string_view, bool) const override {
    return {"an interrupted program or erase leaves what the parameters of the part say, and reads the same each time"};
  }
};

}  // namespace

const Medium& nor_medium() {
  static const Nor rules;
  static const std::array<const Persistency*, 1> models = {&rules};
  static const Medium medium = {.name = "nor", .called = "NOR flash", .kind = POWERCUT_NOR, .models = models};
  return medium;
}

}  // namespace powercut
