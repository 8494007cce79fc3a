// For tests that hold the oracle against trying every order of a few calls that overlap.
#ifndef POWERCUT_CHECKER_ORACLE_TEST_ORDERS_H_
#define POWERCUT_CHECKER_ORACLE_TEST_ORDERS_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace powercut::testing {

// `visit(order)`, of places in `calls`, for every order of every choice of the calls. One that has ended is in every
// choice, and stands behind whatever ended before it began. A call has `begin`, `end` and `ended`.
template <typename Call, typename Visit>
void for_each_order(const std::vector<Call>& calls, Visit visit) {
  for (uint32_t chosen = 0; chosen < uint32_t{1} << calls.size(); ++chosen) {
    std::vector<size_t> order;
    bool all = true;
    for (size_t i = 0; i < calls.size(); ++i) {
      if ((chosen >> i & 1) != 0) order.push_back(i);
      all = all && ((chosen >> i & 1) != 0 || !calls[i].ended);
    }
    if (!all) continue;
    do {
      bool legal = true;
      for (size_t i = 0; i < order.size(); ++i) {
        for (size_t j = i + 1; j < order.size(); ++j) {
          const Call &first = calls[order[i]], &then = calls[order[j]];
          legal = legal && !(then.ended && then.end < first.begin);
        }
      }
      if (legal) visit(order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// `begin(i)` and `end(i)` of the calls, as they follow each other.
template <typename Call, typename Begin, typename End>
void for_each_instant(const std::vector<Call>& calls, Begin begin, End end) {
  std::vector<std::pair<int, size_t>> instants;
  for (size_t i = 0; i < calls.size(); ++i) {
    instants.emplace_back(calls[i].begin, i);
    if (calls[i].ended) instants.emplace_back(calls[i].end, i);
  }
  std::sort(instants.begin(), instants.end());
  for (const auto& [instant, i] : instants) instant == calls[i].begin ? begin(i) : end(i);
}

}  // namespace powercut::testing
#endif  // POWERCUT_CHECKER_ORACLE_TEST_ORDERS_H_
