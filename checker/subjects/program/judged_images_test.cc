// Images that are given to the engine's command `program-judge`.
#include <map>
#include <random>
#include <set>

#include "checker/subjects/program/test_program.h"

namespace powercut {
namespace {

using ::testing::HasSubstr;

std::string hex(const Content& content) {
  std::string out;
  for (const uint8_t byte : content.bytes) {
    for (const int digit : {byte >> 4, byte & 15}) out += "0123456789abcdef"[digit];
  }
  return out;
}

// Every legal image of the trace by the model's own candidates, each as a request. `refused`: whether the test
// recovery's "check" has to refuse the image, found by reading the image here.
struct LegalImages {
  std::vector<Json> requests;
  std::vector<bool> refused;
};
LegalImages legal_images(const std::string& path) {
  TraceError error;
  auto reader = TraceReader::open(path, &error);
  auto model = make_model("adr", AtomPolicy::kAny, kPool);
  LegalImages out;
  const auto visit = [&](uint64_t point) {
    std::vector<uint64_t> lines;
    std::vector<std::vector<Content>> contents;
    for (const auto& line : model->pending().lines()) {
      lines.push_back(line.number);
      contents.push_back(model->candidates(line.number).contents);
    }
    std::vector<size_t> at(lines.size());
    for (;;) {
      Json listed = Json::array();
      for (size_t i = 0; i < lines.size(); ++i) {
        listed.push_back({{"offset", lines[i] * kLineSize}, {"bytes", hex(contents[i][at[i]])}});
      }
      const auto word = [&](uint64_t offset) {
        const auto chosen = std::ranges::find(lines, offset / kLineSize) - lines.begin();
        const bool open = chosen < static_cast<ptrdiff_t>(lines.size());
        const Content content = open ? contents[chosen][at[chosen]] : model->floor(offset / kLineSize);
        uint64_t value = 0;
        std::memcpy(&value, content.bytes.data() + offset % kLineSize, 8);
        return value;
      };
      bool refused = false;
      for (uint64_t item = 1; item <= word(64); ++item) {
        for (uint64_t part = 0; part < 4; ++part) {
          refused = refused || word(Program::place(item, part)) != 100 * item + part;
        }
      }
      out.requests.push_back(
          {{"id", out.requests.size()}, {"crash_point", point}, {"rest", "floor"}, {"lines", listed}});
      out.refused.push_back(refused);
      size_t i = 0;
      while (i < lines.size() && ++at[i] == contents[i].size()) at[i++] = 0;
      if (i == lines.size()) break;
    }
  };
  for_each_crash_point(reader.get(), model.get(), visit);
  return out;
}

TEST_F(ProgramCommand, JudgesEveryLegalImageAsItsBytesSay) {
  write(missing_fence());
  const auto [requests, refused] = legal_images(trace());
  const Told told = judge(requests, {"--recover", command_json({"check", "{image}"}), "--jobs", "2"});
  EXPECT_EQ(told.exit, kExitOk) << told.events.back().dump();
  const auto judged = told.of("judged");
  ASSERT_EQ(judged.size(), requests.size());
  ASSERT_GT(judged.size(), 40u);
  size_t wrong = 0;
  for (size_t i = 0; i < judged.size(); ++i) {
    EXPECT_EQ(judged[i]["id"], i);
    EXPECT_EQ(judged[i]["legal"], true) << judged[i].dump();
    ASSERT_EQ(judged[i]["violations"].size(), refused[i] ? 1u : 0u) << judged[i].dump();
    if (!refused[i]) continue;
    ++wrong;
    EXPECT_EQ(judged[i]["violations"][0]["invariant"], "recovery-failed");
    EXPECT_THAT(judged[i]["violations"][0]["query"].get<std::string>(), HasSubstr("recover: "));
  }
  EXPECT_GT(wrong, 4u);
  EXPECT_FALSE(has_work());
}

TEST_F(ProgramCommand, AFindingsOwnImageShowsItAndNoOtherCrashPointsDoes) {
  write(early_end());
  const std::vector<std::string> words = {"--recover", command_json({"check", "{image}"}), "--dump",
                                          command_json({"dump", "{image}"})};
  const Json finding = run(words).of("finding").at(0);
  std::vector<Json> requests = {{{"id", "own"}, {"crash_point", finding["crash_point"]["index"]}, {"rest", "floor"}},
                                {{"id", "all"}, {"crash_point", "all"}, {"rest", "visible"}},
                                {{"id", "some"}, {"crash_point", {1, 2}}, {"rest", "visible"}},
                                {{"id", "far"}, {"crash_point", {0, 1 << 20}}, {"rest", "visible"}}};
  for (const Json& line : finding["image"]) {
    requests[0]["lines"].push_back({{"offset", line["offset"]}, {"bytes", line["bytes"]}});
  }
  const Told told = judge(requests, words);
  const uint64_t points = run(words).result()["crash_points"];
  std::map<std::string, uint64_t> count;
  for (const Json& judged : told.of("judged")) {
    ++count[judged["id"]];
    EXPECT_EQ(judged["legal"], true);
    if (judged["id"] != "own") {
      EXPECT_EQ(judged["violations"], Json::array());
      continue;
    }
    ASSERT_EQ(judged["violations"].size(), 1u);
    EXPECT_EQ(judged["violations"][0]["invariant"], finding["invariant"]);
    EXPECT_EQ(judged["violations"][0]["found"], finding["found"]);
    EXPECT_EQ(judged["violations"][0]["expected"], finding["expected"]);
    EXPECT_EQ(judged["violations"][0]["query"], finding["query"]["text"]);
    EXPECT_EQ(judged["when"], finding["crash_point"]["when"]);
  }
  const std::map<std::string, uint64_t> expected = {{"all", points}, {"far", points}, {"own", 1}, {"some", 2}};
  EXPECT_EQ(count, expected);
}

TEST_F(ProgramCommand, JudgesNoImageThatNoPowerCutLeaves) {
  Program program;
  program.item(1, false);
  write(program);
  const Json line = {{"offset", Program::place(1, 0)}, {"bytes", std::string(128, 'f')}};
  const Json cut = {{"after_return", true}, {"stores", Json::array()}, {"rest", "floor"}};
  const Told told = judge({{{"id", 0}, {"crash_point", 0}, {"rest", "floor"}, {"lines", {line}}},
                           {{"id", 1}, {"crash_point", 0}, {"rest", "floor"}, {"nested", {cut}}}},
                          {"--recover", command_json({"check", "{image}"})});
  const auto judged = told.of("judged");
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_THAT(judged[0]["why"].get<std::string>(), HasSubstr("cannot hold these bytes"));
  EXPECT_THAT(judged[1]["why"].get<std::string>(), HasSubstr("is not cut"));
  for (const Json& one : judged) EXPECT_EQ(one["legal"], false);
}

TEST_F(ProgramCommand, JudgingEndsWithASentence) {
  Program program;
  program.item(1, false);
  write(program);
  const Json all = {{"id", 0}, {"crash_point", "all"}, {"rest", "floor"}};
  const std::vector<std::string> hang = {"--recover", command_json({"hang", "{image}"})};
  const Told late = judge({all}, {hang[0], hang[1], "--timeout", "60", "--budget-seconds", "0.3"});
  EXPECT_EQ(late.exit, kExitUnknown);
  EXPECT_THAT(late.of("error").at(0)["what"].get<std::string>(), HasSubstr("took longer than it may"));
  EXPECT_FALSE(has_work());
  const auto what = [&](const Json& request) {
    const Told told = judge({request}, {"--recover", command_json({"check", "{image}"})});
    EXPECT_EQ(told.exit, kExitUsage);
    return told.of("error").empty() ? "" : told.of("error")[0]["what"].get<std::string>();
  };
  EXPECT_THAT(what({{"id", 0}, {"crash_point", 99}, {"rest", "floor"}}), HasSubstr("the trace has"));
  EXPECT_THAT(what({{"id", 0}, {"crash_point", {2, 1}}, {"rest", "floor"}}), HasSubstr("[first, last]"));
  EXPECT_THAT(what({{"id", 0}, {"crash_point", {2}}, {"rest", "floor"}}), HasSubstr("[first, last]"));
}

}  // namespace
}  // namespace powercut
