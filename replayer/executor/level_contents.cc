#include "replayer/executor/level_contents.h"

#include <algorithm>
#include <cstring>

#include "absl/container/flat_hash_map.h"

namespace powercut {
namespace {

using Take = LevelContents::Take;

std::string at_offset(uint64_t line) { return "the line at offset " + std::to_string(line * kLineSize); }

// Returns the content of a line that `take` means. A set's first content is the floor (replayer/models/candidates.h).
const Content& taken(const LineSet& set, Take take) { return set.contents[take == Take::kVisible ? set.visible : 0]; }

}  // namespace

PlacedLevel place(const LevelContents& wanted, const LineSets& legal, std::span<const uint8_t> pool) {
  const auto refused = [](const std::string& why) { return PlacedLevel{{}, why}; };
  absl::flat_hash_map<uint64_t, const LineSet*> open;  // lines of `legal` that are not listed
  for (const LineSet* set : legal) open[set->line] = set;
  PlacedLevel out;
  for (const LevelContents::Line& listed : wanted.lines) {
    if (listed.line >= pool.size() / kLineSize) return refused(at_offset(listed.line) + " is past the pool");
    const auto set = open.find(listed.line);
    if (set == open.end()) {
      if (wanted.where_pending || listed.take != Take::kBytes) continue;
      if (std::memcmp(pool.data() + listed.line * kLineSize, listed.content.bytes.data(), kLineSize) != 0) {
        return refused(at_offset(listed.line) + " is definite there and holds something else");
      }
      out.lines.push_back({listed.line, listed.content, 1, listed.decided});
      continue;
    }
    const std::vector<Content>& contents = set->second->contents;
    const Content& content = listed.take == Take::kBytes ? listed.content : taken(*set->second, listed.take);
    if (listed.take == Take::kBytes && std::find(contents.begin(), contents.end(), content) == contents.end()) {
      return refused(at_offset(listed.line) + " cannot hold these bytes; it has " + std::to_string(contents.size()) +
                     (contents.size() == 1 ? " candidate" : " candidates"));
    }
    out.lines.push_back({listed.line, content, static_cast<uint32_t>(contents.size()), listed.decided});
    open.erase(set);
  }
  for (const LineSet* set : legal) {
    if (!open.contains(set->line)) continue;
    if (set->contents.size() > 1 && wanted.rest == Take::kBytes) {
      return refused(at_offset(set->line) + " has " + std::to_string(set->contents.size()) +
                     " candidates, and the finding says nothing of it");
    }
    out.lines.push_back({set->line, taken(*set, wanted.rest), static_cast<uint32_t>(set->contents.size()), false});
  }
  return out;
}

}  // namespace powercut
