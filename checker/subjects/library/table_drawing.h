// The table of a finding as its target draws it (powercut/draw.h), before and after: with everything persisted, and on
// the finding's image, each after recovery. Only what tells something is kept: the buckets in which the two differ,
// those that a line of the image touches or that hold the key, and their neighbours.
#ifndef POWERCUT_CHECKER_SUBJECTS_LIBRARY_TABLE_DRAWING_H_
#define POWERCUT_CHECKER_SUBJECTS_LIBRARY_TABLE_DRAWING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/event_stream.h"
#include "checker/oracle/history.h"
#include "powercut/draw.h"
#include "replayer/search/subject.h"

namespace powercut {

// What one call of powercut_target_draw reported, in fixed memory: it is called inside target code's guard.
class DrawnCells {
 public:
  DrawnCells() : buffer_(kMost) {}

  void clear() { buffer_.clear(); }
  // [target] Draws the table into this.
  powercut_status draw(powercut_target_draw_fn draw, powercut_table* table, const uint8_t* pool);
  // The table had more cells than there is room for.
  bool cut_short() const { return buffer_.overflow(); }

  struct Cell {
    uint32_t kind = 0, slot = 0;
    uint64_t bucket = 0, offset = 0, size = 0;
    std::string group, label, text, key, value;
  };
  std::vector<Cell> cells() const;

 private:
  static constexpr size_t kMost = 32 << 20;
  static int add(void* context, const powercut_cell* cell);

  ResultBuffer buffer_;
  const uint8_t* pool_ = nullptr;
};

// What a drawing is about: which buckets are shown although nothing differs in them.
struct DrawingFocus {
  std::set<uint64_t> lines;        // that the image left other than they were visible
  std::optional<std::string> key;  // bytes of the query's key
};

// The two drawings side by side, as the `Drawing` of reports/EVENTS.md. `after` is null where there was no table to
// draw.
Json drawing_json(const std::vector<DrawnCells::Cell>& before, const std::vector<DrawnCells::Cell>* after,
                  const History& history, const DrawingFocus& focus);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_LIBRARY_TABLE_DRAWING_H_
