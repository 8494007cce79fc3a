// stale-mapping: a device loses a page of its own mapping. The data that this page maps go back together to one earlier
// point in time (Zheng, Tucek, Qin and Lillibridge, FAST 2013, "metadata corruption").
//
// Cases at each crash point, with nothing else lost: on a block device each aligned run of kRun atomic write units; on
// raw flash each page, and each erase block with all its pages. The run holds its durable content at one of the last
// kMost points in time at which that content was different. Unlike an unserialisable write it takes all later writes to
// the run with it, and no other sector is touched.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "checker/faults/damage/damage.h"
#include "checker/faults/damage/device_cells.h"

namespace powercut {
namespace {

constexpr uint64_t kRun = 8;
constexpr size_t kMost = 8;

class StaleMappings final : public ListedDamages {
 public:
  StaleMappings(const powercut_device& device, uint64_t pool_size)
      : cells_(device, pool_size), lines_(pool_size / kLineSize) {}

  void saw(const Event& event, const TraceFollower& at) override {
    if (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore) {
      for_each_line(event.addr, event.addr + event.size, [&](uint64_t line, uint64_t) { open_.insert(line); });
    }
    // Nothing else makes anything durable, or ends what does.
    if (!is_force(event) && !is_device_flush(event) && event.kind != EventKind::kCut) return;
    std::string now;  // which operation it is
    for (auto line = open_.begin(); line != open_.end();) {
      std::vector<Version>& versions = versions_[*line];
      if (versions.empty()) versions.push_back({0, Content{}});
      const Content floor = at.model().floor(*line);
      if (!(versions.back().content == floor)) {
        versions.push_back({event.index, floor});
        times_.try_emplace(event.index, describe_operation(at.history()));
      }
      const LineLog* log = at.model().pending().find(*line);
      line = log != nullptr && log->pending() ? std::next(line) : open_.erase(line);
    }
  }
  // One image: the one that has lost nothing.
  unsigned images(const TraceFollower&) const override { return 1; }

 private:
  // The durable content of a line from an event on.
  struct Version {
    uint64_t event;
    Content content;
  };

  void find(const FaultImage& image) override {
    if (cells_.has_blocks()) {
      for (uint64_t block = 0; block < cells_.blocks(); ++block) {
        std::vector<uint64_t> all = {block};
        for (uint64_t page = block * cells_.unit(); page < (block + 1) * cells_.unit(); ++page) {
          all.push_back(cells_.line_of(page));
          go_back(image, {cells_.line_of(page)}, cells_.describe(page));
        }
        go_back(image, all,
                absl::StrCat(cells_.is_nor() ? "sector " : "block ", block, " with all its ",
                             cells_.is_nor() ? "cells" : "pages"));
      }
      return;
    }
    for (uint64_t first = 0; first < lines_; first += kRun) {
      const uint64_t end = std::min(first + kRun, lines_);
      std::vector<uint64_t> run;
      for (uint64_t line = first; line < end; ++line) run.push_back(line);
      go_back(image, run, cells_.describe(first * cells_.unit(), end * cells_.unit() - 1));
    }
  }

  void go_back(const FaultImage& image, const std::vector<uint64_t>& run, const std::string& name) {
    std::set<uint64_t> changes;  // events; from the first on it is as it was at the start
    for (uint64_t line : run) {
      const auto at = versions_.find(line);
      if (at == versions_.end()) continue;
      for (const Version& version : at->second) changes.insert(version.event);
    }
    if (changes.empty()) return;
    const std::vector<LineSet> now = held(run, *changes.rbegin());
    size_t left = kMost;
    for (auto time = std::next(changes.rbegin()); time != changes.rend() && left > 0; ++time) {
      std::vector<LineSet> then = held(run, *time);
      // A power cut alone may leave the present content without the pending part.
      if (same(then, now)) continue;
      --left;
      const auto operation = times_.find(*time);
      add(image, {.subject = absl::StrCat(name, cells_.has_blocks() ? " as it was " : " as they were ",
                                          operation == times_.end() ? "at the start" : "in " + operation->second),
                  .offset = std::nullopt,
                  .lines = std::move(then),
                  .poison = {}});
    }
  }

  // Contents of lines at the time of an event.
  std::vector<LineSet> held(const std::vector<uint64_t>& run, uint64_t event) const {
    std::vector<LineSet> out;
    for (uint64_t line : run) {
      const auto at = versions_.find(line);
      Content then;  // zeroes, of a line that nothing durable was ever written to
      if (at != versions_.end()) {
        const auto behind = std::upper_bound(at->second.begin(), at->second.end(), event,
                                             [](uint64_t e, const Version& version) { return e < version.event; });
        then = std::prev(behind)->content;
      }
      out.push_back(definite_line(line, then));
    }
    return out;
  }
  static bool same(const std::vector<LineSet>& a, const std::vector<LineSet>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const LineSet& x, const LineSet& y) { return x.contents[0] == y.contents[0]; });
  }

  const DeviceCells cells_;
  const uint64_t lines_;
  std::set<uint64_t> open_;                            // lines of which a version may be new
  std::map<uint64_t, std::vector<Version>> versions_;  // by line, in order
  std::map<uint64_t, std::string> times_;              // event -> the operation that it was in
};

}  // namespace

std::unique_ptr<Damages> make_stale_mappings(const LoadedTrace& loaded) {
  return std::make_unique<StaleMappings>(loaded.device, loaded.plan.scenario.pool_size);
}

}  // namespace powercut
