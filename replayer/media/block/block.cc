// block: sectors behind a volatile write cache (powercut/block.h). A line is an atomic write unit. A word of the line
// is a sector, and holds the name of the sector's content. A write is durable after the device's flush, or once its
// word is forced (FUA). Until then any set of the writes to a unit may have reached the medium, each whole. The thread
// that asks plays no part.
//
// Crash points: those of a RaisingModel. Why these points suffice: MODELS.md, "block".
#include "replayer/media/block/block.h"

#include <array>
#include <bit>

#include "powercut/target.h"
#include "replayer/media/media.h"
#include "replayer/media/pool_calls.h"

namespace powercut {
namespace {

class Block final : public Persistency {
 public:
  std::string_view name() const override { return "block"; }
  Durable by_flush(FlushKind kind) const override {
    return kind == FlushKind::kForce ? Durable::kWord : Durable::kNothing;
  }
  bool has_fence(FenceKind kind) const override { return kind == FenceKind::kDevice; }
  Durable by_fence() const override { return Durable::kAll; }
  StoreTraits taken(const StoreTraits&) const override { return {.non_temporal = true, .whole = true}; }
  bool by_threads() const override { return false; }
  std::optional<AtomPolicy> own_policy() const override { return AtomPolicy::kUnits; }
  std::vector<std::string> assumptions(std::string_view, bool) const override {
    return {"a write is whole within an atomic write unit; units reach the medium in any order until a flush"};
  }
};

}  // namespace

const Medium& block_medium() {
  static const Block rules;
  static const std::array<const Persistency*, 1> models = {&rules};
  static const Medium medium = {
      .name = "block",
      .called = "a block device",
      .kind = POWERCUT_BLOCK,
      .models = models,
      .takes = [](const PoolFile& file) { return file.device && std::has_single_bit(file.device->sector_size); },
      .calls = make_block_calls,
      .images = &block_images(),
      .of_files =
          "a file's size, its blocks and its name are durable at once; of what is written to it, a sector is "
          "whole, and as the page cache has it when it is written back"};
  return medium;
}

}  // namespace powercut
