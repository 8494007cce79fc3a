// paired-page: a cut in the middle of a program damages another page: the complete one that shares its cells with the
// programmed page (Tseng, Grupp and Swanson, DAC 2011).
//
// At each crash point inside a program: the page itself is erased, unreadable or complete, and its paired page cannot
// be read. The pairing depends on the chip, so two pairings are judged. One is with the page before it. The other is
// that of most chips with two bits a cell: (0, 2), (1, 4), (3, 6), ..., (n - 3, n - 1). The first page of a pair is
// programmed first (`dist3` in drivers/mtd/nand of Linux).
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "checker/faults/damage/damage.h"
#include "checker/faults/damage/device_cells.h"
#include "checker/faults/damage/paired_page.h"
#include "powercut/contents.h"

namespace powercut {

std::vector<uint64_t> paired_with(uint64_t page, uint64_t pages) {
  std::vector<uint64_t> out;
  if (page == 0) return out;
  out.push_back(page - 1);
  const uint64_t distance = page == 2 || page == pages - 1 ? 2 : 3;
  const bool second = page % 2 == 0 || page == pages - 1;
  if (second && page >= distance) out.push_back(page - distance);
  return out;
}

namespace {

class PairedPages final : public ListedDamages {
 public:
  PairedPages(const powercut_device& device, uint64_t pool_size) : cells_(device, pool_size) {}

  unsigned images(const TraceFollower& at) const override { return programmed(at) ? 1 : 0; }

 private:
  // The page that a program is under way of.
  std::optional<uint64_t> programmed(const TraceFollower& at) const {
    for (const PendingLines::Line& line : at.model().pending().lines()) {
      const auto pages = cells_.in(line.number, ~uint64_t{0});
      if (line.log.pending() && !pages.empty()) return pages.front();
    }
    return std::nullopt;
  }

  void find(const FaultImage& image) override {
    const uint64_t page = *programmed(image.at);
    const uint64_t first = page - page % cells_.unit();
    for (uint64_t paired : paired_with(page % cells_.unit(), cells_.unit())) {
      if (!cells_.is_readable(image.pool, first + paired)) continue;
      const LineSet destroyed = cells_.renamed(image.pool, first + paired, POWERCUT_NO_CONTENT);
      for (const Content& left : image.at.model().candidates(cells_.line_of(page)).contents) {
        add(image, {.subject = absl::StrCat("the cut program of ", cells_.describe(page), " destroys ",
                                            cells_.describe(first + paired)),
                    .offset = std::nullopt,
                    .lines = {destroyed, definite_line(cells_.line_of(page), left)},
                    .poison = {}});
      }
    }
  }

  const DeviceCells cells_;
};

}  // namespace

std::unique_ptr<Damages> make_paired_pages(const LoadedTrace& loaded) {
  return std::make_unique<PairedPages>(loaded.device, loaded.plan.scenario.pool_size);
}

}  // namespace powercut
