// bitflip: one bit that the run wrote, in the image that it leaves after an operation. In memory it is a bit of a line.
// On a device it is a bit of a sector's or page's content, which then is another content with a name of its own.
#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "checker/faults/damage/damage.h"
#include "checker/faults/damage/device_cells.h"

namespace powercut {
namespace {

// A place of memory is a byte, of a device a cell; either has a bit for each case.
class BitFlips : public Damages {
 public:
  void saw(const Event& event, const TraceFollower&) override {
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
    for_each_line(event.addr, event.addr + event.size, [&](uint64_t line, uint64_t mask) { wrote(line, mask); });
  }
  unsigned images(const TraceFollower& at) const override { return ends_operation(at) ? 1 : 0; }
  uint64_t unread() const override { return unread_places_ * bits_; }
  uint64_t count() const override { return places_.size() * bits_; }
  Damage at(uint64_t number) override { return flip(places_[number / bits_], number % bits_); }

 protected:
  explicit BitFlips(uint64_t bits) : bits_(bits) {}
  virtual void wrote(uint64_t line, uint64_t mask) = 0;
  virtual Damage flip(uint64_t place, uint64_t bit) = 0;
  void begin() { places_.clear(), unread_places_ = 0; }
  void note(uint64_t place) { places_.push_back(place); }
  void note_unread(uint64_t places) { unread_places_ += places; }

 private:
  const uint64_t bits_;  // of a place
  std::vector<uint64_t> places_;
  uint64_t unread_places_ = 0;
};

class MemoryBits final : public BitFlips {
 public:
  MemoryBits() : BitFlips(8) {}
  void look(const FaultImage& image) override {
    begin();
    pool_ = image.pool;
    for (uint64_t line : written_) {
      const uint64_t read = image.read(line);
      note_unread(kLineSize - static_cast<uint64_t>(std::popcount(read)));
      for (uint64_t rest = read; rest != 0; rest &= rest - 1) {
        note(line * kLineSize + static_cast<uint64_t>(std::countr_zero(rest)));
      }
    }
  }

 private:
  void wrote(uint64_t line, uint64_t) override { written_.insert(line); }
  Damage flip(uint64_t offset, uint64_t bit) override {
    Content content = content_at(pool_, offset / kLineSize);
    content.bytes[offset % kLineSize] ^= static_cast<uint8_t>(1u << bit);
    return {.subject = absl::StrCat("bit ", bit, " of the byte at offset ", offset),
            .offset = offset,
            .lines = {definite_line(offset / kLineSize, content)},
            .poison = {}};
  }

  std::set<uint64_t> written_;  // lines
  const uint8_t* pool_ = nullptr;
};

class CellBits final : public BitFlips {
 public:
  CellBits(const powercut_device& device, uint64_t pool_size)
      : BitFlips(uint64_t{device.bytes} * 8), cells_(device, pool_size) {}
  void look(const FaultImage& image) override {
    begin();
    pool_ = image.pool;
    for (uint64_t cell : written_) {
      if (!cells_.is_readable(image.pool, cell)) continue;
      const uint64_t mask = cells_.is_nor() ? line_mask(8, cells_.bytes()) : line_mask(cells_.word_of(cell) * 8, 8);
      if ((image.read(cells_.line_of(cell)) & mask) != 0) {
        note(cell);
      } else {
        note_unread(1);
      }
    }
  }

 private:
  void wrote(uint64_t line, uint64_t mask) override {
    for (uint64_t cell : cells_.in(line, mask)) written_.insert(cell);
  }
  Damage flip(uint64_t cell, uint64_t bit) override {
    std::vector<uint8_t> content = cells_.read(pool_, cell);
    content[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    return {.subject = absl::StrCat("bit ", bit % 8, " of byte ", bit / 8, " of ", cells_.describe(cell)),
            .offset = std::nullopt,
            .lines = {cells_.holding(pool_, cell, content)},
            .poison = {}};
  }

  const DeviceCells cells_;
  std::set<uint64_t> written_;
  const uint8_t* pool_ = nullptr;
};

}  // namespace

std::unique_ptr<Damages> make_bit_flips(const LoadedTrace& loaded) {
  if (loaded.device.medium == POWERCUT_MEMORY) return std::make_unique<MemoryBits>();
  return std::make_unique<CellBits>(loaded.device, loaded.plan.scenario.pool_size);
}

}  // namespace powercut
