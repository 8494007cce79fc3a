#include "checker/findings/finding_record.h"

#include <gtest/gtest.h>

#include "base/event_stream.h"

namespace powercut {
namespace {

Json line_json(uint64_t offset, const std::string& byte = "00") {
  std::string digits;
  for (uint64_t i = 0; i < kLineSize; ++i) digits += byte;
  return {{"offset", offset}, {"bytes", digits}, {"decided", true}, {"a field of the future", 1}};
}

Json finding_json() {
  Json nested = {{"depth", 1}, {"after_return", true}, {"recovery_stores", Json::array()}, {"lines", Json::array()}};
  nested["recovery_stores"].push_back({{"offset", 640}, {"size", 8}, {"stack", Json::array()}});
  nested["lines"].push_back(line_json(640));
  Json finding = {{"target", "level"},
                  {"engine", {{"model", "eadr"}, {"atoms", "byte"}}},
                  {"crash_point", {{"index", 4}, {"event", 40}, {"when", "before sfence"}, {"depth", 1}}},
                  {"query", {{"kind", "lookup"}, {"text", "lookup(17)"}}}};
  finding["image"] = Json::array({line_json(128, "a5"), line_json(0)});
  finding["nested_image"] = Json::array({nested});
  return finding;
}

std::string problem_of(const Json& finding) {
  const Result<FindingRecord> record = parse_finding(finding.dump(), "f.json");
  return record ? "" : record.error().what;
}

TEST(FindingRecord, HoldsWhatAReplayNeeds) {
  const Result<FindingRecord> record = parse_finding(finding_json().dump(), "f.json");
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->target, "level");
  EXPECT_EQ(record->variant, "");
  EXPECT_EQ(record->model, "eadr");
  EXPECT_EQ(record->atoms, "byte");
  EXPECT_EQ(record->crash_point, 4u);
  EXPECT_EQ(record->event, 40u);
  EXPECT_EQ(record->when, "before sfence");
  EXPECT_EQ(record->query, "lookup(17)");
  ASSERT_EQ(record->image.size(), 2u);
  EXPECT_EQ(record->image[0].line, 2u);
  EXPECT_EQ(record->image[0].content.bytes[63], 0xa5);
  EXPECT_TRUE(record->image[0].decided);
  ASSERT_EQ(record->nested.size(), 1u);
  EXPECT_TRUE(record->nested[0].after_return);
  EXPECT_EQ(record->nested[0].stores, (std::vector<std::pair<uint64_t, uint64_t>>{{640, 8}}));
}

TEST(FindingRecord, AnEventOfTheStreamIsARecordToo) {
  Json finding = finding_json();
  finding.erase("engine");
  finding.erase("target");
  const Result<FindingRecord> record = parse_finding(finding.dump(), "f.json");
  ASSERT_TRUE(record) << record.error().message();
  EXPECT_EQ(record->model, "adr");
  EXPECT_EQ(record->atoms, "any");
}

TEST(FindingRecord, SaysWhatIsWrongWhere) {
  EXPECT_EQ(parse_finding("{", "f.json").error().message().substr(0, 17), "f.json: not JSON.");
  EXPECT_EQ(problem_of(Json::array()), "not a finding: crash_point: this field is missing");
  const auto changed = [](const char* pointer, const Json& value) {
    Json finding = finding_json();
    finding[Json::json_pointer(pointer)] = value;
    return problem_of(finding);
  };
  EXPECT_EQ(changed("/image", 3), "not a finding: image: this must be a list");
  EXPECT_EQ(changed("/image/1/bytes", "00"), "not a finding: image[1].bytes: this must be 64 bytes as hex digits");
  EXPECT_EQ(changed("/image/1/bytes", std::string(128, 'A')),
            "not a finding: image[1].bytes: this must be 64 bytes as hex digits");
  EXPECT_EQ(changed("/image/1/offset", -64), "not a finding: image[1].offset: this must be a natural number");
  EXPECT_EQ(changed("/image/1/offset", 8),
            "not a finding: image[1].offset: this must be the offset of a line, a multiple of 64");
  EXPECT_EQ(changed("/image/1/offset", 128),
            "not a finding: image[1].offset: this must be of another line than those before it");
  EXPECT_EQ(changed("/nested_image/0/after_return", 1),
            "not a finding: nested_image[0].after_return: this must be true or false");
  EXPECT_EQ(changed("/nested_image/0/recovery_stores/0/size", 0.5),
            "not a finding: nested_image[0].recovery_stores[0].size: this must be a natural number");
  EXPECT_EQ(changed("/crash_point/depth", 2),
            "not a finding: crash_point.depth: this must be 1, as many cuts as 'nested_image' has");
  EXPECT_EQ(changed("/query/text", nullptr), "not a finding: query.text: this must be a text");
  EXPECT_EQ(changed("/engine/model", "tso"), "not a finding: engine.model: this must be a persistency model");
  EXPECT_EQ(changed("/engine/atoms", "none"), "not a finding: engine.atoms: this must be an atom policy");
}

TEST(FindingRecord, FilesThatCannotBeReadAreUsageErrors) {
  EXPECT_EQ(read_finding("/none/such.json").error().kind, ErrorKind::kUsage);
  EXPECT_EQ(read_finding("/").error().what, "this is a folder, not a file");
}

}  // namespace
}  // namespace powercut
