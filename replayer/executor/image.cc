#include "replayer/executor/image.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace powercut {

Image::Nested nested_of(const Cut& cut, const std::vector<NestedStore>& stores) {
  const auto seen = stores.begin() + static_cast<ptrdiff_t>(cut.stores_seen);
  return {cut.stores_seen, cut.after_return, {stores.begin(), seen}};
}

Image CutLevels::image(const Executor& executor) const {
  Image out;
  out.levels.resize(levels_.size());
  // The content that a deeper level's choice fixes for a line at the nearest cut above that left the line open.
  struct Fixed {
    uint32_t content;
    bool decided;
  };
  absl::flat_hash_map<uint64_t, Fixed> fixed;
  const size_t last = levels_.size() - 1;
  for (size_t f = levels_.size(); f-- > 0;) {
    const Level& level = levels_[f];
    if (f > 0) out.nested.insert(out.nested.begin(), level.nested);
    for (const LineSet* set : level.sets) {
      uint32_t index = 0;
      bool decided = false;
      if (const auto given = fixed.find(set->line); given != fixed.end()) {
        index = given->second.content;
        decided = given->second.decided;
      } else if (const auto known = executor.memory().alive_of(set->line); known && known->set == set) {
        const Alive& alive = known->alive;
        index = std::find(alive.begin(), alive.end(), set->visible) != alive.end() ? set->visible : alive.back();
        const bool narrowed = alive.size() != set->contents.size();
        // A line that only the innermost recovery observed was decided there, though an outer cut left it open.
        if (narrowed && f < last) {
          out.levels[last].push_back(
              {set->line, set->contents[index], static_cast<uint32_t>(set->contents.size()), true});
        }
        decided = narrowed && f == last;
      }
      out.levels[f].push_back({set->line, set->contents[index], static_cast<uint32_t>(set->contents.size()), decided});
      if (set->base.empty()) {
        fixed.erase(set->line);
        continue;
      }
      fixed[set->line] = {set->base[index], set->observed};
    }
  }
  return out;
}

}  // namespace powercut
