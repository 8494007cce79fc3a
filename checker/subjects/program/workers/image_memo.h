// The outcomes of recovery on whole images, for the whole trace: the outcome of an image that was run once is known.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_MEMO_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_MEMO_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/subjects/program/images/image_name.h"
#include "checker/subjects/program/workers/image_workers.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

// The names of the images of a crash point, as a frontier moves from one to the next.
class ImageNames {
 public:
  // `pool`: the frontier's. Call follow() at every change of a line.
  explicit ImageNames(const uint8_t* pool) : pool_(pool) {}
  void follow(uint64_t line, const LineSet* set);
  // `sets`: the frontier's sets now; follow() was called for each.
  ImageName of(const LineSets& sets, const Choice& choice) const;
  // Sets of others' making, over the frontier's definite lines.
  ImageName of_others(const LineSets& sets, const Choice& choice) const;

 private:
  const uint8_t* pool_;
  ImageName definite_;                                             // of the lines that are not pending
  absl::flat_hash_map<uint64_t, ImageName> lines_;                 // definite lines that are not all zeros
  absl::flat_hash_map<uint64_t, std::vector<ImageName>> pending_;  // by content
};

// Brings the frontier to the follower's crash point, and its names along. Returns the changes of the definite lines,
// for the workers. `pool`: the follower's.
BaseLines follow_images(TraceFollower* follower, const uint8_t* pool, ImageNames* names);

// Outcomes, each distinct one once, and which images have which.
class ImageMemo {
 public:
  using Id = uint32_t;
  std::optional<Id> find(const ImageName& name) const;
  Id add(const ImageName& name, ProgramOutcome outcome);
  Id intern(ProgramOutcome outcome);
  const ProgramOutcome& operator[](Id id) const { return outcomes_[id]; }
  size_t images() const { return known_.size(); }
  size_t outcomes() const { return outcomes_.size(); }

 private:
  struct Identity {
    ProgramOutcome::Kind kind;
    ProgramStep::Kind step;
    uint32_t probe;
    int code;
    std::vector<std::array<uint64_t, 3>> printed;  // by each step: bytes and their digest
    bool operator==(const Identity&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Identity& i) {
      return H::combine(std::move(h), i.kind, i.step, i.probe, i.code, i.printed);
    }
  };
  std::vector<ProgramOutcome> outcomes_;
  absl::flat_hash_map<Identity, Id> ids_;
  absl::flat_hash_map<ImageName, Id> known_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_MEMO_H_
