#include "replayer/search/recovery_trie.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace powercut {
namespace {

using Kind = RecoveryTrie::Kind;

class RecoveryTrieTest : public ::testing::Test {
 protected:
  std::shared_ptr<const RecoveredState> leaf(std::string result) {
    auto state = std::make_shared<RecoveredState>();
    state->result = std::move(result);
    return state;
  }
  static void store(RecoveryTrie::Recorder* recorder, uint64_t offset, std::vector<uint8_t> bytes, uint32_t flags = 0) {
    recorder->store(offset, bytes, flags, {});
  }
  // Follows the trie; reads take the values in turn. Returns the steps of the path, with the leaf at the end.
  std::vector<RecoveryTrie::Step> follow(std::vector<uint64_t> values) {
    std::vector<RecoveryTrie::Step> out;
    RecoveryTrie::Place place;
    std::reverse(values.begin(), values.end());
    for (;;) {
      const RecoveryTrie::Step step = trie_.step(place);
      out.push_back(step);
      if (step.kind == Kind::kNothing || step.kind == Kind::kLeaf) return out;
      uint64_t value = 0;
      if (step.kind == Kind::kRead) {
        value = values.back();
        values.pop_back();
      }
      place = trie_.after(place, value);
    }
  }

  RecoveryTrie trie_;
};

TEST_F(RecoveryTrieTest, KeepsWhatARecoveryDidInItsOrder) {
  RecoveryTrie::Recorder recorder(&trie_);
  recorder.read(512, 0xff, 7);
  store(&recorder, 64, {1, 2, 3}, POWERCUT_STORE_NT);
  recorder.flush(64, FlushKind::kClflush);
  recorder.fence();
  recorder.finish(leaf("done"));
  EXPECT_FALSE(recorder.contradicted());

  const auto steps = follow({7});
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0].kind, Kind::kRead);
  EXPECT_EQ(steps[0].at, 512u);
  EXPECT_EQ(steps[0].bytes, 0xff);
  EXPECT_EQ(steps[1].kind, Kind::kStore);
  EXPECT_EQ(steps[1].at, 64u);
  EXPECT_EQ(steps[1].flags, POWERCUT_STORE_NT);
  EXPECT_EQ(std::vector<uint8_t>(steps[1].stored.begin(), steps[1].stored.end()), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(steps[2].flush, FlushKind::kClflush);
  EXPECT_EQ(steps[3].kind, Kind::kFence);
  ASSERT_EQ(steps[4].kind, Kind::kLeaf);
  EXPECT_EQ((*steps[4].leaf)->result, "done");
}

TEST_F(RecoveryTrieTest, BranchesByTheValueThatIsRead) {
  for (uint64_t value : {4, 0, 9}) {
    RecoveryTrie::Recorder recorder(&trie_);
    recorder.read(8, 0xff, value);
    if (value == 9) store(&recorder, 64, {9});
    recorder.finish(leaf(std::to_string(value)));
    EXPECT_FALSE(recorder.contradicted());
  }
  for (uint64_t value : {4, 0, 9}) EXPECT_EQ((*follow({value}).back().leaf)->result, std::to_string(value));
  EXPECT_EQ(follow({9}).size(), 3u);
  EXPECT_EQ(follow({5}).back().kind, Kind::kNothing);  // nobody has read that yet
}

// A recovery that is known to a point goes on from there.
TEST_F(RecoveryTrieTest, PathsShareTheirBeginning) {
  for (uint64_t value : {1, 2}) {
    RecoveryTrie::Recorder recorder(&trie_);
    store(&recorder, 64, {5});
    recorder.read(8, 0x0f, 3);
    recorder.read(16, 0xff, value);
    recorder.finish(leaf(std::to_string(value)));
    EXPECT_FALSE(recorder.contradicted());
  }
  EXPECT_EQ((*follow({3, 1}).back().leaf)->result, "1");
  EXPECT_EQ((*follow({3, 2}).back().leaf)->result, "2");
}

TEST_F(RecoveryTrieTest, ARecoveryThatDoesSomethingElseIsContradicted) {
  {
    RecoveryTrie::Recorder recorder(&trie_);
    recorder.read(8, 0xff, 1);
    store(&recorder, 64, {5});
    recorder.finish(leaf("first"));
  }
  const auto contradicted = [this](const auto& does) {
    RecoveryTrie copy = trie_;
    RecoveryTrie::Recorder recorder(&copy);
    does(&recorder);
    recorder.finish(leaf("again"));
    return recorder.contradicted();
  };
  using Recorder = RecoveryTrie::Recorder;
  EXPECT_FALSE(contradicted([](Recorder* r) { r->read(8, 0xff, 1), store(r, 64, {5}); }));
  EXPECT_FALSE(contradicted([](Recorder* r) { r->read(8, 0xff, 2), store(r, 72, {5}); }));  // it read something else
  EXPECT_TRUE(contradicted([](Recorder* r) { r->read(16, 0xff, 1); }));
  EXPECT_TRUE(contradicted([](Recorder* r) { r->read(8, 0x0f, 1); }));
  EXPECT_TRUE(contradicted([](Recorder* r) { r->fence(); }));
  EXPECT_TRUE(contradicted([](Recorder* r) { r->read(8, 0xff, 1), store(r, 72, {5}); }));
  EXPECT_TRUE(contradicted([](Recorder* r) { r->read(8, 0xff, 1), store(r, 64, {5, 5}); }));
  EXPECT_TRUE(contradicted([](Recorder* r) { r->read(8, 0xff, 1), store(r, 64, {5}, POWERCUT_STORE_NT); }));
  EXPECT_TRUE(contradicted([](Recorder* r) { r->read(8, 0xff, 1), store(r, 64, {6}); }));  // another value
  EXPECT_TRUE(contradicted([](Recorder* r) { r->read(8, 0xff, 1); }));  // it ended where it had stored
}

TEST_F(RecoveryTrieTest, IsBegunAnew) {
  RecoveryTrie::Recorder recorder(&trie_);
  recorder.read(8, 0xff, 1);
  recorder.finish(leaf(std::string(10000, 'x')));
  EXPECT_GE(trie_.bytes(), 10000u);
  trie_.clear();
  EXPECT_LT(trie_.bytes(), 10000u);
  EXPECT_EQ(follow({}).back().kind, Kind::kNothing);
}

}  // namespace
}  // namespace powercut
