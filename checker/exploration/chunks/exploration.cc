#include "checker/exploration/chunks/exploration.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "checker/exploration/reached_stores.h"
#include "checker/findings/finding_parts.h"
#include "tracer/format/trace_names.h"
#include "tracer/world/pool_traps.h"

namespace powercut {
namespace {

// Crash points that are followed for the sake of findings that wait, once the exploration is to end.
constexpr uint64_t kMostFollowedAtTheEnd = 4096;

// The options of the executor. The walker mapped the pool before it forked this process.
Executor::Options options_on_mapped_pool(const LoadedTrace& loaded, const ExploreOptions& options,
                                         const std::function<void()>& after_each, const std::atomic<bool>* stop) {
  Executor::Options out = executor_options(loaded, options.model, options.policy(), options.step_budget);
  out.after_each = after_each;
  out.stop = stop;
  out.pool_is_mapped = true;
  out.list_sites = options.list_recovery_sites;
  return out;
}

}  // namespace

Exploration::Exploration(const LoadedTrace& loaded, const ExploreOptions& options, TraceFollower* follower,
                         Report report, const std::function<void()>& after_each, const std::atomic<bool>* stop)
    : loaded_(loaded),
      options_(options),
      follower_(follower),
      executor_(options_on_mapped_pool(loaded, options, after_each, stop)),
      frames_(loaded.modules, loaded.process_modules),
      strategy_(make_strategy(options.strategy, {.seed = options.seed, .samples = options.samples})),
      oracle_(loaded.library->target(), *loaded.config, loaded.traits,
              {executor_.pool_address(), loaded.plan.scenario.pool_size}, &follower->history(),
              [this](const Exposure& exposure) { exposures_.push_back(exposure); }),
      least_(&executor_, &oracle_),
      functional_(loaded, options.policy(), &executor_, &oracle_, follower, &frames_, std::move(report)),
      likely_(&executor_, &oracle_, [this] { return oracle_.has_met(); }) {
  oracle_.set_background(loaded.library->background());
  if (!options.dump_results.empty()) {
    dump_.open(options.dump_results, std::ios::app);
    oracle_.collect(true);
  }
  oracle_.collect_violations(!options.dump_violations.empty());
  if (options.stop_at_functional) functional_.stop_at_first();
  explorer_ = make_explorer(&executor_, strategy_.get(), &oracle_,
                            {.nested = options.nested,
                             .lives = options.lives,
                             .merge_lives = options.merge_lives,
                             .paranoid = options.paranoid,
                             .remember = options.remember,
                             .merge_after = options.merge_after,
                             .before_search = [this] { look_first(*watch_); }});
}

// Each chunk appends its violations: a violation of several chunks stands in the file several times.
void Exploration::write_violations() const {
  if (options_.dump_violations.empty()) return;
  std::ofstream out(options_.dump_violations, std::ios::app);
  for (const std::string& line : oracle_.violations()) out << line << '\n';
}

void Exploration::note_maxima(const Instant& instant) {
  const auto note = [&](const char* name, uint64_t value, const std::vector<uint64_t>* stack,
                        std::optional<uint32_t> key) {
    const auto [at, is_new] = result_.maxima.try_emplace(name);
    if (!is_new && value <= at->second.value) return;
    const History& history = follower_->history();
    const OperationInfo& operation = history.operation();
    const auto key_name = [&](uint32_t index) { return Json(name_of(history.keys()[index])); };
    at->second = {value,
                  {{"crash_point", {{"index", instant.ordinal}, {"event", instant.event}, {"when", instant.when}}},
                   {"operation",
                    {{"index", operation.index},
                     {"kind", name_of(operation.kind)},
                     {"key", operation.has_key ? key_name(operation.key) : Json(nullptr)},
                     {"text", operation.text},
                     {"in_flight", history.in_flight()}}},
                   {"key", key ? key_name(*key) : Json(nullptr)},
                   {"stack", stack != nullptr ? frames_json(frames_.resolve(*stack))
                                              : frames_json(follower_->reader().stack(follower_->last_store()))}}};
  };
  const RecoveryPeaks& peaks = executor_.recovery().peaks();
  note("recovery.stores", peaks.stores.value, &peaks.stores.stack, std::nullopt);
  note("recovery.flushes", peaks.flushes.value, &peaks.flushes.stack, std::nullopt);
  note("recovery.fences", peaks.fences.value, &peaks.fences.stack, std::nullopt);
  note("recovery.lines_read", peaks.lines_read.value, &peaks.lines_read.stack, std::nullopt);
  const Oracle::Most& most = oracle_.most();
  if (most.asked_copies) {
    note("duplicates", most.copies, nullptr, most.copies > 0 ? std::optional(most.key) : std::nullopt);
  }
  if (most.asked_leaks) note("leaks", most.leaks, nullptr, std::nullopt);
}

void Exploration::tell_trouble() { functional_.tell(exposure_of(*follower_->trouble())); }

void Exploration::look_first(const Watch& watch) {
  if (!strategy_->complete() || dump_.is_open() || options_.list_recovery_sites) return;
  const ExplorerCounts& taken = explorer_->counts();
  likely_.look(follower_->frontier(), follower_->instant().ordinal, taken.executions + taken.query_runs);
  if (oracle_.has_met()) tell(watch);
}

void Exploration::visit(const Instant& instant, const Watch& watch) {
  if (follower_->trouble()) {
    ++result_.counts.crash_points;
    return tell_trouble();
  }
  const std::vector<Frontier::Change>& changes = follower_->follow();
  const auto start = std::chrono::steady_clock::now();
  const BigInt covered = explorer_->crash_point(follower_->frontier(), changes, instant.ordinal);
  exploring_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // A crash point that was left in the middle counts as not begun, except for the findings that it has shown.
  result_.stopped = executor_.stopped();
  if (!result_.stopped) {
    result_.counts.covered += covered;
    ++result_.counts.crash_points;
  }
  result_.distrust = explorer_->distrust();
  tell(watch);
  note_maxima(instant);
  if (follower_->frontier().truncated() || executor_.memory().truncated()) result_.counts.complete = false;
  if (dump_.is_open()) {
    for (const std::string& line : oracle_.take_collected()) dump_ << instant.ordinal << ' ' << line << '\n';
    dump_.flush();
  }
}

Exploration::Reached Exploration::reached() const {
  return {follower_->instant().ordinal, result_.counts.crash_points, explorer_->counts().executions,
          result_.counts.covered};
}

bool Exploration::put_on_least_image(const LineSets& legal, Exposure* exposure) {
  if (exposure->life != nullptr) return true;  // it keeps the image that it was met on
  const History& history = follower_->history();
  auto least = least_.find({exposure->depth, exposure->query, exposure->result, exposure->died_at}, legal);
  if (!least) return true;
  exposure->image = std::move(least->image);
  exposure->outcome = std::move(least->outcome);
  const QueryKind kind = kind_of(exposure->query);
  if (kind == QueryKind::kRecovery) {
    const Answer answer = parse_answer(kind, exposure->result);
    if (const auto again = judge_recovery(history, answer, exposure->outcome.text)) {
      exposure->violation.message = again->message;
      exposure->violation.found = again->found;
    }
    return true;
  }
  const std::optional<uint32_t> key =
      asks_key(kind) ? static_cast<uint32_t>(argument_of(exposure->query)) : exposure->violation.key;
  if (!key || kind == QueryKind::kLookup) return true;
  const QueryId lookup = query_id(QueryKind::kLookup, *key);
  const std::string answer = least_.answer(lookup);
  return answer.empty() || !judge_query(history, loaded_.traits, lookup, answer);
}

void Exploration::tell(const Watch& watch) {
  oracle_.tell(/*new_kinds_alone=*/executor_.stopped());
  // Nothing is run any more where the executor's memory is wrong.
  const bool trusted = result_.distrust.empty();
  bool searching = trusted;
  std::vector<Exposure> told;
  const LineSets legal = follower_->frontier().sets();
  for (Exposure& exposure : std::exchange(exposures_, {})) {
    if (searching && !put_on_least_image(legal, &exposure)) continue;
    if (exposure.image.levels.empty()) continue;  // of a kind that was told of already
    told.push_back(std::move(exposure));
    searching = searching && watch(reached());
  }
  functional_.judge(told, trusted);
}

void Exploration::settle_findings() {
  // The executor's memory of the lines ends with exploring. The follower stands at a crash point that it has not
  // followed the model to, or at the end of the trace.
  if (functional_.waiting()) executor_.memory().clear_base();
  uint64_t followed = 0;
  for (bool more = true; more && functional_.waiting(); more = follower_->next()) {
    if (executor_.stopped() && ++followed > kMostFollowedAtTheEnd) break;
    if (!functional_.settles_here()) continue;
    follower_->follow();
    functional_.settle();
  }
  functional_.give_up();
}

ChunkResult Exploration::explore(const Chunk& chunk, const std::set<uint64_t>& skip, const Watch& watch) {
  result_ = {};
  result_.number = chunk.number;
  watch_ = &watch;
  ChunkCounts& counts = result_.counts;
  const ExplorerCounts& sums = explorer_->counts();
  bool out_of_budget = false;
  do {
    const Instant& instant = follower_->instant();
    if (instant.event >= chunk.end_event) break;
    // No chunk needs more than the whole run's budget, whatever earlier chunks took.
    out_of_budget = options_.budget_executions > 0 && sums.executions >= options_.budget_executions;
    if (out_of_budget) break;
    if (!watch(reached())) {
      result_.stopped = true;
      break;
    }
    if (skip.contains(instant.ordinal)) {
      counts.complete = false;
      continue;
    }
    visit(instant, watch);
    if (functional_.stopped()) {
      result_.stopped = true;
      break;
    }
  } while (result_.distrust.empty() && !result_.stopped && follower_->next());

  settle_findings();
  result_.troubles = executor_.runner().doubts();
  if (pool_was_written_around(loaded_.plan.scenario.pool_size)) {
    result_.troubles.push_back(
        "the pool was written to by the kernel, around every instruction: these stores are not seen");
  }
  counts.complete = counts.complete && result_.troubles.empty();
  result_.sources = executor_.runner().sources();
  write_violations();
  counts.executions = sums.executions;
  counts.query_runs = sums.query_runs;
  counts.lives = sums.lives;
  counts.new_lives = sums.new_lives;
  counts.query_answers = sums.query_answers;
  counts.loads = executor_.loads();
  counts.seconds["exploring"] = exploring_seconds_;
  for (uint8_t part = 0; part < Stopwatch::kParts; ++part) {
    counts.seconds[Stopwatch::kNames[part]] = explorer_->stopwatch().seconds(static_cast<Stopwatch::Part>(part));
  }
  counts.complete = counts.complete && strategy_->complete() && !result_.stopped && !out_of_budget;
  for (const auto& [site, count] : executor_.recovery().sites()) {
    const Json place = {
        {"kind", site.fence ? "fence" : "flush"},
        {"name", site.fence ? name_of(static_cast<FenceKind>(site.code)) : name_of(static_cast<FlushKind>(site.code))},
        {"stack", frames_json(frames_.resolve(site.stack))}};
    result_.recovery_sites[place.dump()] += count;
  }
  result_.leaves.assign(sums.leaves.begin(), sums.leaves.end());
  std::sort(result_.leaves.begin(), result_.leaves.end());
  const uint64_t lines = loaded_.plan.scenario.pool_size / kLineSize;
  result_.read_lines.resize((lines + 63) / 64);
  for (uint64_t line = 0; line < lines; ++line) {
    result_.read_lines[line / 64] |= uint64_t{executor_.reads().ever(line)} << (line % 64);
  }
  result_.reached = reached_stores();
  return std::move(result_);
}

}  // namespace powercut
