// Runs recovery on one concrete crash image: every pending line holds one content, so nothing branches and nothing is
// remembered. Recovery runs once for each cut; the caller decides which calls follow the last cut.
//
// The image is not taken on trust: every content must be one that its line may have at that cut. An image that no power
// cut can leave shows nothing. Reproducing a finding and judging images share this class.
#ifndef POWERCUT_CHECKER_SUBJECTS_LIBRARY_CONCRETE_REPLAY_H_
#define POWERCUT_CHECKER_SUBJECTS_LIBRARY_CONCRETE_REPLAY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checker/oracle/oracle.h"
#include "replayer/executor/executor.h"
#include "replayer/executor/image.h"
#include "replayer/executor/level_contents.h"

namespace powercut {

struct ConcreteImage {
  // A cut inside recovery, or right after it, and the contents that the cut left.
  struct Nested {
    bool after_return = false;
    std::vector<std::pair<uint64_t, uint64_t>> stores;  // offset and size of recovery's stores before the cut
    LevelContents contents;
  };
  LevelContents first;
  std::vector<Nested> nested;
};

class ConcreteReplay {
 public:
  // Called with the recovered state in place. The replay undoes that state afterwards.
  using Then = std::function<void(const Outcome& recovered)>;

  // All arguments outlive this object.
  ConcreteReplay(Executor* executor, Oracle* oracle, ResultBuffer* buffer)
      : executor_(executor), oracle_(oracle), buffer_(buffer) {}

  // `legal`: the lines that are pending at the first cut, with all their candidates; the pool holds every other line.
  // Returns why the crash point cannot leave the image, or nothing once `then` was called. The result of recovery is in
  // the buffer.
  std::optional<std::string> run(const ConcreteImage& image, const LineSets& legal, const Then& then);

  // Called before the recovery that follows the last cut.
  void before_last(std::function<void()> call) { before_last_ = std::move(call); }

  // The image at hand, cut by cut, for a report. Call this function within `then`.
  const Image& image() const { return image_; }
  // Clears `decided` of every line that no recovery, and no call after the last recovery, has observed. Call this
  // function within `then`.
  void note_reads();

 private:
  // Installs the contents of one level if they are legal there, and goes on with recovery.
  std::optional<std::string> enter(size_t depth, const LineSets& legal);
  // Runs recovery on the level that is installed and what follows: the next cut, or `then`.
  std::optional<std::string> recover(size_t depth);
  std::optional<std::string> descend(size_t depth, const std::vector<Cut>& cuts,
                                     const std::vector<NestedStore>& stores);

  Executor* executor_;
  Oracle* oracle_;
  ResultBuffer* buffer_;
  const ConcreteImage* wanted_ = nullptr;
  const Then* then_ = nullptr;
  std::function<void()> before_last_;
  Image image_;
  std::vector<uint64_t> reads_;  // lines that the recoveries before the last one observed
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_LIBRARY_CONCRETE_REPLAY_H_
