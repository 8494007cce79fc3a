// The engine's record, describe, dump and stats commands, as Python runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "tracer/format/reader.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "tracer/world/pool_address.h"

namespace powercut {
namespace {

using ::testing::HasSubstr;
using testing::library;
using testing::phase_json;
using testing::plan_json;
using testing::record;
using testing::run_engine;
using testing::TemporaryFolder;

std::string text_of(const Json& event, const std::string& field) { return event.value(field, ""); }

// The operations and cuts of a trace, one word each; an operation that never ended has a "…".
std::vector<std::string> operations_of(const std::string& path) {
  TraceError error;
  auto reader = TraceReader::open(path, &error);
  EXPECT_NE(reader, nullptr) << error.message();
  std::vector<std::string> words;
  Event event;
  bool running = false;
  while (reader->next(&event)) {
    if (event.kind == EventKind::kOpBegin) {
      std::string word = name_of(static_cast<OpKind>(event.code));
      if (!event.key.empty()) word += " " + std::to_string(key_id(event.key).value_or(0));
      words.push_back(word);
      running = true;
    } else if (event.kind == EventKind::kOpEnd) {
      if (event.code != 0) words.back() += " status " + std::to_string(event.code);
      running = false;
    } else if (event.kind == EventKind::kCut) {
      if (running) words.back() += "…";
      words.push_back("cut");
    } else if (event.kind == EventKind::kPhase) {
      words.push_back("[" + std::string(event.text) + "]");
    }
  }
  EXPECT_FALSE(reader->error().has_value());
  return words;
}

TEST(Record, WritesOperationsStoresAndCounters) {
  TemporaryFolder folder;
  Json plan = plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 2}}}, false),
                         phase_json({{{"op", "update"}, {"keys", {2}}},
                                     {{"op", "erase"}, {"from", 1}, {"to", 1}},
                                     {{"op", "lookup"}, {"from", 2}, {"to", 2}}})});
  auto run = record(folder, plan);
  ASSERT_EQ(run.exit, 0) << run.output;
  EXPECT_EQ(run.events.front()["event"], "hello");
  EXPECT_EQ(run.events.back()["event"], "end");
  Json recorded = run.event("recorded");
  EXPECT_EQ(recorded["operations"], 8);  // with format, open and close
  EXPECT_THAT(operations_of(folder.file("run.pct")),
              ::testing::ElementsAre("format", "open", "[warm-up]", "insert 1", "insert 2", "[work]", "update 2",
                                     "erase 1", "lookup 2", "close"));
  Json insert = recorded["counters"]["insert"];
  EXPECT_EQ(insert["operations"], 2);
  EXPECT_EQ(insert["fences"], 4);
  EXPECT_EQ(insert["store_bytes"], 2 * (16 + 15 + 1));
  EXPECT_FALSE(recorded["counters_explored"].contains("insert"));
  EXPECT_EQ(recorded["counters_explored"]["erase"]["stores"], 1);
  EXPECT_FALSE(recorded["marks"].contains("slot.written")) << "marks of phases that are not explored do not count";
}

TEST(Record, RefusesALibraryWhoseStoresItCannotSee) {
  TemporaryFolder folder;
  Json plan = plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 2}}})});
  plan["target"]["library"] = library("plain");
  auto run = record(folder, plan);
  EXPECT_EQ(run.exit, 2) << run.output;
  EXPECT_THAT(text_of(run.event("error"), "what"), HasSubstr("not compiled through the tracing pass"));
  EXPECT_EQ(record(folder, plan, {"--unseen-stores"}).exit, 0);

  plan["target"]["library"] = library("good");
  plan["target"]["options"]["misbehave"] = "unseen";
  run = record(folder, plan);
  EXPECT_EQ(run.exit, 0) << run.output << "code of libc stores to the pool: seen, as it faults";
  EXPECT_THAT(run.event("recorded")["externals"].get<std::vector<std::string>>(), ::testing::Contains("swab"));
}

TEST(Record, SamePlanAndSeedGiveTheSameBytes) {
  TemporaryFolder one, two;
  Json plan = plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 8}},
                                     {{"op", "mix"},
                                      {"operations", 200},
                                      {"read", 0.4},
                                      {"update", 0.3},
                                      {"insert", 0.1},
                                      {"erase", 0.1},
                                      {"rmw", 0.1}}})});
  ASSERT_EQ(record(one, plan).exit, 0);
  ASSERT_EQ(record(two, plan).exit, 0);
  EXPECT_EQ(testing::read_file(one.file("run.pct")), testing::read_file(two.file("run.pct")));
  plan["seed"] = 2;
  ASSERT_EQ(record(two, plan).exit, 0);
  EXPECT_NE(operations_of(one.file("run.pct")), operations_of(two.file("run.pct")));
}

TEST(Record, CutLeavesTheOperationAndAsksTheTable) {
  TemporaryFolder folder;
  // Cut before the third slot is published: key 3 is not there, so it may be inserted again.
  Json plan = plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 2}}}, false),
                         phase_json({{{"op", "insert"}, {"from", 3}, {"to", 9}}, {{"op", "insert"}, {"keys", {3}}}},
                                    true, "slot.written")});
  auto run = record(folder, plan);
  ASSERT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(operations_of(folder.file("run.pct")),
              ::testing::ElementsAre("format", "open", "[warm-up]", "insert 1", "insert 2", "[work]", "insert 3…",
                                     "cut", "open", "lookup 3 status 1", "insert 3", "close"));
  // After publishing, it is there and may be updated.
  plan["scenario"]["phases"][1] = phase_json(
      {{{"op", "insert"}, {"from", 3}, {"to", 9}}, {{"op", "update"}, {"keys", {3}}}}, true, "slot.published");
  run = record(folder, plan);
  ASSERT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(operations_of(folder.file("run.pct")),
              ::testing::ElementsAre("format", "open", "[warm-up]", "insert 1", "insert 2", "[work]", "insert 3…",
                                     "cut", "open", "lookup 3", "update 3", "close"));
}

TEST(Record, MaintainFillAndUntil) {
  TemporaryFolder folder;
  Json plan = plan_json({phase_json({{{"op", "until"}, {"mark", "slot.published"}, {"limit", 5}},
                                     {{"op", "fill"}, {"limit", 100}},
                                     {{"op", "maintain"}, {"command", "scrub"}}})},
                        {{"capacity", "4"}});
  plan["scenario"]["expect_marks"] = {"slot.published", "scrubbed"};
  auto run = record(folder, plan);
  ASSERT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(operations_of(folder.file("run.pct")),
              ::testing::ElementsAre("format", "open", "[work]", "insert 1", "insert 2", "insert 3", "insert 4",
                                     "insert 5 status 2", "maintain", "close"));
  EXPECT_EQ(run.event("recorded")["marks"]["slot.published"], 4);
}

struct BadCase {
  std::string name;
  Json options;
  std::vector<Json> steps;
  int exit;
  std::vector<std::string> words;
};

void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }

class RecordRefuses : public ::testing::TestWithParam<BadCase> {};

TEST_P(RecordRefuses, WithOneClearError) {
  const BadCase& bad = GetParam();
  TemporaryFolder folder;
  Json plan = plan_json({phase_json(bad.steps)}, bad.options);
  plan["scenario"]["expect_marks"] = {"slot.written"};
  auto run = record(folder, plan, {"--operation-timeout", "2"});
  EXPECT_EQ(run.exit, bad.exit) << run.output;
  Json error = run.event("error");
  EXPECT_EQ(text_of(error, "kind"), bad.exit == 2 ? "usage" : "harness");
  for (const std::string& word : bad.words) EXPECT_THAT(error.dump(), HasSubstr(word));
  EXPECT_FALSE(text_of(error, "next").empty());
  // Nothing is left behind but the plan.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

const std::vector<Json> kInserts = {{{"op", "insert"}, {"from", 1}, {"to", 5}}};
INSTANTIATE_TEST_SUITE_P(
    Cases, RecordRefuses,
    ::testing::Values(
        BadCase{"Segv",
                {{"misbehave", "segv"}},
                kInserts,
                3,
                {"insert of key 3", "SIGSEGV at address 0x10", "phase 'work', step 1"}},
        BadCase{"Abort", {{"misbehave", "abort"}}, kInserts, 3, {"insert of key 3", "SIGABRT"}},
        BadCase{"Throw", {{"misbehave", "throw"}}, kInserts, 3, {"insert of key 3", "no luck"}},
        BadCase{"Hang", {{"misbehave", "hang"}}, kInserts, 3, {"insert of key 3", "within 2 seconds"}},
        BadCase{"Corrupt", {{"misbehave", "corrupt"}}, kInserts, 3, {"insert of key 1", "CORRUPT"}},
        BadCase{"UnknownOption",
                {{"capacit", "1"}},
                kInserts,
                2,
                {"there is no option 'capacit'", "powercut list targets"}},
        BadCase{"UpdateOfAbsentKey",
                Json::object(),
                {{{"op", "update"}, {"keys", {9}}}},
                2,
                {"update of key 9, which is absent"}},
        BadCase{"InsertOfPresentKey",
                Json::object(),
                {{{"op", "insert"}, {"keys", {9, 9}}}},
                2,
                {"insert of key 9, which is present"}},
        BadCase{"Full", {{"capacity", "3"}}, kInserts, 2, {"insert of key 4 answered FULL"}},
        BadCase{"UnknownCommand",
                Json::object(),
                {{{"op", "maintain"}, {"command", "fly"}}},
                2,
                {"does not support maintain 'fly'"}},
        BadCase{
            "MissingMark", Json::object(), {{{"op", "lookup"}, {"keys", {1}}}}, 2, {"slot.written", "scenario test"}},
        BadCase{"UntilNever",
                Json::object(),
                {{{"op", "until"}, {"mark", "moon"}, {"limit", 3}}},
                2,
                {"'moon' was not reached within 3"}},
        BadCase{
            "MixWithoutKeys", Json::object(), {{{"op", "mix"}, {"operations", 3}, {"read", 1}}}, 2, {"no live key"}}),
    [](const auto& info) { return info.param.name; });

// Returns the abilities that the target lacks, if nothing else is wrong: the scenario is then not for this target.
std::string needs_of(const std::vector<Json>& steps, const Json& options, uint64_t pool = 0) {
  TemporaryFolder folder;
  Json plan = plan_json({phase_json(steps)}, options);
  if (pool != 0) plan["scenario"]["pool_size"] = pool;
  auto run = record(folder, plan);
  EXPECT_EQ(run.exit, 2) << run.output;
  const Json error = run.event("error");
  return error.contains("needs") ? text_of(error, "needs") : "";
}

TEST(Record, SaysWhatTheTargetLacks) {
  const Json insert = {{"op", "insert"}, {"from", 1}, {"to", 5}};
  const Json update = {{"op", "update"}, {"from", 1}, {"to", 2}};
  EXPECT_EQ(needs_of({insert, update}, {{"misbehave", "no_update"}}), "update");
  EXPECT_EQ(needs_of({{{"op", "maintain"}, {"command", "fly"}}}, Json::object()), "maintain 'fly'");
  EXPECT_EQ(needs_of({insert}, {{"capacity", "3"}}), "more room");
}

TEST(Record, AnOperationThatWorkedBeforeIsNotLacking) {
  const Json insert = {{"op", "insert"}, {"from", 1}, {"to", 5}};
  const Json update = {{"op", "update"}, {"from", 1}, {"to", 2}};
  EXPECT_EQ(needs_of({insert, update}, {{"misbehave", "no_second_update"}}), "");
  EXPECT_EQ(needs_of({{{"op", "update"}, {"keys", {9}}}}, Json::object()), "");  // the scenario's own mistake
}

TEST(Record, RefusedSizesAreBothNamed) {
  TemporaryFolder folder;
  Json plan = plan_json({phase_json(kInserts)});
  plan["target"]["library"] = library("sized");
  auto run = record(folder, plan);
  EXPECT_EQ(run.exit, 2);
  Json error = run.event("error");
  EXPECT_THAT(text_of(error, "what"), HasSubstr("keys of 16 bytes and values of "));
  EXPECT_THAT(text_of(error, "what"), HasSubstr("keys have 8 bytes, values 24"));
  EXPECT_THAT(text_of(error, "needs"), HasSubstr("keys of 16 bytes"));
}

TEST(Record, MixedSizesAreRefusedWhereATargetTakesOne) {
  TemporaryFolder folder;
  Json plan = plan_json({phase_json(kInserts)});
  plan["scenario"]["key_size"] = {8, 16};
  auto run = record(folder, plan);
  EXPECT_EQ(run.exit, 2);
  const Json error = run.event("error");
  EXPECT_THAT(text_of(error, "what"), HasSubstr("keys of 8 to 16 bytes"));
  EXPECT_THAT(text_of(error, "what"), HasSubstr("one size of each"));
  EXPECT_EQ(text_of(error, "needs"), "keys and values of mixed sizes");
}

TEST(Record, ALimitOfTheTraitsIsNamedBeforeAnythingIsRecorded) {
  TemporaryFolder folder;
  auto run = record(folder, plan_json({phase_json(kInserts)}, {{"misbehave", "short_values"}}));
  EXPECT_EQ(run.exit, 2);
  const Json error = run.event("error");
  EXPECT_THAT(text_of(error, "what"), HasSubstr("values of 15 bytes, and the target takes 8 at most"));
  EXPECT_EQ(text_of(error, "needs"), "values of 15 bytes");
}

TEST(Record, AnItemThatIsTooLargeIsNamedWithItsSizes) {
  TemporaryFolder folder;
  auto run = record(folder, plan_json({phase_json(kInserts)}, {{"misbehave", "too_large"}}));
  EXPECT_EQ(run.exit, 2);
  const Json error = run.event("error");
  EXPECT_THAT(text_of(error, "what"),
              HasSubstr("insert of key 1 answered TOO_LARGE: its key has 16 bytes, its value 15"));
  EXPECT_THAT(text_of(error, "next"), HasSubstr("most_value_size"));
  EXPECT_EQ(text_of(error, "needs"), "items of this size");
}

TEST(Record, CutThatIsNeverReachedIsAnError) {
  TemporaryFolder folder;
  auto run = record(folder, plan_json({phase_json({{{"op", "lookup"}, {"keys", {1}}}}, true, "slot.written")}));
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(text_of(run.event("error"), "what"), HasSubstr("never reaches the mark 'slot.written'"));
}

TEST(Record, WhatTheTargetPrintsIsNoEvent) {
  TemporaryFolder folder;
  auto run = record(folder, plan_json({phase_json(kInserts)}, {{"misbehave", "print"}}));
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.events.size(), 3u) << run.output;  // hello, recorded, end
}

TEST(Record, PoolLargerThanMemory) {
  TemporaryFolder folder;
  Json plan = plan_json({phase_json(kInserts)});
  plan["scenario"]["pool_size"] = uint64_t{1} << 40;
  auto run = record(folder, plan);
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(text_of(run.event("error"), "what"), HasSubstr("larger than the memory"));
}

TEST(Record, UnwritableTrace) {
  TemporaryFolder folder;
  testing::write_file(folder.file("plan.json"), plan_json({phase_json(kInserts)}).dump());
  auto run = run_engine({"record", "--plan", folder.file("plan.json"), "--trace", folder.file("no/such/run.pct")});
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(text_of(run.event("error"), "what"), HasSubstr("No such file"));
}

TEST(Describe, NamesEverythingOfATarget) {
  auto run = run_engine({"describe", "--library", library("good"), "--option", "capacity=9"});
  ASSERT_EQ(run.exit, 0) << run.output;
  Json target = run.event("described")["target"];
  EXPECT_EQ(target["name"], "array-map");
  EXPECT_EQ(target["variants"], Json({"published", "hardened"}));
  EXPECT_EQ(target["commands"], Json({"scrub"}));
  EXPECT_EQ(target["traits"]["copy_bound"], 1);
}

TEST(Describe, ATargetOfOneSizeIsDescribed) {
  auto guessed = run_engine({"describe", "--library", library("sized")});
  ASSERT_EQ(guessed.exit, 0) << guessed.output;
  EXPECT_TRUE(guessed.event("described")["target"]["traits"].is_null());
  EXPECT_EQ(guessed.event("described")["target"]["sizes"], Json::array());
  auto declared = run_engine({"describe", "--library", library("declares_size")});
  ASSERT_EQ(declared.exit, 0) << declared.output;
  EXPECT_EQ(declared.event("described")["target"]["traits"]["copy_bound"], 1);
  EXPECT_EQ(declared.event("described")["target"]["sizes"], Json::parse("[[8, 24]]"));
  EXPECT_EQ(run_engine({"describe", "--library", library("sized"), "--key-size", "16"}).exit, 2);
}

TEST(Describe, ATargetOfOneSizeThatRefusesTheEndsOfARangeSaysSo) {
  auto run = run_engine({"describe", "--library", library("declares_size"), "--least-key-size", "8", "--key-size", "16",
                         "--value-size", "24"});
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(text_of(run.event("error"), "what"), HasSubstr("keys of 8 to 16 bytes and values of 24 bytes, and the "));
  EXPECT_EQ(text_of(run.event("error"), "needs"), "keys and values of mixed sizes");
}

TEST(Describe, RefusesWhatIsNoTarget) {
  for (auto [kind, words] : {std::pair{"lacks_entry", "does not export powercut_target_entry"},
                             {"lacks_lookup", "lacks required functions: lookup"},
                             {"declares_none", "declares no sizes"},
                             {"old_abi", "ABI version 7"},
                             {"refuses", "serves no ABI version that this build speaks: 2 to 5"},
                             {"missing", "No such file"}}) {
    auto run = run_engine({"describe", "--library", library(kind)});
    EXPECT_EQ(run.exit, 2) << kind;
    EXPECT_THAT(text_of(run.event("error"), "what"), HasSubstr(words));
  }
  TemporaryFolder folder;
  testing::write_file(folder.file("text.so"), "this is no library");
  auto run = run_engine({"describe", "--library", folder.file("text.so")});
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(text_of(run.event("error"), "what"), HasSubstr("cannot load"));
  EXPECT_EQ(run_engine({"describe", "--library", library("good"), "--variant", "golden"}).exit, 2);
  EXPECT_EQ(run_engine({"describe", "--library", library("good"), "--option", "capacity"}).exit, 2);
}

TEST(Dump, TextJsonAndNormalForm) {
  TemporaryFolder folder;
  ASSERT_EQ(record(folder, plan_json({phase_json({{{"op", "insert"}, {"keys", {1}}}})})).exit, 0);
  auto text = run_engine({"dump", "--trace", folder.file("run.pct")});
  EXPECT_EQ(text.exit, 0);
  EXPECT_THAT(text.output, HasSubstr("op-begin insert key " + hex(key_bytes(1, 16))));
  EXPECT_THAT(text.output, HasSubstr("fence sfence  @ libtest-array-map-good.so+0x"));
  EXPECT_THAT(text.output, HasSubstr("marker slot.written"));

  auto json = run_engine({"dump", "--trace", folder.file("run.pct"), "--format", "json"});
  EXPECT_EQ(json.exit, 0);
  EXPECT_EQ(json.event("dumped")["metadata"]["target"]["name"], "array-map");
  EXPECT_EQ(json.event("dumped")["metadata"]["target"]["build_id"].get<std::string>().size(), 40u);
  EXPECT_EQ(json.event("dumped")["metadata"]["pool"]["base"], kPoolBase);

  auto normal = run_engine({"dump", "--trace", folder.file("run.pct"), "--normal"});
  EXPECT_EQ(normal.exit, 0);
  EXPECT_THAT(normal.output, HasSubstr("op-end t0 status 0\n"));
  EXPECT_THAT(normal.output, HasSubstr("  line 0x40 visible 01" + hex(key_bytes(1, 16))));
  EXPECT_THAT(normal.output, HasSubstr("floor 01" + hex(key_bytes(1, 16))));
}

TEST(Stats, CountsATrace) {
  TemporaryFolder folder;
  ASSERT_EQ(record(folder, plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 4}}})})).exit, 0);
  auto run = run_engine({"stats", "--trace", folder.file("run.pct")});
  ASSERT_EQ(run.exit, 0);
  Json stats = run.event("stats");
  EXPECT_EQ(stats["counters"]["insert"]["operations"], 4);
  EXPECT_EQ(stats["marks"]["slot.written"], 4);
  EXPECT_GT(stats["raw_bytes_per_record"], 1.0);
}

TEST(Stats, DamagedTraceIsAUsageError) {
  TemporaryFolder folder;
  testing::write_file(folder.file("run.pct"), "");
  for (const char* command : {"stats", "dump"})
    EXPECT_EQ(run_engine({command, "--trace", folder.file("run.pct")}).exit, 2);
  auto run = run_engine({"stats", "--trace", folder.file("run.pct")});
  EXPECT_EQ(text_of(run.event("error"), "what"), "the file is empty");
}

TEST(CommandLine, WrongArgumentsAreUsageErrors) {
  auto run = run_engine({"record", "--plam", "x"});
  EXPECT_EQ(run.exit, 2);
  EXPECT_EQ(text_of(run.event("error"), "kind"), "usage");
  EXPECT_EQ(run_engine({}).exit, 2);
  EXPECT_EQ(run_engine({"--help"}).exit, 0);
}

}  // namespace
}  // namespace powercut
