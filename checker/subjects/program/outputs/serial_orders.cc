#include "checker/subjects/program/outputs/serial_orders.h"

#include <algorithm>
#include <limits>

namespace powercut {
namespace {

// Steps of one search for orders, at most.
constexpr size_t kMostSteps = 10'000;

// The operations of each thread, by their index.
std::map<uint32_t, std::vector<size_t>> by_thread(const MarkedHistory& history) {
  std::map<uint32_t, std::vector<size_t>> out;
  for (size_t i = 0; i < history.size(); ++i) out[history[i].thread].push_back(i);
  return out;
}

}  // namespace

SerialOrders::Node SerialOrders::add(const MarkedHistory& serial) {
  Node at = kRoot;
  for (const HistoryOperation& operation : serial) {
    const uint64_t answered = operation.answered.value_or(0);
    const auto same = [&](const Step& step) {
      return step.thread == operation.thread && step.asked == operation.asked && step.answered == answered;
    };
    const auto known = std::ranges::find_if(nodes_[at], same);
    if (known != nodes_[at].end()) {
      at = known->to;
      continue;
    }
    nodes_[at].push_back({operation.thread, operation.asked, answered, nodes_.size()});
    at = nodes_.size();
    nodes_.emplace_back();
  }
  return at;
}

// Depth first through the orders of one history, along the tree.
class SerialOrders::Walk {
 public:
  Walk(const SerialOrders& orders, const MarkedHistory& history, const Which& any_answer)
      : orders_(orders), history_(history), any_answer_(any_answer) {
    for (auto& [thread, operations] : by_thread(history)) threads_.push_back({thread, std::move(operations), 0});
    for (const HistoryOperation& operation : history) mandatory_ += operation.answered ? 1 : 0;
  }

  Explained run() {
    from(kRoot);
    return std::move(out_);
  }

 private:
  struct Thread {
    uint32_t number;
    std::vector<size_t> operations;
    size_t next;
    bool done() const { return next == operations.size(); }
  };

  void from(Node node) {
    if (mandatory_ == 0) out_.nodes.push_back(node);
    // If the next operation of a thread has not ended, no later operation of the thread has.
    uint64_t ended = std::numeric_limits<uint64_t>::max();
    for (const Thread& thread : threads_) {
      if (thread.done()) continue;
      const HistoryOperation& next = history_[thread.operations[thread.next]];
      if (next.answered) ended = std::min(ended, next.ended);
    }
    for (Thread& thread : threads_) {
      if (!out_.known()) return;
      // An operation that had ended before comes first.
      if (!thread.done() && history_[thread.operations[thread.next]].began < ended) by(thread, node);
    }
  }

  void by(Thread& thread, Node node) {
    if (++steps_ > kMostSteps) {
      out_.too_many = true;
      return;
    }
    const size_t index = thread.operations[thread.next];
    const HistoryOperation& operation = history_[index];
    const bool free = !operation.answered || (any_answer_ && any_answer_(index));
    ++thread.next;
    order_.push_back(thread.number);
    mandatory_ -= operation.answered ? 1 : 0;
    bool known = false;
    for (const Step& step : orders_.nodes_[node]) {
      if (step.thread != thread.number || step.asked != operation.asked) continue;
      known = true;
      if (free || step.answered == *operation.answered) from(step.to);
    }
    if (!known && !out_.unknown) out_.unknown = order_;
    mandatory_ += operation.answered ? 1 : 0;
    order_.pop_back();
    --thread.next;
  }

  const SerialOrders& orders_;
  const MarkedHistory& history_;
  const Which& any_answer_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> order_;
  size_t mandatory_ = 0;  // operations that have ended and are not in the order yet
  size_t steps_ = 0;
  Explained out_;
};

SerialOrders::Explained SerialOrders::explain(const MarkedHistory& history, const Which& any_answer) const {
  return Walk(*this, history, any_answer).run();
}

std::vector<SerialOrders::Partial> SerialOrders::partial(const MarkedHistory& history) const {
  const std::map<uint32_t, std::vector<size_t>> threads = by_thread(history);
  std::vector<Partial> out = {{kRoot, {}}};
  for (size_t i = 0; i < out.size(); ++i) {
    for (const Step& step : nodes_[out[i].node]) {
      const auto thread = threads.find(step.thread);
      const auto done = out[i].of_thread.find(step.thread);
      const size_t count = done == out[i].of_thread.end() ? 0 : done->second;
      if (thread == threads.end() || count == thread->second.size()) continue;
      if (history[thread->second[count]].asked != step.asked) continue;
      Partial longer = {step.to, out[i].of_thread};
      ++longer.of_thread[step.thread];
      out.push_back(std::move(longer));
    }
  }
  // A node has one operation more than the node before it: the longest came last.
  std::ranges::reverse(out);
  return out;
}

}  // namespace powercut
