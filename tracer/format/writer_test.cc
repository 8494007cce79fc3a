#include "tracer/format/writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "tracer/format/layout.h"
#include "tracer/format/test_events.h"

namespace powercut {
namespace {

using testing::begin;
using testing::bytes_of;
using testing::fence;
using testing::flush;
using testing::kStacks;
using testing::other;
using testing::OwnedEvent;
using testing::read_bytes;
using testing::ReadBack;
using testing::store;
using testing::TemporaryFile;

TEST(Writer, LeavesNothingWhenItIsNotFinished) {
  TemporaryFile file;
  TraceError error;
  TraceWriter::create(file.path(), "{}", &error)->append(fence().view());
  EXPECT_TRUE(std::filesystem::is_empty(file.folder()));
  EXPECT_EQ(TraceWriter::create(file.folder() + "/no/run.pct", "{}", &error), nullptr);
  EXPECT_NE(error.what.find("No such file"), std::string::npos);
}

TEST(Writer, AFailedRunKeepsTheOldTrace) {
  TemporaryFile file;
  std::ofstream(file.path()) << "old";
  TraceError error;
  {
    auto writer = TraceWriter::create(file.path(), "{}", &error);
    OwnedEvent wrong = fence(9);
    writer->append(wrong.view());
    writer->append(fence().view());
    auto problem = writer->finish();
    ASSERT_TRUE(problem.has_value());
    EXPECT_NE(problem->what.find("fence"), std::string::npos);
  }
  EXPECT_EQ(bytes_of(file.path()).size(), 3u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.folder()), {}), 1);
}

TEST(Writer, RefusesWhatTheReaderWould) {
  for (OwnedEvent wrong :
       {flush(0), store(~uint64_t{0}, {1, 2}), store(0, {1}, 1), begin(OpKind{10}, {}, {}),
        other(static_cast<EventKind>(layout::kTypeMask)), begin(OpKind::kInsert, std::vector<uint8_t>(70000), {}),
        other(EventKind::kMarker, std::string(5000, 'x')), other(EventKind::kPhase, "p", 2)}) {
    if (wrong.kind == EventKind::kFlush) wrong.code = 0;
    TemporaryFile file;
    TraceError error;
    auto writer = TraceWriter::create(file.path(), "{}", &error);
    writer->append(wrong.view());
    EXPECT_TRUE(writer->finish().has_value());
  }
  TemporaryFile file;
  TraceError error;
  auto writer = TraceWriter::create(file.path(), "{}", &error);
  OwnedEvent unknown_stack = fence();
  unknown_stack.stack = 1;
  writer->append(unknown_stack.view());
  EXPECT_TRUE(writer->finish().has_value());
}

// Appends `count` stores that nothing can compress.
void append_stores(TraceWriter& writer, uint64_t count) {
  for (uint64_t i = 1; i <= count; ++i) {
    uint8_t bytes[8];
    layout::put<uint64_t>(bytes, i * 0x9E3779B97F4A7C15);
    Event event;
    event.kind = EventKind::kStore;
    event.addr = i * 8;
    event.value = bytes;
    writer.append(event);
  }
}

// In a process of its own, which ends with 0 if `body` does.
int status_of_child(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Writer, AFileThatCannotGrowIsAnErrorAndNoTrace) {
  TemporaryFile file;
  const int status = status_of_child([&] {
    // The signal belongs to whoever wrote too much; the writer's thread takes none.
    signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    TraceError error;
    auto writer = TraceWriter::create(file.path(), "{}", &error);
    append_stores(*writer, 1 << 20);
    const std::optional<TraceError> problem = writer->finish();
    if (!problem) return 1;
    if (problem->what != "cannot write the trace: File too large") return 2;
    writer.reset();
    return std::filesystem::is_empty(file.folder()) ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
}

TEST(Writer, AnUnfinishedTraceEndsAtOnceAndLeavesNothing) {
  TemporaryFile file;
  TraceError error;
  for (uint64_t count : {uint64_t{1}, uint64_t{200'000}}) {
    append_stores(*TraceWriter::create(file.path(), "{}", &error), count);
    EXPECT_TRUE(std::filesystem::is_empty(file.folder()));
  }
}

// Peak of memory, in KiB, of a process that writes and reads a trace of `count` stores.
uint64_t peak_of(uint64_t count) {
  TemporaryFile file;
  int result[2];
  EXPECT_EQ(pipe(result), 0);
  const int status = status_of_child([&] {
    TraceError error;
    auto writer = TraceWriter::create(file.path(), "{}", &error);
    append_stores(*writer, count);
    if (writer->finish()) return 1;
    auto reader = TraceReader::open(file.path(), &error);
    uint64_t read = 0;
    for (Event event; reader->next(&event);) ++read;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto peak = static_cast<uint64_t>(usage.ru_maxrss);
    return read == count && ::write(result[1], &peak, sizeof peak) == sizeof peak ? 0 : 2;
  });
  uint64_t peak = 0;
  EXPECT_EQ(status, 0);
  EXPECT_EQ(::read(result[0], &peak, sizeof peak), ssize_t{sizeof peak});
  close(result[0]);
  close(result[1]);
  return peak;
}

TEST(Format, MemoryDoesNotGrowWithTheTrace) {
  // 20 MB and 80 MB of file. The small one already fills every buffer.
  const uint64_t small = peak_of(2'000'000), large = peak_of(8'000'000);
  EXPECT_LE(large, small + 4096) << small << " KiB against " << large << " KiB";
}

TEST(Writer, DefinitionsAreStoredOnce) {
  TemporaryFile file;
  TraceError error;
  auto writer = TraceWriter::create(file.path(), "{}", &error);
  EXPECT_EQ(writer->module({"/a", "00"}), 0u);
  EXPECT_EQ(writer->module({"/b", "00"}), 1u);
  EXPECT_EQ(writer->module({"/a", "00"}), 0u);
  EXPECT_EQ(writer->module({"/a", "01"}), 2u) << "another build is another module";
  std::vector<Frame> deep(400, Frame{1, 7});
  uint32_t one = writer->stack(kStacks[0]);
  EXPECT_EQ(writer->stack(kStacks[0]), one);
  EXPECT_EQ(writer->stack(deep), one + 1);
  EXPECT_EQ(writer->stack(deep), one + 1);
  ASSERT_FALSE(writer->finish().has_value());
  ReadBack back = read_bytes(bytes_of(file.path()));
  ASSERT_TRUE(back.complete);
  EXPECT_EQ(back.modules.size(), 3u);
  EXPECT_EQ(back.stacks.size(), 2u);
  EXPECT_EQ(back.stacks[1].size(), layout::kMaxStackDepth);
}

}  // namespace
}  // namespace powercut
