#include "checker/exploration/chunks/workers.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>

#include "absl/container/flat_hash_set.h"
#include "checker/exploration/chunks/chunk_list.h"
#include "checker/exploration/chunks/worker_process.h"

namespace powercut {
namespace {

void add_bits(std::vector<uint64_t>* to, const std::vector<uint64_t>& from) {
  to->resize(std::max(to->size(), from.size()));
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] |= from[i];
}

using Clock = std::chrono::steady_clock;

// Time after an interruption, and after the end of the budget. Within it workers may send their results, and the walk
// may count the rest of the trace.
constexpr double kPatienceAfterInterrupt = 2, kPatienceAfterBudget = 1;  // seconds
// Events between two looks at the clock, and seconds between two looks at the workers.
constexpr uint64_t kEventsPerLook = 1024;
constexpr double kSecondsPerLook = 0.02;
constexpr double kSecondsPerProgress = 0.25;
// Deaths at one crash point: after the second it is passed over, after so many the chunk is given up. The worker
// then dies of something else than the crash point.
constexpr int kDeathsPerCrashPoint = 2, kDeathsPerChunk = 4;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

volatile sig_atomic_t interrupted = 0;

// SIGINT and SIGTERM ask for an orderly end, as long as this lives.
class StopSignals {
 public:
  StopSignals() {
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
    signal(SIGPIPE, SIG_IGN);
  }
  ~StopSignals() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }

 private:
  struct sigaction old_int_{}, old_term_{};
};

class Leader {
 public:
  Leader(const LoadedTrace& loaded, const ExploreOptions& options, TraceFollower* follower, Checkpoint* checkpoint,
         const ExploreListener& listener)
      : loaded_(loaded),
        options_(options),
        follower_(follower),
        checkpoint_(checkpoint),
        listener_(listener),
        surveyor_(follower, loaded.plan.scenario.pool_size / kLineSize),
        borders_(chunk_events(options, loaded.events)),
        merged_(options.chunks ? options.chunks->first : 0) {
    const auto jobs = static_cast<size_t>(std::max(1, options.jobs));
    void* slots = mmap(nullptr, sizeof(WorkerSlot) * jobs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (slots == MAP_FAILED) throw std::runtime_error("no memory to share with workers");
    slots_ = static_cast<WorkerSlot*>(slots);
    for (size_t i = 0; i < jobs; ++i) {
      workers_.push_back(std::make_unique<WorkerProcess>(slots_ + i));
      everyone_.push_back(workers_.back().get());
    }
  }
  ~Leader() {
    workers_.clear();
    munmap(slots_, sizeof(WorkerSlot) * everyone_.size());
  }
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  Result<Explored> run() {
    const StopSignals signals;
    options_.chunks ? walk_to_range() : walk();
    if (const auto error = follower_->error()) return usage_error(*error);
    while (!again_.empty() || any_running()) {
      hand_out_again();
      wait();
    }
    finish();
    return std::move(out_);
  }

 private:
  struct Work {
    Chunk chunk;
    std::vector<Json> findings;
    std::vector<std::string> troubles;
    int deaths = 0;
    std::optional<uint64_t> dump_size;  // of --dump-results when the chunk was begun first
  };

  // ---- the walk --------------------------------------------------------------------------------

  void walk() {
    Clock::time_point since = Clock::now();
    const auto saw = [&](const Event& event) {
      surveyor_.saw(event);
      walked_over_event(&since);
    };
    bool more = true;
    while (!out_of_patience() && (more = follower_->next(saw))) {
      if (const auto chunk = borders_.begins_at(follower_->instant())) {
        out_.seconds["walk"] += seconds_since(since);
        begin(*chunk);
        since = Clock::now();
      }
      follower_->follow();
      surveyor_.count_states();
    }
    out_.surveyed = !more && !follower_->error();
    out_.survey = surveyor_.finish();
    out_.seconds["walk"] += seconds_since(since);
  }

  // Walks to some chunks alone, without a survey. A worker takes all lines as they are where its chunk begins, so that
  // nobody has to follow the model on the way there.
  void walk_to_range() {
    Clock::time_point since = Clock::now();
    while (!stopping_ && follower_->next([&](const Event&) { walked_over_event(&since); })) {
      const auto chunk = borders_.begins_at(follower_->instant());
      if (!chunk || chunk->number < options_.chunks->first) continue;
      if (chunk->number >= options_.chunks->end) break;
      out_.seconds["walk"] += seconds_since(since);
      begin(*chunk);
      since = Clock::now();
      follower_->follow();
    }
    out_.seconds["walk"] += seconds_since(since);
  }

  // `since`: when the walk went on last.
  void walked_over_event(Clock::time_point* since) {
    ++events_;
    if (events_ % kEventsPerLook != 0 || seconds_since(looked_) < kSecondsPerLook) return;
    out_.seconds["walk"] += seconds_since(*since);
    look();
    *since = Clock::now();
  }

  bool out_of_patience() const {
    const double over = options_.budget_seconds + kPatienceAfterBudget;
    return (out_.interrupted && seconds_since(interrupted_at_) > kPatienceAfterInterrupt) ||
           (out_.out_of_time && seconds_since(start_) > over);
  }

  // The follower stands at the first crash point of a chunk, and has not followed the model to it.
  void begin(const Chunk& chunk) {
    if (checkpoint_ != nullptr) {
      const auto finished = checkpoint_->finished().find(chunk.number);
      if (finished != checkpoint_->finished().end()) {
        take(finished->second);
        return;
      }
    }
    for (hand_out_again(); !stopping_ && !idle_worker(); hand_out_again()) wait();
    if (stopping_) return;
    Work& work = works_[chunk.number];
    work.chunk = chunk;
    start(work, follower_);
  }

  // ---- workers ---------------------------------------------------------------------------------

  WorkerProcess* idle_worker() const {
    for (WorkerProcess* worker : everyone_) {
      if (!worker->running()) return worker;
    }
    return nullptr;
  }
  bool any_running() const {
    return std::any_of(everyone_.begin(), everyone_.end(), [](const WorkerProcess* w) { return w->running(); });
  }

  void hand_out_again() {
    while (!again_.empty() && idle_worker() != nullptr) {
      const uint64_t number = again_.front();
      again_.pop_front();
      start(works_[number], nullptr);
    }
  }

  void start(Work& work, TraceFollower* follower) {
    if (!options_.dump_results.empty()) keep_dump(work);
    const auto begun = Clock::now();
    idle_worker()->start({loaded_, options_, skip_, work.chunk, follower}, everyone_);
    out_.seconds["fork"] += seconds_since(begun);
  }

  // A chunk that is done again writes its results once.
  void keep_dump(Work& work) const {
    std::error_code ignored;
    if (!work.dump_size) work.dump_size = std::filesystem::file_size(options_.dump_results, ignored);
    std::filesystem::resize_file(options_.dump_results, *work.dump_size, ignored);
  }

  void wait() {
    const auto begun = Clock::now();
    std::vector<pollfd> polled;
    for (const WorkerProcess* worker : everyone_) {
      if (worker->running()) polled.push_back({worker->messages(), POLLIN, 0});
    }
    if (!polled.empty()) poll(polled.data(), polled.size(), 50);
    out_.seconds["wait"] += seconds_since(begun);
    look();
  }

  // Hears the workers, watches over them, and tells the listener.
  void look() {
    looked_ = Clock::now();
    for (WorkerProcess* worker : everyone_) {
      if (worker->running()) listen(*worker);
    }
    if (interrupted && !out_.interrupted) {
      out_.interrupted = true;
      interrupted_at_ = Clock::now();
      stop_all();
    }
    if (options_.budget_seconds > 0 && seconds_since(start_) > options_.budget_seconds && !out_.out_of_time) {
      out_.out_of_time = true;
      stop_all();
    }
    for (WorkerProcess* worker : everyone_) {
      if (!worker->running()) continue;
      if (out_of_patience()) {
        worker->end();
        lose(works_[worker->chunk().number]);
      } else if (out_.functional && seconds_since(functional_at_) > kPatienceAfterInterrupt) {
        worker->end();  // its chunk does not count any more
      } else {
        worker->watch(options_.watchdog_seconds, options_.crash_point_seconds);
      }
    }
    if (seconds_since(reported_) > kSecondsPerProgress) {
      reported_ = Clock::now();
      listener_.progressed(so_far());
    }
  }

  void stop_all() {
    stopping_ = true;
    for (uint64_t number : again_) lose(works_[number]);
    again_.clear();
    for (WorkerProcess* worker : everyone_) worker->slot().stop = true;
  }

  void listen(WorkerProcess& worker) {
    const bool more_to_come = worker.read_some();
    Work& work = works_[worker.chunk().number];
    while (auto packet = worker.next_packet()) {
      if (packet->kind == "finding") {
        Json finding = Json::parse(packet->payload);
        if (counts_now(work.chunk.number)) {
          announce(finding);
        } else if (options_.budget_executions == 0) {
          held_[work.chunk.number].push_back(finding);
        }
        work.findings.push_back(std::move(finding));
      } else if (auto result = decode_chunk_result(packet->payload)) {
        worker.end();
        if (worker.slot().forked) {
          work.troubles.push_back("recovery or a query started a process, whose stores are not seen");
        }
        if (result->distrust.empty()) {
          finished(work, std::move(*result));
        } else {
          work.troubles.push_back(result->distrust);
          skip_.insert(worker.slot().ordinal);
          do_again(work);
        }
        return;
      }
    }
    if (!more_to_come) died(worker, work);
  }

  void finished(Work& work, ChunkResult result) {
    result.findings = std::move(work.findings);
    result.troubles.insert(result.troubles.begin(), work.troubles.begin(), work.troubles.end());
    works_.erase(result.number);
    if (checkpoint_ != nullptr && !result.stopped) {
      if (auto wrong = checkpoint_->append(result)) {
        out_.notes.push_back("the rest of this run is not in the checkpoint: " + wrong->message());
      }
    }
    take(std::move(result));
  }

  void died(WorkerProcess& worker, Work& work) {
    const uint64_t at = worker.slot().ordinal;
    const bool blocked = worker.blocked();
    const std::string how = worker.end();
    ++work.deaths;
    if (blocked) {
      // A new worker would block again, at this crash point and most likely at all later ones: each time for as long.
      work.troubles.push_back("crash point " + std::to_string(at) + " was given up, and with it the rest: a worker " +
                              how + " there. A longer --watchdog helps where it was only slow");
      stop_all();
      lose(work);
      return;
    }
    if (++deaths_[at] == kDeathsPerCrashPoint) {
      skip_.insert(at);
      work.troubles.push_back("crash point " + std::to_string(at) + " was given up: a worker " + how + " there, twice");
    } else if (deaths_[at] >= kDeathsPerChunk) {
      ChunkResult nothing;
      nothing.number = work.chunk.number;
      nothing.counts.complete = false;
      work.troubles.push_back("the crash points from " + std::to_string(work.chunk.first) +
                              " on were given up: every worker " + how + " there");
      finished(work, std::move(nothing));
      return;
    }
    do_again(work);
  }

  void do_again(Work& work) {
    work.findings.clear();
    if (stopping_) {
      lose(work);
    } else {
      again_.push_back(work.chunk.number);
    }
  }

  // The troubles of a chunk are told even when the chunk is not done again.
  void lose(const Work& work) { tell(work.troubles); }

  // A trouble that several chunks report is told once.
  void tell(const std::vector<std::string>& troubles) {
    for (const std::string& trouble : troubles) {
      if (std::find(out_.troubles.begin(), out_.troubles.end(), trouble) == out_.troubles.end()) {
        out_.troubles.push_back(trouble);
      }
    }
  }

  // ---- results ---------------------------------------------------------------------------------

  // Whether findings of a chunk that is not merged yet count. Under a budget in executions the findings count once the
  // chunk does. Where the run stops at a finding, an earlier chunk may still stop the run.
  bool counts_now(uint64_t chunk) const {
    if (options_.budget_executions > 0 || closed()) return false;
    return !options_.stop_at_functional || chunk == merged_;
  }

  void take(ChunkResult result) {
    if (counts_now(result.number)) {
      for (const Json& finding : result.findings) announce(finding);
    }
    listener_.finished(result);
    done_[result.number] = std::move(result);
    merge();
  }

  // Adds finished chunks in their order.
  void merge() {
    for (auto next = done_.find(merged_); next != done_.end() && !closed(); next = done_.find(merged_)) {
      ChunkResult& result = next->second;
      out_.sum.add(result.counts);
      leaves_.insert(result.leaves.begin(), result.leaves.end());
      for (const auto& [name, most] : result.maxima) {
        const auto [at, is_new] = out_.maxima.try_emplace(name, most);
        if (!is_new && most.value > at->second.value) at->second = most;
      }
      for (const auto& [site, count] : result.recovery_sites) out_.recovery_sites[site] += count;
      add_bits(&out_.read_lines, result.read_lines);
      add_bits(&out_.reached, result.reached);
      if (options_.stop_at_functional) stop_at_functional(&result.findings);
      for (const Json& finding : held_[result.number]) {
        if (!out_.functional) announce(finding);  // also of a worker that died, and whose chunk was done again
      }
      held_.erase(result.number);
      for (const Json& finding : result.findings) announce(finding);
      tell(result.troubles);
      out_.sources |= result.sources;
      done_.erase(next);
      ++merged_;
      if (options_.budget_executions > 0 && out_.sum.executions >= options_.budget_executions) {
        spent_ = true;  // chunks past the budget do not count, however early they were done
        stop_all();
      }
    }
  }

  // Chunks that are not merged by now do not count.
  bool closed() const { return spent_ || out_.functional; }

  // Ends the run at the first of a chunk's findings that needs no power cut, and drops those behind it. A worker stops
  // there by itself; a chunk of a checkpoint may go on.
  void stop_at_functional(std::vector<Json>* findings) {
    const auto first = std::find_if(findings->begin(), findings->end(),
                                    [](const Json& finding) { return !finding.value("needs_power_cut", true); });
    if (first == findings->end()) return;
    findings->erase(first + 1, findings->end());
    out_.functional = true;
    functional_at_ = Clock::now();
    stop_all();
  }

  void announce(const Json& finding) {
    auto& known = out_.findings[finding["key"].get<std::string>()];
    const bool earlier = known.is_null() || finding["crash_point"]["index"].get<uint64_t>() <
                                                known["crash_point"]["index"].get<uint64_t>();
    if (!earlier) return;
    known = finding;
    listener_.found(finding);
  }

  SoFar so_far() const {
    SoFar out{.crash_points = out_.sum.crash_points,
              .of = follower_->crash_points(),
              .covered = out_.sum.covered,
              .executions = out_.sum.executions,
              .findings = out_.findings.size()};
    for (const auto& [number, result] : done_) {
      out.crash_points += result.counts.crash_points;
      out.covered += result.counts.covered;
      out.executions += result.counts.executions;
    }
    for (const WorkerProcess* worker : everyone_) {
      if (!worker->running()) continue;
      const WorkerSlot& slot = worker->slot();
      out.crash_points += slot.crash_points;
      out.executions += slot.executions;
      if (const double covered = slot.covered; std::isfinite(covered)) out.covered += BigInt(covered);
    }
    if (!out_.surveyed && events_ > 0) {
      const double part = static_cast<double>(events_) / static_cast<double>(std::max(events_, loaded_.events));
      out.of = std::max(out.of, static_cast<uint64_t>(static_cast<double>(out.of) / part));
    }
    return out;
  }

  void finish() {
    // A chunk that was stopped half way, or was behind one, is not part of the sum.
    const bool all = merged_ == borders_.count() && out_.surveyed;
    if (options_.chunks && !out_.interrupted)
      out_.has_range = spent_ || merged_ >= std::min(options_.chunks->end, borders_.count());
    out_.out_of_executions = spent_ && (!all || out_.sum.crash_points < out_.survey.crash_points);
    out_.sum.complete = out_.sum.complete && all && !out_.functional;
    out_.leaves = leaves_.size();
    if (closed()) return;
    for (const auto& [number, result] : done_) tell(result.troubles);
    for (const auto& [number, findings] : held_) {
      for (const Json& finding : findings) announce(finding);
    }
  }

  const LoadedTrace& loaded_;
  const ExploreOptions& options_;
  TraceFollower* follower_;
  Checkpoint* checkpoint_;
  const ExploreListener& listener_;
  Surveyor surveyor_;

  ChunkBorders borders_;
  uint64_t events_ = 0;    // walked over
  bool stopping_ = false;  // no chunk is begun any more

  WorkerSlot* slots_ = nullptr;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  std::vector<WorkerProcess*> everyone_;
  std::map<uint64_t, Work> works_;              // chunks begun and not finished, by number
  std::deque<uint64_t> again_;                  // chunks of works_ that wait for another worker
  std::set<uint64_t> skip_;                     // crash points that were given up
  std::map<uint64_t, int> deaths_;              // by crash point
  std::map<uint64_t, ChunkResult> done_;        // finished, not yet merged
  std::map<uint64_t, std::vector<Json>> held_;  // findings that counts_now() holds back, by chunk
  uint64_t merged_;                             // chunks below are merged
  bool spent_ = false;                          // the budget in executions
  absl::flat_hash_set<uint64_t> leaves_;
  Explored out_;

  const Clock::time_point start_ = Clock::now();
  Clock::time_point looked_ = start_, reported_ = start_, interrupted_at_ = start_, functional_at_ = start_;
};

}  // namespace

Result<Explored> explore_all(const LoadedTrace& loaded, const ExploreOptions& options, TraceFollower* follower,
                             Checkpoint* checkpoint, const ExploreListener& listener) {
  return Leader(loaded, options, follower, checkpoint, listener).run();
}

}  // namespace powercut
