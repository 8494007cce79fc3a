#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>

#include "replayer/media/stream_files.h"
#include "tracer/format/content_name.h"
#include "tracer/format/event_groups.h"
#include "tracer/format/reader.h"
#include "tracer/stream/stream.h"
#include "tracer/stream/stream_reader.h"

namespace powercut {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A stream that goes to memory, by a buffer so small that every record crosses its end.
class Stream {
 public:
  explicit Stream(size_t capacity = 13) : buffer_(capacity) {
    stream_.write = [](void* context, const void* bytes, size_t size) {
      static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), size);
      return 0;
    };
    stream_.context = &bytes_;
    stream_.buffer = buffer_.data();
    stream_.capacity = buffer_.size();
    powercut_stream_begin(&stream_);
  }
  powercut_stream* get() { return &stream_; }
  const std::string& bytes() {
    powercut_stream_flush(&stream_);
    return bytes_;
  }

 private:
  std::vector<uint8_t> buffer_;
  std::string bytes_;
  powercut_stream stream_{};
};

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("powercut-stream-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return path_ / name; }

 private:
  const std::filesystem::path path_;
};

std::string write(const Folder& folder, const std::string& bytes) {
  const std::string path = folder.file("stream");
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string short_form(const Event& event) {
  const auto bytes = [&] { return std::string(event.value.begin(), event.value.end()); };
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      return (event.kind == EventKind::kStore ? "store " : "nt ") + std::to_string(event.addr) + " " + bytes() +
             (event.flags != 0 ? " " + std::to_string(event.flags) : "");
    case EventKind::kFlush:
      return "flush " + std::to_string(event.addr);
    case EventKind::kFence:
      return "fence " + std::to_string(event.code);
    case EventKind::kCut:
      return "cut";
    case EventKind::kPhase:
      return "phase " + std::string(event.text);
    case EventKind::kOpBegin:
      return "begin " + std::string(event.key.begin(), event.key.end()) + " " + bytes() + " " + std::string(event.text);
    case EventKind::kOpEnd:
      return "end " + std::to_string(event.code) + " " + bytes();
    case EventKind::kMarker:
      return "marker " + std::string(event.text);
    case POWERCUT_PROCESS_EVENTS:
    case POWERCUT_TREE_EVENTS:
    case EventKind::kContent:
      break;
  }
  return "other";
}

struct Converted {
  StreamSurvey survey;
  std::vector<std::string> events;
};

Converted convert(const std::string& bytes, const std::string& driver = "",
                  const std::vector<Acknowledgement>& lines = {}) {
  const Folder folder;
  const std::string path = write(folder, bytes);
  TraceError error;
  const std::optional<StreamSurvey> survey = survey_stream(path, {}, &error);
  EXPECT_TRUE(survey) << error.message();
  if (!survey) return {};
  Converted converted{*survey, {}};
  const auto writer = TraceWriter::create(folder.file("trace.pct"), "{}", &error);
  const auto wrong = convert_stream(path, *survey, driver, *writer, lines);
  EXPECT_FALSE(wrong) << wrong->message();
  EXPECT_FALSE(writer->finish());
  const auto reader = TraceReader::open(folder.file("trace.pct"), &error);
  EXPECT_TRUE(reader->read_through(file_calls_of(*survey)));
  Event event;
  while (reader->next(&event)) converted.events.push_back(short_form(event));
  EXPECT_FALSE(reader->error());
  return converted;
}

constexpr powercut_site kSite{0, 0};

void store(Stream& stream, uint64_t address, const char* text, uint32_t flags = 0) {
  powercut_stream_store(stream.get(), kSite, flags, address, text, std::strlen(text));
}

// Stores of one letter, and outputs that have grown to a size: "a", "1:5" (standard output), "2:5".
std::string acknowledged(uint64_t size_before, const std::vector<std::string>& steps,
                         const std::vector<Acknowledgement>& lines) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "/one", size_before);
  powercut_stream_map(stream.get(), 0, 0x10000, 4096, 0);
  for (const std::string& step : steps) {
    if (step.size() == 1) store(stream, 0x10000, step.c_str());
    if (step.size() > 1) powercut_stream_output(stream.get(), step[0] - '0', std::stoull(step.substr(2)));
  }
  powercut_stream_end(stream.get(), kPowercutExited, 0);
  std::string out;
  for (const std::string& event : convert(stream.bytes(), "", lines).events) {
    if (event.starts_with("store")) out += event.back();
    if (event.starts_with("begin")) out += "(" + event.substr(event.rfind(' ') + 1);
    if (event.starts_with("end")) out += ")";
  }
  return out;
}

TEST(Converter, WhatLiesBetweenTwoAcknowledgementsIsOneOperation) {
  const std::vector<Acknowledgement> lines = {{1, 5, "x"}, {1, 9, "y"}};
  EXPECT_EQ(acknowledged(4096, {"a", "b", "1:5", "c", "1:9", "d"}, lines), "(xab)(yc)(acknowledgedd");
  // A part of a line acknowledges nothing.
  EXPECT_EQ(acknowledged(4096, {"a", "1:4", "b", "1:8", "c", "1:9"}, lines), "(xab)(yc)");
  // An operation that only reads is acknowledged, too.
  EXPECT_EQ(acknowledged(4096, {"a", "1:5", "1:9"}, lines), "(xa)(y)");
  // Without a file in the beginning, the first one makes it.
  EXPECT_EQ(acknowledged(0, {"a", "b", "1:5", "c", "1:9"}, lines), "ab(x)(yc)");
}

TEST(Converter, AcknowledgementsThatLeaveTogetherAreUnderWayTogether) {
  const std::vector<Acknowledgement> lines = {{1, 5, "x"}, {1, 9, "y"}, {2, 3, "z"}};
  EXPECT_EQ(acknowledged(4096, {"a", "1:9", "b", "2:3"}, lines), "(x(ya))(zb)");
  // Here the lines leave behind the last record.
  EXPECT_EQ(acknowledged(4096, {"a", "1:5", "b"}, lines), "(xa)(y(zb))");
  EXPECT_EQ(acknowledged(4096, {"a"}, lines), "(x(y(za)))");
}

TEST(Converter, PoolsGetWindowsAndMappingsOfOneFileAreOneMemory) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "/one", 5000);
  powercut_stream_pool(stream.get(), kPowercutMemory, "/unused", 100000);
  powercut_stream_pool(stream.get(), kPowercutMemory, "/two", 100);
  powercut_stream_content(stream.get(), 0, 4096, "old", 3);
  powercut_stream_content(stream.get(), 1, 0, "never", 5);
  powercut_stream_map(stream.get(), 0, 0x10000, 8192, 0);
  powercut_stream_map(stream.get(), 0, 0x50000, 4096, 4096);
  powercut_stream_map(stream.get(), 2, 0x20000, 4096, 0);
  store(stream, 0x50008, "b");
  store(stream, 0x11008, "c", kPowercutStoreNt);
  store(stream, 0x20001, "d", kPowercutStoreRmw | kPowercutStoreAtomic);
  powercut_stream_unmap(stream.get(), kPowercutGone, 0x50000, 4096);
  store(stream, 0x50008, "nowhere");
  powercut_stream_flush_line(stream.get(), kSite, kPowercutClwb, 0x20030);
  powercut_stream_flush_line(stream.get(), kSite, kPowercutClwb, 0x50000);
  powercut_stream_fence(stream.get(), kSite, kPowercutMfence);
  powercut_stream_end(stream.get(), kPowercutExited, 7);

  const Converted got = convert(stream.bytes());
  EXPECT_THAT(got.events, ElementsAre("store 4096 old", "cut", "phase run", "store 4104 b", "nt 4104 c",
                                      "store 8193 d 10", "flush 8192", "fence 2"));
  EXPECT_EQ(got.survey.size, 8192u + 4096u);
  EXPECT_EQ(got.survey.pools[0].size, 5000u);
  EXPECT_FALSE(got.survey.pools[1].used);
  EXPECT_EQ(got.survey.pools[2].offset, 8192u);
  ASSERT_TRUE(got.survey.end);
  EXPECT_EQ(got.survey.end->status, 7u);
}

// Until it is mapped again.
TEST(Converter, WhatTheProgramDisownsIsKnownByItsPlaceInTheFile) {
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "/one", 8192);
  powercut_stream_map(stream.get(), 0, 0x10000, 4096, 4096);
  powercut_stream_unmap(stream.get(), kPowercutDisowned, 0x10100, 0x200);
  store(stream, 0x10180, "unseen");
  powercut_stream_unmap(stream.get(), kPowercutGone, 0x10800, 0x100);
  const Converted got = convert(stream.bytes());
  EXPECT_EQ(got.survey.pools[0].disowned, (Ranges{{4096 + 0x100, 4096 + 0x300}}));
  EXPECT_EQ(got.survey.pools[0].volatile_parts, got.survey.pools[0].disowned);
  EXPECT_THAT(got.events, ElementsAre("cut", "phase run"));

  powercut_stream_map(stream.get(), 0, 0x10180, 0x80, 4096 + 0x180);
  EXPECT_EQ(convert(stream.bytes()).survey.pools[0].disowned,
            (Ranges{{4096 + 0x100, 4096 + 0x180}, {4096 + 0x200, 4096 + 0x300}}));

  // As libpmem does before it unmaps: what was persistent until then stays so.
  powercut_stream_unmap(stream.get(), kPowercutDisowned, 0x10000, 4096);
  const StreamPool all = convert(stream.bytes()).survey.pools[0];
  EXPECT_EQ(all.volatile_parts, (Ranges{{4096 + 0x100, 4096 + 0x180}, {4096 + 0x200, 4096 + 0x300}}));
  EXPECT_GT(all.disowned.size(), 2u);
}

TEST(Converter, RoundsOfAStringInstructionAreOneStoreOfTheWholeSize) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "", 0);
  powercut_stream_map(stream.get(), 0, 0x1000, 4096, 0);
  constexpr uint32_t kFirst = kPowercutStoreString | kPowercutStoreRound;
  constexpr uint32_t kMore = kFirst | kPowercutStoreContinues;
  for (uint64_t at = 60; at < 70; ++at) {
    powercut_stream_load(stream.get(), kSite, 0x1200 + at, 1);  // where a rep movsb reads
    store(stream, 0x1000 + at, "x", at == 60 ? kFirst : kMore);
  }
  store(stream, 0x1000 + 70, "y", kFirst);  // another one, right behind it
  store(stream, 0x1100, "d", kFirst);
  store(stream, 0x10ff, "d", kMore);  // downwards
  powercut_stream_fence(stream.get(), kSite, kPowercutSfence);
  store(stream, 0x1101, "z", kMore);  // whatever it continued, the fence lies in between
  EXPECT_THAT(convert(stream.bytes()).events, ElementsAre("cut", "phase run", "store 60 xxxxxxxxxx 4", "store 70 y 4",
                                                          "store 255 dd 4", "fence 1", "store 257 z 4"));
}

// A copy and what is filled in behind it (strncpy) are one store of two calls, each of which has moves of its own.
TEST(Converter, PiecesOfAMemCallAreNotGathered) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "", 0);
  powercut_stream_map(stream.get(), 0, 0x1000, 4096, 0);
  store(stream, 0x1000, "abc", kPowercutStoreString);
  store(stream, 0x1003, "ddddd", kPowercutStoreString | kPowercutStoreContinues);
  const std::string whole(70, 'w');
  store(stream, 0x103c, whole.c_str(), kPowercutStoreString);
  EXPECT_THAT(convert(stream.bytes()).events,
              ElementsAre("cut", "phase run", "store 0 abc 4", "store 3 ddddd 20", "store 60 " + whole + " 4"));
}

// As the trace's writer splits the store of a whole memset.
TEST(Converter, RoundsOfMoreThanAnEventHoldsEndAtLines) {
  constexpr uint64_t kSize = 9000;
  const auto pieces = [](bool downwards) {
    Stream stream;
    powercut_stream_pool(stream.get(), kPowercutMemory, "", 0);
    powercut_stream_map(stream.get(), 0, 0x10000, 16384, 0);
    for (uint64_t i = 0; i < kSize; ++i) {
      const uint32_t more = i == 0 ? 0 : kPowercutStoreContinues;
      store(stream, 0x10000 + 10 + (downwards ? kSize - 1 - i : i), "q",
            kPowercutStoreString | kPowercutStoreRound | more);
    }
    std::vector<std::pair<uint64_t, size_t>> out;
    for (const std::string& event : convert(stream.bytes()).events) {
      if (event.starts_with("store ")) out.emplace_back(std::stoull(event.substr(6)), std::ranges::count(event, 'q'));
    }
    return out;
  };
  EXPECT_THAT(pieces(false), ElementsAre(std::pair{10, 4086}, std::pair{4096, 4096}, std::pair{8192, 818}));
  for (const auto& [at, size] : pieces(true)) EXPECT_TRUE(at == 10 || at % kLineSize == 0) << at << " " << size;
}

TEST(Converter, PiecesOfAStoreContinueItWhateverTheyAreOf) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "", 0);
  powercut_stream_map(stream.get(), 0, 0x1000, 8192, 0);
  store(stream, 0x1000, "lane", kPowercutStoreNt);
  store(stream, 0x1010, "lane", kPowercutStoreNt | kPowercutStoreContinues);
  powercut_stream_store(stream.get(), {1, 0}, kPowercutStoreContinues, 0x1020, "own", 3);  // another thread
  store(stream, 0x1030, "gone", kPowercutStoreContinues);                                  // behind another thread's
  const std::string line(64, 'l');
  store(stream, 0x1080, (line + "rest").c_str());
  EXPECT_THAT(convert(stream.bytes()).events,
              ElementsAre("cut", "phase run", "nt 0 lane", "nt 16 lane 16", "store 32 own", "store 48 gone",
                          "store 128 " + line, "store 192 rest 16"));
}

TEST(Converter, SyncsFlushWhatWasStoredAndShrinkingLosesIt) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "/pool", 8192);
  powercut_stream_map(stream.get(), 0, 0x10000, 8192, 0);
  store(stream, 0x10000, "a");
  store(stream, 0x11000, "b");
  powercut_stream_sync(stream.get(), kSite, kPowercutMsync, 0, 0, 4096);
  powercut_stream_sync(stream.get(), kSite, kPowercutFsync, 0, 0, ~uint64_t{0});
  powercut_stream_sync(stream.get(), kSite, kPowercutFsync, 0, 0, ~uint64_t{0});
  powercut_stream_file_write(stream.get(), kSite, 0, 9000, "w", 1);
  powercut_stream_file_size(stream.get(), kSite, 0, 4100);
  const Converted got = convert(stream.bytes());
  EXPECT_THAT(got.events,
              ElementsAre("cut", "phase run", "store 0 a", "store 4096 b", "flush 0", "fence 1", "flush 4096",
                          "fence 1", "fence 1", "store 9000 w", "marker size of a file", "flush 4096", "flush 8960",
                          "phase the file is cut off", "store 4100 " + std::string(60, '\0'), "flush 4096",
                          "store 8960 " + std::string(64, '\0'), "flush 8960", "phase run"));
  EXPECT_EQ(got.survey.pools[0].size, 9001u);
}

TEST(Converter, AHistoryOfItsOwnAndStacksThatEndAtTheDriver) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "", 0);
  powercut_stream_map(stream.get(), 0, 0x1000, 4096, 0);
  powercut_stream_module(stream.get(), "/lib/target.so");
  powercut_stream_module(stream.get(), "/bin/engine");
  const powercut_stream_frame frames[] = {{0, 16}, {1, 32}, {0, 48}};
  powercut_stream_stack(stream.get(), frames, 3);
  powercut_stream_phase(stream.get(), kSite, 1, "main");
  powercut_stream_op_begin(stream.get(), kSite, 3, "key", 3, "value", 5);
  powercut_stream_store(stream.get(), {0, 1}, 0, 0x1000, "s", 1);
  powercut_stream_marker(stream.get(), kSite, "here");
  powercut_stream_plain(stream.get(), kPowercutCut, kSite);
  powercut_stream_op_begin(stream.get(), kSite, 7, nullptr, 0, "expand", 6);
  powercut_stream_op_end(stream.get(), kSite, 5, "got", 3);
  EXPECT_THAT(
      convert(stream.bytes(), "/bin/engine").events,
      ElementsAre("phase main", "begin key value ", "store 0 s", "marker here", "cut", "begin   expand", "end 5 got"));

  const Folder folder;
  const std::string path = write(folder, stream.bytes());
  TraceError error;
  const auto survey = survey_stream(path, {}, &error);
  const auto writer = TraceWriter::create(folder.file("t.pct"), "{}", &error);
  ASSERT_FALSE(convert_stream(path, *survey, "/bin/engine", *writer));
  ASSERT_FALSE(writer->finish());
  const auto reader = TraceReader::open(folder.file("t.pct"), &error);
  ASSERT_TRUE(reader->read_through(file_calls_of(*survey)));
  Event event;
  while (reader->next(&event)) {
    if (event.kind == EventKind::kStore) EXPECT_THAT(reader->stack(event.stack), ElementsAre(Frame{0, 16}));
  }
}

TEST(Stream, LongStoresAreSplitAtLines) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "", 0);
  powercut_stream_map(stream.get(), 0, 0x10000, 16384, 0);
  const std::string bytes(9000, 'q');
  powercut_stream_store(stream.get(), kSite, 0, 0x10000 + 10, bytes.data(), bytes.size());
  const Folder folder;
  TraceError error;
  const auto reader = StreamReader::open(write(folder, stream.bytes()), &error);
  ASSERT_NE(reader, nullptr);
  std::vector<std::pair<uint64_t, size_t>> pieces;
  StreamRecord record;
  while (reader->next(&record)) {
    if (record.type == kPowercutStore) EXPECT_EQ(record.flags, pieces.empty() ? 0 : kPowercutStoreContinues);
    if (record.type == kPowercutStore) pieces.emplace_back(record.address - 0x10000, record.bytes.size());
  }
  EXPECT_THAT(pieces, ElementsAre(std::pair{10, 4086}, std::pair{4096, 4096}, std::pair{8192, 818}));
}

TEST(Stream, AFailedWriteIsRemembered) {
  uint8_t buffer[8];
  powercut_stream stream{};
  stream.write = [](void*, const void*, size_t) { return -1; };
  stream.buffer = buffer;
  stream.capacity = sizeof buffer;
  powercut_stream_begin(&stream);
  powercut_stream_fence(&stream, kSite, kPowercutSfence);
  powercut_stream_flush(&stream);
  EXPECT_EQ(stream.failed, 1);
}

TEST(Stream, ReaderRefusesWhatIsNone) {
  const Folder folder;
  TraceError error;
  EXPECT_EQ(StreamReader::open(folder.file("absent"), &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("No such file"));
  EXPECT_EQ(StreamReader::open(write(folder, "short"), &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("no header"));
  EXPECT_EQ(StreamReader::open(write(folder, std::string(100, 'x')), &error), nullptr);
  Stream stream;
  std::string other = stream.bytes();
  other[8] = 9;
  EXPECT_EQ(StreamReader::open(write(folder, other), &error), nullptr);
  EXPECT_THAT(error.what, HasSubstr("version 9"));
}

// ---- devices ----

constexpr uint64_t kSector = 512;

std::vector<uint8_t> filled(size_t size, uint8_t byte) { return std::vector<uint8_t>(size, byte); }

void write_file(Stream& stream, uint64_t offset, const std::vector<uint8_t>& bytes) {
  powercut_stream_file_write(stream.get(), kSite, 0, offset, bytes.data(), static_cast<uint32_t>(bytes.size()));
}

// The events behind the first phase: sectors by the letter that they begin with.
std::vector<std::string> device_events(Stream& stream, const DeviceLayout& layout = {}) {
  const Folder folder;
  const std::string path = write(folder, stream.bytes());
  TraceError error;
  const std::optional<StreamSurvey> survey = survey_stream(path, layout, &error);
  const auto writer = TraceWriter::create(folder.file("trace.pct"), "{}", &error);
  EXPECT_FALSE(convert_stream(path, *survey, "", *writer));
  EXPECT_FALSE(writer->finish());
  const auto reader = TraceReader::open(folder.file("trace.pct"), &error);
  EXPECT_TRUE(reader->read_through(file_calls_of(*survey)));
  std::map<uint64_t, std::string> names = {{0, "0"}};
  std::vector<std::string> out;
  bool begun = false;
  Event event;
  while (reader->next(&event)) {
    if (event.kind == EventKind::kContent) {
      names[content_name(event.value)] = {static_cast<char>(event.value.front()),
                                          static_cast<char>(event.value.back())};
    } else if (event.kind == EventKind::kStore && event.addr == 0) {
      uint64_t size = 0;
      std::memcpy(&size, event.value.data(), sizeof size);
      out.push_back("size " + std::to_string(size));
    } else if (event.kind == EventKind::kStore) {
      std::string text = "store " + std::to_string(event.addr);
      layout.each_sector(event.addr, event.value, [&](uint64_t, uint64_t name) { text += " " + names.at(name); });
      out.push_back(text);
    } else if (event.kind == EventKind::kFlush) {
      EXPECT_EQ(event.code, static_cast<uint8_t>(FlushKind::kForce));
      out.push_back("force " + std::to_string(event.addr));
    } else {
      out.push_back(short_form(event));
    }
    if (!begun && event.kind == EventKind::kPhase) out.clear(), begun = true;
  }
  return out;
}

TEST(Device, AWriteIsOneOfWholeSectorsAndASyncIsAFlush) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutDevice, "/device", 2 * kSector);
  powercut_stream_content(stream.get(), 0, 0, filled(2 * kSector, 'a').data(), 2 * kSector);
  write_file(stream, 10, filled(4, 'b'));                     // a part of the first
  write_file(stream, kSector - 1, filled(kSector + 1, 'c'));  // the end of the first, and all of the second
  powercut_stream_sync(stream.get(), kSite, kPowercutFsync, 0, 0, ~uint64_t{0});
  EXPECT_THAT(device_events(stream), ElementsAre("store 64 aa", "store 64 ac", "store 128 cc", "fence 5"));
}

TEST(Device, TheSizeIsDurableAtOnceAndAWriteBehindTheEndBringsIt) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutDevice, "/device", 100);
  write_file(stream, kSector, filled(3, 'x'));
  powercut_stream_file_size(stream.get(), kSite, 0, kSector + 3);
  powercut_stream_file_size(stream.get(), kSite, 0, 4096);
  EXPECT_THAT(device_events(stream),
              ElementsAre("size 515", "force 0", ::testing::StartsWith("store 128 x"), "size 4096", "force 0"));
}

TEST(Device, WhatIsDurableWhenItsWriteReturnsIsForcedBehindTheWholeWrite) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutDevice, "/device", 8 * kSector);
  write_file(stream, 7 * kSector, filled(kSector, 'o'));
  write_file(stream, 0, filled(2 * kSector, 's'));
  powercut_stream_sync(stream.get(), kSite, kPowercutWrittenThrough, 0, 0, 2 * kSector);
  EXPECT_THAT(device_events(stream),
              ElementsAre("store 512 oo", "store 64 ss", "store 128 ss", "force 64", "force 128"));
}

TEST(Device, SectorsOfAUnitAreOneStore) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutDevice, "/device", 16 * kSector);
  write_file(stream, 6 * kSector, filled(4 * kSector, 'u'));
  EXPECT_THAT(device_events(stream, {.sector_size = kSector, .unit = 8}),
              ElementsAre("store 112 uu uu", "store 128 uu uu"));
}

TEST(Device, WhatIsCutOffIsZeroesBehindTheNewSizeWhereNoPowerCutLooks) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutDevice, "/device", 3 * kSector);
  write_file(stream, 0, filled(3 * kSector, 'z'));
  powercut_stream_file_size(stream.get(), kSite, 0, kSector + 1);
  EXPECT_THAT(device_events(stream), ElementsAre("store 64 zz", "store 128 zz", "store 192 zz", "size 513", "force 0",
                                                 "phase the file is cut off", ::testing::StartsWith("store 128 z"),
                                                 "store 192 0", "force 192", "phase run"));
}

TEST(Stream, DamageIsAnErrorOrAShorterStreamAndNeverACrash) {
  Stream stream;
  powercut_stream_pool(stream.get(), kPowercutMemory, "/pool", 4096);
  powercut_stream_map(stream.get(), 0, 0x1000, 4096, 0);
  powercut_stream_module(stream.get(), "/bin/program");
  const powercut_stream_frame frame{0, 16};
  powercut_stream_stack(stream.get(), &frame, 1);
  powercut_stream_store(stream.get(), {0, 1}, 0, 0x1000, "stored", 6);
  powercut_stream_op_begin(stream.get(), kSite, 3, "key", 3, "value", 5);
  powercut_stream_sync(stream.get(), kSite, kPowercutFsync, 0, 0, 4096);
  powercut_stream_end(stream.get(), kPowercutExited, 0);
  const std::string whole = stream.bytes();
  const Folder folder;
  std::mt19937 random(3);
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 1 + round % 3; ++i) {
      damaged[kPowercutStreamHeader + random() % (damaged.size() - kPowercutStreamHeader)] =
          static_cast<char>(random());
    }
    const std::string path = write(folder, damaged);
    TraceError error;
    const auto reader = StreamReader::open(path, &error);
    ASSERT_NE(reader, nullptr);
    StreamRecord record;
    while (reader->next(&record)) {
    }
    refused += reader->error().has_value();
    if (round % 10 == 0) {
      if (const auto survey = survey_stream(path, {}, &error)) {
        const auto writer = TraceWriter::create(folder.file("damaged.pct"), "{}", &error);
        convert_stream(path, *survey, "", *writer);
      }
    }
    EXPECT_FALSE(reader->next(&record)) << "nothing follows an error";
  }
  EXPECT_GT(refused, 300u);
}

}  // namespace
}  // namespace powercut
