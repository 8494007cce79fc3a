// For tests: a tape, as an example of a medium. Blocks are appended and never written again. A power cut leaves a
// prefix of the blocks, at least those that were there at the last rewind (the device's flush).
//
// The pool is one word, the number of blocks on the tape: an append stores the next number. The numbers are a chain of
// stores to one line, and any prefix of the chain may persist. The word therefore says which prefix of the blocks there
// is.
#ifndef POWERCUT_REPLAYER_MEDIA_TAPE_TAPE_H_
#define POWERCUT_REPLAYER_MEDIA_TAPE_TAPE_H_

#include <array>
#include <string>
#include <vector>

#include "replayer/media/medium.h"

namespace powercut {

class TapeRules final : public Persistency {
 public:
  std::string_view name() const override { return "tape"; }
  Durable by_flush(FlushKind) const override { return Durable::kNothing; }
  bool has_fence(FenceKind kind) const override { return kind == FenceKind::kDevice; }
  Durable by_fence() const override { return Durable::kAll; }
  StoreTraits taken(const StoreTraits&) const override { return {.whole = true}; }
  bool by_threads() const override { return false; }
  std::optional<AtomPolicy> own_policy() const override { return AtomPolicy::kAny; }
  std::vector<std::string> assumptions(std::string_view, bool) const override {
    return {"blocks reach the tape in the order in which they are appended"};
  }
};

inline const Medium& tape_medium() {
  static const TapeRules rules;
  static const std::array<const Persistency*, 1> models = {&rules};
  static const Medium medium = {
      .name = "tape", .called = "a tape", .kind = 1000, .models = models, .calls = nullptr, .of_files = ""};
  return medium;
}

// The crash image of `appended` blocks when the tape's word holds `count`.
inline std::vector<std::string> tape_image(const std::vector<std::string>& appended, uint64_t count) {
  return {appended.begin(), appended.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_TAPE_TAPE_H_
