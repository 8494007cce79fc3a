// log → trace → log, over generated logs: with and without stacks, and with markers.
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "tracer/pmemcheck/test_logs.h"

namespace powercut::pmemcheck {
namespace {

using powercut::testing::OwnedEvent;
using testing::events_of;
using testing::export_trace;
using testing::exported;
using testing::Folder;
using ::testing::HasSubstr;
using testing::import_text;

constexpr uint64_t kBase = 0x5400000, kSize = 0x3000;

// Returns the normal form of a log: one entry a line, flushes line by line, wide stores word by word, numbers without
// leading zeros. Most generated entries have this form already, since pmemcheck itself writes it.
std::string store(bool stacks) {
  const uint64_t size = *rc::gen::element<uint64_t>(1, 2, 4, 8);
  const uint64_t address = kBase + *rc::gen::inRange<uint64_t>(0, kSize - 8) / size * size;
  const uint64_t mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << size * 8) - 1;
  const uint64_t value = *rc::gen::arbitrary<uint64_t>() & mask;
  std::string text = absl::StrCat("|STORE;0x", absl::Hex(address), ";0x", absl::Hex(value), ";0x", absl::Hex(size));
  if (!stacks) return text;
  for (int depth = *rc::gen::inRange(0, 4); depth > 0; --depth) {
    const uint64_t place = *rc::gen::inRange<uint64_t>(1, 40);
    absl::StrAppend(&text, ";0x", absl::Hex(0x401000 + place * 7), ": f", place, "(int) (a.c:", place, ")");
  }
  return text;
}

std::string flush() {
  return absl::StrCat("|FLUSH;0x", absl::Hex(kBase + *rc::gen::inRange<uint64_t>(0, kSize / 64) * 64), ";0x40");
}

std::string generated(bool stacks, bool markers) {
  std::string log = absl::StrCat("START|REGISTER_FILE;/mnt/pool;0x", absl::Hex(kBase), ";0x", absl::Hex(kSize), ";0x0");
  int open = 0;
  for (int left = *rc::gen::inRange(0, 120); left > 0; --left) {
    const int kind = *rc::gen::inRange(0, markers ? 12 : 9);
    if (kind < 4) {
      log += store(stacks);
    } else if (kind < 7) {
      log += flush();
    } else if (kind < 9) {
      log += "|FENCE";
    } else if (kind < 11) {
      log += absl::StrCat("|m", open++, ".BEGIN");
    } else if (open > 0) {
      log += absl::StrCat("|m", --open, ".END");
    }
  }
  return log + "|STOP\n";
}

RC_GTEST_PROP(RoundTrip, LogToTraceToLog, (bool stacks, bool markers)) {
  const Folder folder;
  const std::string log = generated(stacks, markers);
  const auto done = import_text(folder, log);
  RC_ASSERT(std::holds_alternative<ImportResult>(done));
  RC_ASSERT(exported(folder) == log);
  // The exported log, imported once more, gives the same trace.
  const auto first = events_of(folder.file("trace"));
  RC_ASSERT(std::holds_alternative<ImportResult>(import_text(folder, exported(folder))));
  RC_ASSERT(events_of(folder.file("trace")) == first);
}

RC_GTEST_PROP(RoundTrip, StacksCanBeLeftOut, ()) {
  const Folder folder;
  const std::string log = generated(true, true);
  RC_ASSERT(std::holds_alternative<ImportResult>(import_text(folder, log)));
  std::string bare;
  std::istringstream entries(log);
  for (std::string entry; std::getline(entries, entry, '|');) {
    size_t end = std::string::npos;
    if (entry.starts_with("STORE;")) {
      end = 0;
      for (int field = 0; field < 4 && end != std::string::npos; ++field) end = entry.find(';', end + 1);
    }
    bare += (bare.empty() ? "" : "|") + entry.substr(0, end);
  }
  RC_ASSERT(exported(folder, false) == bare);
}

// Entries that pmemcheck may write in another form: ranges, wide values, markers that pmreorder refuses.
TEST(RoundTrip, OtherFormsBecomeTheNormalForm) {
  const Folder folder;
  ASSERT_TRUE(std::holds_alternative<ImportResult>(
      import_text(folder,
                  "START|REGISTER_FILE;/mnt/pool;0x5400000;0x3000;0x0|STORE;0x5400004;0x00ff00112233445566778899;0xc"
                  "|FLUSH;0x5400010;0x40|FREORDER|x.END|STOP\n")));
  const std::string normal =
      "START|REGISTER_FILE;/mnt/pool;0x5400000;0x3000;0x0|STORE;0x5400004;0x66778899;0x4"
      "|STORE;0x5400008;0xff001122334455;0x8|FLUSH;0x5400000;0x40|FLUSH;0x5400040;0x40"
      "|powercut:FREORDER.BEGIN|powercut:FREORDER.END|powercut:x.END.BEGIN|powercut:x.END.END|STOP\n";
  EXPECT_EQ(exported(folder), normal);
  ASSERT_TRUE(std::holds_alternative<ImportResult>(import_text(folder, normal)));
  EXPECT_EQ(exported(folder), normal);
  EXPECT_EQ(events_of(folder.file("trace")).back().text, "x.END");
}

class ExportTest : public ::testing::Test {
 protected:
  // Writes a trace with these events, of two pools.
  void trace(const std::vector<OwnedEvent>& events,
             const std::string& metadata =
                 R"({"program": {"pools": [{"path": "/a/pool", "offset": 0, "size": 8192, "address": 65536},)"
                 R"({"path": "/b/pool", "offset": 8192, "size": 100, "address": 1048576}]}})") {
    TraceError error;
    auto writer = TraceWriter::create(folder_.file("trace"), metadata, &error);
    ASSERT_NE(writer, nullptr) << error.message();
    writer->stack(std::vector<Frame>{{writer->module({"/bin/prog", "00"}), 0x1234}});
    for (const OwnedEvent& event : events) writer->append(event.view());
    ASSERT_FALSE(writer->finish());
  }
  static OwnedEvent bytes(uint64_t addr, std::vector<uint8_t> value, EventKind kind = EventKind::kStore) {
    OwnedEvent event = simple(kind, 0, addr);
    event.stack = 1;
    event.value = std::move(value);
    return event;
  }
  static OwnedEvent simple(EventKind kind, uint8_t code = 0, uint64_t addr = 0, uint32_t thread = 0) {
    OwnedEvent event;
    event.kind = kind;
    event.code = code;
    event.thread = thread;
    event.addr = addr;
    return event;
  }

  const std::string files_ = "START|REGISTER_FILE;/a/pool;0x10000;0x2000;0x0|REGISTER_FILE;/b/pool;0x100000;0x64;0x0";
  Folder folder_;
};

TEST_F(ExportTest, MetadataThatDoNotFitAreRefusedWithTheirPlace) {
  trace({}, R"({"pool": {"size": 1e308, "base": 0}})");
  EXPECT_THAT(exported(folder_), HasSubstr("pool.size: this must be a natural number"));
  trace({}, R"({"pool": {"size": 4096}})");
  EXPECT_THAT(exported(folder_), HasSubstr("pool.base: this field is missing"));
  trace({}, R"({"program": {"pools": [{"path": "/a", "offset": 0, "size": -1, "address": 0}]}})");
  EXPECT_THAT(exported(folder_), HasSubstr("program.pools[0].size: this must be a natural number"));
  trace({}, R"({"program": []})");
  EXPECT_THAT(exported(folder_), HasSubstr("program.pools: this field is missing"));
  trace({}, R"({"pool": {"size": 18446744073709551615, "base": 0}})");
  EXPECT_THAT(exported(folder_), HasSubstr("lies where none can"));
}

TEST_F(ExportTest, EveryKindOfEvent) {
  trace({bytes(8, {1}), simple(EventKind::kFlush, 2, 8), simple(EventKind::kFence, 3),
         bytes(64, {2, 3}, EventKind::kNtStore), simple(EventKind::kFlush, 3, 127),
         simple(EventKind::kOpBegin, static_cast<uint8_t>(OpKind::kInsert)), simple(EventKind::kAllocate),
         bytes(8192, {5}), simple(EventKind::kOpBegin, static_cast<uint8_t>(OpKind::kErase), 0, 1),
         simple(EventKind::kOpEnd), simple(EventKind::kOpEnd, 0, 0, 1), simple(EventKind::kCut),
         simple(EventKind::kCut)});
  EXPECT_EQ(exported(folder_, false),
            files_ +
                "|STORE;0x10008;0x1;0x1|FLUSH;0x10000;0x40|FENCE|STORE;0x10040;0x302;0x2|FLUSH;0x10040;0x2"
                "|FLUSH;0x10040;0x40|FENCE|insert.BEGIN|STORE;0x100000;0x5;0x1|erase.BEGIN|erase.END"
                "|FLUSH;0x10000;0x40|FLUSH;0x10040;0x40|FLUSH;0x100000;0x40|FENCE|STOP\n");
}

TEST_F(ExportTest, StacksAreNamedByModuleOrByText) {
  trace({bytes(0, {1}, EventKind::kStore)});
  EXPECT_EQ(exported(folder_), files_ + "|STORE;0x10000;0x1;0x1;0x1234: ??? (in /bin/prog)|STOP\n");
  const auto done = export_trace({.trace = folder_.file("trace"),
                                  .log = folder_.file("exported"),
                                  .texts = {{{0, 0x1234}, {"inner (a.h:1)", "operator| (b.cc:2)"}}}});
  ASSERT_TRUE(std::holds_alternative<ExportResult>(done));
  EXPECT_EQ(testing::read(folder_.file("exported")),
            files_ + "|STORE;0x10000;0x1;0x1;0x1234: inner (a.h:1);0x1234: operator_ (b.cc:2)|STOP\n");
}

TEST_F(ExportTest, ContentFromBeforeTheRunGoesIntoFiles) {
  const OwnedEvent content = bytes(8192 + 10, std::vector<uint8_t>(4096, 7));
  trace({content, simple(EventKind::kCut), simple(EventKind::kPhase, 1), bytes(1, {9})});
  ExportOptions options{.trace = folder_.file("trace"),
                        .log = folder_.file("exported"),
                        .stacks = false,
                        .pool_folder = folder_.file("pools")};
  const auto done = export_trace(options);
  ASSERT_TRUE(std::holds_alternative<ExportResult>(done)) << std::get<TraceError>(done).message();
  EXPECT_EQ(std::get<ExportResult>(done).content_bytes, 4096u);
  EXPECT_EQ(testing::read(folder_.file("pools/pool")), std::string(8192, '\0'));
  // The file goes up to a whole page, which pmreorder asks for.
  EXPECT_EQ(testing::read(folder_.file("pools/pool.2")),
            std::string(10, '\0') + std::string(90, 7) + std::string(4096 - 100, '\0'));
  EXPECT_EQ(testing::read(folder_.file("exported")),
            "START|REGISTER_FILE;" + folder_.file("pools/pool") + ";0x10000;0x2000;0x0|REGISTER_FILE;" +
                folder_.file("pools/pool.2") + ";0x100000;0x64;0x0|STORE;0x10001;0x9;0x1|STOP\n");
  // No file is ever overwritten, and a failed export removes its own files.
  std::filesystem::remove(folder_.file("pools/pool"));
  const auto again = export_trace(options);
  ASSERT_TRUE(std::holds_alternative<TraceError>(again));
  EXPECT_EQ(std::get<TraceError>(again).where, folder_.file("pools/pool.2"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("pools/pool")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("pools/pool.2")));
}

TEST_F(ExportTest, UnalignedStoresAreTornWhereHardwareTearsThem) {
  trace({bytes(61, {1, 2, 3, 4, 5})});
  EXPECT_EQ(exported(folder_, false), files_ + "|STORE;0x1003d;0x30201;0x3|STORE;0x10040;0x504;0x2|STOP\n");
}

// Two pools were mapped at the same place one after the other; a third pool was never mapped.
TEST_F(ExportTest, PoolsThatSharedAnAddressAreToldApart) {
  TraceError error;
  const std::string metadata = R"({"program": {"pools": [{"path": "/a", "offset": 0, "size": 4096, "address": 65536},)"
                               R"({"path": "/b", "offset": 4096, "size": 4096, "address": 69000},)"
                               R"({"path": "/c", "offset": 8192, "size": 100, "address": 0}]}})";
  auto writer = TraceWriter::create(folder_.file("trace"), metadata, &error);
  ASSERT_NE(writer, nullptr) << error.message();
  for (uint64_t pool = 0; pool < 3; ++pool) {
    OwnedEvent event = bytes(pool * 4096, {1});
    event.stack = 0;
    writer->append(event.view());
  }
  ASSERT_FALSE(writer->finish());
  EXPECT_EQ(
      exported(folder_),
      "START|REGISTER_FILE;/a;0x10000;0x1000;0x0|REGISTER_FILE;/b;0x12000;0x1000;0x0|REGISTER_FILE;/c;0x13000;0x64;0x0"
      "|STORE;0x10000;0x1;0x1|STORE;0x12000;0x1;0x1|STORE;0x13000;0x1;0x1|STOP\n");
}

TEST_F(ExportTest, WhatCannotBeWrittenIsRefused) {
  trace({bytes(8190, {1, 2, 3, 4})});
  EXPECT_NE(exported(folder_).find("event 0 stores 4 bytes at offset 0x1ffe, outside every pool"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("exported")));
  EXPECT_EQ(folder_.files(), 1u);
}

}  // namespace
}  // namespace powercut::pmemcheck
