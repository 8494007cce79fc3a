#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <xxhash.h>
#include <zstd.h>

#include <random>

#include "tracer/format/decoder.h"
#include "tracer/format/layout.h"
#include "tracer/format/test_events.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

using testing::begin;
using testing::end;
using testing::fence;
using testing::flush;
using testing::kStacks;
using testing::other;
using testing::OwnedEvent;
using testing::read_all;
using testing::read_bytes;
using testing::ReadBack;
using testing::store;
using testing::TemporaryFile;
using testing::write;

// One of everything, small enough to change every byte of.
std::vector<OwnedEvent> small_trace() {
  std::vector<uint8_t> key(16, 7), value{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  std::vector<OwnedEvent> events = {other(EventKind::kPhase, "warm-up", 0),
                                    other(EventKind::kPhase, "work", 1),
                                    begin(OpKind::kInsert, key, value),
                                    store(4096, key),
                                    store(4112, value),
                                    flush(4096),
                                    fence(),
                                    store(4100, {1}),
                                    store(0, {1, 2, 3, 4, 5, 6, 7, 8}),
                                    store(64, {9, 9, 9, 9}, kStoreAtomic | kStoreRmw),
                                    fence(3),
                                    store(192, {1, 2, 3, 4}),
                                    store(200, {5, 6}, kStoreContinues),
                                    end(0),
                                    begin(OpKind::kLookup, key, {}),
                                    end(0, value),
                                    begin(OpKind::kMaintain, {}, {}, "expand"),
                                    other(EventKind::kMarker, "move.copied"),
                                    other(EventKind::kCut),
                                    begin(OpKind::kOpen, {}, {}),
                                    end(4)};
  events[3].stack = 1;
  events[4].stack = 1;
  events[5].stack = 2;
  events[7].thread = 3;
  OwnedEvent nt = store(128, std::vector<uint8_t>(64, 0xEE));
  nt.kind = EventKind::kNtStore;
  events.push_back(nt);
  OwnedEvent allocate = other(EventKind::kAllocate);
  allocate.addr = 1 << 20;
  allocate.size = 300;
  events.push_back(allocate);
  OwnedEvent release = other(EventKind::kFree);
  release.addr = 1 << 20;
  events.push_back(release);
  events.push_back(other(EventKind::kThreadStart));
  events.push_back(other(EventKind::kThreadEnd));
  events.push_back(other(EventKind::kFork, {}, 2));
  events.push_back(store(64, {1}));
  events.push_back(other(EventKind::kCrashPoint));
  OwnedEvent back = other(EventKind::kBack);
  back.size = 1000;
  events.push_back(back);
  events.push_back(other(EventKind::kTrouble, "thread 2 waits", static_cast<uint8_t>(Trouble::kDeadlock)));
  return events;
}

TEST(Format, OneOfEverythingComesBack) {
  ReadBack back = read_bytes(write(small_trace(), R"({"seed": 1})", kStacks));
  ASSERT_TRUE(back.complete) << back.error.message();
  EXPECT_EQ(back.metadata, R"({"seed": 1})");
  EXPECT_EQ(back.events, small_trace());
  EXPECT_EQ(back.stacks, kStacks);
  ASSERT_EQ(back.modules.size(), 1u);
  EXPECT_EQ(back.modules[0].path, "/lib/module0");
}

TEST(Format, EmptyTraceIsATrace) {
  ReadBack back = read_bytes(write({}, "{}", {}, 0));
  EXPECT_TRUE(back.complete) << back.error.message();
  EXPECT_TRUE(back.events.empty());
}

TEST(Format, RewindReadsTheSameAgain) {
  std::vector<uint8_t> bytes = write(small_trace(), "{}", kStacks);
  TraceError error;
  auto reader = TraceReader::open_bytes(bytes, "run.pct", &error);
  Event event;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(reader->next(&event));
  EXPECT_EQ(event.index, 4u);
  for (int pass = 0; pass < 2; ++pass) {
    reader->rewind();
    ReadBack back = read_all(*reader);
    EXPECT_TRUE(back.complete);
    EXPECT_EQ(back.events, small_trace());
    EXPECT_EQ(back.stacks, kStacks) << "definitions are not repeated";
  }
  EXPECT_FALSE(reader->next(&event)) << "the end stays the end";
}

TEST(Format, LongStoresAreSplitAtLineBoundaries) {
  std::vector<uint8_t> value(10000);
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<uint8_t>(i * 7);
  ReadBack back = read_bytes(write({store(100, value, kStoreMemcall), store(5, {}), fence()}));
  ASSERT_TRUE(back.complete);
  std::vector<uint8_t> joined;
  uint64_t at = 100;
  for (size_t i = 0; i + 1 < back.events.size(); ++i) {
    const OwnedEvent& piece = back.events[i];
    EXPECT_EQ(piece.addr, at);
    EXPECT_LE(piece.size, layout::kMaxStoreBytes);
    EXPECT_EQ(piece.flags, i == 0 ? kStoreMemcall : kStoreMemcall | kStoreContinues) << "one store still";
    at += piece.size;
    if (at != 10100) {
      EXPECT_EQ(at % kLineSize, 0u);
    }
    joined.insert(joined.end(), piece.value.begin(), piece.value.end());
  }
  EXPECT_EQ(joined, value);
  EXPECT_EQ(back.events.size(), 4u) << "three pieces, no empty store, the fence";
}

// A store of four pieces, one of them in a frame of its own.
TEST(Format, AStoreGoesOnAcrossFrames) {
  std::vector<OwnedEvent> events;
  const std::vector<uint8_t> value(4096, 3);
  for (uint64_t i = 0; i * value.size() < 2 * layout::kFrameTarget; ++i) {
    events.push_back(store(i * 4096, value, i == 0 ? kStoreMemcall : kStoreMemcall | kStoreContinues));
  }
  ReadBack back = read_bytes(write(events));
  ASSERT_TRUE(back.complete) << back.error.message();
  EXPECT_EQ(back.events, events);
}

TEST(Format, AStoreContinuesOnlyTheOneBeforeIt) {
  OwnedEvent piece = store(8, {1}, kStoreContinues), of_another = piece, streamed = piece;
  of_another.thread = 1;
  streamed.kind = EventKind::kNtStore;
  for (const std::vector<OwnedEvent>& events : std::vector<std::vector<OwnedEvent>>{
           {piece}, {store(0, {1}), fence(), piece}, {store(0, {1}), of_another}, {store(0, {1}), streamed}}) {
    TemporaryFile file;
    TraceError error;
    auto writer = TraceWriter::create(file.path(), "{}", &error);
    for (const OwnedEvent& event : events) writer->append(event.view());
    const auto wrong = writer->finish();
    ASSERT_TRUE(wrong);
    EXPECT_THAT(wrong->message(), ::testing::HasSubstr("a store continues one that is not there"));
  }
}

// The writer refuses to write it, so the flag is changed in the payload.
TEST(Format, AStoreThatContinuesNothingIsRefused) {
  std::vector<uint8_t> bytes = write({fence(), store(8, {9, 9, 9}, kStoreAtomic)});
  const uint8_t* header = &bytes[layout::kHeaderSize + 2];
  std::vector<uint8_t> raw(layout::get<uint32_t>(header + 8));
  ZSTD_decompress(raw.data(), raw.size(), header + layout::kFrameHeaderSize, layout::get<uint32_t>(header + 4));
  Definitions definitions;
  for (const bool broken : {false, true}) {
    for (uint8_t& byte : raw) {
      if (broken && byte == kStoreAtomic) byte = kStoreContinues;
    }
    RecordDecoder decoder(&definitions);
    decoder.start_frame(raw, 0);
    Event event;
    while (decoder.next(&event)) {
    }
    EXPECT_EQ(decoder.problem(), broken ? "a store continues one that is not there" : "");
  }
}

// The kinds that have a name; numbers between them are reserved.
std::vector<EventKind> kinds() {
  std::vector<EventKind> out;
  for (int number = 1; number <= layout::kTypeMask; ++number) {
    const auto kind = static_cast<EventKind>(number);
    // Calls on trees have a test of their own.
    if (kind != kTreeCall && name_of(kind) != std::string_view("unknown")) out.push_back(kind);
  }
  return out;
}

OwnedEvent random_event(uint32_t stacks) {
  using namespace rc;
  auto bytes = [](size_t most) {
    // Few different contents, so that references between records happen.
    auto size = *gen::inRange<size_t>(0, most + 1);
    auto fill = *gen::inRange<int>(0, 4);
    return fill == 0 ? *gen::container<std::vector<uint8_t>>(size, gen::arbitrary<uint8_t>())
                     : std::vector<uint8_t>(size, static_cast<uint8_t>(fill));
  };
  OwnedEvent event;
  event.kind = *gen::elementOf(kinds());
  event.thread = *gen::element<uint32_t>(0, 0, 0, 1, 2, UINT32_MAX);
  event.stack = *gen::inRange<uint32_t>(0, stacks + 1);
  uint64_t addr = *gen::oneOf(gen::inRange<uint64_t>(0, 4096), gen::inRange<uint64_t>(0, uint64_t{1} << 62));
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      event.addr = addr;
      event.value = bytes(70);
      event.value.push_back(1);
      event.size = event.value.size();
      event.flags = static_cast<uint8_t>(*gen::inRange(0, 8) << 1);
      break;
    case EventKind::kFlush:
      event.addr = addr;
      event.code = static_cast<uint8_t>(*gen::inRange(1, 4));
      break;
    case EventKind::kFence:
      event.code = static_cast<uint8_t>(*gen::inRange(1, 5));
      break;
    case EventKind::kOpBegin:
      event.code = static_cast<uint8_t>(*gen::inRange(1, 9));
      event.key = bytes(70);
      event.value = bytes(300);
      event.text = *gen::element<std::string>("", "expand", "a much longer command name than usual");
      break;
    case EventKind::kOpEnd:
      event.code = static_cast<uint8_t>(*gen::inRange(0, 256));
      event.value = bytes(70);
      break;
    case EventKind::kAllocate:
      event.size = *gen::arbitrary<uint64_t>();
      [[fallthrough]];
    case EventKind::kFree:
      event.addr = addr;
      break;
    case EventKind::kMarker:
    case EventKind::kSearched:
      event.text = *gen::string<std::string>();
      break;
    case EventKind::kPhase:
      event.text = *gen::string<std::string>();
      event.code = static_cast<uint8_t>(*gen::inRange(0, 2));
      break;
    case EventKind::kFork:
      event.code = static_cast<uint8_t>(*gen::inRange(0, 256));
      break;
    case EventKind::kBack:
      event.size = *gen::arbitrary<uint64_t>();
      break;
    case EventKind::kTrouble:
      event.text = *gen::string<std::string>();
      event.code = static_cast<uint8_t>(*gen::inRange(1, 7));
      break;
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kCut:
    case EventKind::kContent:
    case EventKind::kCrashPoint:
      break;
  }
  return event;
}

TEST(Format, AnyEventsComeBack) {
  EXPECT_TRUE(rc::check([] {
    auto count = *rc::gen::inRange<size_t>(0, 60);
    std::vector<OwnedEvent> events;
    for (size_t i = 0; i < count; ++i) {
      OwnedEvent event = random_event(2);
      const bool continues = !events.empty() && events.back().kind == event.kind &&
                             events.back().thread == event.thread && event.kind <= EventKind::kNtStore;
      if (continues && *rc::gen::inRange(0, 2) == 1) event.flags |= kStoreContinues;
      events.push_back(std::move(event));
    }
    ReadBack back = read_bytes(write(events, "{}", kStacks));
    RC_ASSERT(back.complete);
    RC_ASSERT(back.events == events);
  }));
}

// A run of many frames, as YCSB makes them: inserts, updates and lookups of 16-byte keys and 15-byte values.
std::vector<OwnedEvent> ycsb_like(uint64_t operations, uint64_t read_percent) {
  std::mt19937_64 random(1);
  auto bytes = [](uint64_t id, size_t size) {
    std::vector<uint8_t> result(size);
    std::mt19937_64 of(id);
    for (uint8_t& byte : result) byte = static_cast<uint8_t>(of());
    return result;
  };
  std::vector<OwnedEvent> events;
  for (uint64_t i = 0; i < operations; ++i) {
    std::vector<uint8_t> key = bytes(1 + random() % 10000, 16), value = bytes(100000 + i, 15);
    if (random() % 100 < read_percent) {
      events.push_back(begin(OpKind::kLookup, key, {}));
      events.push_back(end(0, bytes(random() % 10000, 15)));
      continue;
    }
    uint64_t bucket = (random() % 65536) * 128;
    events.push_back(begin(OpKind::kInsert, key, value));
    events.push_back(store(bucket + 8, key, kStoreMemcall));
    events.push_back(store(bucket + 24, value, kStoreMemcall));
    events.push_back(flush(bucket));
    events.push_back(fence());
    events.push_back(store(bucket, {1}, kStoreAtomic));
    events.push_back(flush(bucket));
    events.push_back(fence());
    events.push_back(end(0));
    for (size_t back = 2; back < 9; ++back) events[events.size() - back].stack = 1 + (back % 2);
  }
  return events;
}

TEST(Format, RecordsOfYcsbLikeRunsTakeAtMostSixteenBytes) {
  for (uint64_t read_percent : {0, 50, 95}) {
    std::vector<OwnedEvent> events = ycsb_like(20000, read_percent);
    std::vector<uint8_t> file = write(events, "{}", kStacks);
    TraceError error;
    auto reader = TraceReader::open_bytes(file, "run.pct", &error);
    ASSERT_NE(reader, nullptr);
    double average = static_cast<double>(reader->raw_bytes()) / static_cast<double>(events.size());
    EXPECT_LE(average, 16.0) << read_percent << " % reads";
    RecordProperty("bytes_" + std::to_string(read_percent), std::to_string(average));
    ReadBack back = read_all(*reader);
    EXPECT_TRUE(back.complete);
    EXPECT_EQ(back.events, events) << "over many frames";
  }
}

TEST(Format, TheSameEventsGiveTheSameBytes) {
  EXPECT_EQ(write(ycsb_like(5000, 20), "{}", kStacks), write(ycsb_like(5000, 20), "{}", kStacks));
}

// No damage is read as another trace: it is refused, or (a bit that zstd ignores) changes nothing.
TEST(Format, NoChangedByteIsBelieved) {
  const std::vector<uint8_t> good = write(small_trace(), R"({"seed": 1})", kStacks);
  for (size_t at = 0; at < good.size(); ++at) {
    for (int change = 1; change < 256; change = change * 2 + 1) {
      std::vector<uint8_t> bad = good;
      bad[at] ^= static_cast<uint8_t>(change);
      ReadBack back = read_bytes(bad);
      if (!back.complete) {
        EXPECT_FALSE(back.error.what.empty());
        EXPECT_FALSE(back.error.next.empty());
        continue;
      }
      EXPECT_EQ(back.events, small_trace()) << "byte " << at;
      EXPECT_EQ(back.metadata, R"({"seed": 1})");
      EXPECT_EQ(back.stacks, kStacks);
    }
  }
}

TEST(Format, EveryTruncationAndAppendixIsRefused) {
  std::vector<uint8_t> good = write(small_trace(), R"({"seed": 1})", kStacks);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(read_bytes(std::span(good).first(size)).complete) << size;
  }
  good.push_back(0);
  EXPECT_FALSE(read_bytes(good).complete);
}

TEST(Format, LostAndSwappedFramesAreRefused) {
  // Three frames; find where each begins.
  const std::vector<uint8_t> good = write(ycsb_like(5000, 0), "{}", kStacks);
  std::vector<size_t> begins;
  size_t at = layout::kHeaderSize + 2;
  while (at < good.size() - layout::kFooterSize) {
    begins.push_back(at);
    at += layout::kFrameHeaderSize + layout::get<uint32_t>(&good[at + 4]);
  }
  ASSERT_GE(begins.size(), 2u);
  auto refooted = [](std::vector<uint8_t> bytes) {
    uint8_t* footer = &bytes[bytes.size() - layout::kFooterSize];
    layout::put<uint64_t>(footer + 56, bytes.size());
    layout::put<uint64_t>(footer + 64, XXH3_64bits(footer, 64));
    return bytes;
  };
  std::vector<uint8_t> lost = good;
  lost.erase(lost.begin() + static_cast<ptrdiff_t>(begins[0]), lost.begin() + static_cast<ptrdiff_t>(begins[1]));
  EXPECT_FALSE(read_bytes(refooted(lost)).complete);
  std::vector<uint8_t> doubled = good;
  doubled.insert(doubled.begin() + static_cast<ptrdiff_t>(begins[1]), good.begin() + static_cast<ptrdiff_t>(begins[0]),
                 good.begin() + static_cast<ptrdiff_t>(begins[1]));
  EXPECT_FALSE(read_bytes(refooted(doubled)).complete);
}

TEST(Format, RefusalsSayWhatWhereAndWhatNext) {
  std::vector<uint8_t> good = write(small_trace(), "{}", kStacks);
  auto message = [](std::span<const uint8_t> bytes) { return read_bytes(bytes).error.message(); };
  EXPECT_EQ(message({}), "run.pct: the file is empty. Record it again with 'powercut record'.");
  std::vector<uint8_t> bad = good;
  bad[8] = 9;
  EXPECT_EQ(message(bad),
            "run.pct: format version 9, this build reads 4 to 6. Record it again with 'powercut record'.");
  bad = good;
  std::reverse(bad.begin() + 12, bad.begin() + 16);
  EXPECT_NE(message(bad).find("big-endian"), std::string::npos);
  std::string text = "a text file that is no trace at all, of some length";
  EXPECT_NE(message({reinterpret_cast<const uint8_t*>(text.data()), text.size()}).find("not a powercut trace"),
            std::string::npos);
  EXPECT_NE(message(std::span(good).first(good.size() - 1)).find("truncated"), std::string::npos);
  TraceError error;
  EXPECT_EQ(TraceReader::open("/no/such/run.pct", &error), nullptr);
  EXPECT_NE(error.message().find("No such file"), std::string::npos);
  EXPECT_EQ(TraceReader::open("/tmp", &error), nullptr);
}

}  // namespace
}  // namespace powercut
