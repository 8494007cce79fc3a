// Recoveries report their reads, built by the pass and as anybody would build them. The tests hold the reports against
// two opponents: the Valgrind tool's reads of the same source, and the outcomes that change when a byte of the image
// does. The pages that runs report as changed are held against the whole image.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "checker/subjects/program/test_files.h"
#include "gmock/gmock.h"
#include "powercut/contents.h"

namespace powercut {
namespace {

using testing::command;
using ::testing::HasSubstr;
using testing::one_pool;
using Kind = ProgramOutcome::Kind;

// Bytes of the pool that the test program reads, bytes that are changed, and the pool's size.
constexpr uint64_t kSeen = 512, kChanged = 2 * 4096, kSize = 1 << 19;
constexpr int kTimes = 8;

using Image = std::vector<Content>;

// The image has small numbers, so that some words are offsets of others, and texts.
Image image() {
  Image out(kChanged / kLineSize);
  for (uint64_t at = 0; at < kSeen; ++at) {
    const uint64_t letter = at % 5 == 1 ? 0 : 'a' + at % 7;
    out[at / kLineSize].bytes[at % kLineSize] = static_cast<uint8_t>(at % 8 == 0 ? 1 + at / 8 * 7 % 61 : letter);
  }
  return out;
}

class Reader {
 public:
  // kReporting: built by the pass; kFollowed: built without it, and reporting all the same; kTraced: the same program
  // under the tool.
  enum class How { kReporting, kFollowed, kReportingOrTraced, kTraced };
  Reader(const std::string& mode, How how, TracePools pools = one_pool(kSize),
         const std::string& program = "test-reader")
      : pools_(std::move(pools)), guard_(testing::guardian()) {
    const std::string suffix = how == How::kTraced || how == How::kFollowed ? "" : "-reporting";
    commands_.recover = command(pools_, {mode, "{image}"}, program + suffix);
    commands_.dump = commands_.recover;  // what it prints counts; what recovery has changed is not in the image
    commands_.recover = command(pools_, {"exit", "{image}", "0"}, "test-recovery" + suffix);
    commands_.recover.reports = commands_.dump->reports = how != How::kTraced;
    if (how == How::kReportingOrTraced || how == How::kTraced) {
      auto tracer = parse_trace_prefix(testing::tracer_json(), "--trace-prefix");
      EXPECT_TRUE(tracer.ok());
      commands_.tracer = *tracer;
    }
    auto made = ImageWorker::create(guard_->folder() + "/0", pools_, commands_, guard_.get(), nullptr);
    EXPECT_TRUE(made.ok());
    worker_ = std::move(*made);
    if (pools_.windows[0].device) {
      put_device(image());
    } else {
      put(image());
    }
  }
  void put(const Image& lines) {
    for (size_t line = 0; line < lines.size(); ++line) worker_->files().put(line, lines[line]);
  }
  // Only these pages are followed.
  void follow(const std::set<uint64_t>& pages) { worker_->follow(pages); }
  ImageWorker::Traced trace() {
    auto traced = worker_->trace();
    EXPECT_TRUE(traced.ok()) << (traced.ok() ? "" : traced.error().message());
    // The image was restored by the run's report. A look at the whole image says whether the report was right.
    const auto left = worker_->files().restore();
    EXPECT_TRUE(left.ok() && *left == 0) << (left.ok() ? std::to_string(*left) + " pages" : left.error().message());
    return std::move(*traced);
  }
  ProgramOutcome run() {
    auto outcome = worker_->run();
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message());
    return outcome.ok() ? *outcome : ProgramOutcome{};
  }
  std::vector<std::string> notes() const { return worker_->notes(); }

 private:
  // In its sectors.
  void put_device(const Image& lines) {
    const DeviceLayout& layout = *pools_.windows[0].device;
    const uint64_t lines_of_sector = layout.sector_size / kLineSize;
    std::map<uint64_t, Content> words;
    const auto set = [&](uint64_t at, uint64_t value) {
      std::memcpy(words[at / kLineSize].bytes.data() + at % kLineSize, &value, sizeof value);
    };
    set(0, pools_.windows[0].size);
    for (uint64_t sector = 0; sector < lines.size() / lines_of_sector; ++sector) {
      const void* const bytes = lines.data() + sector * lines_of_sector;
      set(layout.word(sector), powercut_content_name(bytes, layout.sector_size, nullptr, 0));
    }
    for (const auto& [line, content] : words) worker_->files().put(line, content);
  }

  TracePools pools_;
  std::unique_ptr<Guardian> guard_;
  ProgramCommands commands_;
  std::unique_ptr<ImageWorker> worker_;
};

std::set<uint64_t> read_bytes(const ReadSet& reads) {
  std::set<uint64_t> out;
  for (const WordBytes& read : reads.reads()) {
    for (uint64_t i = 0; i < kWordSize; ++i) {
      if ((read.mask >> i & 1) != 0) out.insert(read.word * kWordSize + i);
    }
  }
  return out;
}

// "3 64-71 80", for a message.
std::string text_of(const std::set<uint64_t>& bytes) {
  std::string out;
  for (auto at = bytes.begin(); at != bytes.end();) {
    const uint64_t first = *at;
    uint64_t last = first;
    while (++at != bytes.end() && *at == last + 1) last = *at;
    out += (out.empty() ? "" : " ") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
  }
  return out;
}

// The image with other bytes where `changes` says so.
template <typename Changes>
Image changed(const Image& from, std::mt19937_64& random, const Changes& changes) {
  Image out = from;
  for (uint64_t at = 0; at < kChanged; ++at) {
    if (changes(at)) out[at / kLineSize].bytes[at % kLineSize] = static_cast<uint8_t>(random());
  }
  return out;
}

std::string name_of_test(std::string mode) {
  std::ranges::replace(mode, '-', '_');
  return mode;
}

using Way = std::tuple<Reader::How, const char*>;
class ReportedReads : public ::testing::TestWithParam<Way> {
 protected:
  Reader::How how() const { return std::get<0>(GetParam()); }
  const char* mode() const { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(
    Ways, ReportedReads,
    ::testing::Combine(::testing::Values(Reader::How::kReporting, Reader::How::kFollowed),
                       ::testing::Values("loads", "chain", "overwritten", "functions", "atomics", "vectors", "flushed",
                                         "written", "read-into", "mapped-twice", "pread", "fread", "readv", "private",
                                         "printed", "unbuffered", "sorted", "assembly", "assembly-within", "gathered",
                                         "compared", "locked", "placed", "hinted", "instructions", "far-bit")),
    [](const auto& info) {
      const bool followed = std::get<0>(info.param) == Reader::How::kFollowed;
      return name_of_test(std::get<1>(info.param)) + (followed ? "_followed" : "");
    });

TEST_P(ReportedReads, HaveAllThatMatters) {
  Reader reader(mode(), how());
  const ImageWorker::Traced traced = reader.trace();
  ASSERT_TRUE(traced.reads) << traced.why;
  EXPECT_TRUE(traced.outcome.ok()) << traced.outcome.text();
  const ProgramOutcome whole = reader.run();
  EXPECT_TRUE(traced.outcome.same(whole)) << traced.outcome.text() << whole.text();
  const std::set<uint64_t> reported = read_bytes(*traced.reads);
  std::mt19937_64 random(2026);
  int others = 0;
  for (int i = 0; i < kTimes; ++i) {
    reader.put(changed(image(), random, [&](uint64_t at) { return !reported.contains(at); }));
    const ProgramOutcome outcome = reader.run();
    EXPECT_TRUE(outcome.same(whole)) << "it depends on more than " << text_of(reported) << ": " << outcome.text();
    const ImageWorker::Traced again = reader.trace();
    ASSERT_TRUE(again.reads) << again.why;
    EXPECT_EQ(again.reads->reads(), traced.reads->reads());
    reader.put(changed(image(), random, [&](uint64_t at) { return reported.contains(at); }));
    others += reader.run().same(whole) ? 0 : 1;
  }
  EXPECT_GT(others, 0);
}

// The next read depends on earlier reads, and on nothing else: the reads of many images make a tree.
TEST_P(ReportedReads, AreInTheOrderOfATree) {
  Reader reader(mode(), how());
  std::map<std::vector<uint64_t>, WordBytes> next;  // by what was read before: word, mask and bytes of each
  std::mt19937_64 random(2026);
  for (int i = 0; i < kTimes; ++i) {
    const Image lines = changed(image(), random, [&](uint64_t) { return random() % 32 == 0; });
    reader.put(lines);
    const ImageWorker::Traced traced = reader.trace();
    ASSERT_TRUE(traced.reads) << traced.why;
    std::vector<uint64_t> path;
    for (const WordBytes& read : traced.reads->reads()) {
      const auto [known, added] = next.emplace(path, read);
      EXPECT_EQ(known->second, read) << path.size();
      path.insert(path.end(), {read.word, read.mask});
      for (uint64_t byte = 0; byte < kWordSize; ++byte) {
        if ((read.mask >> byte & 1) != 0)
          path.push_back(lines[read.word / kWords].bytes[read.word % kWords * kWordSize + byte]);
      }
    }
  }
}

// Which bytes the tool may tell of, beside ours.
enum class Others { kSame, kFewer, kMore };
struct Compared {
  const char* mode;
  Others others;
  friend void PrintTo(const Compared& compared, std::ostream* out) { *out << compared.mode; }
};
class TracedAlike : public ::testing::TestWithParam<Compared> {};

// Functions of the C library read whole vectors, of which a stand-in needs less. A function without a hook counts as
// reading more than it does.
INSTANTIATE_TEST_SUITE_P(Ways, TracedAlike,
                         ::testing::Values(Compared{"loads", Others::kSame}, Compared{"chain", Others::kSame},
                                           Compared{"overwritten", Others::kSame}, Compared{"atomics", Others::kSame},
                                           Compared{"vectors", Others::kSame}, Compared{"flushed", Others::kSame},
                                           Compared{"written", Others::kSame}, Compared{"mapped-twice", Others::kSame},
                                           Compared{"functions", Others::kMore}, Compared{"printed", Others::kFewer},
                                           Compared{"unbuffered", Others::kSame}, Compared{"sorted", Others::kFewer},
                                           Compared{"assembly", Others::kFewer},
                                           Compared{"assembly-within", Others::kFewer},
                                           Compared{"locked", Others::kFewer}),
                         [](const auto& info) { return name_of_test(info.param.mode); });

TEST_P(TracedAlike, TheToolTellsOfTheSameReads) {
  const auto& [mode, others] = GetParam();
  const ImageWorker::Traced reported = Reader(mode, Reader::How::kReporting).trace();
  const ImageWorker::Traced traced = Reader(mode, Reader::How::kTraced).trace();
  ASSERT_TRUE(reported.reads) << reported.why;
  ASSERT_TRUE(traced.reads) << traced.why;
  EXPECT_TRUE(reported.outcome.same(traced.outcome)) << reported.outcome.text() << traced.outcome.text();
  const std::set<uint64_t> ours = read_bytes(*reported.reads), theirs = read_bytes(*traced.reads);
  if (others == Others::kSame) EXPECT_EQ(text_of(ours), text_of(theirs));
  EXPECT_TRUE(std::ranges::includes(others == Others::kMore ? theirs : ours, others == Others::kMore ? ours : theirs))
      << "reported " << text_of(ours) << ", traced " << text_of(theirs);
}

// By its operands an instruction is known to the byte.
TEST(FollowedReads, AreThoseThatTheToolTellsOf) {
  for (const char* mode : {"loads", "chain", "overwritten", "atomics", "vectors", "flushed", "written", "mapped-twice",
                           "unbuffered", "assembly", "assembly-within", "instructions"}) {
    const ImageWorker::Traced followed = Reader(mode, Reader::How::kFollowed).trace();
    const ImageWorker::Traced traced = Reader(mode, Reader::How::kTraced).trace();
    ASSERT_TRUE(followed.reads) << followed.why;
    ASSERT_TRUE(traced.reads) << traced.why;
    EXPECT_EQ(text_of(read_bytes(*followed.reads)), text_of(read_bytes(*traced.reads))) << mode;
  }
}

// A page that is accessed again and again counts as a whole, unless all of it was read anyway.
TEST(FollowedReads, OfAPageManyTimes) {
  Reader reader("again", Reader::How::kFollowed);
  const ImageWorker::Traced traced = reader.trace();
  ASSERT_TRUE(traced.reads) << traced.why;
  EXPECT_EQ(text_of(read_bytes(*traced.reads)), "0-8191");
  EXPECT_TRUE(traced.outcome.same(reader.run()));
}

// Pages that all images have alike are not told of, and cost nothing.
TEST(FollowedReads, AreOfTheGivenPages) {
  for (const Reader::How how : {Reader::How::kReporting, Reader::How::kFollowed}) {
    Reader reader("again", how);
    reader.follow({1});
    const ImageWorker::Traced traced = reader.trace();
    ASSERT_TRUE(traced.reads) << traced.why;
    EXPECT_EQ(text_of(read_bytes(*traced.reads)), "4096-8191");
    EXPECT_TRUE(traced.outcome.same(reader.run()));
  }
  Reader none("loads", Reader::How::kFollowed);
  none.follow({2, 3});
  const ImageWorker::Traced traced = none.trace();
  ASSERT_TRUE(traced.reads) << traced.why;
  EXPECT_TRUE(read_bytes(*traced.reads).empty());
}

// For a device the tool and the report tell of equal sectors, and of its size.
TEST(FollowedReads, AreOfSectorsOnADevice) {
  TracePools pools = one_pool(1 << 16);
  pools.windows[0].device = DeviceLayout{.sector_size = kLineSize};
  pools.space = pools.windows[0].device->space(1 << 16);
  std::set<std::string> told;
  for (const char* mode :
       {"loads", "chain", "overwritten", "pread", "fread", "readv", "read-into", "mapped-twice", "written"}) {
    const ImageWorker::Traced followed = Reader(mode, Reader::How::kFollowed, pools).trace();
    const ImageWorker::Traced traced = Reader(mode, Reader::How::kTraced, pools).trace();
    ASSERT_TRUE(followed.reads) << followed.why;
    ASSERT_TRUE(traced.reads) << traced.why;
    EXPECT_TRUE(followed.outcome.same(traced.outcome)) << mode;
    const std::string ours = text_of(read_bytes(*followed.reads));
    EXPECT_EQ(ours, text_of(read_bytes(*traced.reads))) << mode;
    told.insert(ours);
  }
  EXPECT_GT(told.size(), 2u);
}

// Threads and children are followed, in whatever order they come.
class SharedReads : public ReportedReads {};
INSTANTIATE_TEST_SUITE_P(Ways, SharedReads,
                         ::testing::Combine(::testing::Values(Reader::How::kReporting, Reader::How::kFollowed),
                                            ::testing::Values("thread", "two-threads", "four-threads",
                                                              "sleeping-thread", "overwriting-thread", "forks")),
                         [](const auto& info) {
                           const bool followed = std::get<0>(info.param) == Reader::How::kFollowed;
                           return name_of_test(std::get<1>(info.param)) + (followed ? "_followed" : "");
                         });

TEST_P(SharedReads, HaveAllThatMatters) {
  Reader reader(mode(), how());
  const ImageWorker::Traced traced = reader.trace();
  ASSERT_TRUE(traced.reads) << traced.why;
  const ProgramOutcome whole = reader.run();
  EXPECT_TRUE(traced.outcome.ok() && traced.outcome.same(whole)) << traced.outcome.text() << whole.text();
  const std::set<uint64_t> reported = read_bytes(*traced.reads);
  std::mt19937_64 random(2026);
  int others = 0;
  for (int i = 0; i < kTimes; ++i) {
    reader.put(changed(image(), random, [&](uint64_t at) { return !reported.contains(at); }));
    const ImageWorker::Traced again = reader.trace();
    ASSERT_TRUE(again.reads) << again.why;
    EXPECT_TRUE(again.outcome.same(whole)) << "it depends on more than " << text_of(reported);
    EXPECT_EQ(text_of(read_bytes(*again.reads)), text_of(reported));
    reader.put(changed(image(), random, [&](uint64_t at) { return reported.contains(at); }));
    others += reader.run().same(whole) ? 0 : 1;
  }
  EXPECT_GT(others, 0);
}

// The tool tells nothing of children. Bytes that a thread overwrites count as read.
TEST_P(SharedReads, AreThoseThatTheToolTellsOf) {
  if (std::string_view(mode()) == "forks") return;
  const ImageWorker::Traced reported = Reader(mode(), how()).trace();
  const ImageWorker::Traced traced = Reader(mode(), Reader::How::kTraced).trace();
  ASSERT_TRUE(reported.reads) << reported.why;
  ASSERT_TRUE(traced.reads) << traced.why;
  std::set<uint64_t> theirs = read_bytes(*traced.reads);
  if (std::string_view(mode()) == "overwriting-thread") {
    for (uint64_t at = 256; at < 264; ++at) theirs.insert(at);
  }
  EXPECT_EQ(text_of(read_bytes(*reported.reads)), text_of(theirs));
}

class Changes : public ReportedReads {};
INSTANTIATE_TEST_SUITE_P(Ways, Changes,
                         ::testing::Combine(::testing::Values(Reader::How::kReporting, Reader::How::kFollowed),
                                            ::testing::Values("stores", "functions", "assembly", "read-into", "calls",
                                                              "output", "size", "hole", "removed", "all", "more",
                                                              "protected", "mapped", "replaced")),
                         [](const auto& info) {
                           const bool followed = std::get<0>(info.param) == Reader::How::kFollowed;
                           return name_of_test(std::get<1>(info.param)) + (followed ? "_followed" : "");
                         });

// The image is restored by the run's report of its changes; Reader::trace() checks the result.
TEST_P(Changes, AreRestored) {
  using Pages = std::optional<std::set<uint64_t>>;
  for (const Pages& followed : {Pages(), Pages(std::in_place), Pages({1}), Pages({0, 2, 3, 5})}) {
    Reader reader(mode(), how(), one_pool(kSize), "test-changes");
    if (followed) reader.follow(*followed);
    for (int round = 0; round < 2; ++round) {
      const ImageWorker::Traced traced = reader.trace();
      ASSERT_TRUE(traced.reads) << traced.why;
      EXPECT_TRUE(traced.outcome.ok()) << traced.outcome.text();
      EXPECT_TRUE(traced.outcome.same(reader.run()));
    }
  }
}

TEST(ChangesOfADevice, AreRestored) {
  TracePools pools = one_pool(1 << 16);
  pools.windows[0].device = DeviceLayout{.sector_size = kLineSize};
  pools.space = pools.windows[0].device->space(1 << 16);
  for (const char* mode : {"stores", "calls", "size", "all", "more"}) {
    const ImageWorker::Traced traced = Reader(mode, Reader::How::kFollowed, pools, "test-changes").trace();
    ASSERT_TRUE(traced.reads) << traced.why;
    EXPECT_TRUE(traced.outcome.ok()) << mode << traced.outcome.text();
  }
}

// An act that cannot be followed is refused by its name.
struct Refused {
  const char* mode;
  const char* why;
};
TEST(Refusals, NameWhatCannotBeFollowed) {
  for (const auto& [mode, why] : {Refused{"orphan", "leaves processes behind"},
                                  {"starts", "starts a process that shares its memory"},
                                  {"handles", "handles the signals of faults itself"},
                                  {"memory-file", "opens the memory of a process as a file"},
                                  {"spliced", "makes system call 278"},
                                  {"path", "hands an address of its pool to system call 21"},
                                  {"fixed", "at an address of its own choice"},
                                  {"too-often", "reads its pools so often"},
                                  {"collapsed", "moves what its pool holds"}}) {
    Reader reader(mode, Reader::How::kFollowed);
    for (int round = 0; round < 2; ++round) {
      const ImageWorker::Traced traced = reader.trace();
      EXPECT_FALSE(traced.reads) << mode;
      EXPECT_THAT(traced.why, HasSubstr(why)) << mode;
      EXPECT_THAT(traced.why, HasSubstr("test-reader"));
    }
    EXPECT_TRUE(reader.run().ok()) << mode;  // not traced it is as ever
  }
}

// Where a report is refused the commands run under the tracer, from then on.
TEST(Refusals, LeadToTheTracer) {
  Reader reader("fixed", Reader::How::kReportingOrTraced);
  const ImageWorker::Traced traced = reader.trace();
  ASSERT_TRUE(traced.reads) << traced.why;
  EXPECT_EQ(text_of(read_bytes(*traced.reads)), "8-15");
  EXPECT_THAT(reader.notes(), ::testing::ElementsAre(HasSubstr("at an address of its own choice")));
}

// A recovery dies of its own faults as it does without powercut.
TEST(Faults, AreThoseOfTheProgram) {
  for (const Reader::How how : {Reader::How::kReporting, Reader::How::kFollowed}) {
    for (const char* mode : {"dies", "read-only"}) {
      Reader reader(mode, how);
      const ImageWorker::Traced traced = reader.trace();
      ASSERT_TRUE(traced.reads) << mode << traced.why;
      EXPECT_EQ(traced.outcome.kind, Kind::kSignal) << mode;
      EXPECT_TRUE(traced.outcome.same(reader.run())) << mode;
    }
  }
}

}  // namespace
}  // namespace powercut
