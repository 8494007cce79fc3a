// The choices of a tree as a finding keeps them: the same tree can be made again at the same crash point of the same
// recording.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_TREE_CHOICE_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_TREE_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/json_field.h"
#include "replayer/media/files/crash_points.h"
#include "replayer/media/files/tree_world.h"

namespace powercut {

// A tree that a second cut leaves.
struct InnerChoice {
  bool of_life;  // the continuation was cut; false: recovery was
  files::Side side;
  uint64_t call;
  files::ChosenTree tree = {};
};

struct TreeChoice {
  std::string profile;
  uint64_t ordinal = 0;  // of the crash point under that profile, from 1
  files::ChosenTree tree = {};
  bool continued = false;  // the commands run with the continuation
  std::optional<InnerChoice> inner = std::nullopt;
};

Json choice_json(const TreeChoice& choice, const files::Contents& contents);
// Throws Malformed.
TreeChoice choice_of(const JsonField& json, files::Contents* contents);
// Whether the tree is a legal one of the crash point.
bool is_legal(files::TreeWorld* world, const files::ChosenTree& tree);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_TREE_CHOICE_H_
