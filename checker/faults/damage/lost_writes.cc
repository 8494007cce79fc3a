// unserialisable: a write that a flush or a forced write made durable is missing, and later ones are there (Zheng,
// Tucek, Qin and Lillibridge, FAST 2013).
//
// At each crash point, with nothing else lost: each request that is durable and of which something still shows, and
// each write of such a request to one atomic write unit, by itself. Where one was, its sectors hold what they held
// before it; sectors that were written again since keep that. A request is a run of writes of one place in the code to
// adjacent sectors, in their order, with no flush in between: a device merges such writes, and a trace does not tell
// them from one.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "checker/faults/damage/damage.h"
#include "checker/faults/damage/device_cells.h"

namespace powercut {
namespace {

class LostWrites final : public ListedDamages {
 public:
  LostWrites(const powercut_device& device, uint64_t pool_size) : cells_(device, pool_size), shown_(cells_.count()) {}

  void saw(const Event& event, const TraceFollower& at) override {
    if (event.kind == EventKind::kContent || event.kind == EventKind::kMarker) return;
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) {
      next_ = kNone;
      return;
    }
    for_each_line(event.addr, event.addr + event.size, [&](uint64_t line, uint64_t mask) {
      for (uint64_t cell : cells_.in(line, mask)) {
        if (cell != next_ || event.stack != stack_) {
          requests_.emplace(++request_, Request{describe_operation(at.history()), cell, cell, {}});
        }
        next_ = cell + 1;
        stack_ = event.stack;
        const uint64_t word =
            load_word(event.value.data() + (line * kLineSize + cells_.word_of(cell) * 8 - event.addr));
        wrote(cell, word);
      }
    });
  }
  // One image: the one that has lost nothing.
  unsigned images(const TraceFollower&) const override { return 1; }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Request {
    std::string operation;
    uint64_t first, last;      // cells
    std::set<uint64_t> shown;  // the cells among them that show the write
  };
  // The content that a cell shows, and its content before the request that wrote it.
  struct Shown {
    uint64_t request = 0, name = 0, before = 0;
  };

  void wrote(uint64_t cell, uint64_t name) {
    Shown& shown = shown_[cell];
    if (shown.request != request_) {
      if (const auto old = requests_.find(shown.request); old != requests_.end()) {
        old->second.shown.erase(cell);
        if (old->second.shown.empty()) requests_.erase(old);
      }
      shown = {request_, name, shown.name};
    }
    shown.name = name;
    Request& request = requests_.at(request_);
    request.last = std::max(request.last, cell);
    request.shown.insert(cell);
  }

  void find(const FaultImage& image) override {
    const PendingLines& pending = image.at.model().pending();
    for (const auto& [number, request] : requests_) {
      const bool durable = std::none_of(request.shown.begin(), request.shown.end(), [&](uint64_t cell) {
        const LineLog* log = pending.find(cells_.line_of(cell));
        return log != nullptr && log->pending();
      });
      if (!durable) continue;
      std::map<uint64_t, Content> lines;
      for (uint64_t cell : request.shown) {
        const uint64_t line = cells_.line_of(cell);
        const auto at = lines.try_emplace(line, content_at(image.pool, line)).first;
        at->second.put(
            {.value = shown_[cell].before, .word = static_cast<uint8_t>(cells_.word_of(cell)), .bytes = 0xff});
      }
      Damage all;
      all.subject = absl::StrCat("the write of ", cells_.describe(request.first, request.last), " in ",
                                 request.operation, " is missing");
      for (const auto& [line, content] : lines) all.lines.push_back(definite_line(line, content));
      add(image, all);
      for (const LineSet& set : all.lines) {
        const uint64_t first = std::max(set.line * cells_.unit(), request.first);
        const uint64_t last = std::min((set.line + 1) * cells_.unit() - 1, request.last);
        add(image, {.subject = absl::StrCat("the write of ", cells_.describe(first, last), " in ", request.operation,
                                            " is missing"),
                    .offset = std::nullopt,
                    .lines = {set},
                    .poison = {}});
      }
    }
  }

  const DeviceCells cells_;
  std::vector<Shown> shown_;              // by cell
  std::map<uint64_t, Request> requests_;  // those of which something shows
  uint64_t request_ = 0;                  // the last one
  uint64_t next_ = kNone;                 // the cell that would continue it
  uint32_t stack_ = 0;
};

}  // namespace

std::unique_ptr<Damages> make_lost_writes(const LoadedTrace& loaded) {
  return std::make_unique<LostWrites>(loaded.device, loaded.plan.scenario.pool_size);
}

}  // namespace powercut
