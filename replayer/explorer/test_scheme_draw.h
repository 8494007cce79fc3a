// Random programs and traces for the machine of test_scheme.h.
#ifndef POWERCUT_REPLAYER_EXPLORER_TEST_SCHEME_DRAW_H_
#define POWERCUT_REPLAYER_EXPLORER_TEST_SCHEME_DRAW_H_

#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "replayer/crash_points/crash_points.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/explorer/test_scheme.h"
#include "replayer/media/medium.h"

namespace powercut::testing {

// Most accesses are whole words; the rest are bytes, halves, and accesses across words and lines.
inline rc::Gen<std::pair<uint8_t, uint8_t>> any_size_and_skew() {
  using P = std::pair<uint8_t, uint8_t>;
  return rc::gen::element(P{8, 0}, P{8, 0}, P{8, 0}, P{8, 0}, P{8, 0}, P{1, 0}, P{1, 3}, P{4, 0}, P{4, 6}, P{8, 5},
                          P{8, 59}, P{4, 62});
}

inline rc::Gen<Instruction> any_instruction(const std::vector<std::pair<size_t, Op>>& weights) {
  std::vector<Op> ops;
  for (const auto& [weight, op] : weights) ops.insert(ops.end(), weight, op);
  // Low words come more often, so that programs read and write the same words.
  auto words = rc::gen::element(0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9);
  return rc::gen::map(rc::gen::tuple(rc::gen::elementOf(ops), rc::gen::inRange<int>(0, 3), std::move(words),
                                     rc::gen::inRange<int>(0, 4), any_size_and_skew()),
                      [](const std::tuple<Op, int, int, int, std::pair<uint8_t, uint8_t>>& t) {
                        return Instruction{std::get<0>(t),
                                           static_cast<uint8_t>(std::get<1>(t)),
                                           static_cast<uint8_t>(std::get<2>(t)),
                                           static_cast<uint8_t>(std::get<3>(t)),
                                           std::get<4>(t).first,
                                           std::get<4>(t).second};
                      });
}

inline rc::Gen<Program> any_recovery() {
  return rc::gen::container<Program>(any_instruction({{7, Op::kLoad},
                                                      {1, Op::kLoadIndirect},
                                                      {2, Op::kStore},
                                                      {2, Op::kStoreConst},
                                                      {1, Op::kStoreNt},
                                                      {2, Op::kStorePieces},
                                                      {1, Op::kExchange},
                                                      {3, Op::kFlush},
                                                      {1, Op::kClflush},
                                                      {2, Op::kFence},
                                                      {4, Op::kSkip},
                                                      {2, Op::kEmit},
                                                      {3, Op::kHeapStore},
                                                      {1, Op::kGrow},
                                                      {1, Op::kGlobalStore},
                                                      {1, Op::kAbortIf}}));
}

inline rc::Gen<Program> any_query() {
  return rc::gen::map(rc::gen::container<Program>(any_instruction({{9, Op::kLoad},
                                                                   {2, Op::kLoadIndirect},
                                                                   {2, Op::kStore},
                                                                   {1, Op::kExchange},
                                                                   {3, Op::kSkip},
                                                                   {3, Op::kEmit},
                                                                   {2, Op::kHeapLoad},
                                                                   {1, Op::kGlobalLoad},
                                                                   {1, Op::kGlobalStore},
                                                                   {1, Op::kHeapStore},
                                                                   {1, Op::kGrow},
                                                                   {1, Op::kAbortIf}})),
                      [](Program program) {
                        for (uint8_t r = 0; r < kRegisters; ++r) program.push_back({Op::kEmit, r});
                        return program;
                      });
}

inline rc::Gen<TraceStep> any_step() {
  using K = EventKind;
  return rc::gen::map(rc::gen::tuple(rc::gen::element(K::kStore, K::kStore, K::kStore, K::kNtStore, K::kFlush,
                                                      K::kFlush, K::kFence, K::kOpEnd, K::kOpEnd, K::kCut),
                                     rc::gen::element(0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 8), rc::gen::inRange<int>(1, 4),
                                     rc::gen::inRange<int>(0, 8), any_size_and_skew()),
                      [](const std::tuple<EventKind, int, int, int, std::pair<uint8_t, uint8_t>>& t) {
                        const int rare = std::get<3>(t);
                        TraceStep out{std::get<0>(t), static_cast<uint8_t>(std::get<1>(t)),
                                      static_cast<uint8_t>(std::get<2>(t))};
                        out.size = std::get<4>(t).first;
                        out.skew = std::get<4>(t).second;
                        out.thread = rare == 7 ? 1 : 0;
                        if (out.kind == EventKind::kFlush) out.code = rare < 2 ? 3 : 1;  // clflush, clwb
                        if (out.kind == EventKind::kFence) out.code = 1;
                        if (out.kind == EventKind::kStore && rare == 0) out.size = 16, out.skew = 0;
                        if (out.kind == EventKind::kStore && rare == 1)
                          out.flags = kStoreRmw, out.size = 8, out.skew = 0;
                        return out;
                      });
}

// Leads the model through the trace and calls visit() at each crash point.
template <typename Visit>
void for_each_crash_point(const std::vector<TraceStep>& trace, Model* model, const Visit& visit) {
  CrashPoints crash_points(model);
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < trace.size(); ++i) {
    const Event event = event_of(trace[i], i, &bytes);
    while (crash_points.next(&event)) visit();
  }
  while (crash_points.next(nullptr)) visit();
}

// Keeps the number of states at every crash point at `most` or below: a step that would come near is replaced by one
// that makes everything durable.
inline void tame(std::vector<TraceStep>* trace, const std::string& model_name, AtomPolicy policy, const BigInt& most) {
  auto model = make_model(model_name, policy, kSchemePool);
  Frontier frontier(nullptr);
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < trace->size(); ++i) {
    TraceStep& step_at = (*trace)[i];
    const bool stores = step_at.kind == EventKind::kStore || step_at.kind == EventKind::kNtStore;
    // Each half of a store may have persisted or not, and may lie below a pending store.
    if (stores && frontier.states() * 4 > most) step_at = {EventKind::kCut};
    model->apply(event_of(step_at, i, &bytes));
    frontier.follow(model.get());
    if (frontier.states() <= most) continue;
    trace->resize(i);
    return;
  }
}

}  // namespace powercut::testing
#endif  // POWERCUT_REPLAYER_EXPLORER_TEST_SCHEME_DRAW_H_
