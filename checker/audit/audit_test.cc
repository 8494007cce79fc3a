// The audit itself: uniform draws, fresh processes without hooks, queries that do not see one another, and a wrong
// prediction that is told.
#include "checker/audit/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <map>
#include <set>

#include "base/test_support.h"
#include "checker/audit/audit_draw.h"
#include "checker/audit/audit_execution.h"

namespace powercut {
namespace {

using testing::EngineRun;
using ::testing::HasSubstr;
using testing::library;
using testing::phase_json;
using testing::plan_json;
using testing::run_engine;
using testing::TemporaryFolder;

// ---- draws -------------------------------------------------------------------------------------------------------

LineSet set_of(uint64_t line, size_t contents) {
  LineSet set;
  set.line = line;
  set.contents.resize(contents);
  return set;
}

TEST(AuditDraw, NumbersOfACrashPointAreItsStatesOnceEach) {
  const LineSet two = set_of(1, 2), three = set_of(5, 3), one = set_of(7, 1), four = set_of(9, 4);
  const LineSets sets = {&two, &three, &one, &four};
  std::set<std::vector<uint32_t>> seen;
  for (int number = 0; number < 24; ++number) {
    const std::vector<uint32_t> contents = contents_of(number, sets);
    ASSERT_EQ(contents.size(), 4u);
    for (size_t i = 0; i < 4; ++i) EXPECT_LT(contents[i], sets[i]->contents.size());
    seen.insert(contents);
  }
  EXPECT_EQ(seen.size(), 24u);
}

TEST(AuditDraw, EveryStateIsReachedAndEveryDrawCounted) {
  const std::vector<Draw> draws = draw_states(6, 600, 1);
  ASSERT_EQ(draws.size(), 6u);
  uint64_t times = 0;
  for (size_t i = 0; i < draws.size(); ++i) {
    EXPECT_EQ(draws[i].state, i);
    times += draws[i].times;
  }
  EXPECT_EQ(times, 600u);
}

TEST(AuditDraw, OneSeedOneDraw) {
  const auto states = [](uint64_t seed) {
    std::vector<std::string> out;
    for (const Draw& draw : draw_states(BigInt(1) << 200, 50, seed)) out.push_back(draw.state.str());
    return out;
  };
  EXPECT_EQ(states(1), states(1));
  EXPECT_NE(states(1), states(2));
}

TEST(AuditDraw, NumbersBeyondAMachineWordSpreadOverTheirWholeRange) {
  const BigInt total = (BigInt(3) << 130) + 1;
  std::set<int> eighths;
  BigInt before = -1;
  for (const Draw& draw : draw_states(total, 400, 1)) {
    EXPECT_LT(before, draw.state);
    EXPECT_LT(draw.state, total);
    before = draw.state;
    eighths.insert(static_cast<int>(draw.state * 8 / total));
  }
  EXPECT_EQ(eighths.size(), 8u);
}

// ---- running an image --------------------------------------------------------------------------------------------

Plan plan_of(const Json& options = Json::object()) {
  const Json plan = plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 2}}})}, options);
  Result<Plan> parsed = parse_plan(plan.dump(), "test");
  EXPECT_TRUE(parsed.ok());
  return *parsed;
}

std::vector<KeyHistory> keys_of(std::initializer_list<char> letters) {
  std::vector<KeyHistory> keys;
  for (char letter : letters) keys.emplace_back().bytes = std::string(16, letter);
  return keys;
}

// The array map in four slots, with the items that the keys name.
LineContents image_of(const std::vector<KeyHistory>& keys) {
  std::vector<uint8_t> pool(512);
  const uint64_t magic = 0x70616D7961727261, capacity = 4;
  const uint32_t key_size = 16, value_size = 15;
  std::memcpy(&pool[0], &magic, 8);
  std::memcpy(&pool[8], &capacity, 8);
  std::memcpy(&pool[16], &key_size, 4);
  std::memcpy(&pool[20], &value_size, 4);
  for (size_t i = 0; i < keys.size(); ++i) {
    uint8_t* slot = &pool[64 + i * 33];
    slot[0] = 1;
    std::memcpy(slot + 1, keys[i].bytes.data(), 16);
    std::memset(slot + 17, 'v', 15);
  }
  LineContents lines;
  for (uint64_t line = 0; line < pool.size() / kLineSize; ++line) {
    std::memcpy(lines.emplace_back(line, Content{}).content.bytes.data(), &pool[line * kLineSize], kLineSize);
  }
  return lines;
}

std::map<QueryId, std::string> answers_of(const ImageAnswers& ran) {
  std::map<QueryId, std::string> out;
  for (const auto& [query, result] : ran.answers) out.emplace(query, result);
  return out;
}

// Every query about these keys: the array map has no regions and no blocks.
std::vector<QueryId> queries_about(size_t keys) {
  std::vector<QueryId> out;
  for (QueryKind kind :
       {QueryKind::kLookup, QueryKind::kCopies, QueryKind::kProbe, QueryKind::kEraseProbe, QueryKind::kBystander}) {
    for (size_t k = 0; k < keys; ++k) out.push_back(query_id(kind, k));
  }
  out.push_back(query_id(QueryKind::kInsertProbe, 0));
  out.push_back(query_id(QueryKind::kNewKey, 0));
  return out;
}

TEST(ImageRunner, QueriesDoNotSeeOneAnother) {
  const auto keys = keys_of({'a', 'b', 'c'});
  auto started = ImageRunner::start(plan_of(), library("plain"));
  ASSERT_TRUE(started.ok());
  ImageRunner& runner = **started;
  EXPECT_FALSE(runner.instrumented());
  runner.add_keys(keys, 0);
  const LineContents image = image_of(keys_of({'a', 'b'}));
  const std::vector<QueryId> queries = queries_about(keys.size());
  auto ran = runner.run(image, queries);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->died, "");
  EXPECT_EQ(ran->can_be_asked, queries.size());
  const auto together = answers_of(*ran);
  ASSERT_EQ(together.size(), 1 + queries.size());
  EXPECT_EQ(text_of_result(query_id(QueryKind::kLookup, 1), together.at(query_id(QueryKind::kLookup, 1))),
            "OK 767676767676767676767676767676");
  EXPECT_EQ(together.at(query_id(QueryKind::kLookup, 2)), std::string(1, POWERCUT_NOT_FOUND));
  for (QueryId query : queries) {
    auto alone = runner.run(image, {query});
    ASSERT_TRUE(alone.ok());
    ASSERT_EQ(alone->answers.size(), 2u);
    EXPECT_EQ(alone->answers[1].second, together.at(query)) << name_of(kind_of(query));
  }
}

TEST(ImageRunner, AnImageDoesNotSeeTheOneBefore) {
  auto started = ImageRunner::start(plan_of(), library("plain"));
  ASSERT_TRUE(started.ok());
  (*started)->add_keys(keys_of({'a'}), 0);
  (*started)->set_lines(image_of({}));
  const LineContents line_of_slots = {image_of(keys_of({'a'}))[1]};
  for (int round = 0; round < 2; ++round) {
    auto with = (*started)->run(line_of_slots, queries_about(1));
    ASSERT_TRUE(with.ok());
    EXPECT_EQ(answers_of(*with).at(query_id(QueryKind::kLookup, 0))[0], POWERCUT_OK);
    auto without = (*started)->run({}, queries_about(1));
    ASSERT_TRUE(without.ok());
    EXPECT_EQ(answers_of(*without).at(query_id(QueryKind::kLookup, 0))[0], POWERCUT_NOT_FOUND);
  }
}

TEST(ImageRunner, AProcessThatEndsItselfIsNoEndOfTheAudit) {
  for (const auto& [how, said] :
       {std::pair{"open_exit", "left with exit status 7"}, {"open_kill", "died of signal 9"}}) {
    auto started = ImageRunner::start(plan_of({{"misbehave", how}}), library("plain"));
    ASSERT_TRUE(started.ok());
    auto broken = (*started)->run(image_of(keys_of({'a', 'b', 'c'})), {});
    ASSERT_TRUE(broken.ok());
    EXPECT_EQ(broken->died, said);
    EXPECT_EQ(broken->during, kRecoveryQuery);
    auto well = (*started)->run(image_of(keys_of({'a'})), {});
    ASSERT_TRUE(well.ok());
    EXPECT_EQ(well->died, "");
  }
}

TEST(ImageRunner, SaysWhyALibraryCannotBeUsed) {
  EXPECT_THAT(ImageRunner::start(plan_of(), library("no_such")).error().what, HasSubstr("cannot read"));
  EXPECT_THAT(ImageRunner::start(plan_of({{"size", "3"}}), library("plain")).error().what,
              HasSubstr("no option 'size'"));
}

// Hooks report to the process that listens, from any process that calls them: here to a counter that all processes
// share.
class SharedListener {
 public:
  SharedListener()
      : calls_(static_cast<std::atomic<uint64_t>*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    sink_.self = calls_;
    sink_.store = [](void* self, uint64_t, uint64_t, uint32_t, const void*, const void*, const void*) { count(self); };
    sink_.flush = [](void* self, uint64_t, uint32_t, const void*, const void*) { count(self); };
    sink_.fence = [](void* self, uint32_t, const void*, const void*) { count(self); };
    powercut_set_sink(&sink_);
    __powercut_store_window = {0, ~uint64_t{0}};
  }
  ~SharedListener() {
    __powercut_store_window = {0, 0};
    powercut_set_sink(nullptr);
  }
  uint64_t calls() const { return calls_->load(); }

 private:
  static void count(void* self) { static_cast<std::atomic<uint64_t>*>(self)->fetch_add(1); }
  std::atomic<uint64_t>* calls_;
  powercut_sink sink_{};
};

uint64_t hooks_called(const std::string& kind) {
  SharedListener listener;
  auto started = ImageRunner::start(plan_of(), library(kind));
  EXPECT_TRUE(started.ok());
  EXPECT_EQ((*started)->instrumented(), kind == "good");
  (*started)->add_keys(keys_of({'a'}), 0);
  EXPECT_TRUE((*started)->run(image_of(keys_of({'a'})), queries_about(1)).ok());
  return listener.calls();
}

TEST(ImageRunner, APlainLibraryCallsNoHook) {
  EXPECT_EQ(hooks_called("plain"), 0u);
  EXPECT_GT(hooks_called("good"), 0u) << "the counter must be able to see hooks";
}

TEST(PageJournal, PutsBackWhatWasThere) {
  // Writes fault in an image's process alone, so that the handler's part is played here.
  constexpr uint64_t kBytes = 16384;
  auto* memory =
      static_cast<uint8_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const auto begin = reinterpret_cast<uint64_t>(memory);
  memory[5000] = 7;
  PageJournal journal;
  journal.guard({{begin, begin + kBytes - 100}});
  EXPECT_FALSE(journal.keep(begin + kBytes));
  ASSERT_TRUE(journal.keep(begin + 5000));
  EXPECT_FALSE(journal.keep(begin + 4096)) << "a page that is writable does not fault";
  ASSERT_TRUE(journal.keep(begin + kBytes - 1)) << "whole pages are guarded";
  for (int round = 0; round < 2; ++round) {
    memory[5000] = 8;
    memory[kBytes - 1] = 9;
    journal.restore();
    EXPECT_EQ(memory[5000], 7);
    EXPECT_EQ(memory[kBytes - 1], 0);
  }
  EXPECT_EQ(journal.kept(), 2u);
  munmap(memory, kBytes);
}

// ---- the whole ---------------------------------------------------------------------------------------------------

// Two items before, then an update that may tear, an insert and an erase. Some hundred crash states.
Json workload() {
  return plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 2}}}, false),
                    phase_json({{{"op", "update"}, {"keys", {1}}},
                                {{"op", "insert"}, {"from", 3}, {"to", 3}},
                                {{"op", "erase"}, {"keys", {2}}}})},
                   {{"capacity", "4"}});
}

EngineRun run_audit(const std::vector<std::string>& more) {
  TemporaryFolder folder;
  EXPECT_EQ(testing::record(folder, workload()).exit, 0);
  std::vector<std::string> arguments = {"audit", "--trace", folder.file("run.pct")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_engine(arguments);
}

TEST(Audit, AgreesAndReachesEveryCrashState) {
  for (const char* model : {"adr", "eadr"}) {
    const EngineRun run = run_audit({"--plain", library("plain"), "--images", "2000", "--model", model});
    EXPECT_EQ(run.exit, kExitOk) << run.output;
    const Json audited = run.event("audited");
    EXPECT_EQ(audited["images"], 2000);
    EXPECT_EQ(std::to_string(audited["distinct"].get<uint64_t>()), audited["crash_states"].get<std::string>());
    EXPECT_EQ(audited["differences"], 0);
    EXPECT_EQ(audited["instrumented"], false);
    EXPECT_GT(audited["answers"], audited["distinct"]);
  }
}

TEST(Audit, TheSameSeedGivesTheSameEvents) {
  const auto events = [](const char* seed) {
    std::vector<Json> events = run_audit({"--plain", library("forgets"), "--images", "20", "--seed", seed}).events;
    for (Json& event : events) event.erase("seconds");
    return events;
  };
  EXPECT_EQ(events("1"), events("1"));
  EXPECT_NE(events("1"), events("2"));
}

TEST(Audit, ALibraryOfItsOwnRunsWithItsHooksOff) {
  const EngineRun run = run_audit({"--images", "100"});
  EXPECT_EQ(run.exit, kExitOk) << run.output;
  EXPECT_EQ(run.event("audited")["instrumented"], true);
}

TEST(Audit, ATargetThatIsNotWhatWasPredictedIsTold) {
  const EngineRun run = run_audit({"--plain", library("forgets"), "--images", "50"});
  EXPECT_EQ(run.exit, kExitFindings) << run.output;
  const Json told = run.event("difference");
  ASSERT_FALSE(told.is_null());
  ASSERT_EQ(told["predicted"].size(), 1u);
  EXPECT_NE(told["predicted"][0], told["actual"]);
  uint64_t count = 0;
  for (const Json& event : run.events) count += event["event"] == "difference";
  EXPECT_EQ(std::min(run.event("audited")["differences"].get<uint64_t>(), kAuditCases), count);
}

// A broken memo: from one crash point on it gives a wrong result for one query.
class Liar final : public Predictor {
 public:
  Liar(std::unique_ptr<Predictor> honest, QueryId about, uint64_t from)
      : honest_(std::move(honest)), about_(about), from_(from) {}
  uint8_t* pool() override { return honest_->pool(); }
  void at(const AuditPoint& point) override {
    EXPECT_TRUE(points_.empty() || points_.back() < point.instant.ordinal);
    points_.push_back(point.instant.ordinal);
    honest_->at(point);
  }
  void image(const std::vector<uint32_t>& contents) override { honest_->image(contents); }
  const std::vector<QueryId>& asked() override { return honest_->asked(); }
  const std::vector<std::string>& predicted(QueryId query) override {
    return lies(query) ? lie_ : honest_->predicted(query);
  }
  void done() override { honest_->done(); }

 private:
  bool lies(QueryId query) const { return query == about_ && points_.back() >= from_; }
  std::unique_ptr<Predictor> honest_;
  const QueryId about_;
  const uint64_t from_;
  const std::vector<std::string> lie_ = {"lie"};
  std::vector<uint64_t> points_;
};

TEST(Audit, AWrongPredictionIsToldWithItsImage) {
  TemporaryFolder folder;
  ASSERT_EQ(testing::record(folder, workload()).exit, 0);
  const QueryId about = query_id(QueryKind::kCopies, 0);
  constexpr uint64_t kFrom = 3;
  const PredictorFactory honest = executor_predictor("adr", AtomPolicy::kAny, 0);
  AuditOptions options;
  options.trace = folder.file("run.pct");
  options.images = 400;
  options.plain = library("plain");
  std::vector<AuditCase> cases;
  const auto report = audit(options,
                            [&](const LoadedTrace& loaded) -> std::unique_ptr<Predictor> {
                              return std::make_unique<Liar>(honest(loaded), about, kFrom);
                            },
                            {.found = [&cases](const AuditCase& one) { cases.push_back(one); }, .progressed = {}});
  ASSERT_TRUE(report.ok());
  ASSERT_GT(report->differences, 0u);
  EXPECT_LT(report->differences, report->distinct);
  ASSERT_EQ(cases.size(), std::min(report->differences, kAuditCases));
  for (const AuditCase& one : cases) {
    EXPECT_EQ(one.query, about);
    EXPECT_GE(one.instant.ordinal, kFrom);
    EXPECT_THAT(one.actual, HasSubstr("OK"));
  }
}

TEST(Audit, AsksAnImageNoMoreThanItIsTold) {
  const EngineRun all = run_audit({"--plain", library("plain"), "--images", "100", "--queries", "0"});
  const EngineRun some = run_audit({"--plain", library("plain"), "--images", "100", "--queries", "3"});
  EXPECT_EQ(some.exit, kExitOk) << some.output;
  const Json few = some.event("audited");
  EXPECT_EQ(few["answers"].get<uint64_t>(), few["distinct"].get<uint64_t>() * 4) << "recovery and three queries each";
  EXPECT_GT(all.event("audited")["answers"], few["answers"]);
}

TEST(Audit, UsageErrors) {
  EXPECT_EQ(run_audit({"--model", "tso"}).exit, kExitUsage);
  EXPECT_EQ(run_audit({"--atoms", "half"}).exit, kExitUsage);
  EXPECT_EQ(run_audit({"--images", "0"}).exit, kExitUsage);
  EXPECT_EQ(run_audit({"--plain", "/no/such.so"}).exit, kExitUsage);
  EXPECT_EQ(run_engine({"audit", "--trace", "/no/such.pct"}).exit, kExitUsage);
}

}  // namespace
}  // namespace powercut
