// The table of a finding as its target draws it (powercut/draw.h), before and after: with everything persisted, and on
// the finding's image, each after recovery. A drawing keeps three kinds of buckets and their neighbours: buckets in
// which the two tables differ, buckets that a line of the image touches, and buckets that hold the key.
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

// The cells that one call of powercut_target_draw reported. They lie in fixed memory, since the call runs inside target
// code's guard.
class DrawnCells {
 public:
  DrawnCells() : buffer_(kMost) {}

  void clear() { buffer_.clear(); }
  // [target] Draws the table into this.
  powercut_status draw(powercut_target_draw_fn draw, powercut_table* table, const uint8_t* pool);
  // True if the table had more cells than there is room for.
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

// The subject of a drawing: names the buckets that are shown although nothing differs in them.
struct DrawingFocus {
  std::set<uint64_t> lines;        // whose content in the image is not the visible one
  std::optional<std::string> key;  // bytes of the query's key
};

// The two drawings side by side, as the `Drawing` of reports/EVENTS.md. `after` is null where there was no table to
// draw.
Json drawing_json(const std::vector<DrawnCells::Cell>& before, const std::vector<DrawnCells::Cell>* after,
                  const History& history, const DrawingFocus& focus);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_LIBRARY_TABLE_DRAWING_H_
