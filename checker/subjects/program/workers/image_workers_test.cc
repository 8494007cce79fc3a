// Several workers that run ahead, held against one that never does: images of random crash points, told of early or
// late, of which some are traced ahead.
#include "checker/subjects/program/workers/image_workers.h"

#include <gtest/gtest.h>

#include <random>

#include "checker/subjects/program/test_files.h"
#include "checker/subjects/program/workers/image_memo.h"

namespace powercut {
namespace {

constexpr uint64_t kLines = 8;  // that the recovery reads
constexpr size_t kPoints = 40, kMostForeseen = 12;
constexpr uint64_t kFirst = 5;  // ordinal of the first crash point

struct Workers {
  Workers(size_t count, const std::string& seed, Guardian* guard, const std::string& name)
      : pools(testing::one_pool(1 << 13)) {
    commands.recover = testing::command(pools, {"exit", "{image}", "0"});
    commands.dump = testing::command(pools, {"{image}", seed, "told"}, "test-random-reads");
    commands.recover.reports = commands.dump->reports = true;
    std::vector<std::unique_ptr<ImageWorker>> made;
    for (size_t i = 0; i < count; ++i) {
      auto one = ImageWorker::create(guard->folder() + name + std::to_string(i), pools, commands, guard, nullptr);
      EXPECT_TRUE(one.ok());
      made.push_back(std::move(*one));
    }
    workers = std::make_unique<ImageWorkers>(std::move(made));
  }
  TracePools pools;
  ProgramCommands commands;
  std::unique_ptr<ImageWorkers> workers;
};

struct Point {
  BaseLines changes;
  std::vector<Content> base;
  std::vector<LineSet> sets;
  LineSets pending() const {
    LineSets out;
    for (const LineSet& set : sets) out.push_back(&set);
    return out;
  }
  Choice choice(std::mt19937_64& random) const {
    Choice out;
    for (const LineSet& set : sets) out.push_back(static_cast<uint32_t>(random() % set.contents.size()));
    return out;
  }
  ImageName name(const Choice& choice) const {
    std::vector<Content> image = base;
    for (size_t i = 0; i < sets.size(); ++i) image[sets[i].line] = sets[i].contents[choice[i]];
    ImageName out;
    for (uint64_t line = 0; line < kLines; ++line) out = out + name_of_line(line, image[line]);
    return out;
  }
};

Content random_content(std::mt19937_64& random) {
  Content out;
  for (uint8_t& byte : out.bytes) byte = static_cast<uint8_t>(random());
  return out;
}

std::vector<Point> random_points(std::mt19937_64& random) {
  std::vector<Point> out;
  std::vector<Content> base(kLines);
  std::vector<bool> was_pending(kLines);
  for (size_t i = 0; i < kPoints; ++i) {
    Point& point = out.emplace_back();
    for (uint64_t line = 0; line < kLines; ++line) {
      const bool pending = random() % 3 == 0, changes = random() % 4 == 0;
      if (changes) base[line] = random_content(random);
      if (pending) {
        LineSet& set = point.sets.emplace_back();
        set.line = line;
        set.contents.push_back(base[line]);
        for (uint64_t more = 1 + random() % 2; more > 0; --more) set.contents.push_back(random_content(random));
      }
      if (changes || pending || was_pending[line]) point.changes.emplace_back(line, base[line]);
      was_pending[line] = pending;
    }
    std::ranges::shuffle(point.changes, random);
    point.base = base;
  }
  return out;
}

class RunsAhead : public ::testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RunsAhead, ::testing::Range(uint64_t{1}, uint64_t{7}));

TEST_P(RunsAhead, ChangeNothing) {
  std::mt19937_64 random(GetParam());
  const std::string seed = std::to_string(random() % 1000);
  const std::unique_ptr<Guardian> guard = testing::guardian();
  Workers many(2 + GetParam() % 3, seed, guard.get(), "/many"), one(1, seed, guard.get(), "/one");
  for (int walk = 0; walk < 2; ++walk) {
    const std::vector<Point> points = random_points(random);
    std::map<size_t, std::vector<Choice>> ahead;
    size_t told = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      const Point& point = points[i];
      ASSERT_FALSE(many.workers->next(kFirst + i, point.changes));
      ASSERT_FALSE(one.workers->next(kFirst + i, point.changes));
      told = std::max(told, i + 1);
      while (told < points.size() && told < i + kMostForeseen && random() % 3 != 0) {
        const Point& early = points[told];
        const Result<bool> fresh = many.workers->foresee(told, kFirst + told, early.changes);
        ASSERT_TRUE(fresh && *fresh);
        const auto sets = std::make_shared<const std::vector<LineSet>>(early.sets);
        for (uint64_t count = random() % 4; count > 0; --count) {
          const Choice choice = early.choice(random);
          many.workers->trace_ahead(sets, choice, early.name(choice));
          ahead[told].push_back(choice);
        }
        ++told;
      }
      EXPECT_EQ(many.workers->foreseen(), told);
      std::vector<Choice> choices = ahead[i];
      std::erase_if(choices, [&](const Choice&) { return random() % 4 == 0; });  // nobody asks for these
      while (choices.size() < 3) choices.push_back(point.choice(random));
      std::ranges::sort(choices);
      choices.erase(std::ranges::unique(choices).begin(), choices.end());
      std::vector<ImageName> names;
      for (const Choice& choice : choices) names.push_back(point.name(choice));
      if (random() % 3 == 0) {
        const auto ours = many.workers->run(point.pending(), choices, names),
                   right = one.workers->run(point.pending(), choices, names);
        ASSERT_TRUE(ours && right);
        for (size_t k = 0; k < choices.size(); ++k) EXPECT_TRUE((*ours)[k].same((*right)[k])) << i << " " << k;
      }
      const auto ours = many.workers->trace(point.pending(), choices, names);
      const auto right = one.workers->trace(point.pending(), choices, names);
      ASSERT_TRUE(ours && right);
      for (size_t k = 0; k < choices.size(); ++k) {
        ASSERT_TRUE((*ours)[k].reads && (*right)[k].reads) << (*ours)[k].why << (*right)[k].why;
        EXPECT_TRUE((*ours)[k].outcome.ok());
        EXPECT_TRUE((*ours)[k].outcome.same((*right)[k].outcome)) << i << " " << k;
        EXPECT_EQ((*ours)[k].reads->reads(), (*right)[k].reads->reads());
      }
    }
    many.workers->clear();
    one.workers->clear();
  }
}

// ---- the walks and the images are held against each other -----------------------------------------------

struct Compared : ::testing::Test {
  Compared() : guard(testing::guardian()), workers(2, "1", guard.get(), "/compared") {}
  ImageWorkers& under_test() { return *workers.workers; }
  static BaseLines line(uint64_t line, uint8_t byte) { return {{line, testing::filled(byte)}}; }
  std::string wrong(const std::optional<EngineError>& error) { return error ? error->what : ""; }

  std::unique_ptr<Guardian> guard;
  Workers workers;
};

TEST_F(Compared, AWalkAheadThatSkipsACrashPointIsAnError) {
  ASSERT_FALSE(under_test().next(3, line(0, 1)));
  ASSERT_TRUE(under_test().foresee(1, 9, line(1, 2)).ok());
  EXPECT_EQ(wrong(under_test().next(7, line(1, 2))),
            "one walk told of crash point 7 as number 2 of the walk over the trace, and another one of crash point 9");
  EXPECT_TRUE(under_test().came_apart());
}

TEST_F(Compared, AWalkAheadThatTellsOtherLinesIsAnError) {
  ASSERT_TRUE(under_test().foresee(0, 4, line(0, 1)).ok());
  EXPECT_EQ(wrong(under_test().next(4, line(0, 2))),
            "two walks over the trace told different lines of crash point 4 as number 1 of the walk over the trace");
}

TEST_F(Compared, AWalkAheadThatIsBehindIsComparedToo) {
  ASSERT_FALSE(under_test().next(3, line(0, 1)));
  EXPECT_FALSE(*under_test().foresee(0, 3, line(0, 1)));
  ASSERT_FALSE(under_test().next(5, line(0, 2)));
  EXPECT_FALSE(under_test().foresee(1, 6, line(0, 2)).ok());
}

TEST_F(Compared, CrashPointsComeInTheirOrder) {
  ASSERT_FALSE(under_test().next(3, line(0, 1)));
  EXPECT_EQ(wrong(under_test().next(3, line(0, 1))),
            "a walk told of crash point 3 as number 2 of the walk over the trace, behind crash point 3 as number 1");
}

TEST_F(Compared, AnImageThatIsNotTheOneMeantIsAnErrorAndNothingRunsBehindIt) {
  LineSet set;
  set.line = 1;
  set.contents = {testing::filled(0), testing::filled(7)};
  const LineSets sets = {&set};
  const std::vector<Choice> choices = {{1}};
  const std::vector<ImageName> right = {name_of_line(0, testing::filled(1)) + name_of_line(1, testing::filled(7))};
  ASSERT_FALSE(under_test().next(3, line(0, 1)));
  EXPECT_TRUE(under_test().run(sets, choices, right).ok());
  const std::vector<ImageName> other = {right[0] + name_of_line(2, testing::filled(1))};
  const auto refused = under_test().run(sets, choices, other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "a worker's image of crash point 3 is not the one that was to be run");
  EXPECT_FALSE(under_test().run(sets, choices, right).ok());
  EXPECT_FALSE(under_test().trace(sets, choices, right).ok());
  EXPECT_TRUE(under_test().came_apart());
}

TEST_F(Compared, AnImageOfARunAheadIsComparedToo) {
  const auto sets = std::make_shared<std::vector<LineSet>>(1);
  sets->front().contents = {testing::filled(0), testing::filled(7)};
  ASSERT_FALSE(under_test().next(3, line(2, 1)));
  const ImageName wrong_name = name_of_line(0, testing::filled(9));
  under_test().trace_ahead(sets, {1}, wrong_name);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!under_test().came_apart() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(under_test().came_apart());
}

}  // namespace
}  // namespace powercut
