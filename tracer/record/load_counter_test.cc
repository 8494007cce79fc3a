#include "tracer/record/load_counter.h"

#include <gtest/gtest.h>

namespace powercut {
namespace {

using Numbers = std::vector<uint32_t>;

void read_lines(LoadCounter* loads, std::initializer_list<uint64_t> lines) {
  loads->begin();
  for (const uint64_t line : lines) loads->load(64 * line, 8);
  loads->end("lookup", true);
}

TEST(LoadCounter, CountsLinesAndTheirBlocksOnceForAnOperation) {
  LoadCounter loads;
  read_lines(&loads, {0, 1, 0, 4, 9});
  read_lines(&loads, {1});
  loads.begin();
  loads.store(0, 8);
  loads.load(0, 128);  // the first line was stored to
  loads.end("insert", false);
  EXPECT_EQ(loads.each(), (Numbers{4, 1, 1}));
  EXPECT_EQ(loads.each_blocks(), (Numbers{3, 1, 1}));
  EXPECT_EQ(loads.lines(), (std::map<std::string, uint64_t>{{"lookup", 5}}));
}

TEST(LoadCounter, ReadsNoBlockForLinesThatTheCacheHolds) {
  LoadCounter loads(2);
  read_lines(&loads, {0, 4});
  read_lines(&loads, {0});     // held, and now the last one used
  read_lines(&loads, {8, 0});  // takes the place of 4
  read_lines(&loads, {4});
  EXPECT_EQ(loads.each(), (Numbers{2, 1, 2, 1}));
  EXPECT_EQ(loads.each_blocks(), (Numbers{2, 0, 1, 1}));
}

}  // namespace
}  // namespace powercut
