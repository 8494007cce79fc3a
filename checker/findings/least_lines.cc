#include "checker/findings/least_lines.h"

namespace powercut {

uint32_t last_content(uint32_t contents, const std::function<bool(uint32_t first)>& shows_from) {
  uint32_t good = 0, bad = contents;
  while (bad - good > 1) {
    const uint32_t middle = good + (bad - good) / 2;
    (shows_from(middle) ? good : bad) = middle;
  }
  return good;
}

uint32_t lost_content(const LineSet& set) { return set.visible == 0 ? 1 : 0; }

std::vector<bool> decided_lines(const std::vector<bool>& lost, size_t most, const std::function<bool(size_t)>& asked,
                                const std::function<bool(size_t)>& shows_without) {
  std::vector<bool> out = lost;
  size_t tried = 0;
  for (size_t line = 0; line < lost.size(); ++line) {
    if (!lost[line] && asked(line) && tried++ < most) out[line] = !shows_without(line);
  }
  return out;
}

}  // namespace powercut
