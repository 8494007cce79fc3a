// Recording into a stream: its records of mappings, system calls, forks and a second process. The tests call the hooks
// as instrumented code does; each test records a process of its own, since a process has one recording.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "powercut/mark.h"
#include "replayer/media/memory/memory.h"
#include "replayer/media/pool_calls.h"
#include "tracer/format/reader.h"
#include "tracer/runtime/hooks.h"
#include "tracer/stream/converter.h"
#include "tracer/stream/stream.h"

namespace powercut {
namespace {

constexpr size_t kPage = 4096, kSize = 4 * kPage;

// Calls on the pools of a stream, which are all mapped.
class MappedFiles final : public FileCalls {
 public:
  explicit MappedFiles(const StreamSurvey& survey) : survey_(survey) { MappedFiles::start(); }
  void start() override {
    files_.clear();
    for (const StreamPool& pool : survey_.pools) {
      files_[pool.window == 0 ? kNoPool : pool.offset] = make_memory_calls({pool.offset, pool.window, pool.size});
    }
  }
  void call(const Event& call, const Emit& emit) override {
    events_.begin(call, emit);
    files_.at(call.pool)->call(call, &events_);
  }
  void pass(const Event& event) override {
    for (auto& [offset, file] : files_) file->pass(event);
  }

 private:
  const StreamSurvey& survey_;
  CallEvents events_{false};
  std::map<uint64_t, std::unique_ptr<PoolCalls>> files_;
};

class StreamTraceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (getenv("POWERCUT_STREAM") != nullptr) return;  // the recorded process uses its parent's folder
    folder_ = std::filesystem::temp_directory_path() / ("powercut-stream-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }

  // Runs `body` in a process with the environment of a recording. Returns the process's exit status. The process is
  // this program, started anew for the filter below: the environment is read when the runtime is loaded.
  int record(const std::function<void()>& body) {
    if (getenv("POWERCUT_STREAM") != nullptr) {
      body();
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
    const pid_t child = fork();
    if (child == 0) {
      setenv("POWERCUT_STREAM", path("stream").c_str(), 1);
      setenv("POWERCUT_POOL_FILES", (path("a") + ":" + path("b")).c_str(), 1);
      setenv("POWERCUT_TEST_FOLDER", folder_.c_str(), 1);
      execl("/proc/self/exe", "stream_trace_test", filter.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  // Returns the folder of the parent process; called in the recorded process.
  static std::string file(const std::string& name) { return std::string(getenv("POWERCUT_TEST_FOLDER")) + "/" + name; }
  static int open_pool(const std::string& name) {
    const int fd = open(file(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    EXPECT_EQ(ftruncate(fd, kSize), 0);
    return fd;
  }
  static char* map(int fd, size_t size = kSize, off_t offset = 0) {
    return static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset));
  }
  static void store(char* at, char value) {
    __powercut_store(at, 1, 0, &value);
    *at = value;
  }

  StreamSurvey survey() const {
    TraceError error;
    const auto found = survey_stream(path("stream"), {}, &error);
    EXPECT_TRUE(found) << error.message();
    return found.value_or(StreamSurvey{});
  }
  // Returns stores, flushes, fences and cuts of the converted trace: "s8=5 f0 F".
  std::string events() const {
    TraceError error;
    const StreamSurvey known = survey();
    auto writer = TraceWriter::create(path("trace"), "{}", &error);
    EXPECT_FALSE(convert_stream(path("stream"), known, "", *writer));
    EXPECT_FALSE(writer->finish());
    auto reader = TraceReader::open(path("trace"), &error);
    EXPECT_TRUE(reader->read_through(std::make_unique<MappedFiles>(known)));
    std::string text;
    Event event;
    while (reader->next(&event)) {
      if (event.kind == EventKind::kStore) {
        text += "s" + std::to_string(event.addr) + "=" + std::to_string(event.value[0]) + " ";
      } else if (event.kind == EventKind::kFlush) {
        text += "f" + std::to_string(event.addr) + " ";
      } else if (event.kind == EventKind::kFence) {
        text += "F ";
      } else if (event.kind == EventKind::kOpBegin || event.kind == EventKind::kOpEnd) {
        text += event.kind == EventKind::kOpBegin ? "( " : ") ";
      } else if (event.kind == EventKind::kCut) {
        text += "| ";
      }
    }
    return text;
  }

  std::filesystem::path folder_;
};

TEST_F(StreamTraceTest, StoresGoToTheirPlaceInTheFileThroughEveryMapping) {
  ASSERT_EQ(record([] {
              const int a = open_pool("a"), b = open_pool("b");
              char* second = map(b);
              char* first = map(a);
              char* tail = map(a, kPage, 2 * kPage);
              store(first + 8, 1);
              store(tail + 8, 2);
              store(second + 8, 3);
              munmap(tail, kPage);
              __powercut_store(tail + 9, 1, 0, "x");  // nothing is mapped there now
              store(first + 9, 4);
            }),
            0);
  // The pools are numbered as they were named, not as they were mapped.
  EXPECT_EQ(events(), "| s8=1 s8200=2 s16392=3 s9=4 ");
  EXPECT_EQ(survey().pools[1].path, path("b"));
  ASSERT_TRUE(survey().end);
  EXPECT_EQ(survey().end->status, 0u);
}

TEST_F(StreamTraceTest, WhatWasInThePoolBeforeIsItsFirstContents) {
  {
    const int fd = open(path("a").c_str(), O_RDWR | O_CREAT, 0644);
    ASSERT_EQ(ftruncate(fd, kSize), 0);
    ASSERT_EQ(pwrite(fd, "\7", 1, kPage + 3), 1);
    close(fd);
  }
  ASSERT_EQ(record([] { store(map(open_pool("a")), 1); }), 0);
  const std::string text = events();
  EXPECT_EQ(text.substr(text.find('|')), "| s0=1 ");
  // The trace holds the line of the page that is not zero, and nothing else.
  EXPECT_EQ(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(text.find('|')), 's'), 1);
}

TEST_F(StreamTraceTest, ARemappedPoolIsFollowed) {
  ASSERT_EQ(record([] {
              char* pool = map(open_pool("a"), kPage, kPage);
              pool = static_cast<char*>(mremap(pool, kPage, 2 * kPage, MREMAP_MAYMOVE));
              store(pool + kPage + 1, 5);
            }),
            0);
  EXPECT_EQ(events(), "| s8193=5 ");
}

TEST_F(StreamTraceTest, SystemCallsWriteAndSync) {
  ASSERT_EQ(record([] {
              const int fd = open_pool("a");
              char* pool = map(fd);
              EXPECT_EQ(pwrite(fd, "\1", 1, 70), 1);
              EXPECT_EQ(lseek(fd, 130, SEEK_SET), 130);
              EXPECT_EQ(write(fd, "\2", 1), 1);
              EXPECT_EQ(fsync(fd), 0);
              store(pool + 5, 3);
              EXPECT_EQ(msync(pool, kPage, MS_SYNC), 0);
              EXPECT_EQ(msync(pool, kPage, MS_ASYNC), 0);  // promises nothing
            }),
            0);
  EXPECT_EQ(events(), "| s70=1 s130=2 f64 f128 F s5=3 f0 F ");
}

TEST_F(StreamTraceTest, AForkIsNotedAndTheChildIsNotRecorded) {
  ASSERT_EQ(record([] {
              char* pool = map(open_pool("a"));
              store(pool, 1);
              const pid_t child = fork();
              if (child == 0) {
                store(pool + 1, 2);
                _exit(0);
              }
              waitpid(child, nullptr, 0);
              store(pool + 2, 3);
            }),
            0);
  EXPECT_EQ(events(), "| s0=1 s2=3 ");
  ASSERT_EQ(survey().notes.size(), 2u);
  EXPECT_EQ(survey().notes[0].kind, kPowercutNoteFork);
  // The bytes that the child stored are in the pool and not in the stream.
  EXPECT_EQ(survey().notes[1].kind, kPowercutNoteUnseen);
}

TEST_F(StreamTraceTest, AForkBeforeTheFirstPoolIsNotedToo) {
  ASSERT_EQ(record([] {
              if (fork() == 0) _exit(0);
              wait(nullptr);
              store(map(open_pool("a")), 1);
            }),
            0);
  EXPECT_EQ(survey().notes.size(), 1u);
}

TEST_F(StreamTraceTest, ASecondProcessDoesNotTouchTheStreamOfTheFirst) {
  ASSERT_EQ(record([] { store(map(open_pool("a")), 1); }), 0);
  ASSERT_EQ(record([] { store(map(open_pool("a")), 2); }), 0);
  EXPECT_EQ(events(), "| s0=1 ");
  EXPECT_TRUE(std::filesystem::exists(path("stream.unrecorded")));
}

TEST_F(StreamTraceTest, AProgramThatNeverTouchesAPoolLeavesNoStream) {
  ASSERT_EQ(record([] {
              static char memory[64];
              store(memory, 1);
              __powercut_fence(POWERCUT_SFENCE);
              munmap(map(-1), kPage);
            }),
            0);
  EXPECT_FALSE(std::filesystem::exists(path("stream")));
}

TEST_F(StreamTraceTest, APrivateMappingIsNotedAndNotRecorded) {
  ASSERT_EQ(record([] {
              const int fd = open_pool("a");
              char* copy = static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
              store(copy, 1);
            }),
            0);
  EXPECT_EQ(events(), "| ");
  ASSERT_EQ(survey().notes.size(), 1u);
  EXPECT_EQ(survey().notes[0].kind, kPowercutNotePrivate);
}

TEST_F(StreamTraceTest, MarkedOperationsAreInTheTrace) {
  ASSERT_EQ(record([] {
              char* pool = map(open_pool("a"));
              powercut_mark_begin(POWERCUT_MARK_ERASE, "key", 3, nullptr, 0);
              store(pool, 1);
              powercut_mark_end(0, nullptr, 0);
            }),
            0);
  EXPECT_EQ(events(), "| ( s0=1 ) ");
}

TEST_F(StreamTraceTest, AStoreThatNobodyAnnouncedIsNotedOnceWithItsOperation) {
  ASSERT_EQ(record([] {
              char* pool = map(open_pool("a"));
              for (int i = 0; i < 3; ++i) {
                powercut_mark_begin(POWERCUT_MARK_INSERT, "key", 3, nullptr, 0);
                store(pool + i, 1);
                if (i == 1) pool[2 * kPage + 70] = 7;
                powercut_mark_end(0, nullptr, 0);
              }
              pool[3 * kPage] = 8;
              munmap(pool, kSize);
            }),
            0);
  EXPECT_EQ(events(), "| ( s0=1 ) ( s1=1 ) ( s2=1 ) ");
  ASSERT_EQ(survey().notes.size(), 2u);
  for (const StreamNote& note : survey().notes) EXPECT_EQ(note.kind, kPowercutNoteUnseen);
  EXPECT_NE(survey().notes[0].text.find("byte 8262 of " + path("a") + " changed between the start of operation 2 and " +
                                        "the end of operation 2 without a recorded store"),
            std::string::npos)
      << survey().notes[0].text;
  EXPECT_NE(survey().notes[1].text.find("and an unmapping"), std::string::npos) << survey().notes[1].text;
}

TEST_F(StreamTraceTest, APoolThatIsProtectedIsLookedAtAllTheSame) {
  ASSERT_EQ(record([] {
              char* pool = map(open_pool("a"));
              store(pool, 1);
              mprotect(pool, kSize, PROT_NONE);
              powercut_mark_begin(POWERCUT_MARK_INSERT, "key", 3, nullptr, 0);
              powercut_mark_end(0, nullptr, 0);
            }),
            0);
  EXPECT_TRUE(survey().notes.empty());
}

TEST_F(StreamTraceTest, AStoreThatAnotherThreadIsAboutToMakeIsWaitedFor) {
  ASSERT_EQ(record([] {
              char* pool = map(open_pool("a"));
              store(pool, 1);
              std::atomic<bool> announced = false;
              std::thread other([&] {
                __powercut_store(pool + 64, 1, 0, "\5");
                announced = true;
                usleep(20'000);
                pool[64] = 5;
              });
              while (!announced) usleep(100);
              powercut_mark_begin(POWERCUT_MARK_INSERT, "key", 3, nullptr, 0);
              powercut_mark_end(0, nullptr, 0);
              other.join();
            }),
            0);
  EXPECT_TRUE(survey().notes.empty()) << survey().notes[0].text;
}

TEST_F(StreamTraceTest, WhatTheKernelReadsIntoThePoolIsAStore) {
  ASSERT_EQ(record([] {
              char* pool = map(open_pool("a"));
              int ends[2];
              EXPECT_EQ(pipe(ends), 0);
              EXPECT_EQ(write(ends[1], "\1\2\3", 3), 3);
              EXPECT_EQ(read(ends[0], pool + 8, 1), 1);
              iovec parts[] = {{pool + 64, 1}, {pool + 128, 1}};
              EXPECT_EQ(readv(ends[0], parts, 2), 2);
              EXPECT_EQ(pread(open("/proc/self/exe", O_RDONLY), pool + 192, 1, 0), 1);
            }),
            0);
  EXPECT_EQ(events(), "| s8=1 s64=2 s128=3 s192=127 ");
  EXPECT_TRUE(survey().notes.empty());
}

TEST_F(StreamTraceTest, TwoCallsOfMemcpyAreTwoStores) {
  ASSERT_EQ(record([] {
              char* pool = map(open_pool("a"));
              for (int i = 0; i < 2; ++i) __powercut_store(pool + 8 * i, 8, POWERCUT_STORE_MEMCALL, "01234567");
            }),
            0);
  EXPECT_EQ(events(), "| s0=48 s8=48 ");
}

}  // namespace
}  // namespace powercut
