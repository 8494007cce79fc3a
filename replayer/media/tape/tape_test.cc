// A medium that no other file knows is explored like those of the table.
#include "replayer/media/tape/tape.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "replayer/crash_points/crash_points.h"
#include "replayer/explorer/explorer.h"
#include "replayer/explorer/test_scheme.h"

namespace powercut {
namespace {

constexpr uint64_t kTapePool = 4096;
constexpr uint8_t kBlocks = 5, kRewoundBehind = 3;
// The event behind the rewind.
constexpr uint64_t kAppendedAfter = kRewoundBehind + 2;

const Persistency& tape() {
  static const bool once = (add_medium(tape_medium()), true);
  EXPECT_TRUE(once);
  return *persistency_of("tape");
}

// A recovery that counts the blocks on the tape; with `copies` it appends one that it finds too few.
struct Counting final : Subject {
  explicit Counting(bool copies) : copies(copies) {}
  void recover(ResultBuffer* result) override {
    const auto count = testing::load<uint64_t>(0);
    result->put_byte(static_cast<uint8_t>(count));
    if (copies && count < kBlocks) testing::store<uint64_t>(0, count + 1);
  }
  Opened opened() const override { return {1, 0, false}; }
  void reopen(const Opened&) override {}
  GroupCounts groups() const override { return {}; }
  std::span<const QueryId> members(Group) override { return {}; }
  const std::vector<Group>& obliged() override { return none; }
  bool wants_all() const override { return false; }
  void run(QueryId, ResultBuffer*) override {}
  Judgement recovered(int depth, const Outcome&, std::string_view result) override {
    if (!result.empty()) counts[depth].insert(static_cast<uint8_t>(result[0]));
    return Judgement::kGood;
  }
  Judgement answered(int, QueryId, std::string_view) override { return Judgement::kGood; }
  void explained(int, QueryId, std::string_view, const Outcome*, const Image&) override {}

  const bool copies;
  std::map<int, std::set<uint64_t>> counts;  // by the number of cuts inside recovery
  std::vector<Group> none;
};

struct ExploredTape {
  BigInt states = 0;
  std::map<int, std::set<uint64_t>> counts;
};

// Appends kBlocks blocks and rewinds behind some. `behind`: crash points behind so many events alone.
ExploredTape explore(bool copies, uint64_t behind = 0) {
  Counting subject(copies);
  Executor executor(
      {.pool_size = kTapePool, .persistency = &tape(), .step_budget = 1000, .globals = {}, .own_code = {}});
  const auto model = make_model("tape", AtomPolicy::kAny, kTapePool);
  Frontier frontier(executor.pool());
  const auto explorer = make_trie_explorer(&executor, &subject, {.nested = 1});
  CrashPoints points(model.get());
  ExploredTape out;
  uint64_t index = 0;
  const auto walk = [&](const Event* event) {
    while (points.next(event)) {
      const auto& changes = frontier.follow(model.get());
      if (index < behind) {
        explorer->forget();
      } else {
        out.states += explorer->crash_point(frontier, changes, index);
      }
    }
  };
  for (uint64_t block = 1; block <= kBlocks; ++block) {
    Event append;
    append.index = index++;
    append.kind = EventKind::kStore;
    append.value = {reinterpret_cast<const uint8_t*>(&block), sizeof block};
    append.size = sizeof block;
    walk(&append);
    if (block != kRewoundBehind) continue;
    Event rewind;
    rewind.index = index++;
    rewind.kind = EventKind::kFence;
    rewind.code = static_cast<uint8_t>(FenceKind::kDevice);
    walk(&rewind);
  }
  walk(nullptr);
  out.counts = subject.counts;
  return out;
}

TEST(TapeMedium, LeavesThePrefixesOfWhatWasAppendedAndNothingElse) {
  const ExploredTape explored = explore(false);
  EXPECT_EQ(explored.counts.at(0), (std::set<uint64_t>{0, 1, 2, 3, 4, 5}));
  // Before the rewind 0 to 3 blocks, at the end 3 to 5.
  EXPECT_EQ(explored.states, 4 + 3);
}

TEST(TapeMedium, KeepsWhatWasThereAtTheRewind) {
  EXPECT_EQ(explore(false, kAppendedAfter).counts.at(0), (std::set<uint64_t>{3, 4, 5}));
}

TEST(TapeMedium, CutsRecoveryByItsOwnRules) {
  EXPECT_EQ(explore(true, kAppendedAfter).counts.at(1), (std::set<uint64_t>{3, 4, 5}));
}

// A file that lies in memory.
struct WrittenTape final : ImageFile {
  void put(uint64_t at, std::span<const uint8_t> block) override {
    bytes.replace(at, block.size(), reinterpret_cast<const char*>(block.data()), block.size());
  }
  void resize(uint64_t to) override { size = to; }
  void lacks_content(std::string_view what) override { ADD_FAILURE() << what; }
  std::string file() const { return bytes.substr(0, size); }

  std::string bytes = std::string(kBlocks * kTapeBlock, '\0');
  uint64_t size = 0;
};

using Files = std::set<std::string>;

// The files that the product of the sets leaves, where all other lines are those of `pool`.
Files files_of(const PoolFile& file, const ImageWriter& images, const std::vector<uint8_t>& pool,
               const LineSets& sets) {
  std::vector<WrittenTape> tapes(1);
  for (uint64_t line = 0; line < pool.size() / kLineSize; ++line) {
    const auto open = std::ranges::find(sets, line, &LineSet::line);
    const auto contents = open == sets.end() ? std::vector{content_at(pool.data(), line)} : (*open)->contents;
    std::vector<WrittenTape> next;
    for (const WrittenTape& tape : tapes) {
      for (const Content& content : contents) images.write(file, line, content, &next.emplace_back(tape));
    }
    tapes = std::move(next);
  }
  Files out;
  for (const WrittenTape& tape : tapes) out.insert(tape.file());
  return out;
}

// The reference: the prefixes of the blocks, from the `least` first ones on.
Files prefixes(const std::vector<std::string>& blocks, size_t least) {
  Files out;
  for (size_t count = least; count <= blocks.size(); ++count) {
    std::string prefix;
    for (size_t i = 0; i < count; ++i) prefix += blocks[i];
    out.insert(prefix);
  }
  return out;
}

TEST(TapeMedium, WritesThePrefixesOfAFileAndNothingElse) {
  const PoolFile file = {
      .offset = 0, .window = kTapePool, .size = kBlocks * kTapeBlock, .device = DeviceLayout{kTapeBlock}};
  const Persistency& rules = tape();
  ASSERT_EQ(&medium_of_file(file), &tape_medium()) << "no other medium takes the file";
  const ImageWriter& images = *tape_medium().images;
  std::vector<uint8_t> pool(images.space(file));
  const auto model = rules.model(AtomPolicy::kAny, pool.size());
  Frontier frontier(pool.data());
  CrashPoints points(model.get());
  std::vector<std::string> blocks;
  size_t rewound = 0, cuts = 0;
  uint64_t index = 0;
  const auto walk = [&](const Event* event) {
    while (points.next(event)) {
      frontier.follow(model.get());
      EXPECT_EQ(files_of(file, images, pool, frontier.sets()), prefixes(blocks, rewound)) << "crash point " << cuts;
      ++cuts;
    }
  };
  const auto calls = make_file_calls({file}, false);
  const auto call = [&](PoolCall code, std::string_view bytes) {
    Event event;
    event.kind = kFileCall;
    event.code = static_cast<uint8_t>(code);
    event.pool = file.offset;
    event.value = {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
    calls->call(event, [&](const Event& made) {
      if (made.kind == EventKind::kContent) powercut_content_name(made.value.data(), made.value.size(), nullptr, 0);
      Event next = made;
      next.index = index++;
      walk(&next);
    });
  };
  for (uint8_t block = 0; block < kBlocks; ++block) {
    if (block == kRewoundBehind) {
      call(PoolCall::kFsync, "");
      rewound = blocks.size();
    }
    const std::string bytes(kTapeBlock, static_cast<char>('a' + block));
    call(PoolCall::kWrite, bytes);
    blocks.push_back(bytes);
  }
  walk(nullptr);
  EXPECT_EQ(cuts, 2U) << "before the rewind, and at the end";
}

TEST(TapeMedium, TellsWhichBlockAReadSees) {
  const PoolFile file = {
      .offset = kTapePool, .window = kTapePool, .size = kTapeBlock * 2, .device = DeviceLayout{kTapeBlock}};
  const LineBytes seen = tape_medium().images->seen_by(file, {kTapeBlock / kLineSize + 1, 1});
  EXPECT_EQ(seen.line * kLineSize, kTapePool + file.device->word(1));
  EXPECT_EQ(seen.mask, 0xFFU);
}

TEST(TapeMedium, IsAskedLikeAnyOther) {
  tape();  // Adds the medium to the table, if no other test has.
  EXPECT_EQ(medium_of_kind(1000), &tape_medium());
  EXPECT_EQ(tape_medium().model_for("adr"), &tape()) << "the default of all media is its own model";
  EXPECT_EQ(tape_medium().model_for("block"), nullptr);
  EXPECT_EQ(tape().policy(AtomPolicy::kByte), AtomPolicy::kAny);
  EXPECT_NE(all_model_names().find(", tape"), std::string::npos);
}

}  // namespace
}  // namespace powercut
