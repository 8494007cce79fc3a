#include "tracer/record/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

using ::testing::HasSubstr;
using testing::phase_json;
using testing::plan_json;

Json good() {
  return plan_json({phase_json({{{"op", "insert"}, {"from", 1}, {"to", 12}},
                                {{"op", "mix"},
                                 {"operations", 100},
                                 {"read", 0.5},
                                 {"update", 0.5},
                                 {"insert", 0},
                                 {"erase", 0},
                                 {"rmw", 0},
                                 {"distribution", "latest"},
                                 {"theta", 0.7}}},
                               true, "slot.written")},
                   {{"top", "4"}});
}

TEST(Plan, IsReadInFull) {
  Result<Plan> plan = parse_plan(good().dump(), "plan.json");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->target.options.at(0), (std::pair<std::string, std::string>{"top", "4"}));
  EXPECT_EQ(plan->scenario.pool_size, 65536u);
  const Phase& phase = plan->scenario.phases.at(0);
  EXPECT_EQ(phase.cut_at, "slot.written");
  EXPECT_EQ(phase.steps.at(0).to, 12u);
  EXPECT_EQ(phase.steps.at(1).mix.distribution, Distribution::kLatest);
  EXPECT_EQ(phase.steps.at(1).mix.theta, 0.7);
  EXPECT_EQ(plan->json, good());
}

TEST(Plan, KeysOfZerosAndOnesHaveNames) {
  Json json = good();
  json["scenario"]["phases"][0]["steps"][0] = {{"op", "insert"}, {"keys", {"zeros", "ones", 5}}};
  Result<Plan> plan = parse_plan(json.dump(), "plan.json");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->scenario.phases.at(0).steps.at(0).keys, (std::vector<uint64_t>{kZerosKey, kOnesKey, 5}));
  EXPECT_EQ(plan->json, json) << "the trace's metadata keeps the names";

  for (const auto& [key, problem] : {std::pair<Json, const char*>{"zeroes", "keys[1]: unknown key 'zeroes'"},
                                     {kZerosKey, "keys[1]: this must be between 1 and 4294967293"},
                                     {true, "keys[1]: this must be a whole number"}}) {
    json["scenario"]["phases"][0]["steps"][0]["keys"][1] = key;
    Result<Plan> wrong = parse_plan(json.dump(), "plan.json");
    ASSERT_FALSE(wrong.ok()) << key;
    EXPECT_THAT(wrong.error().what, HasSubstr(problem));
  }
}

TEST(Plan, ComesBackFromATrace) {
  Json metadata = {{"plan", good()}, {"seed", 1}};
  Result<Plan> plan = plan_of_trace(metadata.dump(), "run.pct");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->json, good());
  EXPECT_FALSE(plan_of_trace("{}", "run.pct").ok());
  EXPECT_FALSE(plan_of_trace("not JSON", "run.pct").ok());
}

// Each edit makes the good plan wrong; the message names the place and the problem.
struct Edit {
  const char* pointer;
  Json value;
  const char* place;
  const char* problem;
};

TEST(Plan, WrongOnesNameThePlace) {
  const std::vector<Edit> edits = {
      {"/plan", 2, "version", "version"},
      {"/seed", -1, "seed", "between 0"},
      {"/seed", 1.5, "seed", "whole number"},
      {"/extra", 1, "extra", "unknown key"},
      {"/target/library", 7, "target.library", "a text"},
      {"/target/variant", std::string("a\0b", 3), "target.variant", "zero byte"},
      {"/target/options/top", 4, "target.options.top", "a text"},
      {"/scenario/pool_size", 5000, "scenario.pool_size", "multiple of 4096"},
      {"/scenario/pool_size", 0, "scenario.pool_size", "between 4096"},
      {"/scenario/key_size", 4, "scenario.key_size", "between 8"},
      {"/scenario/value_size", 100000, "scenario.value_size", "between 8 and 65536"},
      {"/scenario/key_size", {4, 16}, "scenario.key_size[0]", "between 8"},
      {"/scenario/key_size", {16, 8}, "scenario.key_size[1]", "between 16"},
      {"/scenario/value_size", {0, 16}, "scenario.value_size[0]", "between 1"},
      {"/scenario/value_size", {1, 2, 3}, "scenario.value_size", "a pair of the least size and the most"},
      {"/scenario/phases/0/steps/0/value_size", 99, "scenario.phases[0].steps[0].value_size", "have 15 to 15 bytes"},
      {"/scenario/phases", Json::array(), "scenario.phases", "must not be empty"},
      {"/scenario/phases/0/explore", "yes", "scenario.phases[0].explore", "true or false"},
      {"/scenario/phases/0/steps/0/op", "inset", "scenario.phases[0].steps[0].op", "unknown op 'inset'"},
      {"/scenario/phases/0/steps/0/from", 0, "scenario.phases[0].steps[0].from", "between 1"},
      {"/scenario/phases/0/steps/0/to", 0, "scenario.phases[0].steps[0].to", "between 1"},
      {"/scenario/phases/0/steps/0/keys", Json::array({1}), "scenario.phases[0].steps[0].keys", "name the keys once"},
      {"/scenario/phases/0/steps/1/read", 0.6, "scenario.phases[0].steps[1].read", "add up to 1.1"},
      {"/scenario/phases/0/steps/1/theta", 1, "scenario.phases[0].steps[1].theta", "between 0 and 1"},
      {"/scenario/phases/0/steps/1/distribution", "normal", "steps[1].distribution", "unknown distribution"},
      {"/scenario/phases/0/steps/1/operations", "9", "steps[1].operations", "whole number"},
      {"/scenario/expect_marks", Json::array({1}), "scenario.expect_marks", "must be a text"},
  };
  for (const Edit& edit : edits) {
    Json json = good();
    json[Json::json_pointer(edit.pointer)] = edit.value;
    Result<Plan> plan = parse_plan(json.dump(), "plan.json");
    ASSERT_FALSE(plan.ok()) << edit.pointer;
    EXPECT_EQ(plan.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(plan.error().where, "plan.json");
    EXPECT_THAT(plan.error().what, HasSubstr(edit.place));
    EXPECT_THAT(plan.error().what, HasSubstr(edit.problem));
  }
}

TEST(Plan, EveryMissingFieldIsNamed) {
  for (const char* pointer : {"/plan", "/target", "/scenario", "/seed", "/target/library", "/target/options",
                              "/scenario/name", "/scenario/phases", "/scenario/phases/0/steps"}) {
    Json json = good();
    Json::json_pointer at(pointer);
    json[at.parent_pointer()].erase(at.back());
    Result<Plan> plan = parse_plan(json.dump(), "plan.json");
    ASSERT_FALSE(plan.ok()) << pointer;
    EXPECT_THAT(plan.error().what, HasSubstr("missing"));
    EXPECT_THAT(plan.error().what, HasSubstr(at.back()));
  }
}

TEST(Plan, SizesMayBeRanges) {
  Json json = good();
  json["scenario"]["key_size"] = {8, 64};
  json["scenario"]["value_size"] = {1, 400};
  json["scenario"]["phases"][0]["steps"][0]["value_size"] = 33;
  const Result<Plan> plan = parse_plan(json.dump(), "plan.json");
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  const DataSizes& sizes = plan->scenario.data;
  EXPECT_EQ(sizes.key.least, 8u);
  EXPECT_EQ(sizes.key.most, 64u);
  EXPECT_EQ(sizes.value.least, 1u);
  EXPECT_EQ(sizes.value.most, 400u);
  EXPECT_EQ(sizes.seed, plan->seed);
  EXPECT_EQ(plan->scenario.phases[0].steps[0].value_size, 33u);
}

// A set-up, two threads, and a look at their results.
Json with_threads() {
  const Json lookup = {{"op", "lookup"}, {"keys", {1}}}, range = {{"op", "lookup"}, {"from", 1}, {"to", 2}};
  const Json update = {{"op", "update"}, {"keys", {1}}}, expand = {{"op", "maintain"}, {"command", "expand"}};
  const Json steps = phase_json({lookup});
  Json race = steps;
  race.erase("steps");
  race["threads"] = Json::array({Json::array({update, expand}), Json::array({range})});
  Json plan = plan_json({phase_json({lookup}, false), race, steps}, Json::object());
  plan["search"] = {{"kind", "bounded"}, {"preemptions", nullptr}, {"schedules", 0}, {"model", "eadr"}};
  return plan;
}

TEST(Plan, ThreadsAreReadWithTheirSearch) {
  Json json = with_threads();
  Result<Plan> plan = parse_plan(json.dump(), "plan.json");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  const Phase& race = plan->scenario.phases.at(1);
  EXPECT_TRUE(race.steps.empty());
  ASSERT_EQ(race.threads.size(), 2u);
  EXPECT_EQ(race.threads[0].at(0).kind, StepKind::kUpdate);
  EXPECT_EQ(race.threads[0].at(1).text, "expand");
  EXPECT_EQ(race.threads[1].at(0).to, 2u);
  EXPECT_TRUE(plan->scenario.phases.at(2).threads.empty());
  EXPECT_EQ(plan->search.kind, "bounded");
  EXPECT_EQ(plan->search.preemptions, std::nullopt);
  EXPECT_EQ(plan->search.schedules, 0u);
  EXPECT_EQ(plan->search.model, "eadr");

  json["search"] = {{"kind", "bounded"}, {"preemptions", 2}, {"schedules", 7}, {"model", "adr"}};
  plan = parse_plan(json.dump(), "plan.json");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->search.preemptions, 2u);
  EXPECT_EQ(plan->search.schedules, 7u);
  for (const char* kind : {"random", "pct"}) {
    json["search"] = {{"kind", kind}, {"preemptions", nullptr}, {"schedules", 1000}, {"model", "adr"}};
    plan = parse_plan(json.dump(), "plan.json");
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    EXPECT_EQ(plan->search.kind, kind);
  }
}

TEST(Plan, WrongThreadsNameThePlace) {
  const Json lookup = {{"op", "lookup"}, {"keys", {1}}}, fill = {{"op", "fill"}, {"limit", 3}};
  const std::vector<Edit> edits = {
      {"/scenario/phases/1/steps", Json::array({lookup}), "phases[1].threads", "not both"},
      {"/scenario/phases/1/threads", Json::array(), "phases[1].threads", "must not be empty"},
      {"/scenario/phases/1/threads", Json::array({Json::array({lookup})}), "phases[1].threads",
       "2 to 4 threads, not 1"},
      {"/scenario/phases/1/threads", Json(5, Json::array({lookup})), "phases[1].threads", "2 to 4 threads, not 5"},
      {"/scenario/phases/1/threads/1", Json::array(), "phases[1].threads[1]", "must not be empty"},
      {"/scenario/phases/1/threads/1", lookup, "phases[1].threads[1]", "must be a list"},
      {"/scenario/phases/1/threads/1/0", fill, "phases[1].threads[1][0].op", "in and after threads"},
      {"/scenario/phases/1/threads/0/1/op", "erace", "phases[1].threads[0][1].op", "unknown op"},
      {"/scenario/phases/1/cut_at", "a.mark", "phases[1].cut_at", "not cut"},
      {"/scenario/phases/1/explore", false, "phases[1].explore", "always explored"},
      {"/scenario/phases/2/steps/0", fill, "phases[2].steps[0].op", "in and after threads"},
      {"/scenario/phases/2/cut_at", "a.mark", "phases[2].cut_at", "nothing after threads"},
      {"/scenario/phases/2", with_threads()["scenario"]["phases"][1], "phases[2].threads", "only one phase"},
      {"/search/kind", "dfs", "search.kind", "unknown search 'dfs'"},
      {"/search/preemptions", -1, "search.preemptions", "between 0 and 1000"},
      {"/search/schedules", "all", "search.schedules", "whole number"},
      {"/search/limit", 1, "search.limit", "unknown key"},
      {"/search", Json{{"kind", "pct"}, {"preemptions", 2}, {"schedules", 9}, {"model", "adr"}}, "search.preemptions",
       "only 'bounded'"},
      {"/search", Json{{"kind", "random"}, {"preemptions", nullptr}, {"schedules", 0}, {"model", "adr"}},
       "search.schedules", "between 1"},
  };
  for (const Edit& edit : edits) {
    Json json = with_threads();
    json[Json::json_pointer(edit.pointer)] = edit.value;
    Result<Plan> plan = parse_plan(json.dump(), "plan.json");
    ASSERT_FALSE(plan.ok()) << edit.pointer << edit.value;
    EXPECT_EQ(plan.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(plan.error().what, HasSubstr(edit.place));
    EXPECT_THAT(plan.error().what, HasSubstr(edit.problem));
  }
}

TEST(Plan, ASearchIsWhereThreadsAre) {
  Json json = with_threads();
  for (const char* field : {"", "/kind", "/preemptions", "/schedules", "/model"}) {
    Json without = json;
    const Json::json_pointer at(std::string("/search") + field);
    without[at.parent_pointer()].erase(at.back());
    Result<Plan> plan = parse_plan(without.dump(), "plan.json");
    ASSERT_FALSE(plan.ok()) << field;
    EXPECT_THAT(plan.error().what, HasSubstr("this field is missing"));
  }
  json["scenario"]["phases"].erase(1);
  Result<Plan> plan = parse_plan(json.dump(), "plan.json");
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().what, HasSubstr("search: unknown key"));
}

TEST(Plan, MalformedJsonAndFilesAreErrors) {
  for (const char* text : {"", "{", "[]", "null", "{\"plan\": 1,}", "\xff\xfe"}) {
    Result<Plan> plan = parse_plan(text, "plan.json");
    ASSERT_FALSE(plan.ok()) << text;
    EXPECT_EQ(plan.error().kind, ErrorKind::kUsage);
  }
  EXPECT_FALSE(read_plan("/no/such/plan.json").ok());
  EXPECT_FALSE(read_plan("/").ok());
}

}  // namespace
}  // namespace powercut
