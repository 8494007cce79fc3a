// `powercut-bench-execution`: what an execution costs in the engine's executor, beside the same recovery and the same
// queries without instrumentation, as one JSON object of nanoseconds.
//
//   engine  the instrumented library under the executor: loads, stores and steps are heard, reads are noted, stores
//           are undone from the journal
//   plain   the library without instrumentation, called directly; the words that a query writes are known from a
//           rehearsal and are written back, which is the least that anybody has to do to ask the next one
//   plain_flushing  `plain` with its write-back instructions, which the engine does not execute
//
// Each runs in a process of its own, on the same image (the end of the plan's workload); they take turns and the
// fastest of each counts, since noise only slows down. Both must give the same answers.
//
// Parts: `recovery` opens the table; `key` asks every query about one key, and `region` about one region, on a
// recovered table; `execution` is a recovery, then a key and a region: what typically depends on a store.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "base/command_line.h"
#include "base/repeatable_process.h"
#include "checker/oracle/queries.h"
#include "checker/trace/explore_options.h"
#include "engine/benchmarks/measured_run.h"
#include "engine/benchmarks/workload_image.h"
#include "engine/benchmarks/write_backs.h"
#include "replayer/executor/executor.h"
#include "replayer/executor/process_modules.h"
#include "tracer/record/key_bytes.h"
#include "tracer/world/arena.h"
#include "xxhash.h"

namespace powercut {

namespace {

using Failure = std::optional<EngineError>;

struct Options {
  std::string plan, plain, folder;
  uint64_t keys = 64;  // that are asked about, in turns; the regions as well
  double seconds = 0.2;
  int repeat = 5;
};

enum Part { kRecovery, kKey, kRegion, kExecution, kParts };
constexpr const char* kPartNames[kParts] = {"recovery", "key", "region", "execution"};

// In memory that parent and child share.
struct Costs {
  double ns[kParts];
  uint64_t answers;  // digest of all answers
  uint64_t asked;    // queries of one key and one region
};

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// The steps of both sides; each side calls code and takes its effects back in its own way.
class Side {
 public:
  Side(const Plan& plan, const TargetLibrary& library, const TargetConfig& config, uint64_t keys)
      : pool{reinterpret_cast<uint8_t*>(kPoolBase), plan.scenario.pool_size},
        target_(library.target()),
        config_(config),
        one_(text_of(plan.scenario.data.first_probe())),
        two_(text_of(plan.scenario.data.second_probe())) {
    for (uint64_t id = 1; id <= keys; ++id) {
      keys_.emplace_back().bytes = text_of(plan.scenario.data.key_of(id));
    }
  }
  virtual ~Side() = default;

  void measure(double seconds, Costs* costs) {
    // Once through everything, for the digest and the rehearsal.
    recover();
    regions_ = std::min<uint64_t>(target_.regions != nullptr ? target_.regions(table_) : 0, keys_.size());
    for (uint64_t turn = 0; turn < keys_.size(); ++turn) {
      ask_key(turn);
      ask_region(turn);
    }
    forget();
    costs->answers = digest_;
    costs->asked = key_queries().size() + region_queries().size();

    costs->ns[kRecovery] = timed(seconds, [this](uint64_t) { recover(), forget(); });
    costs->ns[kExecution] =
        timed(seconds, [this](uint64_t turn) { recover(), ask_key(turn), ask_region(turn), forget(); });
    recover();
    costs->ns[kKey] = timed(seconds, [this](uint64_t turn) { ask_key(turn); });
    costs->ns[kRegion] = timed(seconds, [this](uint64_t turn) { ask_region(turn); });
    forget();
  }

 protected:
  // Runs recovery, which sets table_; forget() takes it back.
  virtual void recover() = 0;
  virtual void forget() = 0;
  // Runs one query and takes it back.
  virtual void ask(QueryId query) = 0;

  void open() {
    buffer_.clear();
    buffer_.put_byte(static_cast<uint8_t>(target_.open(pool, config_.get(), &table_)));
  }
  void run(QueryId query) {
    buffer_.clear();
    run_query(target_, table_, query, keys_, one_, two_, &buffer_);
  }

  powercut_pool pool;

 private:
  // The queries that an exploration asks about a key and a region.
  std::vector<QueryKind> key_queries() const {
    std::vector<QueryKind> out{QueryKind::kLookup, QueryKind::kProbe};
    if (target_.copies != nullptr) out.push_back(QueryKind::kCopies);
    if (target_.erase != nullptr) out.push_back(QueryKind::kEraseProbe);
    return out;
  }
  std::vector<QueryKind> region_queries() const {
    std::vector<QueryKind> out;
    if (target_.walk != nullptr) out.push_back(QueryKind::kWalk);
    if (target_.verify != nullptr) out.push_back(QueryKind::kVerify);
    return out;
  }
  void ask_key(uint64_t turn) {
    for (QueryKind kind : key_kinds_) hear(query_id(kind, turn % keys_.size()));
  }
  void ask_region(uint64_t turn) {
    if (regions_ == 0) return;
    for (QueryKind kind : region_kinds_) hear(query_id(kind, turn % regions_));
  }
  void hear(QueryId query) {
    ask(query);
    digest_ = XXH3_64bits_withSeed(buffer_.view().data(), buffer_.view().size(), digest_);
  }

  template <typename Body>
  static double timed(double seconds, const Body& body) {
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t turn = 0;;) {
      for (const uint64_t end = turn + 256; turn < end; ++turn) body(turn);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (took.count() >= seconds) return took.count() * 1e9 / static_cast<double>(turn);
    }
  }

 protected:
  const powercut_target& target_;
  const TargetConfig& config_;
  std::string one_, two_;
  std::vector<KeyHistory> keys_;
  powercut_table* table_ = nullptr;
  ResultBuffer buffer_;

 private:
  const std::vector<QueryKind> key_kinds_ = key_queries(), region_kinds_ = region_queries();
  uint64_t regions_ = 0;
  uint64_t digest_ = 0;
};

class EngineSide : public Side {
 public:
  EngineSide(const Plan& plan, const TargetLibrary& library, const TargetConfig& config, uint64_t keys,
             std::vector<MemoryRange> globals)
      : Side(plan, library, config, keys),
        executor_({.pool_size = plan.scenario.pool_size,
                   .step_budget = step_budget(0, plan.scenario.pool_size),
                   .globals = std::move(globals),
                   .own_code = executable_code(),
                   .pool_is_mapped = true}),
        empty_(executor_.memory().mark()) {
    executor_.reads().want_heap(false);  // as an exploration does, until the heap differs between two recoveries
  }

 protected:
  void recover() override {
    executor_.run_recovery(&decisions_, nullptr, [this] { open(); });
    leaf_ = executor_.memory().mark();
    executor_.reads().begin(leaf_.arena);
  }
  void forget() override { executor_.memory().undo(empty_); }
  void ask(QueryId query) override {
    query_ = query;
    executor_.run(&decisions_, body_);
    executor_.memory().undo(leaf_);
  }

 private:
  Executor executor_;
  Decisions decisions_;
  UndecidedMemory::Mark empty_, leaf_{};
  QueryId query_ = 0;
  std::function<void()> body_ = [this] { run(query_); };
};

class PlainSide : public Side {
 public:
  PlainSide(const Plan& plan, const TargetLibrary& library, const TargetConfig& config, uint64_t keys)
      : Side(plan, library, config, keys), image_(pool.base, pool.base + pool.size) {
    constexpr uint64_t kHeap = 1 << 20;
    void* heap = mmap(nullptr, kHeap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (heap == MAP_FAILED) throw std::runtime_error("no memory for the target's heap");
    const auto begin = reinterpret_cast<uint64_t>(heap);
    arena = {begin, begin + kHeap, begin, begin};
  }

 protected:
  void recover() override {
    called([this] { open(); });
    held_ = arena.top;
    arena_keep();
    if (!rehearsed_) {
      rehearsed_ = true;
      recovery_words_ = differences(image_);
      recovered_.assign(pool.base, pool.base + pool.size);
    }
  }
  void forget() override {
    write_back(recovery_words_);
    arena_drop_to(arena.begin);
  }
  void ask(QueryId query) override {
    called([this, query] { run(query); });
    auto [words, first] = query_words_.try_emplace(query);
    if (first) words->second = differences(recovered_);
    write_back(words->second);
    arena_drop_to(held_);
  }

 private:
  struct Word {
    uint64_t offset, content;
  };
  template <typename Body>
  static void called(const Body& body) {
    arena_active = true;
    body();
    arena_active = false;
  }
  std::vector<Word> differences(const std::vector<uint8_t>& before) const {
    std::vector<Word> out;
    for (uint64_t at = 0; at < pool.size; at += 8) {
      if (std::memcmp(&before[at], pool.base + at, 8) == 0) continue;
      std::memcpy(&out.emplace_back(Word{at, 0}).content, &before[at], 8);
    }
    return out;
  }
  void write_back(const std::vector<Word>& words) const {
    for (const Word& word : words) std::memcpy(pool.base + word.offset, &word.content, 8);
  }

  std::vector<uint8_t> image_, recovered_;
  std::vector<Word> recovery_words_;
  absl::flat_hash_map<QueryId, std::vector<Word>> query_words_;
  uint64_t held_ = 0;
  bool rehearsed_ = false;
};

enum class Kind { kEngine, kPlain, kPlainFlushing };

Failure measure_side(const Plan& plan, const Options& options, const std::string& image, Kind kind, Costs* costs) {
  const bool watched = kind == Kind::kEngine;
  if (watched) {
    map_pool(plan.scenario.pool_size);
  } else {
    map_plain_pool(plan.scenario.pool_size);
  }
  auto* bytes = watched ? pool_bytes() : reinterpret_cast<uint8_t*>(kPoolBase);
  std::ifstream(image, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes), static_cast<std::streamsize>(plan.scenario.pool_size));
  Result<TargetLibrary> library = TargetLibrary::load(kind == Kind::kEngine ? plan.target.library : options.plain);
  if (!library) return library.error();
  TargetConfig config(plan.target.variant, plan.target.options, plan.scenario.data);
  Result<powercut_traits> traits = library->configure(plan.target.name, config);
  if (!traits) return traits.error();
  if (kind == Kind::kEngine) {
    const std::vector<ProcessModule> modules = process_modules();
    const ProcessModule* own = module_at(modules, library->resolved_path());
    EngineSide(plan, *library, config, options.keys, own == nullptr ? std::vector<MemoryRange>{} : own->writable)
        .measure(options.seconds, costs);
    return std::nullopt;
  }
  if (kind == Kind::kPlain) {
    if (Failure wrong = swallow_write_backs(library->resolved_path())) return wrong;
  }
  PlainSide(plan, *library, config, options.keys).measure(options.seconds, costs);
  return std::nullopt;
}

Result<Json> measure(const Options& options) {
  Result<Plan> plan = read_plan(options.plan);
  if (!plan) return plan.error();
  const std::string image = options.folder + "/image";
  Result<Cost> made =
      measured_run([&](Cost&, Progress& progress) { return make_image(*plan, options.plain, image, progress); });
  if (!made) return made.error();
  void* page = mmap(nullptr, sizeof(Costs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return harness_error("cannot map shared memory", "powercut-bench-execution", "Free some memory.");
  auto* shared = static_cast<Costs*>(page);

  constexpr std::pair<Kind, const char*> kSides[] = {
      {Kind::kEngine, "engine"}, {Kind::kPlain, "plain"}, {Kind::kPlainFlushing, "plain_flushing"}};
  Costs best[std::size(kSides)];
  for (int turn = 0; turn < options.repeat; ++turn) {
    for (size_t i = 0; i < std::size(kSides); ++i) {
      Result<Cost> ran =
          measured_run([&](Cost&, Progress&) { return measure_side(*plan, options, image, kSides[i].first, shared); });
      if (!ran) return ran.error();
      if (turn == 0) best[i] = *shared;
      for (int part = 0; part < kParts; ++part) best[i].ns[part] = std::min(best[i].ns[part], shared->ns[part]);
    }
  }
  Json all{{"queries", best[0].asked}};
  for (size_t i = 0; i < std::size(kSides); ++i) {
    if (best[i].answers != best[0].answers) {
      return harness_error(std::string("engine and ") + kSides[i].second + " answer differently", plan->scenario.name,
                           "Run 'powercut audit', and report this.");
    }
    for (int part = 0; part < kParts; ++part) all[kSides[i].second][kPartNames[part]] = best[i].ns[part];
  }
  return all;
}

}  // namespace

}  // namespace powercut

int main(int argc, char** argv) {
  using namespace powercut;
  make_repeatable();
  Options options;
  CommandLine app("The cost of an execution.", "powercut-bench-execution");
  app.add_option("--plan", options.plan, "Plan of the workload; its library is the instrumented one")->required();
  app.add_option("--plain", options.plain, "The target without instrumentation")->required();
  app.add_option("--folder", options.folder, "Where the image goes")->required();
  app.add_option("--keys", options.keys, "Keys that are asked about")->positive()->capture_default_str();
  app.add_option("--seconds", options.seconds, "Time of each measurement")->capture_default_str();
  app.add_option("--repeat", options.repeat, "Runs of each side; the fastest counts")
      ->positive()
      ->capture_default_str();
  if (const auto ended = app.parse(argc, argv)) return ended->exit_code;
  return print_measured("powercut-bench-execution", measure(options));
}
