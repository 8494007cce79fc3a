// Runs a query on all images at hand, and goes on only once where two ways have come back to the same state.
//
// An execution is cut into stretches: each ends at a load of undecided bytes, or at the query's end. At such a load the
// machine's state is kept, and the query goes on from there once for each value that the bytes may have. All that
// happens from a state on is a function of the state and of the bytes that are read of the medium. Two ways may arrive
// at one load in the same state, with candidates that differ in one line alone. Such ways are merged into one way with
// the candidates of both. The images of the merged way are again the choices of one candidate for each line. A scan
// over n undecided lines takes 2n stretches, not 2^n executions. The argument: EXPLORER.md, "Merged ways".
//
// The search gives up, and says so, where a part of the state is not known: uninstrumented code loads undecided bytes,
// or the query asks the world for something. It also gives up where a way comes back to a state of its own (an endless
// loop, perhaps), and where memory runs short. All ways told until then are true.
#ifndef POWERCUT_REPLAYER_SEARCH_MERGED_SEARCH_H_
#define POWERCUT_REPLAYER_SEARCH_MERGED_SEARCH_H_

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "replayer/executor/executor.h"
#include "replayer/search/subject.h"

namespace powercut {

class MergedSearch {
 public:
  static constexpr size_t kMostStates = size_t{1} << 20;
  static constexpr uint64_t kMostFresh = 256 * 1024;     // bytes of heap that a way has allocated
  static constexpr size_t kMostOptions = 4096;           // values at one load
  static constexpr size_t kMostBytes = size_t{1} << 29;  // bytes of all states that were kept

  struct Counts {
    uint64_t stretches = 0;
    uint64_t merged = 0;  // ways that were joined with another way, or covered by another way
  };

  // All arguments outlive this object. The query writes its answer to `answer`.
  MergedSearch(Executor* executor, ResultBuffer* answer, Counts* counts)
      : executor_(executor), answer_(answer), counts_(counts) {}

  // Calls `ended` where a way ends, with memory as the way left it; `ended` returns whether to go on. Returns true if
  // every image was covered, or if `ended` or the executor has stopped the search; memory is then as before. Returns
  // false if it gave up.
  bool run(const std::function<void()>& query, absl::FunctionRef<bool(Outcome*)> ended);

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};
  using Digest = std::pair<uint64_t, uint64_t>;
  // Candidates that are left, for each line that has fewer than when the query began; ascending.
  using Left = std::vector<Narrowed>;
  struct State {
    Executor::Branch branch;
    UndecidedMemory::Changes changes;
    std::vector<char> answer;  // so far
    uint8_t phase = 0;
    Left left;
    uint64_t progress = 0;       // loads on the longest way that came here
    bool expanded = false;       // true: only `left` and `next` still count
    std::vector<uint32_t> next;  // states that follow
  };

  bool expand(uint32_t number, absl::FunctionRef<bool(Outcome*)> ended, bool* stopped);
  // Takes in the place where a stretch has ended. Returns false if the search must give up.
  bool arrive(Executor::Stretch&& stretch, uint32_t from, uint64_t progress, absl::FunctionRef<bool(Outcome*)> ended,
              bool* stopped);
  void take_in(State state, uint32_t from);
  void drop(uint32_t gone, uint32_t into, std::vector<uint32_t>* same);
  void link(uint32_t from, uint32_t to);
  static Digest digest(const State& state);
  // Puts the union of `a` and `b` into `out`. Returns false if more than one line differs.
  bool join(const Left& a, const Left& b, Left* out) const;
  static bool within(const Left& small, const Left& large);
  size_t candidates(uint64_t line) const;
  bool has_cycle() const;

  Executor* executor_;
  ResultBuffer* answer_;
  Counts* counts_;
  UndecidedMemory::Mark start_{};
  bool watched_ = false;  // true: each stretch looks for changes by code without hooks
  std::vector<State> states_;
  absl::flat_hash_map<Digest, std::vector<uint32_t>> known_;
  std::set<std::pair<uint64_t, uint32_t>> waiting_;  // (progress, state)
  size_t kept_bytes_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SEARCH_MERGED_SEARCH_H_
