#include "tracer/pin/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tracer/pin/tests/program.h"

namespace powercut::pin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

class RecorderTest : public testing::Test {
 protected:
  static constexpr Frames kNowhere = {nullptr, 0};

  void SetUp() override {
    ASSERT_TRUE(recorder_.open(path_.c_str()));
    recorder_.thread_starts(7);
    powercut_stream_pool(recorder_.stream(), kPowercutMemory, "", 0);
    Recorder::Entry(recorder_, 7, kNowhere).map(0, base(), sizeof memory_, 0);
  }
  uint64_t base() const { return reinterpret_cast<uint64_t>(memory_); }
  void begin(uint32_t thread, const Store& store, uint64_t offset, uint64_t size) {
    const Piece piece = {base() + offset, size};
    recorder_.store_begins(thread, store, &piece, 1, kNowhere);
  }
  // Returns the lines of all records after the pool was mapped.
  Lines lines() {
    recorder_.end(kPowercutExited, 0);
    Lines all = lines_of(path_, base());
    EXPECT_THAT(Lines(all.begin(), all.begin() + 3), ElementsAre("start 0", "pool 0 ", "map 0 0 256 0"));
    EXPECT_EQ(all.back(), "exit 0");
    return Lines(all.begin() + 3, all.end() - 1);
  }

  Folder folder_;
  const std::string path_ = folder_.file("stream");
  Recorder recorder_{kOwnProcess, 1000};
  alignas(64) uint8_t memory_[256] = {};
};

TEST_F(RecorderTest, AStoreHasTheBytesOfAfterItsInstruction) {
  begin(7, {}, 8, 4);
  memcpy(memory_ + 8, "\1\2\3\4", 4);
  recorder_.store_ends(7, Outcome::kStored);
  recorder_.store_ends(7, Outcome::kStored);  // the other way out of the instruction
  EXPECT_THAT(lines(), ElementsAre("store 0 8 01020304"));
}

TEST_F(RecorderTest, WhatTheThreadDoesNextEndsAStoreWithoutACallbackAfterIt) {
  Store store;
  store.has_after = false;
  begin(7, store, 0, 1);
  memory_[0] = 5;
  recorder_.fence(7, kPowercutSfence, kNowhere);
  EXPECT_THAT(lines(), ElementsAre("store 0 0 05", "fence 0 1"));
}

TEST_F(RecorderTest, RoundsOfAStringInstructionAreOneStore) {
  Store store;
  store.flags = kPowercutStoreString;
  for (int i = 0; i < 3; ++i) {
    begin(7, store, i, 1);  // before each round, without a callback in between
    memory_[i] = static_cast<uint8_t>(i + 1);
  }
  recorder_.store_ends(7, Outcome::kStored);
  recorder_.fence(7, kPowercutSfence, kNowhere);
  begin(7, store, 3, 1);
  recorder_.store_ends(7, Outcome::kStored);
  EXPECT_THAT(lines(), ElementsAre("store 0 0 01 string", "store 0 1 02 string more", "store 0 2 03 string more",
                                   "fence 0 1", "store 0 3 00 string"));
}

TEST_F(RecorderTest, ALockedStoreFencesFirstAndAFailedComparisonStoresNothing) {
  Store store;
  store.flags = kPowercutStoreAtomic | kPowercutStoreRmw;
  store.compares = true;
  begin(7, store, 0, 1);
  memory_[0] = 1;
  recorder_.store_ends(7, Outcome::kStored);
  begin(7, store, 0, 1);
  recorder_.store_ends(7, Outcome::kFailed);
  begin(7, store, 0, 2);
  memory_[1] = 9;
  recorder_.store_ends(7, Outcome::kUnknown);  // the changed bytes tell the outcome
  begin(7, store, 0, 2);
  recorder_.store_ends(7, Outcome::kUnknown);
  EXPECT_THAT(lines(), ElementsAre("fence 0 3", "store 0 0 01 atomic rmw", "fence 0 3", "fence 0 3",
                                   "store 0 1 09 atomic rmw", "fence 0 3"));
}

TEST_F(RecorderTest, AFaultingStoreDidNotHappenAndHoldsUpNobody) {
  begin(7, {}, 0, 1);
  recorder_.interrupted(7);
  recorder_.thread_starts(8);
  begin(8, {}, 1, 1);
  recorder_.store_ends(8, Outcome::kStored);
  EXPECT_THAT(lines(), ElementsAre("start 1", "store 1 1 00"));
}

TEST_F(RecorderTest, OnlyThePartInAPoolIsRecorded) {
  begin(7, {}, sizeof memory_ - 2, 1);
  recorder_.store_ends(7, Outcome::kStored);
  alignas(64) static uint8_t outside[64];
  const Piece pieces[] = {{reinterpret_cast<uint64_t>(outside), 64}, {base() + sizeof memory_ - 1, 8}};
  recorder_.store_begins(7, {}, pieces, 2, kNowhere);
  recorder_.store_ends(7, Outcome::kStored);
  EXPECT_FALSE(recorder_.touches_pools(base() + sizeof memory_, 8));
  EXPECT_TRUE(recorder_.touches_pools(base() + sizeof memory_ - 1, 8));
  EXPECT_TRUE(recorder_.near_pools(base() - 7, 8));
  EXPECT_FALSE(recorder_.near_pools(base() - 8, 8));
  EXPECT_THAT(lines(), ElementsAre("store 0 254 00", "store 0 255 00"));
}

TEST_F(RecorderTest, MaskedStoresAreTheirPiecesOrWhatChanged) {
  std::vector<Piece> pieces;
  for (const uint64_t offset : {0, 4, 12}) add_element(&pieces, base() + offset, 4);
  recorder_.store_begins(7, {}, pieces.data(), pieces.size(), kNowhere);
  memset(memory_, 0xAA, 16);
  recorder_.store_ends(7, Outcome::kStored);

  const uint8_t mask[8] = {0x80, 0, 0xFF, 0x80, 0x7F, 0, 0, 0x80};
  pieces = selected_bytes(base(), mask, sizeof mask);
  Store nt;
  nt.flags = kPowercutStoreNt;
  recorder_.store_begins(7, nt, pieces.data(), pieces.size(), kNowhere);
  recorder_.store_ends(7, Outcome::kStored);
  EXPECT_TRUE(recorder_.is_unfenced(7));

  Store unknown;
  unknown.only_changes = true;
  begin(7, unknown, 32, 8);
  memory_[33] = memory_[34] = memory_[39] = 1;
  recorder_.store_ends(7, Outcome::kStored);

  pieces = compressed(base() + 64, 3, 2);
  recorder_.store_begins(7, {}, pieces.data(), pieces.size(), kNowhere);
  recorder_.store_ends(7, Outcome::kStored);
  EXPECT_THAT(lines(), ElementsAre("store 0 0 aaaaaaaaaaaaaaaa", "store 0 12 aaaaaaaa more", "store 0 0 aa nt",
                                   "store 0 2 aaaa nt more", "store 0 7 aa nt more", "store 0 33 0101",
                                   "store 0 39 01 more", "store 0 64 000000000000"));
  EXPECT_TRUE(compressed(base(), 0, 4).empty());
}

TEST_F(RecorderTest, FlushesNameAByteOfThePoolAndFencesEndThem) {
  EXPECT_FALSE(recorder_.is_unfenced(7));
  recorder_.flush(7, kPowercutClwb, base() + 70, kNowhere);
  EXPECT_TRUE(recorder_.is_unfenced(7));
  recorder_.fence(7, kPowercutMfence, kNowhere);
  EXPECT_FALSE(recorder_.is_unfenced(7));
  recorder_.flush(7, kPowercutClflushopt, base() + sizeof memory_, kNowhere);  // the line behind the pool
  EXPECT_FALSE(recorder_.is_unfenced(7));
  recorder_.load(7, base() + 250, 16);
  EXPECT_THAT(lines(), ElementsAre("flush 0 64 1", "fence 0 2", "load 0 250 6"));
}

TEST_F(RecorderTest, FencesBeforeTheFirstPoolAreNotRecorded) {
  Recorder fresh(kOwnProcess);
  const std::string path = folder_.file("other");
  ASSERT_TRUE(fresh.open(path.c_str()));
  fresh.thread_starts(0);
  fresh.fence(0, kPowercutMfence, kNowhere);
  EXPECT_FALSE(fresh.had_pools());
  fresh.end(kPowercutSignalled, 11);
  EXPECT_THAT(lines_of(path), ElementsAre("start 0", "signal 11"));
}

TEST_F(RecorderTest, EqualStacksAreOneAndModulesAreNamedOnce) {
  recorder_.module_loaded("/lib/a.so", 0x1000, 0x2000, 0x1000);
  recorder_.module_loaded("/lib/a.so", 0x3000, 0x4000, 0x1000);  // its other region
  recorder_.module_loaded("/lib/b.so", 0x9000, 0xA000, 0);
  const uint64_t outside = 0x777777;
  recorder_.module_loaded("/lib/b.so", 0x4000, 0x5000, 0);  // right behind the first
  const uint64_t first[] = {0x1010, outside, 0x9010}, second[] = {0x2000, 0x3001, 0x4000};
  for (const Frames& frames : {Frames{first, 3}, Frames{second, 3}, Frames{first, 3}, Frames{&outside, 1}}) {
    recorder_.fence(7, kPowercutSfence, frames);
  }
  // Another library lies where the first library was: the same addresses are another stack.
  recorder_.module_unloaded(0x1000, 0x2000);
  recorder_.module_loaded("/lib/c.so", 0x1000, 0x2000, 0x800);
  recorder_.fence(7, kPowercutSfence, Frames{first, 3});
  EXPECT_THAT(lines(), ElementsAre("module a.so", "module b.so", "stack 0:16 1:36880", "fence 0 1",
                                   // A return address behind the last byte belongs to the call before it.
                                   "stack 0:4096 0:8193 0:12288", "fence 0 1", "fence 0 1", "fence 0 1", "module c.so",
                                   "stack 2:2064 1:36880", "fence 0 1"));
}

TEST_F(RecorderTest, ThreadsAreNumberedByBirthThoughPinUsesNumbersAgain) {
  recorder_.thread_starts(3);
  recorder_.thread_ends(3);
  recorder_.thread_starts(3);
  recorder_.fence(3, kPowercutSfence, kNowhere);
  recorder_.thread_starts(Recorder::kMostThreads);
  recorder_.fence(Recorder::kMostThreads, kPowercutSfence, kNowhere);
  recorder_.fence(Recorder::kMostThreads + 1, kPowercutSfence, kNowhere);
  const Lines found = lines();
  EXPECT_THAT(found, ElementsAre("start 1", "end 1", "start 2", "fence 2 1", HasSubstr("more than 2048 threads")));
}

// A thread that saw another thread's store records its own next store after that store.
TEST_F(RecorderTest, OrderIsThatOfVisibility) {
  Recorder patient(kOwnProcess, 100000000);
  const std::string path = folder_.file("patient");
  ASSERT_TRUE(patient.open(path.c_str()));
  patient.thread_starts(0);
  patient.thread_starts(1);
  powercut_stream_pool(patient.stream(), kPowercutMemory, "", 0);
  Recorder::Entry(patient, 0, kNowhere).map(0, base(), sizeof memory_, 0);
  auto* word = reinterpret_cast<std::atomic<uint8_t>*>(memory_);
  std::atomic<bool> answered = false;
  const Piece first = {base(), 1}, second = {base() + 1, 1};
  patient.store_begins(0, {}, &first, 1, kNowhere);
  std::thread other([&] {
    while (word[0] == 0) std::this_thread::yield();
    patient.store_begins(1, {}, &second, 1, kNowhere);
    word[1] = 2;
    answered = true;
    patient.store_ends(1, Outcome::kStored);
  });
  word[0] = 1;  // visible at once, recorded later
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(answered);
  patient.store_ends(0, Outcome::kStored);
  other.join();
  patient.end(kPowercutExited, 0);
  const Lines found = lines_of(path, base());
  EXPECT_THAT(Lines(found.end() - 3, found.end()), ElementsAre("store 0 0 01", "store 1 1 02", "exit 0"));
}

TEST_F(RecorderTest, AThreadThatIsHeldUpDelaysOthersForAWhileOnlyAndThatIsNoted) {
  recorder_.thread_starts(8);
  begin(7, {}, 0, 1);
  begin(8, {}, 1, 1);
  recorder_.store_ends(8, Outcome::kStored);
  recorder_.store_ends(7, Outcome::kStored);
  begin(7, {}, 2, 1);
  recorder_.store_ends(7, Outcome::kStored);
  EXPECT_THAT(lines(), ElementsAre("start 1", HasSubstr("the order of its store and another thread's is a guess"),
                                   "store 1 1 00", "store 0 0 00", "store 0 2 00"));
}

TEST_F(RecorderTest, ManyThreadsLeaveAWholeStream) {
  constexpr int kThreads = 4, kStores = 500;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      recorder_.thread_starts(20 + t);
      for (int i = 0; i < kStores; ++i) {
        begin(20 + t, {}, t, 1);
        memory_[t] = static_cast<uint8_t>(i);
        recorder_.store_ends(20 + t, Outcome::kStored);
      }
      recorder_.thread_ends(20 + t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t stores = 0;
  for (const std::string& line : lines()) stores += line.starts_with("store");
  EXPECT_EQ(stores, size_t{kThreads * kStores});
}

TEST_F(RecorderTest, NothingIsRecordedInAForkedChildOrAfterTheEnd) {
  recorder_.write_out();
  const auto size = std::filesystem::file_size(path_);
  begin(7, {}, 0, 1);
  recorder_.abandon();
  recorder_.store_ends(7, Outcome::kStored);
  recorder_.fence(7, kPowercutSfence, kNowhere);
  recorder_.note(kPowercutNoteOther, "late");
  recorder_.end(kPowercutExited, 0);
  EXPECT_FALSE(recorder_.near_pools(base(), 8));
  EXPECT_EQ(std::filesystem::file_size(path_), size);
}

TEST_F(RecorderTest, AParentWhoseMemoryTheChildHadGoesOn) {
  recorder_.resume();  // an ordinary fork
  recorder_.fence(7, kPowercutSfence, kNowhere);
  recorder_.abandon();  // in the child of a vfork
  recorder_.fence(7, kPowercutSfence, kNowhere);
  recorder_.resume();
  recorder_.fence(7, kPowercutMfence, kNowhere);
  EXPECT_THAT(lines(), ElementsAre("fence 0 1", "fence 0 2"));
  recorder_.resume();
  EXPECT_FALSE(recorder_.recording());
}

TEST_F(RecorderTest, AFileThatCannotBeWrittenIsSaid) {
  Recorder other(kOwnProcess);
  EXPECT_FALSE(other.open(folder_.file("no/such/folder").c_str()));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(other.recording());
  other.thread_starts(0);
  other.fence(0, kPowercutSfence, kNowhere);
}

}  // namespace
}  // namespace powercut::pin
