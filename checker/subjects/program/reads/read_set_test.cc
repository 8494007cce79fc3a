// Holds the reads of a traced recovery against the bytes that change its outcome: each byte or sector of the image is
// changed in turn.
#include "checker/subjects/program/reads/read_set.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "checker/subjects/program/test_files.h"
#include "powercut/contents.h"

namespace powercut {
namespace {

using testing::command;
using testing::one_pool;
using testing::WorkerFixture;

constexpr uint64_t kWays = 25;   // of testdata/reads.c, and one that it does not read
constexpr uint64_t kTried = 12;  // bytes of a line that are changed: those that a way reads, and some behind them
constexpr uint64_t kAccess = 14, kFutex = 15, kWritten = 21;

// A worker for a program of reads, as the dump, whose output counts.
std::unique_ptr<ImageWorker> reader(WorkerFixture* fixture, uint64_t word, const std::string& program = "test-reads",
                                    bool told = false) {
  std::vector<std::string> words = {"{image}", std::to_string(word)};
  if (told) words.emplace_back("told");
  fixture->commands.dump = command(fixture->pools, words, program);
  fixture->commands.dump->reports = told;
  if (!told) fixture->commands.tracer = *parse_trace_prefix(testing::tracer_json(), "--trace-prefix");
  auto made = ImageWorker::create(fixture->guard->folder() + "/" + std::to_string(word), fixture->pools,
                                  fixture->commands, fixture->guard.get(), nullptr);
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

ProgramOutcome outcome(ImageWorker* worker) {
  auto ran = worker->run();
  EXPECT_TRUE(ran.ok() && ran->ok()) << (ran.ok() ? ran->text() : ran.error().message());
  return *ran;
}

ReadSet traced(ImageWorker* worker, const ProgramOutcome& native) {
  auto ran = worker->trace();
  EXPECT_TRUE(ran.ok() && ran->reads.has_value()) << (ran.ok() ? ran->why : ran.error().message());
  if (!ran.ok() || !ran->reads) return {};
  EXPECT_TRUE(ran->outcome.same(native)) << ran->outcome.text() << "natively\n" << native.text();
  return *ran->reads;
}

std::set<uint64_t> bytes_of(const ReadSet& reads) {
  std::set<uint64_t> out;
  for (const WordBytes& read : reads.reads()) {
    for (uint64_t i = 0; i < kWordSize; ++i) {
      if ((read.mask >> i & 1) != 0) EXPECT_TRUE(out.insert(read.word * kWordSize + i).second) << "each byte once";
    }
  }
  return out;
}

// The content that each way finds: an existing name, a word that it waits on, and ones.
Content content_of(uint64_t way) {
  Content out = testing::filled(1);
  if (way == kAccess) std::memcpy(out.bytes.data(), "/tmp", 5);
  return out;
}

TEST(ReadSet, IsEveryByteOfAPoolThatChangesTheOutcome) {
  WorkerFixture fixture({"exit", "{image}", "0"}, "test-recovery", 10, one_pool(8192));
  const auto worker = reader(&fixture, kLineSize);
  for (uint64_t way = 0; way < kWays; ++way) worker->files().put(way, content_of(way));
  const ProgramOutcome before = outcome(worker.get());
  std::set<uint64_t> matters, expected;
  for (uint64_t way = 0; way < kWays; ++way) {
    for (uint64_t i = 0; i < kTried; ++i) {
      Content flipped = content_of(way);
      flipped.bytes[i] ^= 0x40;
      worker->files().put(way, flipped);
      if (!outcome(worker.get()).same(before)) matters.insert(way * kLineSize + i);
    }
    worker->files().put(way, content_of(way));
    const uint64_t read = way >= kWritten ? 0 : way == kAccess ? 5 : way == kFutex ? 4 : 8;
    for (uint64_t i = 0; i < read; ++i) expected.insert(way * kLineSize + i);
  }
  EXPECT_EQ(matters, expected);
  EXPECT_EQ(bytes_of(traced(worker.get(), before)), expected);
}

// Whatever is written and moved between the reads. POWERCUT_READ_SEEDS=200 looks at more of them. With `told` the runs
// report their reads themselves.
void all_that_matters_in_random_runs(bool told, uint64_t few) {
  const char* const many = std::getenv("POWERCUT_READ_SEEDS");
  const uint64_t seeds = many == nullptr ? few : std::strtoull(many, nullptr, 10);
  WorkerFixture fixture({"exit", "{image}", "0"}, "test-recovery", 10, one_pool(8192));
  size_t matter = 0, not_read = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    fixture.commands.recover.reports = told;
    const auto worker = reader(&fixture, seed, "test-random-reads", told);
    Content line;
    for (uint64_t at = 0; at < kLineSize; ++at) line.bytes[at] = static_cast<uint8_t>(at * 7 + 1);
    for (uint64_t number = 0; number < 8; ++number) worker->files().put(number, line);
    const ProgramOutcome before = outcome(worker.get());
    const std::set<uint64_t> read = bytes_of(traced(worker.get(), before));
    for (uint64_t at = 0; at < 8 * kLineSize; ++at) {
      if (read.contains(at)) continue;
      ++not_read;
      Content flipped = line;
      flipped.bytes[at % kLineSize] ^= 0x40;
      worker->files().put(at / kLineSize, flipped);
      EXPECT_TRUE(outcome(worker.get()).same(before)) << "seed " << seed << ", byte " << at;
      worker->files().put(at / kLineSize, line);
    }
    matter += read.size();
  }
  EXPECT_GT(matter, 64 * seeds);
  EXPECT_GT(not_read, 64 * seeds);
}

TEST(ReadSet, HasAllThatMattersInRandomRuns) { all_that_matters_in_random_runs(false, 3); }
#ifdef POWERCUT_TEST_REPORTING
TEST(ReadSet, HasAllThatMattersInRandomRunsThatReport) { all_that_matters_in_random_runs(true, 12); }
#endif

TEST(ReadSet, IsEverySectorOfADeviceThatChangesTheOutcome) {
  for (const DeviceLayout layout : {DeviceLayout{}, DeviceLayout{.sector_size = 512, .unit = 4}}) {
    const uint64_t size = (kWays + 1) * layout.sector_size;
    TracePools pools = one_pool(size);
    pools.windows[0].device = layout;
    pools.space = layout.space(size);
    WorkerFixture fixture({"exit", "{image}", "0"}, "test-recovery", 10, pools);
    const auto worker = reader(&fixture, layout.sector_size);
    std::map<uint64_t, Content> lines;  // with each sector as it is
    const auto put = [&](uint64_t word, uint64_t value) {
      std::memcpy(lines[word / kLineSize].bytes.data() + word % kLineSize, &value, sizeof value);
      worker->files().put(word / kLineSize, lines[word / kLineSize]);
    };
    const auto name = [&](uint64_t sector, uint8_t first) {
      std::vector<uint8_t> bytes(layout.sector_size, 1);
      std::memcpy(bytes.data(), content_of(sector).bytes.data(), kLineSize);
      bytes[0] ^= first;
      return powercut_content_name(bytes.data(), bytes.size(), nullptr, 0);
    };
    put(0, size);
    for (uint64_t sector = 0; sector < kWays; ++sector) put(layout.word(sector), name(sector, 0));
    const ProgramOutcome before = outcome(worker.get());
    std::set<uint64_t> matters;
    for (uint64_t sector = 0; sector < kWays; ++sector) {
      put(layout.word(sector), name(sector, 0x40));
      if (!outcome(worker.get()).same(before)) matters.insert(layout.word(sector));
      put(layout.word(sector), name(sector, 0));
    }
    put(0, size - 1);
    if (!outcome(worker.get()).same(before)) matters.insert(0);
    put(0, size);
    EXPECT_EQ(matters.size(), kWritten + 1);
    std::set<uint64_t> expected;
    for (const uint64_t word : matters) {
      for (uint64_t i = 0; i < DeviceLayout::kWord; ++i) expected.insert(word + i);
    }
    EXPECT_EQ(bytes_of(traced(worker.get(), before)), expected);
  }
}

// Three kinds of runs have equal reads: forks of one process, with translations of earlier runs; runs started anew; and
// a program that a shell has replaced itself by.
TEST(ReadSet, IsTheSameHoweverARunIsStarted) {
  WorkerFixture fixture({"check", "{image}"}, "test-recovery", 10, one_pool(1 << 20));
  fixture.commands.tracer = *parse_trace_prefix(testing::tracer_json(), "--trace-prefix");
  std::vector<std::unique_ptr<ImageWorker>> workers;
  std::vector<Command> commands(3, fixture.commands.recover);
  commands[1].kind = ProgramKind::kPlain;
  commands[2].words = {"/bin/sh", "-c", "exec \"$0\" check \"$1\""};
  commands[2].words.insert(commands[2].words.end(), {fixture.commands.recover.words[0], "{image}"});
  for (const Command& command : commands) {
    fixture.commands.recover = command;
    auto made = ImageWorker::create(fixture.guard->folder() + "/" + std::to_string(workers.size() + 1), fixture.pools,
                                    fixture.commands, fixture.guard.get(), nullptr);
    ASSERT_TRUE(made.ok());
    workers.push_back(std::move(*made));
  }
  std::set<size_t> sizes;
  for (const uint64_t items : {3, 0, 3}) {  // of which the first one is there by half
    Content header;
    std::memcpy(header.bytes.data(), &items, sizeof items);
    Content item;  // 1: good in its first half
    for (const uint64_t part : {0, 1}) {
      const uint64_t word = 100 + part;
      std::memcpy(item.bytes.data() + 8 * part, &word, sizeof word);
    }
    std::vector<std::set<uint64_t>> read;
    std::vector<ProgramOutcome> outcomes;
    for (const auto& worker : workers) {
      worker->files().put(1, header);
      worker->files().put((512 + 32) * 8 / kLineSize, item);
      auto ran = worker->trace();
      ASSERT_TRUE(ran.ok() && ran->reads.has_value()) << (ran.ok() ? ran->why : ran.error().message());
      read.push_back(bytes_of(*ran->reads));
      outcomes.push_back(ran->outcome);
    }
    EXPECT_TRUE(outcomes[0].same(outcomes[1]) && outcomes[0].same(outcomes[2]));
    EXPECT_EQ(read[0], read[1]) << items;
    EXPECT_EQ(read[0], read[2]) << items;
    sizes.insert(read[0].size());
  }
  EXPECT_GT(sizes.size(), 1u);
}

// A process that has read its pool before main cannot be what runs are forks of: what it has read would be in none.
TEST(ReadSet, HasWhatWasReadBeforeMain) {
  WorkerFixture fixture({"{image}", "64", "early"}, "test-reads", 10, one_pool(8192));
  fixture.commands.tracer = *parse_trace_prefix(testing::tracer_json(), "--trace-prefix");
  auto made = ImageWorker::create(fixture.guard->folder() + "/1", fixture.pools, fixture.commands, fixture.guard.get(),
                                  nullptr);
  ASSERT_TRUE(made.ok());
  for (int round = 0; round < 2; ++round) {
    const auto ran = (*made)->trace();
    ASSERT_TRUE(ran.ok() && ran->reads.has_value()) << (ran.ok() ? ran->why : ran.error().message());
    EXPECT_THAT(bytes_of(*ran->reads), ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    // The process that could not serve has counted as well, and what it did was taken back.
    EXPECT_EQ(ran->outcome.code, 1);
  }
}

TEST(ReadSet, IsNotKnownWhereSomethingMayBeReadUnseen) {
  WorkerFixture fixture({"exit", "{image}", "0"}, "test-recovery", 10, one_pool(8192));
  fixture.commands.tracer = *parse_trace_prefix(testing::tracer_json(), "--trace-prefix");
  const std::map<std::string, std::string> named = {{"mem", "/proc/PID/mem"},       {"rename", "rename on a pool"},
                                                    {"link", "link on a pool"},     {"unlink", "unlink on a pool"},
                                                    {"code", "PROT_EXEC"},          {"ioctl", "an ioctl on a pool"},
                                                    {"uring", "io_uring"},          {"child", "started a child"},
                                                    {"collapse", "COLLAPSE_RANGE"}, {"exec", "a pool as a program"}};
  for (const auto& [how, why] : named) {
    fixture.commands.recover = command(fixture.pools, {"{image}", "64", how}, "test-reads");
    auto made = ImageWorker::create(fixture.guard->folder() + "/" + how, fixture.pools, fixture.commands,
                                    fixture.guard.get(), nullptr);
    ASSERT_TRUE(made.ok());
    const auto ran = (*made)->trace();
    ASSERT_TRUE(ran.ok() && ran->outcome.ok()) << how;
    EXPECT_FALSE(ran->reads.has_value()) << how;
    EXPECT_THAT(ran->why, ::testing::HasSubstr(why));
  }
}

}  // namespace
}  // namespace powercut
