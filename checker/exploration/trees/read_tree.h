// The tree of reads: the questions that runs of the commands have asked, in their order, and the outcome of each run.
//
// A run is a function of the answers that it gets. An image that gives the same answers therefore has the same
// outcome, and is not run. The tree is kept from one crash point to the next, and shared by all profiles.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_READ_TREE_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_READ_TREE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checker/subjects/program/workers/image_worker.h"
#include "replayer/media/files/tree_box.h"

namespace powercut {

struct AskedQuestion {
  files::Question question;
  files::Answer answer;
  auto operator<=>(const AskedQuestion&) const = default;
};

// Outcomes by number: equal outcomes have one number.
class Outcomes {
 public:
  using Id = uint32_t;
  Id of(const ProgramOutcome& outcome);
  const ProgramOutcome& operator[](Id id) const { return outcomes_[id]; }
  size_t size() const { return outcomes_.size(); }

 private:
  std::vector<ProgramOutcome> outcomes_;
  std::multimap<std::string, Id> known_;
};

// A place in the tree: questions to which runs so far got one answer each, and then an outcome, or a question with
// several answers; nothing yet where no run has come.
struct ReadNode {
  std::vector<AskedQuestion> steps;
  std::optional<files::Question> question;
  std::map<files::Answer, std::unique_ptr<ReadNode>> next;
  std::optional<Outcomes::Id> outcome;

  bool known() const { return !steps.empty() || question || outcome; }
  // Makes the question of step `at` one with several answers. Returns the node behind the answer of the step.
  ReadNode* split(size_t at);
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_READ_TREE_H_
