// media: an unreadable place in the image that the run leaves after an operation. In memory it is a block of 256 bytes,
// and every load of it raises SIGBUS. On a device it is a sector or a page, and every read of it answers an error.
#include "absl/strings/str_cat.h"
#include "checker/faults/damage/damage.h"
#include "checker/faults/damage/device_cells.h"
#include "checker/faults/media_error.h"
#include "powercut/contents.h"

namespace powercut {
namespace {

class MediaBlocks final : public Damages {
 public:
  explicit MediaBlocks(uint64_t pool_size) : blocks_(pool_size / kMediaBlock) {}
  unsigned images(const TraceFollower& at) const override { return ends_operation(at) ? 1 : 0; }
  void look(const FaultImage& image) override {
    read_.clear();
    for (uint64_t block = 0; block < blocks_; ++block) {
      uint64_t read = 0;
      for (uint64_t i = 0; i < kMediaBlock / kLineSize; ++i) read |= image.read(block * kMediaBlock / kLineSize + i);
      if (read != 0) read_.push_back(block);
    }
  }
  uint64_t unread() const override { return blocks_ - read_.size(); }
  uint64_t count() const override { return read_.size(); }
  Damage at(uint64_t number) override {
    const uint64_t offset = read_[number] * kMediaBlock;
    return {.subject = absl::StrCat("the block at offset ", offset),
            .offset = offset,
            .lines = {},
            .poison = {kPoolBase + offset, kPoolBase + offset + kMediaBlock}};
  }

 private:
  const uint64_t blocks_;
  std::vector<uint64_t> read_;
};

class UnreadableCells final : public ListedDamages {
 public:
  UnreadableCells(const powercut_device& device, uint64_t pool_size) : cells_(device, pool_size) {}
  unsigned images(const TraceFollower& at) const override { return ends_operation(at) ? 1 : 0; }

 private:
  void find(const FaultImage& image) override {
    for (uint64_t cell = 0; cell < cells_.count(); ++cell) {
      if (!cells_.is_readable(image.pool, cell)) continue;
      add(image, {.subject = cells_.describe(cell) + " cannot be read",
                  .offset = std::nullopt,
                  .lines = {cells_.unreadable(image.pool, cell)},
                  .poison = {}});
    }
  }
  const DeviceCells cells_;
};

}  // namespace

std::unique_ptr<Damages> make_media_errors(const LoadedTrace& loaded) {
  const uint64_t size = loaded.plan.scenario.pool_size;
  if (loaded.device.medium == POWERCUT_MEMORY) return std::make_unique<MediaBlocks>(size);
  return std::make_unique<UnreadableCells>(loaded.device, size);
}

}  // namespace powercut
