// Random small schemes: recovery and queries are random programs over three lines, run on the crash images of a
// random trace. The clever explorer and the eager reference must give the same results at every crash point. Every
// image that the explorer shows for a result must lead to that result when the image is run as it stands.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "replayer/crash_points/crash_points.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/executor/test_hooks.h"
#include "replayer/explorer/explorer.h"
#include "replayer/explorer/test_scheme_draw.h"
#include "replayer/explorer/test_tiny_subject.h"

namespace powercut {
namespace {

using testing::Program;
using testing::Scheme;
using testing::scheme_global;
using testing::Shown;
using testing::TinySubject;
using testing::TraceStep;

constexpr uint64_t kEagerLimit = 400;  // states of a level; larger ones would take the reference minutes

struct RandomScheme {
  Scheme scheme;
  std::vector<TraceStep> trace;
  std::string model;
  AtomPolicy policy = AtomPolicy::kAny;
  int nested = 0;
  bool explain = true;  // whether images are asked for, and compared
  uint64_t merge_after = 0;
};

struct Explored {
  std::vector<std::set<std::string>> results;  // by crash point
  std::vector<BigInt> states;
  uint64_t query_runs = 0, executions = 0;
  absl::flat_hash_set<uint64_t> leaves;
  bool complete = true;
  std::string problem;  // an image that does not show what it is said to show
};

// Runs the image as it stands: every line of every level holds one content.
std::optional<std::string> replay(Executor* executor, const Scheme& scheme, const Shown& shown) {
  TinySubject subject(scheme);
  ResultBuffer buffer;
  std::vector<std::vector<LineSet>> levels;
  std::string got;
  bool found = true;
  const auto level_of = [](const std::vector<Image::Line>& lines) {
    std::vector<LineSet> out;
    for (const Image::Line& line : lines) out.push_back(testing::line_set(line.line, {line.content}));
    return out;
  };
  levels.push_back(level_of(shown.image.levels[0]));
  executor->memory().install(sets_of(levels[0]));
  size_t installed = 1;
  for (size_t d = 1; d < shown.image.levels.size() && found; ++d) {
    // The cut inside this level's recovery that the image names.
    const Image::Nested& nested = shown.image.nested[d - 1];
    Decisions decisions;
    std::vector<Cut> cuts;
    const UndecidedMemory::Mark start = executor->memory().mark();
    const Outcome outcome = executor->run_recovery(&decisions, &cuts, [&] { subject.recover(&buffer); });
    if (outcome.returned()) {
      if (auto last = executor->recovery().cut_after()) cuts.push_back(std::move(*last));
    }
    executor->memory().undo(start);
    levels.push_back(level_of(shown.image.levels[d]));
    // Lines that the child of the concrete level knows must offer the content; the others must not have changed.
    found = std::any_of(cuts.begin(), cuts.end(), [&](const Cut& cut) {
      if (cut.stores_seen != nested.stores_seen || cut.after_return != nested.after_return) return false;
      const std::vector<LineSet> children = executor->memory().child(cut);
      return std::all_of(levels[d].begin(), levels[d].end(), [&](const LineSet& line) {
        for (const LineSet& child : children) {
          if (child.line == line.line) {
            return std::find(child.contents.begin(), child.contents.end(), line.contents[0]) != child.contents.end();
          }
        }
        return std::memcmp(pool_bytes() + line.line * kLineSize, line.contents[0].bytes.data(), kLineSize) == 0;
      });
    });
    executor->memory().install(sets_of(levels[d]));
    ++installed;
  }
  if (found) {
    Decisions decisions;
    buffer.clear();
    Outcome outcome = executor->run_recovery(&decisions, nullptr, [&] { subject.recover(&buffer); });
    if (shown.query != kRecoveryQuery && outcome.returned()) {
      buffer.clear();
      outcome = executor->run(&decisions, [&] { subject.run(shown.query, &buffer); });
    }
    if (!outcome.returned() && shown.query == kRecoveryQuery) put_failure(outcome, &buffer);
    if (!outcome.returned() && shown.query != kRecoveryQuery) subject.ended(shown.query, outcome, &buffer);
    got = std::string(buffer.view());
  }
  for (; installed > 0; --installed) executor->memory().uninstall();
  const auto numbers = [](const std::string& bytes) {
    std::string out;
    for (char byte : bytes) out += std::to_string(static_cast<uint8_t>(byte)) + " ";
    return out;
  };
  const std::string what = "depth " + std::to_string(shown.depth) + " query " + std::to_string(shown.query);
  if (!found) return what + ": recovery does not leave the image of the second cut";
  if (got != shown.result) return what + ": shown for " + numbers(shown.result) + "but gives " + numbers(got);
  return std::nullopt;
}

// `keys`: queries are about keys, whose number only grows; else it grows and shrinks, as in no table.
Explored explore(const RandomScheme& c, const std::string& strategy_name, bool remember, bool wants_all = true,
                 bool keys = false) {
  scheme_global = 0;
  const auto global = reinterpret_cast<uint64_t>(&scheme_global);
  Executor executor({.pool_size = testing::kSchemePool,
                     .policy = c.policy,
                     .persistency = persistency_of(c.model),
                     .step_budget = 1000,
                     .globals = {{global, global + 8}},
                     .own_code = {}});
  auto strategy = make_strategy(strategy_name, {.samples = 4, .exhaustive_limit = kEagerLimit});
  auto model = make_model(c.model, c.policy, testing::kSchemePool);
  Frontier frontier(executor.pool());
  TinySubject subject(c.scheme, wants_all, c.explain, !keys);
  const auto explorer =
      make_explorer(&executor, strategy.get(), &subject,
                    {.nested = c.nested, .paranoid = true, .remember = remember, .merge_after = c.merge_after});
  Explored out;
  const auto visit = [&] {
    const std::vector<Frontier::Change>& changes = frontier.follow(model.get());
    subject.results.clear();
    subject.shown.clear();
    const size_t ordinal = out.results.size(), most = c.scheme.queries.size();
    const size_t some = keys && ordinal > 1 ? most : 1;
    subject.list(c.scheme.intrudes || (!keys && ordinal % 3 != 1) ? most : some);
    explorer->crash_point(frontier, changes, out.results.size());
    out.results.push_back(subject.results);
    out.states.push_back(frontier.states());
    if (!explorer->distrust().empty()) out.problem = explorer->distrust();
    for (const Shown& shown : subject.shown) {
      if (auto wrong = replay(&executor, c.scheme, shown)) out.problem = *wrong;
    }
  };
  testing::for_each_crash_point(c.trace, model.get(), visit);
  out.complete = strategy->complete();
  out.query_runs = explorer->counts().query_runs;
  out.executions = explorer->counts().executions;
  out.leaves = explorer->counts().leaves;
  return out;
}

// ---- drawing -------------------------------------------------------------------------------------------------

RandomScheme any_random_scheme() {
  RandomScheme c;
  c.scheme.recovery = *testing::any_recovery().as("recovery");
  c.scheme.queries = *rc::gen::container<std::vector<Program>>(2, testing::any_query()).as("queries");
  c.scheme.intruder = *rc::gen::oneOf(testing::any_recovery(), testing::any_query()).as("intruder");
  c.scheme.intrudes = *rc::gen::arbitrary<bool>().as("intrudes");
  c.trace = *rc::gen::container<std::vector<TraceStep>>(testing::any_step()).as("trace");
  c.model = *rc::gen::element<std::string>("adr", "adr", "eadr").as("model");
  c.policy = *rc::gen::element(AtomPolicy::kAny, AtomPolicy::kAscending);
  c.nested = *rc::gen::inRange(0, 3).as("nested");
  // An answer for which no image is asked is good, and a recovery that is good and stores nothing is *steady*.
  c.explain = *rc::gen::arbitrary<bool>();
  c.merge_after = *rc::gen::element<uint64_t>(0, 0, 2, QuerySearch::kNever);
  if (!c.explain && *rc::gen::arbitrary<bool>()) std::erase_if(c.scheme.recovery, testing::stores);
  // Long programs make the reference slow and show nothing that short ones do not.
  const size_t longest = c.nested == 2 ? 7 : 14;
  if (c.scheme.recovery.size() > longest) c.scheme.recovery.resize(longest);
  if (c.trace.size() > 14) c.trace.resize(14);
  for (size_t i = 1; i < c.trace.size(); ++i) {
    const TraceStep& before = c.trace[i - 1];
    const bool stores = before.kind == EventKind::kStore && before.flags == 0 && c.trace[i].kind == EventKind::kStore;
    if (!stores || c.trace[i].flags != 0 || before.thread != c.trace[i].thread) continue;
    if (*rc::gen::inRange(0, 3) == 0) c.trace[i].flags = kStoreContinues;
  }
  // With cuts inside recovery the number of images grows with every store.
  testing::tame(&c.trace, c.model, c.policy, c.nested == 0 ? kEagerLimit : c.nested == 1 ? 60 : 12);
  c.trace.push_back({EventKind::kOpEnd});
  return c;
}

RC_GTEST_PROP(RandomSchemes, ReadDrivenAgreesWithExhaustive, ()) {
  const RandomScheme c = any_random_scheme();
  const Explored eager = explore(c, "exhaustive", false);
  RC_PRE(eager.complete);
  const Explored clever = explore(c, "read-driven", false);
  RC_ASSERT(clever.results == eager.results);
  RC_ASSERT(clever.states == eager.states);
  RC_ASSERT(eager.problem == "");
  RC_ASSERT(clever.problem == "");
}

RC_GTEST_PROP(RandomSchemes, RememberingChangesNothing, ()) {
  const RandomScheme c = any_random_scheme();
  const Explored asking = explore(c, "read-driven", false);
  const Explored remembering = explore(c, "read-driven", true);
  RC_ASSERT(remembering.results == asking.results);
  RC_ASSERT(remembering.problem == "");
  RC_CLASSIFY(remembering.query_runs < asking.query_runs);
}

// A subject that does not ask for everything is told of every answer that is new to the query, at whatever depth.
RC_GTEST_PROP(RandomSchemes, NoNewAnswerIsPassedOver, ()) {
  const RandomScheme c = any_random_scheme();
  const auto all_of = [](const Explored& explored) {
    std::set<std::string> out;
    for (const auto& results : explored.results) {
      for (const std::string& line : results) out.insert(line.substr(line.find('/')));
    }
    return out;
  };
  RC_ASSERT(all_of(explore(c, "read-driven", true, false, true)) ==
            all_of(explore(c, "read-driven", false, true, true)));
}

RC_GTEST_PROP(RandomSchemes, SamplesFindNoMore, ()) {
  const RandomScheme c = any_random_scheme();
  const Explored whole = explore(c, "read-driven", true);
  for (const char* strategy : {"prefix", "random"}) {
    const Explored part = explore(c, strategy, true);
    RC_ASSERT(!part.complete);
    RC_ASSERT(part.results.size() == whole.results.size());
    for (size_t i = 0; i < part.results.size(); ++i) {
      RC_ASSERT(std::includes(whole.results[i].begin(), whole.results[i].end(), part.results[i].begin(),
                              part.results[i].end()));
    }
    RC_ASSERT(part.problem == "");
  }
}

}  // namespace
}  // namespace powercut
