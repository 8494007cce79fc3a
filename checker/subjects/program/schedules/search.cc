#include "checker/subjects/program/schedules/search.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/signal_name.h"
#include "replayer/media/open_trace.h"
#include "replayer/media/stream_files.h"
#include "tracer/stream/stream.h"

namespace powercut {
namespace {

using runtime::Decision;
using runtime::ScheduleEnd;
using runtime::Tail;

constexpr const char* kNoEnd = "it replaced itself by another program, or ended without exit()";

// Random schedules in a row that show no new place, before the search begins; and all of them, at most.
constexpr int kQuiet = 4, kMostRehearsals = 100;

// Most ways that wait to be run; beyond this number, ways that lead to few others come first.
constexpr size_t kMostWaiting = 50'000;

// Limits for schedules that are not followed to their end: how many there may be; how many of them may stall, since
// each stall is waited for; how many of their decisions other schedules part from. Such schedules are long, and much
// alike.
constexpr size_t kMostPassedOver = 32, kMostStalls = 2, kDecisionsOfPassedOver = 64;

// Most runs of operations one after the other.
constexpr size_t kMostOrders = 4096;

bool same_decision(const Decision& a, const Decision& b) {
  return a.may == b.may && a.costly == b.costly && a.from == b.from && a.so_far == b.so_far;
}

}  // namespace

bool ProgramSearch::give_up(std::string reason) {
  over_ = true;
  return pass_over(std::move(reason));
}

bool ProgramSearch::pass_over(std::string reason) {
  if (counts_.reason.empty()) counts_.reason = std::move(reason);
  return false;
}

std::optional<EngineError> ProgramSearch::run() {
  if (first_run()) {
    if (options_.kind == "bounded") {
      bounded();
    } else {
      sampled();
    }
    run_orders();
  }
  if (error_) return error_;
  if (tree_ == nullptr) return std::nullopt;
  counts_.complete = options_.kind == "bounded" && counts_.reason.empty();
  counts_.steps = tree_->steps();
  counts_.cuts = tree_->cuts();
  counts_.frontiers = tree_->frontiers();
  // Nothing that was run could be followed.
  if (!tree_->begun()) tree_->begin({}, threads_);
  if (const auto wrong = tree_->finish(summary().dump(-1, ' ', false, Json::error_handler_t::replace))) {
    return usage_error(*wrong);
  }
  return std::nullopt;
}

// Runs the schedule without preemptions: the program as an ordinary recording has it. The places that this run and
// random schedules show to be shared are known before the search begins.
bool ProgramSearch::first_run() {
  const auto first = run_once({});
  if (!first) return false;
  status_ = first->status;
  stalled_ = first->stalled;
  const bool failed = first->status < 0 || !options_.allowed.contains(first->status);
  // An event that cannot be followed may well be the cause of the failure.
  if (failed && stalled_.empty()) stalled_ = first->doubt;
  // The stream begins when the program does something with a pool.
  const bool used = std::filesystem::exists(runs_->stream());
  if (!failed && stalled_.empty() && used && first->followed && first->end == ScheduleEnd::kUnknown) stalled_ = kNoEnd;
  if (!stalled_.empty() || (failed && first->end != ScheduleEnd::kDeadlock)) return false;
  TraceError wrong;
  survey_ = used ? survey_stream(runs_->stream(), {}, &wrong) : StreamSurvey{};
  if (!survey_) return error_ = usage_error(wrong), false;
  if (!first->followed) {
    error_ = usage_error("the program does not hand its threads to the scheduler", "--threads scheduled",
                         "Build it with 'powercut cc' or 'powercut c++', and record the program itself.");
    return false;
  }
  if (std::ranges::none_of(survey_->pools, &StreamPool::used)) return false;
  learn(*first);
  rehearse();
  const auto metadata = metadata_(*survey_);
  if (!metadata) return error_ = metadata.error(), false;
  auto tree = ScheduleTree::create(trace_, *metadata, std::max(survey_->size, kLineSize), options_.model);
  if (!tree) return error_ = tree.error(), false;
  tree_ = std::move(*tree);
  return true;
}

void ProgramSearch::rehearse() {
  int quiet = 0;
  for (uint64_t seed = 1; quiet < kQuiet && seed <= kMostRehearsals && threads_ > 1; ++seed) {
    const auto run = run_once({.tail = Tail::kRandom, .seed = options_.limits.seed * 1000 + seed});
    if (!run) return;
    quiet = learn(*run) ? 0 : quiet + 1;
    // The stall shows again in the search, which tells of it.
    if (!run->stalled.empty()) return;
  }
}

bool ProgramSearch::learn(const ScheduledRun& run) {
  threads_ = std::max(threads_, run.threads);
  length_ = std::max(length_, static_cast<uint32_t>(run.decisions.size()));
  std::vector<uint64_t> fresh;
  for (const uint64_t place : run.found) {
    if (places_.insert(place).second) fresh.push_back(place);
  }
  if (!runs_->add_places(fresh)) pass_over("its threads share more places than can be kept");
  return !fresh.empty();
}

void ProgramSearch::bounded() {
  const uint32_t most = *options_.limits.preemptions;
  // The first schedule is run even if the search is known to miss schedules.
  for (bool again = true; again;) {
    again = false;
    counts_.schedules = counts_.ended = 0;
    // Ways by their number of preemptions: a finding is met first where it needs the fewest.
    std::vector<std::vector<Way>> ways(most + 1);
    ways[0].emplace_back();
    while (!again && (counts_.schedules == 0 || !over_)) {
      const auto waiting = [](size_t sum, const std::vector<Way>& some) { return sum + some.size(); };
      const size_t left = std::accumulate(ways.begin(), ways.end(), size_t{0}, waiting);
      if (left == 0) break;
      const auto has = [](const std::vector<Way>& some) { return !some.empty(); };
      std::vector<Way>& some =
          left < kMostWaiting ? *std::ranges::find_if(ways, has) : *std::find_if(ways.rbegin(), ways.rend(), has);
      const Way way = std::move(some.back());
      some.pop_back();
      if (options_.limits.schedules > 0 && counts_.schedules >= options_.limits.schedules) {
        give_up("after " + std::to_string(counts_.schedules) + " schedules (--schedules)");
        break;
      }
      const auto run = follow({.choices = way.choices});
      if (!run) break;
      if (!over_ && learn(*run)) {
        ++counts_.restarts;
        again = true;
      } else {
        branch(*run, way, &ways);
      }
    }
  }
}

void ProgramSearch::branch(const ScheduledRun& run, const Way& way, std::vector<std::vector<Way>>* ways) {
  const bool whole = run.end != ScheduleEnd::kTooLong && run.stalled.empty();
  const auto decisions = std::make_shared<const std::vector<Decision>>(run.decisions);
  bool alike = decisions->size() >= way.choices.size() && (!way.choices.empty() || !whole || does_it_again(run));
  for (size_t i = 0; alike && i < way.choices.size(); ++i) {
    alike = same_decision((*decisions)[i], (*way.decisions)[i]) && (*decisions)[i].to == way.choices[i];
  }
  if (!alike) {
    give_up(
        "the program is not a function of its schedule: run twice, its threads did not do the same (it may depend "
        "on time, random numbers, other processes or addresses)");
    return;
  }
  const size_t end =
      whole ? decisions->size() : std::min(decisions->size(), way.choices.size() + kDecisionsOfPassedOver);
  uint32_t preemptions = 0;
  const auto cost = [](const Decision& decision, uint32_t to) { return decision.costly >> to & 1u; };
  for (size_t i = 0; i < end; ++i) {
    const Decision& decision = (*decisions)[i];
    for (uint32_t to = 1; i >= way.choices.size() && to < 16; ++to) {
      if (to == decision.to || (decision.may >> to & 1) == 0) continue;
      if (preemptions + cost(decision, to) >= ways->size()) continue;
      Way other{.choices = {}, .decisions = decisions};
      for (size_t before = 0; before < i; ++before) other.choices.push_back((*decisions)[before].to);
      other.choices.push_back(static_cast<uint16_t>(to));
      (*ways)[preemptions + cost(decision, to)].push_back(std::move(other));
    }
    preemptions += cost(decision, decision.to);
  }
}

// Whether the schedule without preemptions is the same when it is run once more.
bool ProgramSearch::does_it_again(const ScheduledRun& run) {
  const auto again = run_once({});
  return again && again->did == run.did && std::ranges::equal(again->decisions, run.decisions, same_decision);
}

void ProgramSearch::sampled() {
  const uint64_t wanted = options_.limits.schedules;
  const bool pct = options_.kind == "pct";
  for (uint64_t i = 0; i < wanted && (i == 0 || !over_); ++i) {
    const auto run = follow({.tail = pct ? Tail::kPct : Tail::kRandom,
                             .seed = options_.limits.seed * 1'000'003 + i,
                             .changes = options_.limits.changes,
                             .length = length_});
    if (!run) return;
    learn(*run);
  }
  give_up(std::to_string(counts_.schedules) + " were drawn");
}

void ProgramSearch::run_orders() {
  std::set<std::vector<uint32_t>> tried;
  for (const auto& [name, history] : tree_->overlapping()) {
    for (;;) {
      const auto unknown = tree_->orders().explain(history).unknown;
      // An order in which the program cannot be run, or in which its operations are others, is run once.
      if (!unknown || !tried.insert(*unknown).second) break;
      if (tried.size() > kMostOrders || !run_order(*unknown)) return;
    }
  }
}

// Runs the operations in this order of threads. False: no other order can be run either.
bool ProgramSearch::run_order(const std::vector<uint32_t>& threads) {
  if (options_.most_seconds > 0 && seconds_now() - start_ > options_.most_seconds) return false;
  const auto run = run_once({.tail = Tail::kOrder, .order = threads});
  if (!run) return false;
  // A run of an order tells of its operations alone, so its gaps are no reason against the search.
  if (!run->stalled.empty() || run->status < 0 || !std::filesystem::exists(runs_->stream())) return true;
  const std::string reason = counts_.reason;
  const auto events = events_of_run();
  counts_.reason = reason;
  if (events) tree_->add_order(*events);
  return true;
}

std::optional<ScheduledRun> ProgramSearch::run_once(const ScheduleRequest& request) {
  auto run = runs_->run(request);
  if (!run) {
    error_ = run.error();
    return std::nullopt;
  }
  if (run->stalled == "interrupted") {
    error_ = harness_error("interrupted", "powercut-engine", "Run it again.");
    return std::nullopt;
  }
  return std::move(*run);
}

std::optional<ScheduledRun> ProgramSearch::follow(const ScheduleRequest& request) {
  if (options_.most_seconds > 0 && seconds_now() - start_ > options_.most_seconds) {
    give_up("after " + std::to_string(counts_.schedules) +
            " schedules, when the time of the recording was up (--record-timeout)");
    return std::nullopt;
  }
  auto run = run_once(request);
  if (!run) return std::nullopt;
  ++counts_.schedules;
  if (!run->stalled.empty()) {
    // The run's recording has no end. Other schedules may part from the run.
    pass_over(run->stalled);
    if (++stalls_ >= kMostStalls) over_ = true;
    return run;
  }
  const auto events = events_of_run();
  if (!events) return std::nullopt;
  if (!tree_->begun()) tree_->begin(*events, threads_);
  if (!tree_->add(*events)) {
    give_up("the program did not begin the same way twice: it depends on more than its schedule");
    return std::nullopt;
  }
  if (run->end == ScheduleEnd::kDone) ++counts_.ended;
  if (!run->doubt.empty()) give_up(run->doubt);
  judge_end(*run);
  return run;
}

void ProgramSearch::judge_end(const ScheduledRun& run) {
  switch (run.end) {
    case ScheduleEnd::kDeadlock:
      return tree_->add_trouble(Trouble::kDeadlock, run.text);
    case ScheduleEnd::kTooLong:
      pass_over("a schedule has no end within " + std::to_string(runtime::kMostDecisions) +
                " decisions: a loop may go on for ever, and others part from it near its beginning only");
      if (++passed_over_ >= kMostPassedOver) over_ = true;
      return;
    case ScheduleEnd::kMany:
      give_up("its threads share more places than can be kept");
      return;
    case ScheduleEnd::kDone:
    case ScheduleEnd::kUnknown:
    case ScheduleEnd::kNoOrder:
      break;
  }
  if (run.end == ScheduleEnd::kUnknown && run.status >= 0) give_up(kNoEnd);
  if (run.status < 0) {
    tree_->add_trouble(Trouble::kDied, "The program died of " + signal_name(-run.status) + ".");
  } else if (!options_.allowed.contains(run.status)) {
    tree_->add_trouble(Trouble::kDied, "The program ended with exit status " + std::to_string(run.status) + ".");
  }
}

std::optional<RunEvents> ProgramSearch::events_of_run() {
  TraceError error;
  const auto wrong = [&](std::string why) -> std::optional<RunEvents> {
    give_up(std::move(why));
    return std::nullopt;
  };
  const auto survey = survey_stream(runs_->stream(), {}, &error);
  if (!survey) return wrong("what a schedule has recorded cannot be read: " + error.message());
  if (survey->size != survey_->size || survey->pools.size() != survey_->pools.size()) {
    return wrong("its pools have other sizes in other schedules");
  }
  if (survey->has_shrinks) return wrong("a pool becomes smaller, which is not followed in more than one schedule");
  for (const StreamNote& note : survey->notes) {
    if (note.kind == kPowercutNoteUnseen) return wrong(note.text);
    if (note.kind == kPowercutNoteFork) return wrong("the program forks while its threads are scheduled");
  }
  const auto writer = TraceWriter::create(scratch_, "{}", &error);
  if (writer == nullptr) return wrong(error.message());
  if (const auto problem = convert_stream(runs_->stream(), *survey, "", *writer)) return wrong(problem->message());
  if (const auto problem = writer->finish()) return wrong(problem->message());
  const auto reader = TraceReader::open(scratch_, &error);
  if (reader == nullptr) return wrong(error.message());
  if (!reader->read_through(file_calls_of(*survey))) return wrong(reader->error()->message());
  RunEvents out = tree_->read(reader.get());
  if (reader->error()) return wrong(reader->error()->message());
  return out;
}

Json ProgramSearch::summary() const {
  Json out = {{"search", options_.kind},
              {"preemptions", nullptr},
              {"model", options_.model},
              {"threads", threads_},
              {"operations", tree_ == nullptr ? 0 : tree_->operations()},
              {"schedules", counts_.schedules},
              {"states", 0},
              {"steps", counts_.steps},
              {"cuts", counts_.cuts},
              {"frontiers", counts_.frontiers},
              {"restarts", counts_.restarts},
              {"complete", counts_.complete},
              {"reason", counts_.reason}};
  if (options_.kind == "bounded") out["preemptions"] = *options_.limits.preemptions;
  return out;
}

}  // namespace powercut
