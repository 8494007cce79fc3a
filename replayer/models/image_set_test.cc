// Sets of images that are sums of products with edges, against every image by itself.
#include "replayer/models/image_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

namespace powercut {
namespace {

constexpr int kRandomSets = 120'000;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Choices choices(uint32_t contents, bool may_be_empty) {
    Choices out;
    for (uint32_t i = 0; i < contents; ++i) {
      if (below(2) == 0) out.push_back(i);
    }
    if (out.empty() && !may_be_empty) out.push_back(below(contents));
    return out;
  }
  Product product(const std::vector<uint32_t>& contents) {
    const auto lines = static_cast<uint32_t>(contents.size());
    Product out;
    for (const uint32_t count : contents) out.lines.push_back(choices(count, below(20) == 0));
    for (uint32_t edges = below(5); edges > 0; --edges) {
      const uint32_t from = below(lines), to = below(lines);
      out.edges.push_back({from, choices(contents[from], true), to, choices(contents[to], true)});
    }
    return out;
  }
  ImageSet set(const std::vector<uint32_t>& contents) {
    std::vector<Product> products;
    for (uint32_t count = below(4); count > 0; --count) products.push_back(product(contents));
    return ImageSet(std::move(products));
  }

 private:
  std::mt19937_64 random_;
};

// Visits every image of lines with these numbers of contents, in the order of the numbers.
template <typename Visit>
void for_each_image(const std::vector<uint32_t>& contents, const Visit& visit) {
  Choice image(contents.size());
  for (;;) {
    visit(image);
    size_t line = contents.size();
    while (line > 0 && ++image[line - 1] == contents[line - 1]) image[--line] = 0;
    if (line == 0) return;
  }
}

// Returns whether an image is legal by the words of image_set.h alone: no function of the set is called.
bool legal(const Product& product, const Choice& image) {
  const auto in = [](const Choices& choices, uint32_t content) { return std::ranges::count(choices, content) != 0; };
  for (size_t line = 0; line < image.size(); ++line) {
    if (!in(product.lines[line], image[line])) return false;
  }
  for (const Edge& edge : product.edges) {
    if (in(edge.when, image[edge.from]) && !in(edge.then, image[edge.to])) return false;
  }
  return true;
}

std::set<Choice> images_of(const ImageSet& set, const std::vector<uint32_t>& contents) {
  std::set<Choice> out;
  for_each_image(contents, [&](const Choice& image) {
    for (const Product& product : set.products()) {
      if (legal(product, image)) out.insert(image);
    }
  });
  return out;
}

std::optional<Choice> least_of(const std::set<Choice>& images, const Choice& full) {
  std::optional<Choice> best;
  size_t fewest = SIZE_MAX;
  for (const Choice& image : images) {
    size_t others = 0;
    for (size_t line = 0; line < full.size(); ++line) others += image[line] != full[line];
    if (others >= fewest) continue;
    fewest = others;
    best = image;
  }
  return best;
}

TEST(ImageSets, AreWhatEveryImageByItselfSays) {
  uint64_t counted = 0, covered = 0, with_edges = 0;
  for (uint64_t seed = 0; seed < kRandomSets; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    std::vector<uint32_t> contents(1 + draw.below(4));
    for (uint32_t& count : contents) count = 1 + draw.below(3);
    const ImageSet set = draw.set(contents), others = draw.set(contents);
    const std::set<Choice> images = images_of(set, contents), taken = images_of(others, contents);
    ASSERT_EQ(set.count(), images.size());
    Choice full;
    for (const uint32_t count : contents) full.push_back(draw.below(count));
    ASSERT_EQ(set.least(full), least_of(images, full));
    ASSERT_EQ(set.contains(full), images.contains(full));
    const bool covers = std::ranges::includes(taken, images);
    ASSERT_EQ(set.covered_by(others), covers);
    const ImageSet left = set.without(others);
    std::set<Choice> expected;
    std::ranges::set_difference(images, taken, std::inserter(expected, expected.end()));
    ASSERT_EQ(images_of(left, contents), expected);
    size_t apart = 0;
    for (const Product& part : left.products()) {
      const size_t size = images_of(ImageSet({part}), contents).size();
      ASSERT_GT(size, 0u) << "a part is empty";
      apart += size;
    }
    ASSERT_EQ(apart, expected.size()) << "parts share an image";
    counted += images.size();
    covered += covers && !images.empty();
    for (const Product& product : set.products()) with_edges += !product.edges.empty();
  }
  // The draws were worth it.
  EXPECT_GT(counted, kRandomSets * 1u);
  EXPECT_GT(covered, kRandomSets / 50u);
  EXPECT_GT(with_edges, kRandomSets / 2u);
}

TEST(ImageSets, AChainOfEdgesLeavesThePrefixes) {
  constexpr uint32_t kWrites = 400;
  Product tape{.lines = std::vector<Choices>(kWrites, {0, 1})};
  for (uint32_t write = 1; write < kWrites; ++write) tape.edges.push_back({write, {1}, write - 1, {1}});
  const ImageSet prefixes({tape});
  EXPECT_EQ(prefixes.count(), kWrites + 1);
  Choice without_the_middle(kWrites, 1);
  without_the_middle[kWrites / 2] = 0;
  EXPECT_FALSE(prefixes.contains(without_the_middle));
  EXPECT_EQ(prefixes.least(without_the_middle), Choice(kWrites, 1));
}

// 1,000 entries of a directory need its inode: without it none, with it any.
TEST(ImageSets, AStarOfEdgesIsSplitInItsMiddle) {
  constexpr uint32_t kEntries = 1000;
  Product folder{.lines = std::vector<Choices>(kEntries + 1, {0, 1})};
  for (uint32_t entry = 1; entry <= kEntries; ++entry) folder.edges.push_back({entry, {1}, 0, {1}});
  EXPECT_EQ(ImageSet({folder}).count(), (boost::multiprecision::cpp_int(1) << kEntries) + 1);
}

// A journal of two operations above data of two sectors: each length of its prefix has its own floors. Line 0 is the
// metadata; the second operation takes back what the first one did. Ordered data: once the first operation is durable,
// the sector 1 has been written.
TEST(ImageSets, APrefixOfAJournalGivesAProductAndWhatTwoShareIsCountedOnce) {
  const Product none{.lines = {{0}, {0, 1}, {0, 1}}};
  const Product first{.lines = {{1}, {1}, {0, 1}}};
  const Product both{.lines = {{0}, {1}, {0, 1}}};
  const ImageSet legal({none, first, both});
  EXPECT_EQ(legal.count(), 6);
  EXPECT_TRUE(ImageSet({both}).covered_by(ImageSet({none})));
  EXPECT_EQ(legal.without(ImageSet({none})).count(), 2);
  EXPECT_FALSE(legal.covered_by(ImageSet({none, both})));
  EXPECT_TRUE(legal.covered_by(ImageSet({first, none})));
}

TEST(ImageSets, WithoutProductsThereIsNoImage) {
  EXPECT_EQ(ImageSet().count(), 0);
  EXPECT_TRUE(ImageSet().covered_by(ImageSet()));
  EXPECT_EQ(ImageSet().least({}), std::nullopt);
  EXPECT_EQ(ImageSet({Product{.lines = {{0}, {}}}}).count(), 0);
}

}  // namespace
}  // namespace powercut
