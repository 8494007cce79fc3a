#include "tracer/view/operation_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "powercut/target.h"

namespace powercut {
namespace {

using testing::TemporaryFolder;

// Writes a run event by event and measures it.
class Metered {
 public:
  explicit Metered(const std::vector<Json>& measures, const std::vector<Json>& selectors = {},
                   const std::vector<uint32_t>* loads = nullptr)
      : loads_(loads) {
    testing::write_file(folder_.file("request.json"), Json({{"selectors", selectors}, {"measures", measures}}).dump());
    auto request = parse_measure_request(folder_.file("request.json"));
    EXPECT_TRUE(request.ok());
    request_ = std::move(*request);
    meter_ = std::make_unique<OperationMeter>(request_, true, loads_, [](uint32_t stack) {
      static const std::array<Frame, 3> frames = {{{0, 100}, {0, 101}, {0, 102}}};
      return std::span(frames).subspan(stack, 1);
    });
  }

  void begin(OpKind kind, const std::string& key = "", const std::string& command = "", uint32_t thread = 0) {
    Event event = made(EventKind::kOpBegin, static_cast<uint8_t>(kind), thread);
    key_ = key;
    event.key = {reinterpret_cast<const uint8_t*>(key_.data()), key_.size()};
    event.text = command;
    meter_->add(event);
  }
  void end(powercut_status status = POWERCUT_OK, uint32_t thread = 0) {
    meter_->add(made(EventKind::kOpEnd, static_cast<uint8_t>(status), thread));
  }
  void store(uint64_t addr, uint64_t size, uint32_t stack = 0, uint32_t thread = 0) {
    Event event = made(EventKind::kStore, 0, thread);
    event.addr = addr;
    event.size = size;
    event.stack = stack;
    meter_->add(event);
  }
  void fence(FenceKind kind = FenceKind::kSfence) { meter_->add(made(EventKind::kFence, static_cast<uint8_t>(kind))); }
  void mark(const std::string& name) {
    Event event = made(EventKind::kMarker);
    event.text = name;
    meter_->add(event);
  }
  void phase(bool explored) { meter_->add(made(EventKind::kPhase, explored ? 1 : 0)); }
  void cut() { meter_->add(made(EventKind::kCut)); }
  Json result(size_t i = 0) const { return meter_->results()[i]; }

 private:
  Event made(EventKind kind, uint8_t code = 0, uint32_t thread = 0) {
    Event event;
    event.index = next_++;
    event.kind = kind;
    event.code = code;
    event.thread = thread;
    return event;
  }

  TemporaryFolder folder_;
  const std::vector<uint32_t>* loads_;
  MeasureRequest request_;
  std::unique_ptr<OperationMeter> meter_;
  std::string key_;
  uint64_t next_ = 0;
};

Json measure(const std::string& metric, const std::string& operation, const std::string& comparison, double number,
             const Json& more = Json::object()) {
  Json out = {{"id", 7},
              {"quantity", {{"metric", metric}, {"operation", operation}}},
              {"comparison", comparison},
              {"number", number}};
  out.update(more, true);
  return out;
}

TEST(OperationMeter, TheWorstOperationIsToldWithTheEventThatWentBeyond) {
  Metered run(std::vector<Json>{measure("fences", "insert", "<=", 2)});
  for (int fences : {2, 4, 3}) {
    run.begin(OpKind::kInsert);
    for (int i = 0; i < fences; ++i) run.fence();
    run.end();
  }
  const Json told = run.result();
  EXPECT_EQ(told["value"], 4);
  EXPECT_EQ(told["operations"], 3);
  EXPECT_EQ(told["operation"]["index"], 1);
  EXPECT_EQ(told["at"]["event"], 7);  // the third fence of the second insert
}

TEST(OperationMeter, LocksAndLockedInstructionsAreNoSfences) {
  Metered run(std::vector<Json>{measure("sfences", "insert", "<=", 2), measure("fences", "insert", "<=", 2)});
  run.begin(OpKind::kInsert);
  for (FenceKind kind : {FenceKind::kSfence, FenceKind::kMfence, FenceKind::kRmw, FenceKind::kLock}) run.fence(kind);
  run.end();
  EXPECT_EQ(run.result(0)["value"], 2);
  EXPECT_EQ(run.result(1)["value"], 4);
}

TEST(OperationMeter, OtherOperationsAndPhasesAreNotMeasured) {
  Metered run(std::vector<Json>{measure("stores", "insert", "<=", 0)});
  run.begin(OpKind::kUpdate);
  run.store(0, 8);
  run.end();
  run.phase(false);
  run.begin(OpKind::kInsert);
  run.store(0, 8);
  run.end();
  EXPECT_TRUE(run.result()["value"].is_null());
  EXPECT_EQ(run.result()["operations"], 0);
}

TEST(OperationMeter, AnOperationThatWasCutIsNotMeasured) {
  Metered run(std::vector<Json>{measure("stores", "insert", "<=", 0)});
  run.begin(OpKind::kInsert);
  run.store(0, 8);
  run.cut();
  EXPECT_EQ(run.result()["operations"], 0);
}

TEST(OperationMeter, MarksKeepAndLeaveOut) {
  Metered run(std::vector<Json>{measure("stores", "insert", "<=", 0, {{"when", {"move.*", "done"}}}),
                                measure("stores", "insert", "<=", 0, {{"unless", {"move.*"}}})});
  for (const auto& marks : std::vector<std::vector<std::string>>{{}, {"move.top"}, {"move.top", "done"}}) {
    run.begin(OpKind::kInsert);
    for (const std::string& mark : marks) run.mark(mark);
    for (size_t i = 0; i <= marks.size(); ++i) run.store(8 * i, 8);
    run.end();
  }
  EXPECT_EQ(run.result(0)["operations"], 1);
  EXPECT_EQ(run.result(0)["value"], 3);
  EXPECT_EQ(run.result(1)["operations"], 1);
  EXPECT_EQ(run.result(1)["value"], 1);
}

TEST(OperationMeter, SelectedStoresAreThoseWithTheFrameInTheirStack) {
  const Json selector = {{"frames", {{0, 101}}}, {"marks", Json::array()}};
  const Json by = {{"quantity", {{"selector", 0}}}};
  Metered run(std::vector<Json>{measure("stores", "", "<=", 0, by), measure("widest", "", "<=", 8, by)}, {selector});
  run.begin(OpKind::kInsert);
  run.store(0, 64, 0);
  run.store(64, 2, 1);
  run.store(64, 16, 1);
  run.end();
  EXPECT_EQ(run.result(0)["value"], 2);
  EXPECT_EQ(run.result(1)["value"], 16);
  EXPECT_EQ(run.result(1)["at"]["event"], 3);
  EXPECT_EQ(run.result(1)["at"]["stack"], Json::parse("[[0, 101]]"));
}

TEST(OperationMeter, TheWidestOfNoStoresSaysNothing) {
  const Json selector = {{"frames", {{0, 101}}}, {"marks", Json::array()}};
  Metered run(std::vector<Json>{measure("widest", "", "<=", 8, {{"quantity", {{"selector", 0}}}})}, {selector});
  run.begin(OpKind::kInsert);
  run.store(0, 64, 0);
  run.end();
  EXPECT_TRUE(run.result()["value"].is_null());
}

TEST(OperationMeter, ItemsAreThoseOfTheTableWhenTheOperationBegins) {
  const Json selector = {{"frames", Json::array()}, {"marks", {"rehash.copied"}}};
  const Json more = {{"quantity", {{"selector", 0}, {"command", "expand"}}},
                     {"per", {{"metric", "items"}, {"operation", "maintain"}, {"command", "expand"}}}};
  Metered run(std::vector<Json>{measure("marks", "maintain", "<=", 0.34, more)}, {selector});
  for (const char* key : {"a", "b", "c", "d"}) {
    run.begin(OpKind::kInsert, key);
    run.end();
  }
  run.begin(OpKind::kInsert, "a");
  run.end(POWERCUT_EXISTS);
  run.begin(OpKind::kErase, "d");
  run.end();
  run.begin(OpKind::kInsert, "e");  // a cut takes it, and a lookup finds it even so
  run.cut();
  run.begin(OpKind::kLookup, "e");
  run.end();
  run.begin(OpKind::kMaintain, "", "shrink");
  run.mark("rehash.copied");
  run.end();
  run.begin(OpKind::kMaintain, "", "expand");
  run.store(0, 8, 2);
  run.mark("rehash.copied");
  run.end();
  const Json told = run.result();
  EXPECT_EQ(told["value"], 0.25);
  EXPECT_EQ(told["operation"]["text"], "expand");
  EXPECT_EQ(told["at"]["stack"], Json::parse("[[0, 102]]"));  // a mark has no place: the store before it
}

TEST(OperationMeter, AMeanIsOverAllOperations) {
  Metered run(std::vector<Json>{measure("stores", "insert", "<=", 1, {{"mean", true}}),
                                measure("stores", "insert", "<=", 1,
                                        {{"mean", true}, {"per", {{"metric", "stores"}, {"operation", "update"}}}})});
  for (int stores : {1, 2, 6}) {
    run.begin(OpKind::kInsert);
    for (int i = 0; i < stores; ++i) run.store(0, 8);
    run.end();
  }
  run.begin(OpKind::kUpdate);
  run.store(0, 8);
  run.store(0, 8);
  run.end();
  EXPECT_EQ(run.result(0)["value"], 3);
  EXPECT_EQ(run.result(0)["operation"]["index"], 2);
  EXPECT_EQ(run.result(1)["value"], 1.5);
}

TEST(OperationMeter, LinesReadAreWhatSomebodyCounted) {
  const std::vector<uint32_t> loads = {3, 9, 4};
  for (const std::vector<uint32_t>* given : {&loads, static_cast<const std::vector<uint32_t>*>(nullptr)}) {
    Metered run(std::vector<Json>{measure("lines_read", "lookup", "<=", 4)}, {}, given);
    for (int i = 0; i < 3; ++i) {
      run.begin(OpKind::kLookup, "a");
      run.end();
    }
    EXPECT_EQ(run.result()["value"].is_null(), given == nullptr);
    EXPECT_EQ(run.result()["unknown"].is_null(), given != nullptr);
    if (given == nullptr) continue;
    EXPECT_EQ(run.result()["value"], 9);
    EXPECT_EQ(run.result()["operation"]["index"], 1);
  }
}

TEST(OperationMeter, ThreadsCountForTheirOwnOperation) {
  Metered run(std::vector<Json>{measure("lines", "insert", "<=", 1)});
  run.begin(OpKind::kInsert, "", "", 1);
  run.begin(OpKind::kUpdate, "", "", 2);
  run.store(0, 8, 0, 1);
  run.store(4096, 8, 0, 2);
  run.store(60, 8, 0, 1);
  run.end(POWERCUT_OK, 2);
  run.end(POWERCUT_OK, 1);
  EXPECT_EQ(run.result()["value"], 2);
}

TEST(OperationMeter, ABadRequestIsAUsageError) {
  TemporaryFolder folder;
  for (const char* text : {"", "[]", R"({"selectors": [], "measures": [{"id": 0}]})",
                           R"({"selectors": [], "measures": [{"id": 0, "quantity": {"metric": "fense"},
                               "comparison": "<=", "number": 1}]})",
                           R"({"selectors": [], "measures": [{"id": 0, "quantity": {"metric": "stores", "selector": 0},
                               "comparison": "<=", "number": 1}]})"}) {
    testing::write_file(folder.file("request.json"), text);
    EXPECT_FALSE(parse_measure_request(folder.file("request.json")).ok()) << text;
  }
}

TEST(MeasureRequest, WhatDoesNotFitIsRefusedWithItsPlace) {
  const TemporaryFolder folder;
  const auto refusal = [&folder](const std::string& text) {
    testing::write_file(folder.file("request.json"), text);
    const auto request = parse_measure_request(folder.file("request.json"));
    return request.ok() ? "accepted" : request.error().message();
  };
  const std::string measure =
      R"("measures": [{"id": 0, "quantity": {"metric": "fences", "selector": S}, "comparison": "<=", "number": 2}])";
  const auto with = [&measure](const std::string& selectors, const std::string& selector) {
    std::string text = "{\"selectors\": [" + selectors + "], " + measure + "}";
    return text.replace(text.find("S}"), 1, selector);
  };
  EXPECT_EQ(refusal(with("", "-1")), "accepted");
  EXPECT_EQ(refusal(with(R"({"frames": [[0, 1]], "marks": []})", "0")), "accepted");
  EXPECT_THAT(refusal("{"), ::testing::HasSubstr("not JSON"));
  EXPECT_THAT(refusal(with("", "0")), ::testing::HasSubstr("measures[0].quantity.selector"));
  EXPECT_THAT(refusal(with("", "1e308")), ::testing::HasSubstr("measures[0].quantity.selector"));
  EXPECT_THAT(refusal(with(R"({"frames": [[1e308, 1]], "marks": []})", "0")),
              ::testing::HasSubstr("selectors[0].frames"));
  EXPECT_THAT(refusal(with(R"({"frames": []})", "0")), ::testing::HasSubstr("selectors[0].marks"));
}

}  // namespace
}  // namespace powercut
