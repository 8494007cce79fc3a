// Contents that somebody asks for in the pending lines of one cut, and whether a power cut can leave them.
#ifndef POWERCUT_REPLAYER_EXECUTOR_LEVEL_CONTENTS_H_
#define POWERCUT_REPLAYER_EXECUTOR_LEVEL_CONTENTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replayer/executor/image.h"

namespace powercut {

struct LevelContents {
  // kFloor: the content that is certainly durable; kVisible: the content with all stores persisted.
  enum class Take : uint8_t { kBytes, kFloor, kVisible };
  struct Line {
    uint64_t line = 0;
    Take take = Take::kBytes;
    Content content;       // kBytes
    bool decided = false;  // kept only where recovery reads the line
  };
  std::vector<Line> lines;     // one entry a line
  Take rest = Take::kBytes;    // all other pending lines; kBytes: there may be none
  bool where_pending = false;  // entries of definite lines are ignored; else they must agree with the pool
};

struct PlacedLevel {
  std::vector<Image::Line> lines;      // every pending line, and definite ones that were named
  std::optional<std::string> refused;  // why no power cut leaves these contents
};

// Returns the contents of all pending lines as `wanted` asks, or why no power cut leaves them. `legal`: the lines that
// are pending at the cut, with all their candidates; `pool` holds every other line.
PlacedLevel place(const LevelContents& wanted, const LineSets& legal, std::span<const uint8_t> pool);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_LEVEL_CONTENTS_H_
