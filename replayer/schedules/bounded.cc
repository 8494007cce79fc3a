// Searches depth first over all schedules, or over all schedules with a bounded number of preemptions (Musuvathi and
// Qadeer, PLDI 2007).
//
// Without a bound no state is entered twice. All that can follow depends on the state alone, and it followed when the
// state was left for the first time. With a bound it also depends on the running thread and on the number of
// preemptions left; a state is entered again only with more preemptions left. States are told apart by 128 bits of a
// hash.
//
// Every saturated cut is a state of the search: the events at which threads stand in the cut are scheduling points of
// every machine. Every state that a way comes back to is a state of the search, too. With a bound, the way to such a
// cut may take more preemptions than there are. Therefore each state is also left by letting the other threads go on to
// their next cut. They go on in one order, since any order will do (MODELS.md).
#include <bit>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replayer/schedules/search.h"

namespace powercut {
namespace {

class Bounded final : public ScheduleSearch {
 public:
  using ScheduleSearch::ScheduleSearch;

  void run() override {
    const std::unique_ptr<ScheduleMachine::Mark> root = machine_->mark();
    do {
      machine_->restore(*root);
      known_.clear();
      led_on_.clear();
      depth_ = 0;
      on_path_.clear();
      counts_.states = counts_.schedules = counts_.ended = 0;
      if (search()) break;
      ++counts_.restarts;
    } while (counts_.reason.empty());
    counts_.complete = counts_.reason.empty();
    machine_->restore(*root);
    path_.clear();  // the marks must not outlive the machine
  }

 private:
  struct Choice {
    uint32_t thread;
    uint32_t left;  // preemptions left after this choice
    uint32_t way;
  };
  struct Node {
    std::unique_ptr<ScheduleMachine::Mark> mark;
    std::vector<Choice> choices;
    size_t next = 0;
    Digest state;
    uint32_t moved = 0;  // bit of the thread whose step led to this node
  };

  static constexpr uint32_t kUnbounded = ~uint32_t{0};

  // Returns false if the search must begin again.
  bool search() {
    enter(kNobody, limits_.preemptions.value_or(kUnbounded));
    uint64_t turns = 0;
    while (depth_ > 0) {
      Node& node = path_[depth_ - 1];
      if (node.next == node.choices.size()) {
        leave();
        continue;
      }
      const Choice choice = node.choices[node.next++];
      if (node.next > 1) machine_->restore(*node.mark);
      // The last choice of a node needs no state to return to.
      machine_->choose(choice.thread, choice.way);
      machine_->step(choice.thread);
      ++counts_.steps;
      if (machine_->needs_restart()) return false;
      enter(choice.thread, choice.left);
      if (depth_ > kLongestSchedule) {
        return give_up("at a schedule of " + std::to_string(kLongestSchedule) + " steps: a loop may store for ever");
      }
      if ((++turns & 1023) == 0 || machine_->troubled()) {
        if (std::optional<std::string> reason = stop_(counts_)) return give_up(std::move(*reason));
      }
      if (limits_.schedules > 0 && counts_.schedules >= limits_.schedules) {
        return give_up("after " + std::to_string(counts_.schedules) + " schedules");
      }
    }
    return true;
  }

  bool give_up(std::string reason) {
    counts_.reason = std::move(reason);
    return true;
  }

  void enter(uint32_t last, uint32_t left) {
    if (machine_->troubled()) {
      look();
      ++counts_.schedules;
      return;
    }
    const Digest state = machine_->state();
    const bool bounded = limits_.preemptions.has_value();
    const uint32_t runs = bounded ? last : 0;
    const auto [at, is_new] = known_.try_emplace({state, runs}, left);
    if (!is_new && (!bounded || at->second >= left)) {
      ++counts_.schedules;
      note_cycle(state, last);
      return;
    }
    at->second = left;
    counts_.states += is_new;
    if (depth_ == path_.size()) path_.emplace_back();
    Node& node = path_[depth_];
    node.choices.clear();
    node.next = 0;
    node.state = state;
    node.moved = last == kNobody ? 0 : 1u << last;
    fill(last, left, &node);
    look();
    if (machine_->troubled()) return;
    if (node.choices.empty()) {
      ++counts_.schedules;
      if (!ended()) {
        machine_->deadlocked();
        look();
      } else {
        ++counts_.ended;
      }
      return;
    }
    machine_->keep(&node.mark);
    if (bounded) {
      saturate(last);
      machine_->restore(*node.mark);
    }
    ++on_path_[state];
    ++depth_;
  }

  // Lists the choices of a node. The thread that ran comes first; leaving it costs a preemption, unless the thread
  // cannot go on or yields.
  void fill(uint32_t last, uint32_t left, Node* node) const {
    const bool runs = last != kNobody && machine_->state_of(last) == ThreadState::kReady;
    if (runs) add(last, left, node);
    const bool free = last == kNobody || !runs || left == kUnbounded;
    if (!free && left == 0) return;
    for (uint32_t thread = 0; thread < machine_->threads(); ++thread) {
      const ThreadState state = machine_->state_of(thread);
      if ((thread == last && runs) || state == ThreadState::kWaiting || state == ThreadState::kEnded) continue;
      add(thread, free ? left : left - 1, node);
    }
  }

  void add(uint32_t thread, uint32_t left, Node* node) const {
    for (uint64_t ways = machine_->ways(thread); ways != 0; ways &= ways - 1) {
      node->choices.push_back({thread, left, static_cast<uint32_t>(std::countr_zero(ways))});
    }
  }

  // Looks at a state to which the way at hand comes back: a cycle. If threads go round by stores alone, they come to no
  // saturated cut. A cut in this state leaves all that a cut leaves on the cycle (with a bound, saturate() has looked).
  // If every thread that can move has moved in the cycle, each had its turn without effect: a livelock.
  void note_cycle(const Digest& state, uint32_t last) {
    if (!on_path_.contains(state)) return;
    look(true);
    uint32_t moved = last == kNobody ? 0 : 1u << last;
    for (size_t i = depth_; i-- > 0;) {
      if (path_[i].state == state) break;
      moved |= path_[i].moved;
    }
    for (uint32_t thread = 0; thread < machine_->threads(); ++thread) {
      const ThreadState of = machine_->state_of(thread);
      const bool can = of == ThreadState::kReady || of == ThreadState::kYields;
      if (can && (moved >> thread & 1) == 0) return;
    }
    machine_->livelocked();
    look();
  }

  void leave() {
    const auto at = on_path_.find(path_[--depth_].state);
    if (--at->second == 0) on_path_.erase(at);
  }

  static constexpr uint32_t kNobody = 31;

  std::vector<Node> path_;  // the first `depth_`; the memory of the others is used again
  size_t depth_ = 0;
  absl::flat_hash_map<std::pair<Digest, uint32_t>, uint32_t> known_;  // -> preemptions that were left
  absl::flat_hash_map<Digest, uint32_t> on_path_;
};

}  // namespace

std::unique_ptr<ScheduleSearch> make_bounded_search(ScheduleMachine* machine, SearchLimits limits,
                                                    ScheduleSearch::Visit visit, ScheduleSearch::Stop stop) {
  return std::make_unique<Bounded>(machine, limits, std::move(visit), std::move(stop));
}

}  // namespace powercut
