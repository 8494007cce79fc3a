// The explorer's findings: a violating image that has lost as little as possible.
#include <algorithm>
#include <set>

#include "base/user_file.h"
#include "checker/exploration/walks/explorer.h"
#include "checker/findings/finding_parts.h"
#include "checker/subjects/program/outputs/finding.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

// Violating images of one kind that are explained at one crash point: each may have other lost stores.
constexpr size_t kExplainedOfAKind = 8;
// Runs of a finding's image before the finding is told.
constexpr int kConfirmed = 8;

// The contents that the lines name: recovery may have written them, and the recorded trace need not have them.
Json contents_of(const std::vector<Image::Line>& lines, const TracePools& pools) {
  Json out = Json::array();
  for (const PoolWindow& window : pools.windows) {
    const uint64_t first = window.offset / kLineSize, end = first + window.space() / kLineSize;
    for (const Image::Line& line : lines) {
      if (line.line < first || line.line >= end) continue;
      window.images().each_content(window.file(), line.line - first, line.content,
                                   [&](std::span<const uint8_t> bytes) { out.push_back(hex(bytes)); });
    }
  }
  return out;
}

}  // namespace

bool ProgramExplorer::shows(const Choice& choice, const ProgramViolation& violation) {
  const auto outcome = runs_.outcome_of(choice);
  if (!outcome) return false;
  const auto shown = judged(*outcome);
  return shown && shown->invariant == violation.invariant && shown->kind == violation.kind;
}

LeastChoice ProgramExplorer::least_choice(const ProgramViolation& violation) {
  return {point_.sets, [this, &violation](const Choice& choice) { return shows(choice, violation); }};
}

void ProgramExplorer::explain(const Choice& choice, const ProgramViolation& violation) {
  const std::string kind = violation.invariant + "/" + violation.kind;
  size_t of_kind = 0;
  for (const Explained& known : explained_) {
    if (known.kind != kind) continue;
    // This image has lost everything that a known least image lost, and more.
    if (std::all_of(known.lost.begin(), known.lost.end(), [&](const auto& l) { return choice[l.first] == l.second; })) {
      return;
    }
    if (++of_kind == kExplainedOfAKind) return;
  }
  const LeastChoice search = least_choice(violation);
  const Choice least = search.find(choice);
  // Nothing is waited for any more, so the image may lose more than the violation takes, and would pass for another bug
  // of its kind.
  const auto alike = [&](const auto& known) { return known.second["invariant"] == violation.invariant; };
  if (out_.hung && std::any_of(out_.findings.begin(), out_.findings.end(), alike)) return;
  const auto outcome = runs_.outcome_of(least);
  if (!outcome) return;
  // One run that blocks is long enough.
  const bool blocks = runs_[*outcome].kind == ProgramOutcome::Kind::kTimeout;
  if (!runs_.repeat({least}, blocks ? 1 : kConfirmed) && out_.unrepeatable) return;
  // An image is lossless if nothing is lost, and either no operation is under way, or its end makes no difference.
  const bool settled = operations_.begun() > 0 && operations_.in_flight().empty() && !stored_outside_;
  const ProgramOutcome& shows_it = runs_[*outcome];
  const bool lossless = least == search.visible() &&
                        (settled || (!violation.of_output && expected_->fails_at_the_end(operations_, shows_it)));
  // If the operation before has left the failure, no loss of this operation's stores is its cause.
  const bool needs_power_cut = !lossless && (violation.of_output || !expected_->failed_before(operations_, shows_it));
  const std::vector<bool> decided = needs_power_cut ? search.decided(least) : std::vector<bool>(least.size(), false);
  Explained& explained = explained_.emplace_back(Explained{kind, {}});
  std::vector<Image::Line> lines;
  for (size_t i = 0; i < least.size(); ++i) {
    const LineSet& set = *point_.sets[i];
    if (least[i] != set.visible) explained.lost.emplace_back(i, least[i]);
    lines.push_back({.line = set.line,
                     .content = set.contents[least[i]],
                     .candidates = static_cast<uint32_t>(set.contents.size()),
                     .decided = decided[i]});
  }
  const auto shown = judged(*outcome);
  Finding finding = finding_of(shown ? *shown : violation, runs_[*outcome], lines, operations_, commands_,
                               needs_power_cut, is_acknowledged(parse_json(follower_->reader().metadata())));
  finding.last_store = last_store_;
  found(finding);
}

void ProgramExplorer::explain_inner(const Choice& choice, const ProgramViolation& violation) {
  size_t& explained = explained_inner_[violation.invariant + "/" + violation.kind];
  if (explained >= kExplainedOfAKind) return;
  ++explained;
  const LeastChoice search = least_choice(violation);
  const Choice least = search.find(choice);
  const auto outcome = runs_.outcome_of(least);
  if (!outcome) return;
  if (!runs_.repeat({least}, kConfirmed) && out_.unrepeatable) return;
  const std::vector<bool> decided = search.decided(least);
  // The first cut's image, and on top the stores of recovery that the second cut left.
  std::vector<Image::Line> lines, inner;
  for (size_t i = 0; i < least.size(); ++i) {
    const LineSet& set = *point_.sets[i];
    Image::Line line = {.line = set.line,
                        .content = set.contents[least[i]],
                        .candidates = static_cast<uint32_t>(set.contents.size()),
                        .decided = decided[i]};
    const bool own = std::ranges::binary_search(inner_->point->sets, set.line, {}, &LineSet::line);
    if (own) inner.push_back(line);
    const LineSet* first = follower_->frontier().find(set.line);
    if (first == nullptr) continue;
    if (own) line.content = inner_->cuts->base.at(set.line);
    line.candidates = static_cast<uint32_t>(first->contents.size());
    line.decided = decided[i] || line.content != first->contents[first->visible];
    lines.push_back(line);
  }
  const auto shown = judged(*outcome);
  Finding::Nested cut = {.after_return = inner_->point->after_end, .stores = {}, .lines = inner};
  std::set<std::string> deciding;  // call stacks of recovery's stores to the lines that the violation needs
  for (size_t i = 0; i < inner_->point->stores; ++i) {
    const RecoveryCuts::Store& store = inner_->cuts->stores[i];
    const auto needs = [&store](const Image::Line& line) {
      return line.decided && line.line >= store.offset / kLineSize &&
             line.line <= (store.offset + store.size - 1) / kLineSize;
    };
    const std::vector<Frame>& stack = recovery_stacks_[store.stack];
    if (std::ranges::any_of(inner, needs)) deciding.insert(frames_json(stack).dump());
    cut.stores.push_back({store.offset, store.size, stack});
  }
  if (recovery_stacks_.modules().size() > told_modules_) {
    told_modules_ = recovery_stacks_.modules().size();
    listener_.modules_grown(recovery_stacks_.modules());
  }
  cut.contents = contents_of(inner, workers_->pools());
  Finding finding = finding_of(shown ? *shown : violation, runs_[*outcome], lines, operations_, commands_, true,
                               is_acknowledged(parse_json(follower_->reader().metadata())));
  // The program's own operations matter less for the key: one bug of recovery shows after many crash points.
  std::string key = "in recovery/" + violation.invariant + "/" + violation.kind;
  for (const std::string& stack : deciding) key += "/" + stack;
  if (deciding.empty()) key += "/" + key_of(finding, context());
  finding.key = key;
  finding.stores_in_key = false;
  finding.nested_event = inner_->point->stores;
  finding.nested.push_back(std::move(cut));
  finding.last_store = last_store_;
  found(finding);
}

FindingContext ProgramExplorer::context() const { return {*follower_, options_.policy()}; }

void ProgramExplorer::found(const Finding& finding) {
  if (out_.functional) return;
  const Json event = finding_event(finding, context());
  if (!out_.findings.try_emplace(event["key"].get<std::string>(), event).second) return;
  listener_.found(event);
  out_.functional = options_.stop_at_functional && !finding.needs_power_cut;
}

}  // namespace powercut
