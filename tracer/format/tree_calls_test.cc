#include "tracer/format/tree_calls.h"

#include <gtest/gtest.h>

#include "tracer/format/layout.h"
#include "tracer/format/test_events.h"

namespace powercut {
namespace {

using testing::kStacks;
using testing::OwnedEvent;
using testing::write;

// One call of each kind, with a value in each field that the kind has.
std::vector<OwnedEvent> every_call() {
  std::vector<OwnedEvent> out;
  for (uint8_t code = 0; code <= static_cast<uint8_t>(kLastTreeCall); ++code) {
    OwnedEvent call;
    call.kind = kTreeCall;
    call.code = code;
    call.thread = 2;
    call.stack = 1;
    call.text = "pwrite64";
    for (const TreeField field : fields_of(static_cast<TreeCall>(code))) {
      if (field == TreeField::kInode) call.pool = uint64_t{1} << 40;
      if (field == TreeField::kFlags) call.flags = 0x14;
      if (field == TreeField::kPlace) call.addr = uint64_t{1} << 50;
      if (field == TreeField::kSize) call.size = 77;
      if (field == TreeField::kName) call.key = {0xff, '/', 0, 'x'};
      if (field == TreeField::kValue) call.value.assign(layout::kMaxOperationBytes, code);
    }
    if (has_bytes(static_cast<TreeCall>(code))) call.size = call.value.size();
    out.push_back(call);
  }
  return out;
}

TEST(Format, CallsOnTreesComeBackAsTheyWere) {
  const std::vector<OwnedEvent> written = every_call();
  const std::vector<uint8_t> bytes = write(written, "{}", kStacks);
  TraceError error;
  const auto reader = TraceReader::open_bytes(bytes, "run.pct", &error);
  ASSERT_NE(reader, nullptr) << error.message();
  reader->take_tree_calls();
  const auto back = testing::read_all(*reader);
  EXPECT_TRUE(back.complete) << back.error.message();
  EXPECT_EQ(back.events, written);
  EXPECT_EQ(reader->total_events(), written.size());
}

TEST(Format, CallsOnTreesAreRefusedWhereNobodyAskedForThem) {
  const auto back = testing::read_bytes(write(every_call(), "{}", kStacks));
  EXPECT_FALSE(back.complete);
  EXPECT_NE(back.error.message().find("recording of a folder"), std::string::npos) << back.error.message();
}

TEST(Format, AWriteToATreeDoesNotWrapAroundItsFile) {
  std::vector<OwnedEvent> calls = every_call();
  OwnedEvent& call = calls[static_cast<size_t>(TreeCall::kWrite)];
  call.addr = ~uint64_t{0} - 5;
  const std::vector<uint8_t> bytes = write({call}, "{}", kStacks);
  TraceError error;
  const auto reader = TraceReader::open_bytes(bytes, "run.pct", &error);
  reader->take_tree_calls();
  const auto back = testing::read_all(*reader);
  EXPECT_FALSE(back.complete);
  EXPECT_NE(back.error.message().find("wraps around"), std::string::npos);
}

}  // namespace
}  // namespace powercut
