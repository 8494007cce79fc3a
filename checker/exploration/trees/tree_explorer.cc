#include "checker/exploration/trees/tree_explorer.h"

#include <algorithm>

namespace powercut {
namespace {

// Runs that a walk spends on each crash point.
constexpr uint64_t kFirstWalk = 64, kGrowth = 16, kMostRuns = uint64_t{1} << 40;
// Wrong trees of one kind that are explained at most.
constexpr size_t kExplainedOfAKind = 24;
constexpr size_t kInnerOfAKind = 8;
// Runs of a finding's tree before the finding is told.
constexpr int kConfirmed = 4;
// Counts that may take too long before no tree of the profile is counted any more.
constexpr int kMostGivenUp = 20;
// Runs that do not end before the rest is not waited for.
constexpr uint64_t kMostTimeouts = 20;

// The rules of a disk that makes everything durable when it is asked to: what a program sees.
files::Switches plain_rules() {
  files::Switches out{};
  out.order = files::Order::kOne;
  out.sync = files::Sync::kAll;
  return out;
}

void make_durable(files::Disk* disk) {
  files::Effect all;
  all.kind = files::EffectKind::kSyncAll;
  disk->apply(disk->raise_of(all));
}

}  // namespace

TreeExplorer::TreeExplorer(const TreeOptions& options, const ProgramCommands& commands, const RecordedCalls& calls,
                           std::vector<TreeProfile> profiles, TreeRuns* runs, TreeRuns* continued, Outcomes* outcomes,
                           files::Contents* contents, const TreeListener& listener)
    : options_(options),
      commands_(commands),
      calls_(calls),
      runs_(*runs),
      continued_(continued),
      outcomes_(*outcomes),
      contents_(*contents),
      listener_(listener),
      right_{runs, &expected_, {}} {
  for (TreeProfile& profile : profiles) {
    out_.profiles.push_back({.name = profile.name});
    profiles_.push_back({.profile = std::move(profile)});
  }
}

// -- what the program saw ----------------------------------------------------------------------------------------

Result<Outcomes::Id> TreeExplorer::outcome_of_visible(const files::Disk& disk, TreeRuns* runs, ReadNode* root) {
  files::TreeWorld world(disk, &paths_, options_.effort);
  return PointExplorer(&world, root, runs).outcome_of(files::TreeBox(&world).newest());
}

std::optional<EngineError> TreeExplorer::observe() {
  if (!commands_.print()) return std::nullopt;
  files::Disk disk(plain_rules(), options_.units, &contents_);
  Operations operations;
  int timeouts = 0;
  const auto look = [&](const std::set<uint64_t>& prefixes) -> std::optional<EngineError> {
    // Commands that block are waited for twice, not once for each operation.
    if (timeouts > 1 || !goes_on()) return std::nullopt;
    make_durable(&disk);
    const auto take = [&](TreeRuns* runs, ReadNode* root, ExpectedOutputs* expected) -> std::optional<EngineError> {
      const auto outcome = outcome_of_visible(disk, runs, root);
      if (!outcome) return outcome.error();
      const ProgramOutcome& seen = outcomes_[*outcome];
      if (seen.kind == ProgramOutcome::Kind::kTimeout) ++timeouts;
      expected->add(prefixes, std::make_shared<const ProgramOutcome>(seen));
      return std::nullopt;
    };
    if (auto wrong = take(&runs_, &root_, &expected_)) return wrong;
    if (continued_ != nullptr) {
      if (auto wrong = take(continued_, &continued_root_, &expected_continued_)) return wrong;
    }
    listener_.progressed(out_);
    return std::nullopt;
  };
  for (const RecordedCall& call : calls_.calls()) {
    if (!call.mark) {
      if (!call.effect.is_sync()) disk.apply(call.effect);
      continue;
    }
    if (call.effect.kind == files::EffectKind::kBegin && operations.begun() == 0) {
      if (auto wrong = look({0})) return wrong;
    }
    const bool alone = operations.in_flight().size() == 1 && operations.begun_since_settled() == 1;
    const uint64_t prefix = alone ? operations.in_flight()[0].prefix : 0;
    operations.apply(call.mark->view());
    if (call.effect.kind != files::EffectKind::kEnd || !operations.in_flight().empty()) continue;
    if (auto wrong = look(alone ? std::set{operations.prefix(), prefix} : std::set{operations.prefix()})) return wrong;
  }
  // An operation that never ended may have happened: the end of the recording is all that is known of it.
  if (operations.in_flight().size() == 1 && operations.begun_since_settled() == 1) {
    return look({operations.in_flight()[0].prefix});
  }
  return std::nullopt;
}

std::optional<EngineError> TreeExplorer::at_the_end(const Use& use) {
  files::Disk disk(plain_rules(), options_.units, &contents_);
  for (const RecordedCall& call : calls_.calls()) {
    if (!call.mark && !call.effect.is_sync()) disk.apply(call.effect);
  }
  make_durable(&disk);
  files::TreeWorld world(disk, &paths_, options_.effort);
  return use(&world, files::TreeBox(&world).newest());
}

std::optional<EngineError> TreeExplorer::at_choice(const TreeChoice& choice, const std::string& where, const Use& use) {
  const auto elsewhere = [&](const std::string& what) {
    return usage_error(what, where,
                       "Name the trace that the finding was made on; 'powercut run' tells whether it is still there.");
  };
  const auto profile =
      std::ranges::find(profiles_, choice.profile, [](const Profile& each) { return each.profile.name; });
  if (profile == profiles_.end()) return elsewhere("the finding's file system '" + choice.profile + "' was not named");
  if (continued_ == nullptr && (choice.continued || (choice.inner && choice.inner->of_life))) {
    return usage_error("the finding is of a second life, and there is no continuation", where,
                       "Name the command with --continue.");
  }
  begin_disks();
  std::optional<EngineError> wrong;
  bool there = false;
  CallWalk walk(calls_, {profile->disk.get()}, &operations_, [&](size_t, files::Side, uint64_t) {
    if (++profile->ordinal != choice.ordinal) return;
    there = true;
    right_.legal = expected_.legal(operations_);
    if (continued_ != nullptr) legal_continued_ = expected_continued_.legal(operations_);
    files::TreeWorld world(*profile->disk, &paths_, options_.effort);
    if (!world.known() || !is_legal(&world, choice.tree)) {
      wrong = elsewhere("no power cut leaves the finding's tree at crash point " + std::to_string(choice.ordinal));
    } else if (choice.inner) {
      wrong = at_inner(&world, choice, where, use);
    } else {
      if (choice.continued) right_ = right_after_continuing();
      wrong = use(&world, choice.tree);
    }
  });
  walk.walk([&] { return !there; });
  if (!there) return elsewhere("the recording has no crash point " + std::to_string(choice.ordinal));
  return wrong;
}

std::optional<EngineError> TreeExplorer::at_inner(files::TreeWorld* world, const TreeChoice& choice,
                                                  const std::string& where, const Use& use) {
  const InnerChoice& inner = *choice.inner;
  const auto made = (inner.of_life ? continued_ : &runs_)->changes_of(world, choice.tree, kFirstNew);
  if (!made) return made.error();
  std::optional<EngineError> wrong;
  bool legal = false;
  with_second_cut(world, choice.tree, runs_.mode(), *made, inner.side, inner.call, [&](files::TreeWorld* behind) {
    legal = behind->known() && is_legal(behind, inner.tree);
    if (!legal) return;
    right_ = right_behind(inner.of_life, inner.side == files::Side::kAfter && inner.call == made->calls.size());
    wrong = use(behind, inner.tree);
  });
  if (!legal) {
    return usage_error("no second power cut leaves the finding's tree", where,
                       "Recovery makes other calls now; 'powercut run' tells whether the finding is still there.");
  }
  return wrong;
}

std::optional<ProgramViolation> TreeExplorer::wrong_here(const ProgramOutcome& outcome) const {
  auto wrong = judge(outcome, right_.legal, *right_.expected, operations_, commands_);
  if (wrong && wrong->of_output && !right_.before.empty() &&
      !judge(outcome, right_.before, expected_, operations_, commands_)) {
    wrong->invariant = "lost-item";
    wrong->kind = "continuation";
    wrong->message = "After recovery the output is that from before the continuation, which had ended.";
  }
  return wrong;
}

TreeExplorer::Right TreeExplorer::right_after_continuing() const {
  return {continued_, &expected_continued_, legal_continued_, true, right_.legal};
}

// -- walks -------------------------------------------------------------------------------------------------------

bool TreeExplorer::goes_on() {
  if (listener_.interrupted()) out_.interrupted = true;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double limit =
      !out_.findings.empty() && options_.budget_found > 0 ? options_.budget_found : options_.budget.seconds;
  if (limit > 0 && seconds >= limit) out_.out_of_time = true;
  if (options_.budget.executions > 0 && runs_.runs() >= options_.budget.executions) out_.out_of_executions = true;
  if (runs_.timeouts() >= kMostTimeouts && out_.troubles.empty()) {
    out_.troubles.push_back(std::to_string(runs_.timeouts()) +
                            " runs did not end within --timeout; the rest was not waited for");
  }
  return !out_.interrupted && !out_.out_of_time && !out_.out_of_executions && !out_.functional &&
         out_.troubles.empty() && runs_.unrepeatable().empty();
}

bool TreeExplorer::told_and_goes_on() {
  listener_.progressed(out_);
  return goes_on();
}

bool TreeExplorer::ended_by(const EngineError& error) {
  if (listener_.interrupted()) {
    out_.interrupted = true;
  } else if (goes_on()) {
    out_.troubles.push_back(error.message());
  }
  return false;
}

void TreeExplorer::begin_disks() {
  operations_ = {};
  for (Profile& profile : profiles_) {
    profile.disk = std::make_unique<files::Disk>(profile.profile.switches, options_.units, &contents_);
    profile.trees = std::make_unique<files::LegalTrees>(*profile.disk);
    profile.ordinal = 0;
  }
}

void TreeExplorer::walk(uint64_t most_runs) {
  begin_disks();
  std::vector<files::Disk*> disks;
  for (const Profile& profile : profiles_) disks.push_back(profile.disk.get());
  CallWalk walk(calls_, disks, &operations_, [&](size_t profile, files::Side side, uint64_t call) {
    if (goes_on()) crash_point({profile, side, call}, most_runs);
  });
  walk_ = &walk;
  const auto impossible = walk.walk([this] { return goes_on(); });
  if (impossible) {
    out_.troubles.push_back("call " + std::to_string(*impossible) + " names a file that is not there");
  }
  walk_ = nullptr;
}

TreesExplored TreeExplorer::explore() {
  for (uint64_t most_runs = kFirstWalk;; most_runs = std::min(most_runs * kGrowth, kMostRuns)) {
    walk(most_runs);
    if (first_ && !goes_on()) out_.counted = false;
    first_ = false;
    const bool all = std::ranges::all_of(out_.profiles, [](const ExploredProfile& each) {
      return each.covered_points + each.apart == each.crash_points;
    });
    // The last walk has no limit: another one would do no more.
    if (all || !goes_on() || most_runs == kMostRuns) break;
  }
  if (!runs_.unrepeatable().empty()) {
    out_.unrepeatable = true;
    out_.troubles.push_back("recovery came to two different ends on one tree: " + runs_.unrepeatable());
  }
  if (options_.nested > 0) {
    out_.nested_complete = std::ranges::all_of(
        out_.profiles, [](const ExploredProfile& each) { return each.covered_points == each.crash_points; });
  }
  if (continued_ != nullptr) out_.lives = {life_cuts_.begun, life_cuts_.fresh};
  out_.outcomes = outcomes_.size();
  return std::move(out_);
}

void TreeExplorer::count(Profile* profile, ExploredProfile* out) {
  const auto states =
      profile->given_up < kMostGivenUp ? profile->trees->count(options_.effort) : std::optional<files::Count>();
  if (states) {
    out->states += *states;
    profile->states[profile->ordinal] = *states;
  } else {
    ++profile->given_up;
    ++out->uncounted;
  }
}

void TreeExplorer::crash_point(const Instant& instant, uint64_t most_runs) {
  Profile& profile = profiles_[instant.profile];
  ExploredProfile& out = out_.profiles[instant.profile];
  ++profile.ordinal;
  const auto& current = operations_.current();
  if (first_) {
    ++out.crash_points;
    if (current) ++out_.operations[current->index];
    count(&profile, &out);
  }
  if (profile.covered.contains(profile.ordinal)) return;
  right_.legal = expected_.legal(operations_);
  if (continued_ != nullptr) legal_continued_ = expected_continued_.legal(operations_);
  if (first_ && instant.profile == 0 && commands_.print() && right_.legal.empty()) {
    ++(operations_.begun() == 0 ? out_.before_operations : out_.unjudged_outputs);
  }
  files::TreeWorld world(*profile.disk, &paths_, options_.effort);
  if (!world.known()) {
    if (first_) ++out.apart;
    return;
  }
  PointExplorer point(&world, &root_, &runs_);
  std::vector<Wrong> wrong;
  std::set<Outcomes::Id> right;
  std::vector<std::vector<AskedQuestion>> to_cut;
  const auto all = point.explore(
      most_runs, [this] { return told_and_goes_on(); },
      [&](Outcomes::Id outcome, const ReadNode* node, const std::vector<AskedQuestion>& path,
          const files::ChosenTree& tree) {
        if (!right.contains(outcome)) {
          if (judged(outcome)) {
            wrong.push_back({node, tree, outcome});
            return;
          }
          right.insert(outcome);
        }
        if (options_.nested > 0 || continued_ != nullptr) to_cut.push_back(path);
      });
  if (!all) {
    ended_by(all.error());
    return;
  }
  if (!runs_.unrepeatable().empty()) return;
  if (!wrong.empty()) ++out.wrong_points;
  explain_reached(instant, &world, &point, wrong);
  if (!world.known()) {
    ++out.apart;
    profile.covered.insert(profile.ordinal);  // no further walk can do more
    return;
  }
  if (!*all || (options_.nested > 0 && !cut_recoveries(instant, &world, to_cut, most_runs))) return;
  if (continued_ != nullptr && !live_on(instant, &world, to_cut, most_runs)) return;
  profile.covered.insert(profile.ordinal);
  ++out.covered_points;
  if (current) --out_.operations[current->index];
  if (const auto states = profile.states.find(profile.ordinal); states != profile.states.end()) {
    out.covered += states->second;
  }
  listener_.progressed(out_);
}

std::optional<ProgramViolation> TreeExplorer::judged(Outcomes::Id outcome) const {
  return wrong_here(outcomes_[outcome]);
}

void TreeExplorer::explain_reached(const Instant& instant, files::TreeWorld* world, PointExplorer* point,
                                   const std::vector<Wrong>& wrong) {
  for (const Wrong& each : wrong) {
    if (out_.functional) break;
    const auto violation = judged(each.outcome);
    if (!violation) continue;
    // Where the same reads came to the same end before, it is that finding.
    const auto [known, fresh] = explained_nodes_.try_emplace({each.node, violation->invariant + "/" + violation->kind});
    if (fresh) known->second = explain(instant, world, point, each.tree, *violation);
    if (!known->second.empty()) out_.profiles[instant.profile].findings.insert(known->second);
  }
}

std::string TreeExplorer::kind_of(const ProgramViolation& violation) const {
  return (right_.second ? "life 2/" : "") + violation.invariant + "/" + violation.kind;
}

// -- findings ----------------------------------------------------------------------------------------------------

// Returns the profiles under which some legal tree, at this instant, gives all these answers.
std::vector<size_t> TreeExplorer::profiles_with(const std::vector<AskedQuestion>& asked) {
  std::vector<size_t> out;
  for (size_t number = 0; number < profiles_.size(); ++number) {
    files::TreeWorld world(*profiles_[number].disk, &paths_, options_.effort);
    if (!world.known()) continue;
    files::TreeBox box(&world);
    const bool legal = std::ranges::all_of(asked, [&](const AskedQuestion& each) {
      const auto answers = box.answers(each.question);
      if (std::ranges::find(answers, each.answer) == answers.end()) return false;
      box.narrow(each.question, each.answer);
      return true;
    });
    if (legal) out.push_back(number);
  }
  return out;
}

LeastTree TreeExplorer::least_tree(files::TreeWorld* world, PointExplorer* point, const ProgramViolation& violation,
                                   bool* failed) {
  using Shown = LeastTree::Shown;
  return {world, [this, world, point, &violation, failed](const files::ChosenTree& tree) {
            if (*failed || !world->known()) return Shown::kOther;
            const auto outcome = point->outcome_of(tree);
            *failed = !outcome;
            if (*failed) return Shown::kOther;
            const auto shown = judged(*outcome);
            if (!shown) return Shown::kRight;
            return shown->invariant == violation.invariant && shown->kind == violation.kind ? Shown::kWrong
                                                                                            : Shown::kOther;
          }};
}

// A run that blocks is repeated once: that is long enough.
bool TreeExplorer::confirmed(files::TreeWorld* world, const files::ChosenTree& tree, Outcomes::Id outcome) {
  const bool blocks = outcomes_[outcome].kind == ProgramOutcome::Kind::kTimeout;
  for (int i = 0; i < (blocks ? 1 : kConfirmed); ++i) {
    const auto same = right_.runs->repeat(world, tree, outcome);
    if (!same) return ended_by(same.error());
    if (!*same) return false;
  }
  return true;
}

std::string TreeExplorer::explain(const Instant& instant, files::TreeWorld* world, PointExplorer* point,
                                  const files::ChosenTree& tree, const ProgramViolation& violation) {
  const std::string kind = kind_of(violation);
  const auto lost_on = [&](const files::ChosenTree& some) {
    std::set<uint32_t> out;
    for (const auto& [call, fate] : fates_of(world, some)) {
      if (fate.lost > 0) out.insert(call);
    }
    return out;
  };
  const std::set<uint32_t> met = lost_on(tree);
  size_t of_kind = 0;
  for (const Explained& known : explained_) {
    if (known.kind != kind) continue;
    // This tree has lost everything that a known least tree lost.
    if (std::ranges::includes(met, known.lost)) return known.key;
    if (++of_kind == kExplainedOfAKind) return {};
  }
  bool failed = false;
  LeastTree search = least_tree(world, point, violation, &failed);
  const files::ChosenTree least = search.find(tree), visible = files::TreeBox(world).newest();
  std::vector<AskedQuestion> asked;
  const auto outcome = point->outcome_of(least, &asked);
  if (!outcome) {
    ended_by(outcome.error());
    return {};
  }
  const ProgramOutcome& shows_it = outcomes_[*outcome];
  if (!confirmed(world, least, *outcome)) return {};
  const bool settled = operations_.begun() > 0 && operations_.in_flight().empty() && !walk_->changed_outside();
  const bool lossless = least == visible &&
                        (settled || (!violation.of_output && right_.expected->fails_at_the_end(operations_, shows_it)));
  const bool needs_power_cut =
      !lossless && (violation.of_output || !right_.expected->failed_before(operations_, shows_it));
  const std::set<uint32_t> decisive = search.decisive(least);
  const auto shown = judged(*outcome);
  const std::vector<size_t> legal = profiles_with(asked);
  std::vector<std::string> names;
  for (const size_t number : legal) names.push_back(profiles_[number].profile.name);
  const ProgramViolation& told = shown ? *shown : violation;
  const TreeFinding finding = finding_at(instant, told, shows_it, needs_power_cut, names, decisive);
  auto made = finding_event(finding, world, least, visible, right_.runs);
  if (!made) {
    ended_by(made.error());
    return {};
  }
  const Json& event = *made;
  const std::string key = event["key"];
  explained_.push_back({kind, lost_on(least), key});
  for (const size_t number : legal) out_.profiles[number].findings.insert(key);
  if (!out_.findings.try_emplace(key, event).second) return key;
  listener_.found(event);
  out_.functional = options_.stop_at_functional && !needs_power_cut;
  return key;
}

TreeFinding TreeExplorer::finding_at(const Instant& instant, const ProgramViolation& violation,
                                     const ProgramOutcome& outcome, bool needs_power_cut,
                                     const std::vector<std::string>& profiles,
                                     const std::set<uint32_t>& decisive) const {
  const Profile& profile = profiles_[instant.profile];
  return {.violation = violation,
          .outcome = outcome,
          .operations = operations_,
          .commands = commands_,
          .needs_power_cut = needs_power_cut,
          .profiles = profiles,
          .profile = profile.profile.name,
          .ordinal = profile.ordinal,
          .side = instant.side,
          .call = instant.call,
          .decisive = decisive,
          .calls = calls_,
          .life = right_.second ? 2 : 1};
}

// -- second cuts -------------------------------------------------------------------------------------------------

bool TreeExplorer::cut_recoveries(const Instant& instant, files::TreeWorld* world,
                                  const std::vector<std::vector<AskedQuestion>>& paths, uint64_t most_runs) {
  return cut(instant, world, &runs_, &recovery_cuts_, paths, most_runs);
}

bool TreeExplorer::live_on(const Instant& instant, files::TreeWorld* world,
                           const std::vector<std::vector<AskedQuestion>>& paths, uint64_t most_runs) {
  const Right first = right_;
  PointExplorer point(world, &continued_root_, continued_);
  bool all = true;
  std::vector<std::vector<AskedQuestion>> to_cut;
  for (const auto& path : paths) {
    std::vector<Wrong> wrong;
    right_ = right_after_continuing();
    const auto covered = point.explore(
        most_runs, [this] { return told_and_goes_on(); },
        [&](Outcomes::Id outcome, const ReadNode* node, const std::vector<AskedQuestion>& more,
            const files::ChosenTree& tree) {
          if (judged(outcome)) {
            wrong.push_back({node, tree, outcome});
            return;
          }
          to_cut.push_back(path);
          to_cut.back().insert(to_cut.back().end(), more.begin(), more.end());
        },
        path);
    out_.profiles[instant.profile].wrong_inside += wrong.size();
    if (covered) explain_reached(instant, world, &point, wrong);
    right_ = first;
    if (!covered) return ended_by(covered.error());
    all = all && *covered;
    if (!goes_on()) return false;
  }
  return cut(instant, world, continued_, &life_cuts_, to_cut, most_runs) && all;
}

TreeExplorer::Right TreeExplorer::right_behind(bool of_life, bool ended) const {
  if (!of_life) return right_;
  // The continuation is one operation, which is acknowledged when the command ends. Before, it has happened or not.
  Right out{&runs_, &expected_continued_, legal_continued_, true};
  if (ended) out.before = right_.legal;
  if (ended || out.legal.empty()) return out;
  if (right_.legal.empty()) {
    out.legal.clear();
  } else {
    out.legal.insert(out.legal.end(), right_.legal.begin(), right_.legal.end());
  }
  return out;
}

bool TreeExplorer::cut(const Instant& instant, files::TreeWorld* world, TreeRuns* first, SecondCuts* known,
                       const std::vector<std::vector<AskedQuestion>>& paths, uint64_t most_runs) {
  bool all = true;
  const bool of_life = first == continued_;
  std::optional<SecondCuts::Measure> measure;
  if (of_life && options_.merge_lives) measure = {instant.profile, right_.legal, legal_continued_};
  const FolderRecoveryCuts::Of of = {.outer = world,
                                     .root = &root_,
                                     .first = first,
                                     .runs = &runs_,
                                     .of_life = of_life,
                                     .measure = std::move(measure)};
  FolderRecoveryCuts cuts(of, known, [&](Outcomes::Id outcome, const InnerTree& inner) {
    const Right before = std::exchange(right_, right_behind(inner.of_life, inner.has_ended()));
    if (const auto violation = judged(outcome)) {
      explain_inner(instant, world, inner, *violation);
      ++out_.profiles[instant.profile].wrong_inside;
    }
    right_ = before;
    return goes_on();
  });
  for (const auto& path : paths) {
    if (!goes_on()) return false;
    const auto covered = cuts.cut(path, most_runs, [this] { return told_and_goes_on(); });
    if (!covered) return ended_by(covered.error());
    all = all && *covered;
  }
  return all;
}

void TreeExplorer::explain_inner(const Instant& instant, files::TreeWorld* world, const InnerTree& inner,
                                 const ProgramViolation& violation) {
  const std::string kind = kind_of(violation);
  std::set<std::string>& keys = explained_inner_[kind];
  std::set<std::string>& of_profile = out_.profiles[instant.profile].findings;
  // Where equal calls of recovery with equal fates led to this end before, it is that finding.
  const auto [known, fresh] = known_inner_.try_emplace(kind + fates_text(inner));
  if (!fresh) {
    if (!known->second.empty()) of_profile.insert(known->second);
    return;
  }
  if (keys.size() >= kInnerOfAKind) {
    of_profile.insert(keys.begin(), keys.end());
    return;
  }
  bool failed = false;
  LeastTree search = least_tree(inner.world, inner.point, violation, &failed);
  const files::ChosenTree least = search.find(inner.tree);
  const auto outcome = inner.point->outcome_of(least);
  if (!outcome) {
    ended_by(outcome.error());
    return;
  }
  if (!confirmed(inner.world, least, *outcome)) return;
  const std::set<uint32_t> decisive = search.decisive(least), none;
  const auto shown = judged(*outcome);
  const ProgramViolation& told = shown ? *shown : violation;
  const std::vector<std::string> profiles{profiles_[instant.profile].profile.name};
  const files::ChosenTree visible = files::TreeBox(world).newest();
  const TreeFinding finding = finding_at(instant, told, outcomes_[*outcome], true, profiles, none);
  auto event = finding_event(finding, world, inner.outer, visible, &runs_, InnerCut{inner, least, decisive});
  if (!event) {
    ended_by(event.error());
    return;
  }
  const std::string key = (*event)["key"];
  keys.insert(key);
  known->second = key;
  of_profile.insert(key);
  if (out_.findings.try_emplace(key, *event).second) listener_.found(*event);
}

}  // namespace powercut
