// Searches over schedules against all interleavings of random programs, each led through the model (models/model.h)
// from its beginning.
#include "replayer/schedules/search.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>

#include "replayer/media/medium.h"
#include "replayer/schedules/program_machine.h"

namespace powercut {
namespace {

using schedules::MadeEvent;
using schedules::ProgramMachine;
using schedules::StepKind;
using schedules::ThreadProgram;
using schedules::ThreadStep;

constexpr uint64_t kPoolSize = 2 * kLineSize;

// The result of a power cut: the contents of each line in any order, and the begins and ends of operations.
struct Left {
  std::array<std::set<std::string>, 2> lines;
  std::vector<std::pair<EventKind, uint32_t>> operations;
  auto operator<=>(const Left&) const = default;
};

Left left_after(const std::vector<MadeEvent>& events, const char* model_name) {
  const auto model = make_model(model_name, AtomPolicy::kAny, kPoolSize);
  Left out;
  for (size_t i = 0; i < events.size(); ++i) {
    model->apply(events[i].event(i));
    if (events[i].kind == EventKind::kOpBegin || events[i].kind == EventKind::kOpEnd) {
      out.operations.emplace_back(events[i].kind, events[i].thread);
    }
  }
  for (uint64_t line = 0; line < 2; ++line) {
    for (const Content& content : model->candidates(line).contents) {
      out.lines[line].insert(std::string(content.bytes.begin(), content.bytes.end()));
    }
  }
  return out;
}

using Order = std::vector<uint32_t>;  // of threads

// Steps of draw(): none depends on memory.
MadeEvent event_of(const ThreadStep& step, uint32_t thread) {
  static const std::map<StepKind, EventKind> kinds = {
      {StepKind::kStore, EventKind::kStore},   {StepKind::kNtStore, EventKind::kNtStore},
      {StepKind::kFlush, EventKind::kFlush},   {StepKind::kFence, EventKind::kFence},
      {StepKind::kBegin, EventKind::kOpBegin}, {StepKind::kEnd, EventKind::kOpEnd}};
  return {.thread = thread, .kind = kinds.at(step.kind), .code = step.code, .addr = step.addr, .value = step.value};
}

Left left_after(const ThreadProgram& program, const Order& order, const char* model_name) {
  std::vector<size_t> at(program.size());
  std::vector<MadeEvent> events;
  for (const uint32_t thread : order) events.push_back(event_of(program[thread][at[thread]++], thread));
  return left_after(events, model_name);
}

// Visits every instant of every interleaving, with the number of switches away from a thread that could go on.
template <typename Visit>
void each_instant(const ThreadProgram& program, Order* order, std::vector<size_t>* at, uint32_t preemptions,
                  const Visit& visit) {
  visit(*order, preemptions);
  for (uint32_t thread = 0; thread < program.size(); ++thread) {
    if ((*at)[thread] == program[thread].size()) continue;
    const bool preempts =
        !order->empty() && order->back() != thread && (*at)[order->back()] < program[order->back()].size();
    ++(*at)[thread];
    order->push_back(thread);
    each_instant(program, order, at, preemptions + preempts, visit);
    order->pop_back();
    --(*at)[thread];
  }
}

// Returns whether every image of `a` is an image of `b`, under the same obligations.
bool covered_by(const Left& a, const Left& b) {
  if (a.operations != b.operations) return false;
  for (size_t line = 0; line < 2; ++line) {
    if (!std::includes(b.lines[line].begin(), b.lines[line].end(), a.lines[line].begin(), a.lines[line].end())) {
      return false;
    }
  }
  return true;
}

ThreadProgram draw(std::mt19937_64* random, bool small) {
  ThreadProgram program(small || (*random)() % 3 > 0 ? 2 : 3);
  const size_t most = program.size() == 2 ? (small ? 3 : 5) : 3;
  uint8_t value = 0;
  for (std::vector<ThreadStep>& thread : program) {
    bool in_operation = false;
    for (size_t count = 1 + (*random)() % most; count > 0; --count) {
      ThreadStep step;
      step.addr = std::array<uint64_t, 4>{0, 0, 8, 64}[(*random)() % 4];
      switch ((*random)() % 8) {
        case 0:
        case 1:
        case 2:
          step.value.assign(8, ++value);
          break;
        case 3:
          step.kind = StepKind::kNtStore;
          step.value.assign(8, ++value);
          break;
        case 4:
        case 5:
          step.kind = StepKind::kFlush;
          step.code = static_cast<uint8_t>(1 + (*random)() % 3);
          break;
        case 6:
          step.kind = StepKind::kFence;
          step.code = static_cast<uint8_t>(FenceKind::kSfence);
          break;
        default:
          step.kind = std::exchange(in_operation, !in_operation) ? StepKind::kEnd : StepKind::kBegin;
      }
      thread.push_back(std::move(step));
    }
  }
  return program;
}

// Returns the results of cuts at the search's frontiers, by the model.
std::set<Left> searched(const ThreadProgram& program, const char* model, std::optional<uint32_t> preemptions,
                        SearchCounts* counts = nullptr) {
  ProgramMachine machine(program, kPoolSize, AtomPolicy::kAny, persistency_of(model)->stores_at_once());
  std::set<Left> out;
  SearchLimits limits;
  limits.preemptions = preemptions;
  const auto search = make_search(
      "bounded", &machine, limits, [&] { out.insert(left_after(machine.made(), model)); },
      [](const SearchCounts&) { return std::nullopt; });
  search->run();
  EXPECT_TRUE(search->counts().complete);
  EXPECT_EQ(search->counts().frontiers, out.size()) << "two frontiers that leave the same, or one that is two";
  if (counts != nullptr) *counts = search->counts();
  return out;
}

uint64_t programs(uint64_t usual) {
  const char* asked = std::getenv("POWERCUT_SCHEDULE_PROGRAMS");
  return asked == nullptr ? usual : std::strtoull(asked, nullptr, 10);
}

TEST(ScheduleSearch, EveryInstantOfEveryInterleavingIsCoveredByAFrontier) {
  std::mt19937_64 random(1);
  for (uint64_t number = 0; number < programs(400); ++number) {
    const ThreadProgram program = draw(&random, false);
    const char* model = number % 3 == 0 ? "eadr" : "adr";
    const std::set<Left> frontiers = searched(program, model, std::nullopt);
    Order order;
    std::vector<size_t> at(program.size());
    std::set<Left> instants;
    each_instant(program, &order, &at, 0,
                 [&](const Order& made, uint32_t) { instants.insert(left_after(program, made, model)); });
    for (const Left& frontier : frontiers) ASSERT_TRUE(instants.contains(frontier)) << "program " << number;
    for (const Left& instant : instants) {
      ASSERT_TRUE(std::any_of(frontiers.begin(), frontiers.end(),
                              [&](const Left& frontier) { return covered_by(instant, frontier); }))
          << "program " << number << " under " << model;
    }
  }
}

TEST(ScheduleSearch, WithABoundTheInstantsOfSchedulesWithinItAreCovered) {
  std::mt19937_64 random(2);
  for (uint64_t number = 0; number < programs(400); ++number) {
    const ThreadProgram program = draw(&random, false);
    const char* model = number % 3 == 0 ? "eadr" : "adr";
    const uint32_t bound = static_cast<uint32_t>(number % 3);
    const std::set<Left> frontiers = searched(program, model, bound);
    Order order;
    std::vector<size_t> at(program.size());
    each_instant(program, &order, &at, 0, [&](const Order& made, uint32_t preemptions) {
      if (preemptions > bound) return;
      const Left instant = left_after(program, made, model);
      ASSERT_TRUE(std::any_of(frontiers.begin(), frontiers.end(),
                              [&](const Left& frontier) { return covered_by(instant, frontier); }))
          << "program " << number << " under " << model << " with " << bound;
    });
  }
}

TEST(ScheduleSearch, SchedulesThatLeaveTheSameAreJudgedOnce) {
  // Each thread stores, flushes and fences a line of its own: many orders, few frontiers.
  const auto thread = [](uint64_t line) {
    return std::vector<ThreadStep>{{.addr = line, .value = {1}, .expected = {}},
                                   {.kind = StepKind::kFlush, .code = 1, .addr = line, .value = {}, .expected = {}},
                                   {.kind = StepKind::kFence, .code = 1, .value = {}, .expected = {}}};
  };
  const ThreadProgram program = {thread(0), thread(64)};
  SearchCounts counts;
  searched(program, "adr", std::nullopt, &counts);
  EXPECT_EQ(counts.states, 16u);
  EXPECT_EQ(counts.frontiers, 4u);
}

TEST(ScheduleSearch, ASampleSaysThatItIsOne) {
  std::mt19937_64 random(3);
  const ThreadProgram program = draw(&random, true);
  for (const char* kind : {"random", "pct"}) {
    ProgramMachine machine(program, kPoolSize, AtomPolicy::kAny, false);
    SearchLimits limits;
    limits.schedules = 20;
    const auto search = make_search(kind, &machine, limits, [] {}, [](const SearchCounts&) { return std::nullopt; });
    search->run();
    EXPECT_FALSE(search->counts().complete);
    EXPECT_EQ(search->counts().schedules, 20u);
    EXPECT_EQ(search->counts().reason, "a sample of 20 schedules");
  }
}

// Thread 1 stores in each turn of a loop for as long as thread 0 stands between its two steps: always something new, or
// one of `values` in turn.
class StoresForEver final : public ScheduleMachine {
 public:
  explicit StoresForEver(uint64_t values = ~uint64_t{0}) : values_(values) {}
  uint32_t threads() const override { return 2; }
  ThreadState state_of(uint32_t thread) const override {
    return at_cut(thread) && (thread == 1 || now_.at == 2) ? ThreadState::kEnded : ThreadState::kReady;
  }
  bool at_cut(uint32_t thread) const override { return thread == 0 || now_.at != 1; }
  bool at_store(uint32_t) const override { return false; }
  void step(uint32_t thread) override {
    if (thread == 0) {
      ++now_.at;
    } else {
      now_.turns = (now_.turns + 1) % values_;
    }
  }
  bool troubled() const override { return false; }
  void deadlocked() override {}
  void livelocked() override {}
  bool needs_restart() override { return false; }
  void keep(std::unique_ptr<Mark>* mark) override { *mark = std::make_unique<Kept>(now_); }
  void restore(const Mark& mark) override { now_ = static_cast<const Kept&>(mark).state; }
  Digest state() const override { return {now_.at, now_.turns}; }
  Digest frontier() const override { return {now_.at, 0}; }

 private:
  struct State {
    uint64_t at = 0, turns = 0;
  };
  struct Kept final : Mark {
    explicit Kept(const State& now) : state(now) {}
    State state;
  };
  State now_;
  uint64_t values_;
};

// Returns the places of thread 0 at the states that a search has looked at, and why the search is not complete.
std::pair<std::set<uint64_t>, std::string> searched_for_ever(SearchLimits limits, StoresForEver machine) {
  std::set<uint64_t> at;
  const auto search = make_search(
      "bounded", &machine, limits, [&] { at.insert(machine.frontier().high); },
      [](const SearchCounts&) { return std::nullopt; });
  search->run();
  EXPECT_EQ(search->counts().complete, search->counts().reason.empty());
  return {at, search->counts().reason};
}

using Looked = std::pair<std::set<uint64_t>, std::string>;

TEST(ScheduleSearch, StopsWhereALoopStoresForEver) {
  const auto [at, reason] = searched_for_ever({}, StoresForEver());
  EXPECT_EQ(reason, "at a schedule of 10000 steps: a loop may store for ever");
}

// No saturated cut stands for a power cut while thread 0 is between its steps.
TEST(ScheduleSearch, LooksWhereALoopOfStoresComesBackToItself) {
  EXPECT_EQ(searched_for_ever({}, StoresForEver(3)), Looked({0, 1, 2}, ""));
  EXPECT_EQ(searched_for_ever({.preemptions = 0}, StoresForEver(3)), Looked({0, 1, 2}, ""));
}

TEST(ScheduleSearch, LooksWhereALoopBeyondTheBoundStoresForEver) {
  EXPECT_EQ(searched_for_ever({.preemptions = 0}, StoresForEver()), Looked({0, 1, 2}, ""));
}

TEST(ScheduleSearch, RehearsalsOfALoopThatStoresForEverEnd) {
  StoresForEver machine;
  rehearse(&machine, 1, [] { return uint64_t{0}; }, [](const SearchCounts&) { return std::nullopt; });
}

// Threads that change one small number, each step by a function of its own: schedules reach one state by more
// preemptions or by fewer. Every state is a cut.
class ChangesANumber final : public ScheduleMachine {
 public:
  static constexpr uint64_t kNumbers = 4;
  using Step = std::array<uint8_t, kNumbers>;  // the next number, by number
  using Program = std::vector<std::vector<Step>>;
  struct State {
    std::array<uint8_t, 3> at{};
    uint8_t number = 0;
    auto operator<=>(const State&) const = default;
  };

  explicit ChangesANumber(const Program* program) : program_(*program) {}
  uint32_t threads() const override { return static_cast<uint32_t>(program_.size()); }
  ThreadState state_of(uint32_t thread) const override {
    return now.at[thread] == program_[thread].size() ? ThreadState::kEnded : ThreadState::kReady;
  }
  bool at_cut(uint32_t) const override { return true; }
  bool at_store(uint32_t) const override { return false; }
  void step(uint32_t thread) override { now.number = program_[thread][now.at[thread]++][now.number]; }
  bool troubled() const override { return false; }
  void deadlocked() override {}
  void livelocked() override {}
  bool needs_restart() override { return false; }
  void keep(std::unique_ptr<Mark>* mark) override { *mark = std::make_unique<Kept>(now); }
  void restore(const Mark& mark) override { now = static_cast<const Kept&>(mark).state; }
  Digest state() const override {
    return {uint64_t{now.at[0]} << 16 | uint64_t{now.at[1]} << 8 | now.at[2], uint64_t{now.number} + 1};
  }
  Digest frontier() const override { return state(); }

  State now;

 private:
  struct Kept final : Mark {
    explicit Kept(const State& now) : state(now) {}
    State state;
  };
  const Program& program_;
};

// Collects all states of every schedule with at most `left` preemptions.
void each_state(ChangesANumber* machine, uint32_t last, uint32_t left, std::set<ChangesANumber::State>* out) {
  out->insert(machine->now);
  const bool runs = last < machine->threads() && machine->state_of(last) == ThreadState::kReady;
  for (uint32_t thread = 0; thread < machine->threads(); ++thread) {
    const bool preempts = runs && thread != last;
    if (machine->state_of(thread) == ThreadState::kEnded || (preempts && left == 0)) continue;
    const ChangesANumber::State before = machine->now;
    machine->step(thread);
    each_state(machine, thread, left - preempts, out);
    machine->now = before;
  }
}

TEST(ScheduleSearch, AStateIsEnteredAgainWithMorePreemptionsLeft) {
  std::mt19937_64 random(4);
  for (uint64_t number = 0; number < programs(400); ++number) {
    ChangesANumber::Program program(2 + number % 2);
    for (auto& thread : program) {
      thread.resize(1 + random() % 4);
      for (ChangesANumber::Step& step : thread) {
        for (uint8_t& becomes : step) becomes = static_cast<uint8_t>(random() % ChangesANumber::kNumbers);
      }
    }
    const uint32_t bound = static_cast<uint32_t>(random() % 4);
    ChangesANumber machine(&program);
    std::set<ChangesANumber::State> expected, found;
    each_state(&machine, ~0u, bound, &expected);
    SearchLimits limits;
    limits.preemptions = bound;
    const auto search = make_search(
        "bounded", &machine, limits, [&] { found.insert(machine.now); },
        [](const SearchCounts&) { return std::nullopt; });
    search->run();
    ASSERT_EQ(found, expected) << "program " << number << " with " << bound;
  }
}

}  // namespace
}  // namespace powercut
