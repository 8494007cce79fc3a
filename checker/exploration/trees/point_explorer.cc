#include "checker/exploration/trees/point_explorer.h"

#include <algorithm>
#include <set>

namespace powercut {

Result<bool> PointExplorer::explore(uint64_t most_runs, const std::function<bool()>& goes_on, const Reached& reached,
                                    const std::vector<AskedQuestion>& within) {
  box_.emplace(&world_);
  for (const AskedQuestion& each : within) box_->narrow(each.question, each.answer);
  path_.clear();
  open_.clear();
  visit(&root_, reached);
  while (!open_.empty() && world_.known()) {
    if (most_runs == 0 || !goes_on()) return false;
    const size_t size = std::min({open_.size(), kPortion, static_cast<size_t>(most_runs)});
    std::vector<Open> portion(std::make_move_iterator(open_.begin()),
                              std::make_move_iterator(open_.begin() + static_cast<ptrdiff_t>(size)));
    open_.erase(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(size));
    std::vector<files::ChosenTree> trees;
    for (const Open& each : portion) trees.push_back(each.tree);
    auto runs = runs_.run(&world_, trees);
    if (!runs) return runs.error();
    most_runs -= size;
    if (!runs_.unrepeatable().empty()) return false;
    for (size_t i = 0; i < portion.size(); ++i) {
      add(portion[i].node, portion[i].path, (*runs)[i]);
      const auto mark = box_->mark();
      for (const AskedQuestion& each : portion[i].path) box_->narrow(each.question, each.answer);
      path_ = portion[i].path;
      visit(portion[i].node, reached);
      path_.clear();
      box_->undo(mark);
    }
  }
  return open_.empty() && world_.known();
}

void PointExplorer::add(ReadNode* node, const std::vector<AskedQuestion>& path, const TreeRun& run) const {
  std::set<files::Question> answered;
  for (const AskedQuestion& each : path) answered.insert(each.question);
  for (const AskedQuestion& each : run.asked) {
    if (!answered.contains(each.question)) node->steps.push_back(each);
  }
  node->outcome = run.outcome;
}

void PointExplorer::visit(ReadNode* node, const Reached& reached) {
  const auto mark = box_->mark();
  const size_t length = path_.size();
  if (!node->known()) {
    open_.push_back({node, path_, box_->newest()});
  } else {
    for (size_t at = 0; at < node->steps.size(); ++at) {
      const AskedQuestion& step = node->steps[at];
      const std::vector<files::Answer> answers = box_->answers(step.question);
      if (answers.size() != 1 || answers[0] != step.answer) {
        node->split(at);
        break;
      }
      box_->narrow(step.question, step.answer, /*only=*/true);
      path_.push_back(step);
    }
    branch(node, reached);
  }
  path_.resize(length);
  box_->undo(mark);
}

void PointExplorer::branch(ReadNode* node, const Reached& reached) {
  if (!world_.known()) return;
  if (node->outcome) return reached(*node->outcome, node, path_, box_->newest());
  const files::Question question = *node->question;
  const std::vector<files::Answer> answers = box_->answers(question);
  for (const files::Answer& answer : answers) {
    auto& next = node->next[answer];
    if (!next) next = std::make_unique<ReadNode>();
    const auto mark = box_->mark();
    box_->narrow(question, answer, answers.size() == 1);
    path_.push_back({question, answer});
    visit(next.get(), reached);
    path_.pop_back();
    box_->undo(mark);
  }
}

Result<Outcomes::Id> PointExplorer::outcome_of(const files::ChosenTree& tree, std::vector<AskedQuestion>* asked) {
  ReadNode* node = &root_;
  std::vector<AskedQuestion> own;
  std::vector<AskedQuestion>& path = asked == nullptr ? own : *asked;
  std::vector<files::PathId> files;
  const auto ask = [&](const files::Question& question) {
    const files::Answer answer = answer_of(&world_, tree, files, question);
    if (question.kind == files::Question::Kind::kName &&
        (answer.kind == files::Answer::Kind::kFile || answer.kind == files::Answer::Kind::kLink)) {
      files.push_back(question.path);
    }
    path.push_back({question, answer});
    return answer;
  };
  while (node->known()) {
    bool left = false;
    for (size_t at = 0; at < node->steps.size() && !left; ++at) {
      const files::Answer expected = node->steps[at].answer;
      if (ask(node->steps[at].question) == expected) continue;
      path.pop_back();
      node->split(at);
      left = true;
    }
    if (node->outcome) return *node->outcome;
    auto& next = node->next[ask(*node->question)];
    if (!next) next = std::make_unique<ReadNode>();
    node = next.get();
  }
  auto runs = runs_.run(&world_, {tree});
  if (!runs) return runs.error();
  add(node, path, (*runs)[0]);
  path.insert(path.end(), node->steps.begin(), node->steps.end());
  return (*runs)[0].outcome;
}

}  // namespace powercut
