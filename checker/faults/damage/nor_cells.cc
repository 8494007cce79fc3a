// unstable-read and stuck-bits: cells of NOR flash that read as no program has left them (powercut/nor.h, "Faults").
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "checker/faults/damage/damage.h"
#include "checker/faults/damage/device_cells.h"
#include "powercut/nor.h"

namespace powercut {
namespace {

// The line of a cell with a damaged byte, and `content` as its content otherwise.
LineSet damaged(uint64_t line, Content content, size_t byte, uint8_t bits, uint8_t how) {
  const std::array<uint8_t, 4> damage = {static_cast<uint8_t>(byte + 1), bits, how, content.bytes[0]};
  std::ranges::copy(damage, content.bytes.begin() + POWERCUT_NOR_DAMAGE);
  return definite_line(line, content);
}

// A unit whose program was cut reads in turn as it was and as it was to be, in the first byte that changes. It does so
// until it is programmed or erased again.
class UnstableReads final : public ListedDamages {
 public:
  UnstableReads(const powercut_device& device, uint64_t pool_size) : cells_(device, pool_size) {}
  unsigned images(const TraceFollower& at) const override { return pending(at).empty() ? 0 : 1; }

 private:
  // The lines of the cells that are under way.
  std::vector<uint64_t> pending(const TraceFollower& at) const {
    std::vector<uint64_t> out;
    for (const PendingLines::Line& line : at.model().pending().lines()) {
      if (line.log.pending() && !cells_.in(line.number, ~uint64_t{0}).empty()) out.push_back(line.number);
    }
    return out;
  }

  uint8_t shown(const Content& content, size_t byte) const {
    return content.word(0) == 0 ? 0xff : content.bytes[sizeof(uint64_t) + byte];
  }

  void find(const FaultImage& image) override {
    for (const uint64_t line : pending(image.at)) {
      const CandidateSet set = image.at.model().candidates(line);
      const Content &from = set.contents.front(), &to = set.contents[set.visible];
      for (size_t byte = 0; byte < cells_.bytes(); ++byte) {
        const auto bits = static_cast<uint8_t>(shown(from, byte) ^ shown(to, byte));
        if (bits == 0) continue;
        const std::string unit = "the unit of " + cells_.describe(cells_.in(line, 1).front());
        for (const bool done : {false, true}) {
          add(image,
              {.subject = absl::StrCat(unit, " reads differently each time, ", done ? "new" : "old", " at first"),
               .offset = std::nullopt,
               .lines = {damaged(line, done ? from : to, byte, bits, POWERCUT_NOR_UNSTABLE)},
               .poison = {}});
        }
        break;
      }
    }
  }

  const DeviceCells cells_;
};

// A bit of a cell is stuck: it reads as 0 or 1, whatever is programmed or erased.
class StuckBits final : public Damages {
 public:
  StuckBits(const powercut_device& device, uint64_t pool_size) : cells_(device, pool_size) {}
  unsigned images(const TraceFollower& at) const override { return ends_operation(at) ? 1 : 0; }
  void look(const FaultImage& image) override {
    read_.clear();
    pool_ = image.pool;
    for (uint64_t cell = 0; cell < cells_.count(); ++cell) {
      if ((image.read(cells_.line_of(cell)) >> POWERCUT_NOR_DAMAGE & 1) != 0) read_.push_back(cell);
    }
  }
  uint64_t unread() const override { return (cells_.count() - read_.size()) * of_cell(); }
  uint64_t count() const override { return read_.size() * of_cell(); }
  Damage at(uint64_t number) override {
    const uint64_t cell = read_[number / of_cell()], bit = number % of_cell() / 2, value = number % 2;
    const uint64_t line = cells_.line_of(cell);
    return {.subject = absl::StrCat("bit ", bit % 8, " of byte ", bit / 8, " of ", cells_.describe(cell),
                                    " is stuck at ", value),
            .offset = std::nullopt,
            .lines = {damaged(line, content_at(pool_, line), bit / 8, static_cast<uint8_t>(1U << bit % 8),
                              static_cast<uint8_t>(value == 0 ? POWERCUT_NOR_STUCK_AT_0 : POWERCUT_NOR_STUCK_AT_1))},
            .poison = {}};
  }

 private:
  uint64_t of_cell() const { return cells_.bytes() * 8 * 2; }  // cases

  const DeviceCells cells_;
  std::vector<uint64_t> read_;  // cells
  const uint8_t* pool_ = nullptr;
};

}  // namespace

std::unique_ptr<Damages> make_unstable_reads(const LoadedTrace& loaded) {
  return std::make_unique<UnstableReads>(loaded.device, loaded.plan.scenario.pool_size);
}

std::unique_ptr<Damages> make_stuck_bits(const LoadedTrace& loaded) {
  return std::make_unique<StuckBits>(loaded.device, loaded.plan.scenario.pool_size);
}

}  // namespace powercut
