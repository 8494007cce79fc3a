// The results of the marked operations of threads when they run one after the other. The class also finds the orders
// that explain a history in which operations overlap. The judgement is durable linearizability (Izraelevitz et al.,
// DISC 2016); the orders are searched as by Wing and Gong (1993).
//
// An order explains a history under three conditions. It has all operations that had ended, with the answers that they
// gave. It has operations in flight with any answer, or not at all. No operation stands before one that had ended when
// the former began. The orders are those in which the program was run, and form a tree: a node is the result of some
// operations, one after the other. If an order may explain a history and the tree does not have the order, nothing is
// known of the history.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_SERIAL_ORDERS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_SERIAL_ORDERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace powercut {

struct HistoryOperation {
  uint32_t thread = 0;
  uint64_t asked = 0;                // digest of its kind, key and value
  std::optional<uint64_t> answered;  // digest of its status and its returned value; nothing: in flight
  uint64_t began = 0, ended = 0;     // instants
  bool reads = false;                // the operation is a lookup
  std::string text;                  // "insert(17)"
};

// Operations in the order in which they began.
using MarkedHistory = std::vector<HistoryOperation>;

class SerialOrders {
 public:
  using Node = size_t;
  static constexpr Node kRoot = 0;  // no operation

  // Adds operations that came one after the other, and all ended. Returns their node.
  Node add(const MarkedHistory& serial);

  bool empty() const { return nodes_.size() == 1; }

  struct Explained {
    std::vector<Node> nodes;                       // of each order that explains the history
    std::optional<std::vector<uint32_t>> unknown;  // the threads of an order that is not in the tree
    bool too_many = false;                         // there are more orders than are looked at
    bool known() const { return !unknown && !too_many; }
  };
  // `any_answer`: operations that may have answered anything; by their index.
  using Which = std::function<bool(size_t)>;
  Explained explain(const MarkedHistory& history, const Which& any_answer = nullptr) const;

  // A node of the tree that has some of the history's operations, whatever they answered and in whatever order the
  // threads came. `of_thread`: how many operations of each thread the node has. partial() returns nodes with most
  // operations first.
  struct Partial {
    Node node;
    std::map<uint32_t, size_t> of_thread;
  };
  std::vector<Partial> partial(const MarkedHistory& history) const;

 private:
  struct Step {
    uint32_t thread;
    uint64_t asked, answered;
    Node to;
  };
  class Walk;

  std::vector<std::vector<Step>> nodes_ = std::vector<std::vector<Step>>(1);
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_SERIAL_ORDERS_H_
