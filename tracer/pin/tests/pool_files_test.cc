// The system calls are made for real; the test simulates only Pin's reports of the calls.
#include "tracer/pin/pool_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <fstream>

#include "tracer/pin/tests/program.h"

namespace powercut::pin {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

constexpr uint64_t kPage = 4096;

class PoolFilesTest : public testing::Test {
 protected:
  void start(bool loads = false) {
    ASSERT_TRUE(recorder_.open(stream_.c_str()));
    pools_ = std::make_unique<PoolFiles>(recorder_, loads);
    pools_->name(pool_);
    pools_->name(other_);
    pools_->begin();
  }
  void make_pool(uint64_t size) {
    std::ofstream(pool_).close();
    std::filesystem::resize_file(pool_, size);
  }
  template <typename... Arguments>
  uint64_t call(long number, Arguments... arguments) {
    SystemCall made;
    made.number = static_cast<uint64_t>(number);
    const uint64_t values[] = {(uint64_t)arguments...};
    std::copy(std::begin(values), std::end(values), made.arguments);
    pools_->before(0, made);
    const long result = syscall(number, arguments...);
    if (result == -1) return UINT64_MAX;
    const Effect effect = pools_->effect_of(made, static_cast<uint64_t>(result));
    pools_->apply(0, effect, Frames{nullptr, 0});
    return static_cast<uint64_t>(result);
  }
  int open_pool(int flags) { return static_cast<int>(call(SYS_openat, AT_FDCWD, pool_.c_str(), flags, 0600)); }
  uint64_t map(int file, uint64_t length, uint64_t offset = 0, int flags = MAP_SHARED) {
    return call(SYS_mmap, nullptr, length, PROT_READ | PROT_WRITE, flags, file, offset);
  }
  // Returns the lines of the stream without the lines that every stream begins with.
  Lines lines(uint64_t base = 0) {
    recorder_.end(kPowercutExited, 0);
    Lines all = lines_of(stream_, base), rest;
    for (const std::string& line : all) {
      if (!line.starts_with("pool") && !line.starts_with("start") && !line.starts_with("exit")) rest.push_back(line);
    }
    return rest;
  }

  Folder folder_;
  const std::string pool_ = folder_.file("pool"), other_ = folder_.file("other"), stream_ = folder_.file("stream");
  Recorder recorder_{kOwnProcess, 1000};
  std::unique_ptr<PoolFiles> pools_;
};

TEST_F(PoolFilesTest, ContentsOfBeforeTheProgramAreThePagesThatAreNotZero) {
  make_pool(10 * kPage + 100);
  std::fstream file(pool_);
  file.seekp(3 * kPage + 5).put('\7');
  file.seekp(10 * kPage + 99).put('\1');
  file.close();
  start();
  const Lines all = (recorder_.end(kPowercutExited, 0), lines_of(stream_));
  EXPECT_THAT(all, ElementsAre("pool 41060 pool", "content 0 12288 4096 00", "content 0 40960 100 00", "pool 0 other",
                               "exit 0"));
}

TEST_F(PoolFilesTest, MapsRemapsAndUnmaps) {
  make_pool(8 * kPage);
  start();
  const int file = open_pool(O_RDWR);
  const uint64_t base = map(file, 2 * kPage, 4 * kPage);
  const uint64_t moved = call(SYS_mremap, base, 2 * kPage, 3 * kPage, MREMAP_MAYMOVE);
  EXPECT_TRUE(recorder_.touches_pools(moved + 3 * kPage - 1, 1));
  call(SYS_munmap, moved, kPage);
  EXPECT_FALSE(recorder_.touches_pools(moved, kPage));
  // Something else in the place of the last page.
  map(-1, kPage, 0, MAP_PRIVATE | MAP_ANONYMOUS);
  EXPECT_TRUE(recorder_.touches_pools(moved + 2 * kPage, 1));
  call(SYS_mmap, moved + 2 * kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  EXPECT_FALSE(recorder_.touches_pools(moved + 2 * kPage, 1));
  close(file);
  const Lines found = lines(moved);
  const std::string from = std::to_string(base - moved);
  EXPECT_THAT(found, ElementsAre("map 0 " + from + " 8192 16384", "unmap " + from + " 8192", "map 0 0 12288 16384",
                                 "unmap 0 4096", "unmap 8192 4096"));
  munmap(reinterpret_cast<void*>(moved), 3 * kPage);
}

TEST_F(PoolFilesTest, APoolIsItsFileUnderAnyNameAndOtherFilesAreNone) {
  make_pool(kPage);
  std::filesystem::create_symlink(pool_, folder_.file("link"));
  std::filesystem::create_hard_link(pool_, folder_.file("twin"));
  std::ofstream(folder_.file("stranger")) << std::string(kPage, 'x');
  start();
  for (const char* name : {"link", "twin", "stranger"}) {
    const int file = open(folder_.file(name).c_str(), O_RDWR);
    const uint64_t at = map(file, kPage);
    close(file);
    EXPECT_EQ(recorder_.touches_pools(at, 1), name != std::string("stranger")) << name;
    call(SYS_munmap, at, kPage);
  }
}

TEST_F(PoolFilesTest, AFileThatTheProgramMakesIsRecognised) {
  start();
  const int file = open_pool(O_RDWR | O_CREAT);
  call(SYS_ftruncate, file, 2 * kPage);
  const uint64_t at = map(file, 2 * kPage);
  call(SYS_fallocate, file, 0, 0, 4 * kPage);
  call(SYS_truncate, pool_.c_str(), kPage);
  close(file);
  EXPECT_THAT(lines(at), ElementsAre("size 0 8192", "map 0 0 8192 0", "size 0 16384", "size 0 4096"));
}

TEST_F(PoolFilesTest, AReplacedFileBeginsEmpty) {
  make_pool(2 * kPage);
  start();
  std::filesystem::remove(pool_);
  const int file = open_pool(O_RDWR | O_CREAT);
  call(SYS_ftruncate, file, kPage);
  call(SYS_close, file);
  call(SYS_close, open_pool(O_RDWR | O_TRUNC));
  EXPECT_THAT(lines(), ElementsAre("size 0 0", "size 0 4096", "size 0 0"));
}

TEST_F(PoolFilesTest, AFileThatIsMovedThereBringsItsContent) {
  make_pool(2 * kPage);
  start();
  std::ofstream(folder_.file("new")) << std::string(kPage, '\0') << "new";
  std::filesystem::resize_file(folder_.file("new"), 2 * kPage);
  std::filesystem::rename(folder_.file("new"), pool_);
  call(SYS_close, open_pool(O_RDWR));
  call(SYS_close, open_pool(O_RDWR));  // known by now
  EXPECT_THAT(lines(), ElementsAre("size 0 0", "size 0 8192", "write 0 4096 4096 6e",
                                   "sync 2 0 0 " + std::to_string(UINT64_MAX)));
}

TEST_F(PoolFilesTest, APartOfAMappingMoves) {
  make_pool(4 * kPage);
  start();
  const int file = open_pool(O_RDWR);
  const uint64_t base = map(file, 4 * kPage);
  close(file);
  const uint64_t room = syscall(SYS_mmap, nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(call(SYS_mremap, base + 2 * kPage, 2 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, room), room);
  EXPECT_THAT(lines(room),
              ElementsAre("map 0 " + std::to_string(base - room) + " 16384 0",
                          "unmap " + std::to_string(base + 2 * kPage - room) + " 8192", "map 0 0 8192 8192"));
}

TEST_F(PoolFilesTest, WritesByEveryCallAreReadBack) {
  make_pool(4 * kPage);
  start();
  const int file = open_pool(O_RDWR);
  call(SYS_write, file, "ab", 2);
  call(SYS_pwrite64, file, "cde", 3, 100);
  char first[] = "fg", second[] = "h";
  const iovec parts[] = {{first, 2}, {second, 1}};
  call(SYS_writev, file, parts, 2);
  call(SYS_pwritev, file, parts, 2, 200, 0);
  call(SYS_pwritev2, file, parts, 2, -1L, -1L, 0);
  std::ofstream(folder_.file("source")) << "0123456789";
  const int source = open(folder_.file("source").c_str(), O_RDONLY);
  call(SYS_sendfile, file, source, nullptr, 4);
  loff_t in = 0, out = 300;
  const uint64_t copied = call(SYS_copy_file_range, source, &in, file, &out, 4, 0);
  call(SYS_write, source, "no", 2);
  const std::string big(2 * kPage + 10, 'z');
  call(SYS_pwrite64, file, big.data(), big.size(), kPage);
  close(source);
  close(file);
  Lines expected = {"write 0 0 2 61",   "write 0 100 3 63", "write 0 2 3 66",
                    "write 0 200 3 66", "write 0 5 3 66",   "write 0 8 4 30"};
  if (copied == 4) expected.push_back("write 0 300 4 30");  // not every kernel copies here
  for (const char* piece : {"write 0 4096 4096 7a", "write 0 8192 4096 7a", "write 0 12288 10 7a"}) {
    expected.push_back(piece);
  }
  EXPECT_EQ(lines(), expected);
}

TEST_F(PoolFilesTest, PunchedHolesAreZeros) {
  make_pool(2 * kPage);
  std::fstream(pool_).put('\1');
  start();
  const int file = open_pool(O_RDWR);
  if (call(SYS_fallocate, file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 3 * kPage) == UINT64_MAX) {
    FAIL() << "this file system cannot punch holes: set TMPDIR to one that can";
  }
  close(file);
  EXPECT_THAT(lines(), ElementsAre("content 0 0 4096 01", "write 0 0 4096 00", "write 0 4096 4096 00"));
}

TEST_F(PoolFilesTest, SyncsNameWhatTheyMakeDurable) {
  make_pool(4 * kPage);
  start();
  const int file = open_pool(O_RDWR);
  const uint64_t at = map(file, 2 * kPage, kPage);
  call(SYS_msync, at + kPage, 1, MS_SYNC);
  call(SYS_msync, at, 2 * kPage, MS_ASYNC);  // promises nothing
  call(SYS_fsync, file);
  call(SYS_fdatasync, file);
  call(SYS_syncfs, file);
  const int through = open_pool(O_RDWR | O_DSYNC);
  call(SYS_pwrite64, through, "x", 1, 9);
  close(through);
  close(file);
  const std::string all = " 0 " + std::to_string(UINT64_MAX);
  EXPECT_THAT(lines(at), ElementsAre("map 0 0 8192 4096", "sync 1 0 8192 4096", "sync 2 0" + all, "sync 2 0" + all,
                                     "sync 2 0" + all, "sync 2 1" + all, "write 0 9 1 78", "sync 2 0 9 1"));
}

TEST_F(PoolFilesTest, TheKernelStoresToMappedPools) {
  make_pool(kPage);
  start(/*loads=*/true);
  const int file = open_pool(O_RDWR);
  const uint64_t at = map(file, kPage);
  std::ofstream(folder_.file("source")) << "0123456789";
  const int source = open(folder_.file("source").c_str(), O_RDONLY);
  call(SYS_read, source, at + 8, 2);
  call(SYS_pread64, source, at + kPage - 1, 1, 5);
  char outside[2];
  const iovec parts[] = {{outside, 2}, {reinterpret_cast<void*>(at + 64), 100}};
  call(SYS_readv, source, parts, 2);
  call(SYS_getrandom, at + 128, 0, 0);
  const int null = open("/dev/null", O_WRONLY);
  call(SYS_write, null, at + 8, 2);
  close(null);
  close(source);
  close(file);
  EXPECT_THAT(lines(at), ElementsAre("map 0 0 4096 0", "store 0 8 3031", "store 0 4095 35", "store 0 64 343536373839",
                                     "load 0 8 2"));
}

TEST_F(PoolFilesTest, PrivateMappingsAreNotedAndNotWatched) {
  make_pool(kPage);
  start();
  const int file = open_pool(O_RDWR);
  const uint64_t at = map(file, kPage, 0, MAP_PRIVATE);
  close(file);
  EXPECT_FALSE(recorder_.touches_pools(at, 1));
  EXPECT_THAT(lines(), ElementsAre("note 3 " + pool_));
}

TEST_F(PoolFilesTest, AnExecThatWillHappenIsNotedAtOnce) {
  start();
  SystemCall exec;
  exec.number = SYS_execve;
  exec.arguments[0] = reinterpret_cast<uint64_t>("/no/such/program");
  pools_->before(0, exec);
  exec.arguments[0] = reinterpret_cast<uint64_t>("/bin/true");
  pools_->before(0, exec);
  // Without any end, as the process goes on as another program.
  EXPECT_THAT(lines_of(stream_),
              ElementsAre("pool 0 pool", "pool 0 other",
                          "note 2 the program replaced itself (exec): the new one was not recorded"));
}

TEST_F(PoolFilesTest, TheProgramCannotCloseTheStream) {
  start();
  const auto own = static_cast<uint64_t>(recorder_.file().descriptor());
  EXPECT_GE(own, 500u);
  SystemCall call;
  call.number = SYS_close;
  call.arguments[0] = own;
  EXPECT_EQ(pools_->closes_stream(call), 0);
  call.arguments[0] = own + 1;
  EXPECT_EQ(pools_->closes_stream(call), -1);
  call.number = SYS_dup3;
  call.arguments[1] = own;
  EXPECT_EQ(pools_->closes_stream(call), 1);
}

TEST_F(PoolFilesTest, RegisteredMemoryIsAPoolWithoutAFile) {
  start();
  alignas(64) static uint8_t memory[2 * kPage];
  memory[kPage] = 7;
  const auto at = reinterpret_cast<uint64_t>(memory);
  pools_->registered(0, at, sizeof memory, Frames{nullptr, 0});
  pools_->registered(0, at, sizeof memory, Frames{nullptr, 0});  // known already
  EXPECT_TRUE(recorder_.touches_pools(at, 1));
  const Lines all = (recorder_.end(kPowercutExited, 0), lines_of(stream_, at));
  EXPECT_THAT(all, ElementsAre("pool 0 pool", "pool 0 other", "start 0", "pool 0 ", "content 2 4096 4096 07",
                               "map 2 0 8192 0", "exit 0"));
}

TEST_F(PoolFilesTest, NothingIsLookedAtAfterTheEnd) {
  make_pool(kPage);
  start();
  const int file = open_pool(O_RDWR);
  recorder_.abandon();
  map(file, kPage);
  call(SYS_write, file, "a", 1);
  close(file);
  EXPECT_THAT(lines(), IsEmpty());
}

}  // namespace
}  // namespace powercut::pin
