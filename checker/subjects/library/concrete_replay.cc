#include "checker/subjects/library/concrete_replay.h"

#include <algorithm>

namespace powercut {
namespace {

bool same_place(const Cut& cut, const ConcreteImage::Nested& wanted, const std::vector<NestedStore>& stores) {
  return cut.after_return == wanted.after_return && cut.stores_seen == wanted.stores.size() &&
         std::equal(wanted.stores.begin(), wanted.stores.end(), stores.begin(),
                    [](const auto& w, const auto& s) { return w.first == s.offset && w.second == s.size; });
}

}  // namespace

std::optional<std::string> ConcreteReplay::run(const ConcreteImage& image, const LineSets& legal, const Then& then) {
  wanted_ = &image;
  then_ = &then;
  image_ = {};
  reads_.clear();
  return enter(0, legal);
}

std::optional<std::string> ConcreteReplay::enter(size_t depth, const LineSets& legal) {
  const LevelContents& wanted = depth == 0 ? wanted_->first : wanted_->nested[depth - 1].contents;
  PlacedLevel level = place(wanted, legal, {executor_->pool(), executor_->pool_size()});
  if (level.refused) {
    const std::string cut = depth == 0 ? "" : " after cut " + std::to_string(depth) + " of recovery";
    return "not a legal image of this trace" + cut + ": " + *level.refused;
  }
  image_.levels.resize(depth);
  image_.levels.push_back(std::move(level.lines));
  std::vector<LineSet> definite;
  definite.reserve(image_.levels[depth].size());
  for (const Image::Line& line : image_.levels[depth]) {
    definite.push_back({.line = line.line, .contents = {line.content}, .base = {}, .visible = 0, .diff = 0});
  }
  executor_->memory().install(sets_of(definite));
  auto wrong = recover(depth);
  executor_->memory().uninstall();
  return wrong;
}

std::optional<std::string> ConcreteReplay::recover(size_t depth) {
  const bool last = depth == wanted_->nested.size();
  std::vector<Cut> cuts;
  Decisions decisions;
  const UndecidedMemory::Mark start = executor_->memory().mark();
  buffer_->clear();
  executor_->reads().begin(start.arena);
  if (last && before_last_) before_last_();
  const Outcome outcome =
      executor_->run_recovery(&decisions, last ? nullptr : &cuts, [&] { oracle_->recover(buffer_); });
  if (last) {
    if (!outcome.returned()) put_failure(outcome, buffer_);
    (*then_)(outcome);
    executor_->memory().undo(start);
    return std::nullopt;
  }
  const std::vector<uint64_t>& read = executor_->reads().lines();
  reads_.insert(reads_.end(), read.begin(), read.end());
  if (outcome.returned()) {
    if (auto cut = executor_->recovery().cut_after()) cuts.push_back(std::move(*cut));
  }
  const std::vector<NestedStore> stores = executor_->recovery().stores();
  executor_->memory().undo(start);
  return descend(depth, cuts, stores);
}

// Fences between which recovery stored nothing share the number of stores; their durable contents differ. The image
// belongs to the first fence that allows it. Whatever follows depends on the image alone.
std::optional<std::string> ConcreteReplay::descend(size_t depth, const std::vector<Cut>& cuts,
                                                   const std::vector<NestedStore>& stores) {
  const ConcreteImage::Nested& wanted = wanted_->nested[depth];
  std::optional<std::string> refused;
  for (const Cut& cut : cuts) {
    if (!same_place(cut, wanted, stores)) continue;
    image_.nested.resize(depth);
    image_.nested.push_back(nested_of(cut, stores));
    const std::vector<LineSet> lines = executor_->memory().child(cut);
    auto wrong = enter(depth + 1, sets_of(lines));
    if (!wrong) return std::nullopt;
    refused = std::move(wrong);
  }
  if (refused) return refused;
  return "recovery on this image is not cut " +
         (wanted.after_return ? std::string("after it returned")
                              : "after " + std::to_string(wanted.stores.size()) + " stores") +
         ", or its stores are not the given ones";
}

// A line is decided when any of the finding's executions observed it: a line that one cut has left may be read only
// after the next cut. A replay reads whole contents, so its reads can confirm a decided line but not find one.
void ConcreteReplay::note_reads() {
  std::vector<uint64_t> read = reads_;
  read.insert(read.end(), executor_->reads().lines().begin(), executor_->reads().lines().end());
  std::sort(read.begin(), read.end());
  for (std::vector<Image::Line>& level : image_.levels) {
    for (Image::Line& line : level) {
      line.decided = line.decided && std::binary_search(read.begin(), read.end(), line.line);
    }
  }
}

}  // namespace powercut
