// read-driven: all lines stay undecided; recovery's own loads branch over the distinct values that it can see
// (Gorjiara, Xu & Demsky, Jaaru, ASPLOS 2021). Two images that recovery cannot tell apart are one execution.
//
// Complete: recovery is a function of the bytes that it loads. Every legal image shows it one sequence of loaded
// values. The branches at its loads are exactly the distinct values of the candidates that are still compatible with
// that sequence. Lines are independent, so filtering one line never restricts another. By induction over the loads
// every image follows one of the explored paths, and every path has an image.
#include "replayer/strategies/strategies.h"

namespace powercut {
namespace {

class ReadDriven final : public Strategy {
 public:
  std::string_view name() const override { return "read-driven"; }
  bool complete() const override { return true; }
  bool samples() const override { return false; }
  bool may_remember() const override { return true; }
  BigInt visit(const LineSets& pending, uint64_t, const std::function<void(const LineSets&)>& explore) override {
    explore(pending);
    return state_count(pending);
  }
};

}  // namespace

std::unique_ptr<Strategy> make_read_driven(const StrategyOptions&) { return std::make_unique<ReadDriven>(); }

}  // namespace powercut
