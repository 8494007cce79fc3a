#include "checker/subjects/program/outputs/serial_orders.h"

#include <algorithm>
#include <array>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace powercut {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// An operation is named by what was asked; `answered` 0 stands for one that is in flight.
HistoryOperation operation(uint32_t thread, uint64_t asked, uint64_t answered, uint64_t began, uint64_t ended) {
  HistoryOperation out;
  out.thread = thread;
  out.asked = asked;
  if (answered != 0) out.answered = answered;
  out.began = began;
  out.ended = ended;
  return out;
}

// Operations one after the other.
MarkedHistory serial(const std::vector<std::array<uint64_t, 3>>& operations) {
  MarkedHistory out;
  uint64_t instant = 0;
  for (const auto& [thread, asked, answered] : operations) {
    out.push_back(operation(static_cast<uint32_t>(thread), asked, answered, instant + 1, instant + 2));
    instant += 2;
  }
  return out;
}

TEST(SerialOrdersTest, NothingIsKnownOfAnOrderThatNobodyHasRun) {
  SerialOrders orders;
  const auto a = orders.add(serial({{2, 20, 1}}));
  const MarkedHistory history = {operation(2, 20, 1, 1, 4), operation(3, 30, 1, 2, 3)};
  EXPECT_THAT(*orders.explain(history).unknown, ElementsAre(2, 3));
  const auto ab = orders.add(serial({{2, 20, 1}, {3, 30, 1}}));
  EXPECT_THAT(*orders.explain(history).unknown, ElementsAre(3));
  orders.add(serial({{3, 30, 1}}));
  EXPECT_THAT(*orders.explain(history).unknown, ElementsAre(3, 2));
  const auto ba = orders.add(serial({{3, 30, 1}, {2, 20, 1}}));
  EXPECT_TRUE(orders.explain(history).known());
  EXPECT_THAT(orders.explain(history).nodes, UnorderedElementsAre(ab, ba));
  EXPECT_EQ(orders.add(serial({{2, 20, 1}})), a);
}

TEST(SerialOrdersTest, AnOperationThatHadEndedComesFirst) {
  SerialOrders orders;
  orders.add(serial({{2, 20, 1}}));
  const auto ab = orders.add(serial({{2, 20, 1}, {3, 30, 1}}));
  orders.add(serial({{3, 30, 1}, {2, 20, 1}}));
  const MarkedHistory history = {operation(2, 20, 1, 1, 2), operation(3, 30, 1, 3, 4)};
  EXPECT_THAT(orders.explain(history).nodes, ElementsAre(ab));
}

TEST(SerialOrdersTest, AnOperationInFlightMayHaveHappenedWithAnyAnswer) {
  SerialOrders orders;
  const auto b = orders.add(serial({{3, 30, 1}}));
  const auto ab = orders.add(serial({{2, 20, 7}, {3, 30, 1}}));
  const auto ba = orders.add(serial({{3, 30, 1}, {2, 20, 8}}));
  const MarkedHistory history = {operation(2, 20, 0, 1, 0), operation(3, 30, 1, 2, 3)};
  EXPECT_THAT(orders.explain(history).nodes, UnorderedElementsAre(b, ab, ba));
}

TEST(SerialOrdersTest, AnAnswerRulesOutOrders) {
  SerialOrders orders;
  const auto old = orders.add(serial({{3, 30, 1}}));
  const auto after = orders.add(serial({{2, 20, 1}, {3, 30, 2}}));
  orders.add(serial({{3, 30, 1}, {2, 20, 1}}));
  const MarkedHistory history = {operation(2, 20, 0, 1, 0), operation(3, 30, 2, 2, 3)};
  EXPECT_THAT(orders.explain(history).nodes, ElementsAre(after));
  EXPECT_THAT(orders.explain(history, [](size_t i) { return i == 1; }).nodes, ::testing::Contains(old));
  const MarkedHistory impossible = {operation(2, 20, 0, 1, 0), operation(3, 30, 3, 2, 3)};
  EXPECT_TRUE(orders.explain(impossible).known());
  EXPECT_THAT(orders.explain(impossible).nodes, IsEmpty());
}

TEST(SerialOrdersTest, MoreOrdersThanAreLookedAtAreSaid) {
  SerialOrders orders;
  MarkedHistory history;
  // There are 8! orders.
  for (uint32_t thread = 1; thread <= 8; ++thread)
    history.push_back(operation(thread, thread, 1, thread, 100 + thread));
  MarkedHistory order = history;
  do {
    orders.add(order);
  } while (std::ranges::next_permutation(order, {}, &HistoryOperation::thread).found);
  EXPECT_TRUE(orders.explain(history).too_many);
  EXPECT_FALSE(orders.explain(history).known());
}

TEST(SerialOrdersTest, PartialOrdersNameWhatTheyLack) {
  SerialOrders orders;
  const auto a = orders.add(serial({{2, 20, 1}}));
  const auto ab = orders.add(serial({{2, 20, 1}, {3, 30, 1}}));
  orders.add(serial({{4, 40, 1}}));
  const MarkedHistory history = {operation(2, 20, 1, 1, 2), operation(3, 30, 1, 3, 4)};
  std::vector<SerialOrders::Node> nodes;
  for (const auto& partial : orders.partial(history)) nodes.push_back(partial.node);
  EXPECT_THAT(nodes, ElementsAre(ab, a, SerialOrders::kRoot));
}

}  // namespace
}  // namespace powercut
