// shorn: only a part of a write to an atomic write unit reached the medium, its beginning or its end. (Zheng, Tucek,
// Qin and Lillibridge, FAST 2013: of 4 KiB writes the first three or seven eighths, in multiples of 512 bytes.)
//
// At each crash point, for each pending write to a unit, every such part. The rest of the unit holds its earlier
// content: nothing of what is pending, or all that was written to the unit earlier. Other units lose nothing, or all
// that is pending. A state of the unit that a power cut alone may leave is no case.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "checker/faults/damage/damage.h"
#include "checker/faults/damage/device_cells.h"

namespace powercut {
namespace {

// Devices write 512 bytes or more at once. A whole unit that is smaller than two of these stands for a larger one, as
// in small targets. It is cut in eighths, as the larger one would be.
constexpr uint64_t kPiece = 512, kPiecesOfSmallUnit = 8;

class ShornWrites final : public ListedDamages {
 public:
  ShornWrites(const powercut_device& device, uint64_t pool_size)
      : cells_(device, pool_size),
        bytes_(cells_.unit() * cells_.bytes()),
        piece_(bytes_ >= 2 * kPiece ? kPiece : std::max<uint64_t>(1, bytes_ / kPiecesOfSmallUnit)) {}

  unsigned images(const TraceFollower& at) const override {
    const auto lines = at.model().pending().lines();
    const auto pending =
        std::count_if(lines.begin(), lines.end(), [](const PendingLines::Line& line) { return line.log.pending(); });
    return static_cast<unsigned>(std::min<std::ptrdiff_t>(pending, 2));
  }

 private:
  void find(const FaultImage& image) override {
    for (const PendingLines::Line& line : image.at.model().pending().lines()) {
      if (!line.log.pending()) continue;
      const CandidateSet legal = image.at.model().candidates(line.number);
      const Content floor = image.at.model().floor(line.number);
      Content before = floor;  // with all that was written earlier
      for (const PendingStore& store : line.log.stores()) {
        Content whole = before;
        for (const Atom& atom : store.atoms) whole.put(atom);
        for (const Content& old : {before, floor}) {
          Content written = old;
          for (const Atom& atom : store.atoms) written.put(atom);
          shear(image, line.number, old, written, legal.contents);
        }
        before = whole;
      }
    }
  }

  void shear(const FaultImage& image, uint64_t line, const Content& old, const Content& written,
             const std::vector<Content>& legal) {
    for (uint64_t size = piece_; size < bytes_; size += piece_) {
      for (const bool head : {true, false}) {
        const uint64_t edge = head ? size : bytes_ - size;
        const std::optional<Content> shorn = joined(head ? written : old, head ? old : written, edge);
        if (!shorn || std::find(legal.begin(), legal.end(), *shorn) != legal.end()) continue;
        const uint64_t first = line * cells_.unit();
        add(image, {.subject = absl::StrCat("the write of ", cells_.describe(first, first + cells_.unit() - 1),
                                            ", of which only the ", head ? "first " : "last ", size, " of ", bytes_,
                                            " bytes reached the medium"),
                    .offset = std::nullopt,
                    .lines = {definite_line(line, *shorn)},
                    .poison = {}});
      }
    }
  }

  // The bytes of the unit before `edge` from the one, those behind it from the other. Nothing where these cannot be
  // read.
  std::optional<Content> joined(const Content& head, const Content& tail, uint64_t edge) const {
    Content out = tail;
    const uint64_t whole = edge / cells_.bytes(), in_cell = edge % cells_.bytes();
    const auto put = [&out](uint64_t word, uint64_t name) {
      out.put({.value = name, .word = static_cast<uint8_t>(word), .bytes = 0xff});
    };
    for (uint64_t word = 0; word < whole; ++word) put(word, head.word(word));
    if (in_cell == 0 || head.word(whole) == tail.word(whole)) return out;
    std::vector<uint8_t> bytes = cells_.named(head.word(whole));
    const std::vector<uint8_t> rest = cells_.named(tail.word(whole));
    if (bytes.empty() || rest.empty()) return std::nullopt;
    std::copy(rest.begin() + static_cast<std::ptrdiff_t>(in_cell), rest.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(in_cell));
    put(whole, cells_.name_of(bytes));
    return out;
  }

  const DeviceCells cells_;
  const uint64_t bytes_, piece_;  // of a unit, and of what is written at once
};

}  // namespace

std::unique_ptr<Damages> make_shorn_writes(const LoadedTrace& loaded) {
  return std::make_unique<ShornWrites>(loaded.device, loaded.plan.scenario.pool_size);
}

}  // namespace powercut
