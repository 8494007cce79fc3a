// The meaning of an entry, wrapped and interrupted logs, and the refusal of bad logs.
#include "tracer/pmemcheck/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tracer/pmemcheck/frames.h"
#include "tracer/pmemcheck/pools.h"
#include "tracer/pmemcheck/sections.h"
#include "tracer/pmemcheck/test_logs.h"

namespace powercut::pmemcheck {
namespace {

using ::testing::ElementsAre;
using testing::events_of;
using testing::Folder;
using ::testing::HasSubstr;
using testing::import_text;
using ::testing::IsEmpty;
using testing::refusal;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kFile[] = "|REGISTER_FILE;/mnt/pool;0x5400000;0x2000;0x0";

std::string log_of(const std::string& entries) { return std::string("START") + kFile + entries + "|STOP\n"; }

TEST(Log, EntriesBecomeEvents) {
  const Folder folder;
  const auto done = import_text(folder, log_of("|STORE;0x5400041;0x1234;0x4|FLUSH;0x540003f;0x2|FENCE|work.BEGIN"));
  ASSERT_TRUE(std::holds_alternative<ImportResult>(done)) << std::get<TraceError>(done).message();
  const auto events = events_of(folder.file("trace"));
  ASSERT_THAT(events, SizeIs(7));
  EXPECT_EQ(events[0].kind, EventKind::kCut);
  EXPECT_EQ(events[1].kind, EventKind::kPhase);
  EXPECT_EQ(events[1].code, 1);
  EXPECT_EQ(events[2].kind, EventKind::kStore);
  EXPECT_EQ(events[2].addr, 0x41u);
  // The lowest byte of the number lies at the lowest address.
  EXPECT_THAT(events[2].value, ElementsAre(0x34, 0x12, 0, 0));
  // Two bytes that lie in two lines.
  EXPECT_EQ(events[3].kind, EventKind::kFlush);
  EXPECT_EQ(events[3].addr, 0u);
  EXPECT_EQ(events[3].code, static_cast<uint8_t>(FlushKind::kClwb));
  EXPECT_EQ(events[4].addr, 0x40u);
  EXPECT_EQ(events[5].kind, EventKind::kFence);
  EXPECT_EQ(events[5].code, static_cast<uint8_t>(FenceKind::kSfence));
  EXPECT_EQ(events[6].kind, EventKind::kMarker);
  EXPECT_EQ(events[6].text, "work.BEGIN");
}

// The expected log of pmemcheck's own tests, from the days of pcommit.
TEST(Log, OldMarkersAreMarkers) {
  const Folder folder;
  const auto done = import_text(
      folder, log_of("|STORE;0x5400000;0x1;0x1|FLUSH;0x5400000;0x40|FENCE|COMMIT|FREORDER|FAULT_ONLY|PREORDER"
                     "|NO_REORDER_FAULT"));
  ASSERT_TRUE(std::holds_alternative<ImportResult>(done)) << std::get<TraceError>(done).message();
  EXPECT_EQ(std::get<ImportResult>(done).markers, 5u);
}

TEST(Log, ValgrindsMessagesAndLineBreaksAreNoEntries) {
  const std::string plain = log_of("|STORE;0x5400040;0x7;0x8|FENCE");
  const std::string noisy = std::string("==12== pmemcheck-1.0, a simple persistent store checker\n==12== \n") +
                            "START" + kFile + "|STORE;0x5400040;==12== Unable to trace store\n0x7\n;0x8\n" +
                            "==12== |FENCE==12== \n--12-- warning\n|STOP\n==12== Number of stores: 0\n" +
                            "==12== ERROR SUMMARY: 0 errors|x\n";
  const Folder a, b;
  ASSERT_TRUE(std::holds_alternative<ImportResult>(import_text(a, plain)));
  const auto done = import_text(b, noisy);
  ASSERT_TRUE(std::holds_alternative<ImportResult>(done)) << std::get<TraceError>(done).message();
  EXPECT_EQ(events_of(a.file("trace")), events_of(b.file("trace")));
}

TEST(Log, WideStoresAndPathsWithSemicolons) {
  const Folder folder;
  const std::string log =
      "START|REGISTER_FILE;/mnt/a;b=0x1;0x1000;0x1000;0x0|STORE;0x1ff8;0xffeeddccbbaa99887766554433221100;0x10|STOP\n";
  const auto done = import_text(folder, log);
  ASSERT_TRUE(std::holds_alternative<ImportResult>(done)) << std::get<TraceError>(done).message();
  EXPECT_EQ(std::get<ImportResult>(done).pools[0].path, "/mnt/a;b=0x1");
  const auto events = events_of(folder.file("trace"));
  // Half of the entry lies behind the mapping.
  EXPECT_THAT(events.back().value, ElementsAre(0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77));
}

TEST(Log, ALaterMappingReplacesAnEarlierOne) {
  const Folder folder;
  // libpmemobj maps the header of a pool first and then the whole pool elsewhere; the old place is reused.
  const std::string log =
      "START|REGISTER_FILE;/mnt/a;0x10000;0x1000;0x0|STORE;0x10000;0x1;0x1|REGISTER_FILE;/mnt/a;0x80000;0x4000;0x0"
      "|REGISTER_FILE;/mnt/b;0x10800;0x1000;0x800|STORE;0x82000;0x2;0x1|STORE;0x10000;0x3;0x1|STORE;0x10800;0x4;0x1"
      "|STORE;0x90000;0x5;0x1|STOP\n";
  const auto done = import_text(folder, log);
  ASSERT_TRUE(std::holds_alternative<ImportResult>(done)) << std::get<TraceError>(done).message();
  const ImportResult& result = std::get<ImportResult>(done);
  ASSERT_THAT(result.pools, SizeIs(2));
  EXPECT_EQ(result.pools[0].address, 0x80000u);
  EXPECT_EQ(result.pools[1].offset, 0x4000u);
  EXPECT_EQ(result.pools[1].address, 0x10000u);
  EXPECT_EQ(result.stores_outside, 1u);
  const auto events = events_of(folder.file("trace"));
  ASSERT_THAT(events, SizeIs(6));
  EXPECT_EQ(events[2].addr, 0u);
  EXPECT_EQ(events[3].addr, 0x2000u);
  EXPECT_EQ(events[4].addr, 0u);  // the rest of the header's mapping
  EXPECT_EQ(events[5].addr, 0x4800u);
}

TEST(Log, FlushesOfEverythingWriteBackWhatWasStored) {
  const Folder folder;
  const std::string log =
      "START|REGISTER_FILE;/mnt/a;0x100000;0x40000000;0x0|STORE;0x100000;0x1;0x1|STORE;0x20003f;0x1;0x2"
      "|FLUSH;0x100000;0x40000000|FLUSH;0xfffffffffffffff0;0xffffffffffffffff|FLUSH;0x100000;0x0|STOP\n";
  const auto done = import_text(folder, log);
  ASSERT_TRUE(std::holds_alternative<ImportResult>(done)) << std::get<TraceError>(done).message();
  EXPECT_EQ(std::get<ImportResult>(done).flushes_outside, 1u);
  EXPECT_EQ(std::get<ImportResult>(done).events, 2u + 2 + 3);
}

TEST(Log, SnapshotsComeFirst) {
  const Folder folder;
  testing::write(folder.file("log"), log_of("|FENCE"));
  std::string content(10000, '\0');
  content[9000] = 'x';
  testing::write(folder.file("before"), content);
  ImportOptions options{.log = folder.file("log"), .trace = folder.file("trace")};
  options.snapshots = {{"/mnt/pool", folder.file("before")}};
  const auto done = import_log(options);
  ASSERT_TRUE(std::holds_alternative<ImportResult>(done)) << std::get<TraceError>(done).message();
  EXPECT_EQ(std::get<ImportResult>(done).pools[0].size, 10000u);
  const auto events = events_of(folder.file("trace"));
  EXPECT_EQ(events[0].kind, EventKind::kStore);
  EXPECT_EQ(events[0].addr, 8192u);
  EXPECT_EQ(events[0].value.size(), 13u * 64);  // to the end of the line with the x: zeros follow
  EXPECT_EQ(events[1].kind, EventKind::kCut);
  options.snapshots = {{"/mnt/other", folder.file("before")}};
  EXPECT_THAT(std::get<TraceError>(import_log(options)).message(),
              HasSubstr("the log registers no file '/mnt/other'. It registers /mnt/pool."));
}

TEST(Log, BadLogsAreRefusedWithTheirPlace) {
  EXPECT_THAT(refusal("hello\n"), HasSubstr("no START in it"));
  EXPECT_THAT(refusal(""), HasSubstr("no START in it"));
  EXPECT_THAT(refusal("START"), HasSubstr("cut short"));
  EXPECT_THAT(refusal("START|STOP\n"), HasSubstr("no REGISTER_FILE"));
  EXPECT_THAT(refusal(log_of("|STORE;0x5400000;0x1;0x1").substr(0, 70)), HasSubstr("no STOP after 1 whole entry"));
  EXPECT_THAT(refusal(log_of("|FENCE\n|\nFLUSH;0x1;zero")), StartsWith("log:2:2: 'FLUSH;0x1;zero' is not FLUSH"));
  EXPECT_THAT(refusal(log_of("|FENCE;0x1")), HasSubstr("unknown entry 'FENCE;0x1'"));
  EXPECT_THAT(refusal(log_of("|HELLO")), StartsWith("log:1:52: unknown entry 'HELLO'"));
  EXPECT_THAT(refusal(log_of("|.BEGIN")), HasSubstr("unknown entry '.BEGIN'"));
  EXPECT_THAT(refusal(log_of("|STORE;0x5400000;0x100;0x1")), HasSubstr("0x100 does not fit into 1 bytes"));
  EXPECT_THAT(refusal(log_of("|STORE;0x5400000;0x0;0x0")), HasSubstr("a store of 0x0 bytes"));
  EXPECT_THAT(refusal(log_of("|STORE;0xffffffffffffffff;0x0;0x2")), HasSubstr("a store of 0x2 bytes"));
  EXPECT_THAT(refusal(log_of("|STORE;0x54000000000000000;0x0;0x2")), HasSubstr("is not STORE;"));
  EXPECT_THAT(refusal(log_of("|REGISTER_FILE;/x;0x64;0x800;0x0")), HasSubstr("splits cache lines"));
  EXPECT_THAT(refusal(log_of("|REGISTER_FILE;/x;0x40;0x0;0x0")), HasSubstr("a mapping of 0x0 bytes"));
  EXPECT_THAT(refusal(log_of("|REGISTER_FILE;;0x40;0x0;0x0")), HasSubstr("is not REGISTER_FILE;"));
  EXPECT_THAT(refusal(log_of("|REGISTER_FILE;/\xff;0x40;0x40;0x0")), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal(log_of("") + log_of("")), "");  // text after STOP belongs to somebody else
  EXPECT_THAT(refusal(std::string("START") + kFile + log_of("")), HasSubstr("is not REGISTER_FILE;"));
  EXPECT_THAT(refusal(std::string("START") + kFile + "|" + log_of("")), HasSubstr("a second START"));
  EXPECT_THAT(refusal(log_of("|" + std::string(5000, 'm') + ".BEGIN")), HasSubstr("a marker of more than 4096"));
  EXPECT_THAT(refusal(log_of("|" + std::string(kMaxEntry + 1, 'm'))), HasSubstr("an entry of more than 1048576"));
}

// The piece is compared with a look at one byte after the other.
TEST(AddressSpace, LaterMappingsReplaceEarlier) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    AddressSpace space;
    std::map<uint64_t, uint64_t> expected;
    for (uint64_t target = 1000; target < 7000; target += 1000) {
      const uint64_t address = random() % 40, size = 1 + random() % 20;
      space.map(address, size, target);
      for (uint64_t i = 0; i < size; ++i) expected[address + i] = target + i;
    }
    for (uint64_t address = 0; address < 70;) {
      const AddressSpace::Piece piece = space.piece(address, 70 - address);
      ASSERT_GT(piece.size, 0u);
      for (uint64_t i = 0; i < piece.size; ++i) {
        const auto byte = expected.find(address + i);
        ASSERT_EQ(piece.offset.has_value(), byte != expected.end());
        if (piece.offset) ASSERT_EQ(*piece.offset + i, byte->second);
      }
      address += piece.size;
    }
  }
}

TEST(Frames, TextAndBack) {
  EXPECT_THAT(frames_in("0x4011A6: main (a.c:9)"), ElementsAre(std::pair(0x4011a6, "main (a.c:9)")));
  EXPECT_THAT(frames_in("0x1: in (a.h:3)0x1: f(int) (b.c:4)"),
              ElementsAre(std::pair(1, "in (a.h:3)"), std::pair(1, "f(int) (b.c:4)")));
  EXPECT_THAT(frames_in("0x2: ??? (in /tmp/a)0x3)"), ElementsAre(std::pair(2, "??? (in /tmp/a)0x3)")));
  EXPECT_THAT(frames_in("nothing known"), ElementsAre(std::pair(0, "nothing known")));
  EXPECT_THAT(frames_in(""), IsEmpty());
  EXPECT_EQ(frame_text("pmemcheck:main (a.c:9)", 0x4011a6), "0x4011a6: main (a.c:9)");
  EXPECT_EQ(frame_text("pmemcheck:nothing known", 0), "nothing known");
  EXPECT_EQ(frame_text("/usr/lib/libx.so", 0x10), "0x10: ??? (in /usr/lib/libx.so)");
  EXPECT_EQ(field_text("operator|(A;B) RESTART_STARTED\n"), "operator_(A_B) REstart_startED_");
}

TEST(Sections, OnlyWhatNestsIsWrittenAsItIs) {
  Sections sections;
  EXPECT_EQ(sections.marker("a.BEGIN"), "|a.BEGIN");
  EXPECT_EQ(sections.begin("insert"), "|insert.BEGIN");
  EXPECT_EQ(sections.marker("a.END"), "|powercut:a.END.BEGIN|powercut:a.END.END");
  EXPECT_EQ(sections.end("insert"), "|insert.END");
  EXPECT_EQ(sections.marker("a.END"), "|a.END");
  EXPECT_EQ(sections.end("insert"), "");
  EXPECT_EQ(sections.marker("here"), "|powercut:here.BEGIN|powercut:here.END");
}

}  // namespace
}  // namespace powercut::pmemcheck
