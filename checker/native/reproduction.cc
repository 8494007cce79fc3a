#include "checker/native/reproduction.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "checker/native/explore_options.h"
#include "checker/native/queries.h"

namespace powercut {
namespace {

constexpr const char* kNext =
    "Name the trace that the finding was made on; after a change of the target, 'powercut run' tells whether it is "
    "still there.";

std::string at_offset(uint64_t line) { return "the line at offset " + std::to_string(line * kLineSize); }

const std::vector<FindingRecord::Line>& listed_at(const FindingRecord& record, size_t depth) {
  return depth == 0 ? record.image : record.nested[depth - 1].lines;
}

bool same_place(const Cut& cut, const FindingRecord::Nested& wanted, const std::vector<Executor::NestedStore>& stores) {
  return cut.after_return == wanted.after_return && cut.stores_seen == wanted.stores.size() &&
         std::equal(wanted.stores.begin(), wanted.stores.end(), stores.begin(),
                    [](const auto& w, const auto& s) { return w.first == s.offset && w.second == s.size; });
}

}  // namespace

Reproduction::Reproduction(const Session& session, const FindingRecord& record, int64_t step_budget,
                           std::unique_ptr<TraceReader> reader, Progress* progress)
    : session_(session),
      record_(record),
      policy_(*atom_policy(record.atoms)),
      executor_(executor_options(session, record.model, policy_, step_budget)),
      follower_(session, record.model, policy_, std::move(reader), executor_.pool()),
      frames_(session.modules, session.loaded),
      oracle_(session.library->target(), *session.config, session.traits,
              {executor_.pool(), session.plan.scenario.pool_size}, &follower_.history(), [](const Exposure&) {}),
      progress_(progress) {}

EngineError Reproduction::elsewhere(const std::string& what) const { return usage_error(what, session_.trace, kNext); }

Result<Reproduction::Shown> Reproduction::run() {
  const auto differs = [](const std::string& ours, const std::string& theirs) {
    return !ours.empty() && ours != theirs;
  };
  const Plan& plan = session_.plan;
  if (differs(record_.target, plan.target.name) || differs(record_.variant, plan.target.variant) ||
      differs(record_.scenario, plan.scenario.name)) {
    return elsewhere("the trace is of " + plan.target.name + ":" + plan.target.variant + ", scenario " +
                     plan.scenario.name + ", the finding of " + record_.target + ":" + record_.variant + ", scenario " +
                     record_.scenario);
  }
  progress_->start("walking to crash point " + std::to_string(record_.crash_point), session_.trace);
  bool there = false;
  while (!there && follower_.next([this](const Event&) { progress_->steps.fetch_add(1, std::memory_order_relaxed); })) {
    there = follower_.instant().ordinal == record_.crash_point;
  }
  if (follower_.reader().error()) return usage_error(*follower_.reader().error());
  if (!there) {
    return elsewhere("the finding is at crash point " + std::to_string(record_.crash_point) + ", and the trace has " +
                     std::to_string(follower_.crash_points()) + " of them: it is of another build or plan");
  }
  return replay(follower_.instant());
}

Result<Reproduction::Shown> Reproduction::replay(const Instant& instant) {
  if (instant.event != record_.event || instant.when != record_.when) {
    const auto place = [](const std::string& when, uint64_t event) {
      return when + " at event " + std::to_string(event);
    };
    return elsewhere("crash point " + std::to_string(record_.crash_point) + " of the trace is " +
                     place(instant.when, instant.event) + ", that of the finding is " +
                     place(record_.when, record_.event) + ": the trace is of another build or plan");
  }
  follower_.follow();
  return enter(0, instant, follower_.frontier().sets());
}

// Checks the record's contents of a level against `legal`, its lines with all their candidates. The pool holds
// every other line.
std::optional<EngineError> Reproduction::note_level(size_t depth, const LineSets& legal) {
  const auto refused = [&](const std::string& what) {
    const std::string cut = depth == 0 ? "" : " after cut " + std::to_string(depth) + " of recovery";
    return usage_error("not a legal image of this trace" + cut + ": " + what, record_.path, kNext);
  };
  absl::flat_hash_map<uint64_t, const LineSet*> open;  // lines of `legal` that are not listed
  for (const LineSet* set : legal) open[set->line] = set;
  std::vector<Image::Line>& lines = image_.levels.emplace_back();
  for (const FindingRecord::Line& listed : listed_at(record_, depth)) {
    if (listed.line >= executor_.pool_size() / kLineSize) return refused(at_offset(listed.line) + " is past the pool");
    const auto set = open.find(listed.line);
    Image::Line line{listed.line, listed.content, 1, listed.decided};
    if (set == open.end()) {
      if (std::memcmp(executor_.pool() + listed.line * kLineSize, listed.content.bytes.data(), kLineSize) != 0) {
        return refused(at_offset(listed.line) + " is definite there and holds something else");
      }
    } else {
      const std::vector<Content>& contents = set->second->contents;
      if (std::find(contents.begin(), contents.end(), listed.content) == contents.end()) {
        return refused(at_offset(listed.line) + " cannot hold these bytes; it has " + std::to_string(contents.size()) +
                       (contents.size() == 1 ? " candidate" : " candidates"));
      }
      line.candidates = static_cast<uint32_t>(contents.size());
      open.erase(set);
    }
    lines.push_back(line);
  }
  for (const LineSet* set : legal) {
    if (!open.contains(set->line)) continue;
    if (set->contents.size() > 1) {
      return refused(at_offset(set->line) + " has " + std::to_string(set->contents.size()) +
                     " candidates, and the finding says nothing of it");
    }
    lines.push_back({set->line, set->contents[0], 1, false});
  }
  return std::nullopt;
}

Result<Reproduction::Shown> Reproduction::enter(size_t depth, const Instant& instant, const LineSets& legal) {
  image_.levels.resize(depth);
  if (auto wrong = note_level(depth, legal)) return *wrong;
  std::vector<LineSet> definite;
  for (const Image::Line& line : image_.levels[depth]) {
    definite.push_back({.line = line.line, .contents = {line.content}, .base = {}, .visible = 0, .diff = 0});
  }
  LineSets sets;
  for (const LineSet& set : definite) sets.push_back(&set);
  executor_.install(sets);
  Result<Shown> answer = recover(depth, instant);
  executor_.uninstall();
  return answer;
}

Result<Reproduction::Shown> Reproduction::recover(size_t depth, const Instant& instant) {
  progress_->start("recovery", session_.library->path());
  const bool last = depth == record_.nested.size();
  std::vector<Cut> cuts;
  Decisions decisions;
  const Executor::Mark start = executor_.mark();
  buffer_.clear();
  executor_.begin_reads(start);
  const Outcome outcome =
      executor_.run_recovery(&decisions, last ? nullptr : &cuts, [&] { oracle_.recover(&buffer_); });
  if (last) {
    Result<Shown> answer = judge(instant, outcome);
    executor_.undo(start);
    return answer;
  }
  note_reads(depth);
  if (outcome.returned()) {
    if (auto cut = executor_.cut_after_recovery()) cuts.push_back(std::move(*cut));
  }
  const std::vector<Executor::NestedStore> stores = executor_.recovery_stores();
  executor_.undo(start);
  return descend(depth, instant, cuts, stores);
}

// Fences between which recovery stored nothing share the number of stores; they differ in what is durable. The
// record's image is of the first of them that allows it: what follows depends on the image alone.
Result<Reproduction::Shown> Reproduction::descend(size_t depth, const Instant& instant, const std::vector<Cut>& cuts,
                                                  const std::vector<Executor::NestedStore>& stores) {
  const FindingRecord::Nested& wanted = record_.nested[depth];
  std::optional<EngineError> refused;
  for (const Cut& cut : cuts) {
    if (!same_place(cut, wanted, stores)) continue;
    const auto seen = stores.begin() + static_cast<ptrdiff_t>(cut.stores_seen);
    image_.nested.resize(depth);
    image_.nested.push_back({cut.stores_seen, cut.after_return, {stores.begin(), seen}});
    const std::vector<LineSet> lines = executor_.child(cut);
    LineSets legal;
    for (const LineSet& line : lines) legal.push_back(&line);
    Result<Shown> answer = enter(depth + 1, instant, legal);
    if (answer) return answer;
    refused = answer.error();
  }
  if (refused) return *refused;
  return usage_error("recovery on this image is not cut " +
                         (wanted.after_return ? std::string("after it returned")
                                              : "after " + std::to_string(wanted.stores.size()) + " stores") +
                         ", or its stores are not those of the finding",
                     record_.path, kNext);
}

// A line is decided when the finding's execution observed it. This one read whole contents, so it can confirm
// that, not find it out.
void Reproduction::note_reads(size_t depth) {
  const std::vector<uint64_t>& read = executor_.reads().lines;
  for (Image::Line& line : image_.levels[depth]) {
    line.decided = line.decided && std::find(read.begin(), read.end(), line.line) != read.end();
  }
}

Result<Reproduction::Shown> Reproduction::judge(const Instant& instant, const Outcome& recovered) {
  const size_t depth = record_.nested.size();
  if (!recovered.returned()) put_failure(recovered, &buffer_);
  const Answer answer = parse_answer(QueryKind::kRecovery, buffer_.view());
  if (auto violation = judge_recovery(follower_.history(), answer, recovered.text)) {
    note_reads(depth);
    return Shown(event(*violation, kRecoveryQuery, recovered, instant));
  }
  if (record_.query == describe_query(follower_.history(), kRecoveryQuery) || !oracle_.usable()) return Shown();

  const std::vector<QueryId> queries = all_queries(&oracle_);
  const auto query = std::find_if(queries.begin(), queries.end(), [&](QueryId candidate) {
    return describe_query(follower_.history(), candidate) == record_.query;
  });
  if (query == queries.end()) {
    return usage_error("the recovered table cannot be asked " + record_.query, record_.path, kNext);
  }
  progress_->start(record_.query, session_.library->path());
  buffer_.clear();
  Decisions decisions;
  const Outcome outcome = executor_.run(&decisions, [&] { oracle_.run(*query, &buffer_); });
  if (!outcome.returned()) put_failure(outcome, &buffer_);
  const auto violation = judge_query(follower_.history(), session_.traits, *query, buffer_.view());
  if (!violation) return Shown();
  note_reads(depth);
  return Shown(event(*violation, *query, outcome, instant));
}

Json Reproduction::event(const Violation& violation, QueryId query, const Outcome& outcome, const Instant& instant) {
  const auto depth = static_cast<int>(record_.nested.size());
  Exposure exposure{violation, "", depth, query, outcome, image_};
  if (depth > 0) exposure.underlying = std::exchange(exposure.violation.invariant, "not-idempotent");
  return finding_event(exposure, {follower_.model(), follower_.frontier(), follower_.history(), follower_.timeline(),
                                  follower_.reader(), instant, &frames_, policy_});
}

}  // namespace powercut
