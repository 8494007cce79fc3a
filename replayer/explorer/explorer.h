// Explores crash points: recovery on every crash state, queries on every recovered state, cuts inside recovery, to
// the depth asked for. EXPLORER.md has the argument. Two implementations behind one interface:
//   trie_explorer.cc   executes only what no execution of the run has shown yet
//   eager_explorer.cc  executes everything, again at every crash point: the reference
#ifndef POWERCUT_REPLAYER_EXPLORER_EXPLORER_H_
#define POWERCUT_REPLAYER_EXPLORER_EXPLORER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/explorer/stopwatch.h"
#include "replayer/search/query_search.h"
#include "replayer/search/subject.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

struct RecoveredState;

struct ExplorerCounts {
  uint64_t executions = 0;               // runs of recovery
  uint64_t met = 0;                      // ways through recovery that came to a known situation (convergence.h)
  uint64_t query_runs = 0;               // executions of queries
  uint64_t query_answers = 0;            // queries asked: all of them at every leaf, executed or not
  uint64_t lives = 0, new_lives = 0;     // second lives; those that no equal one stands for
  absl::flat_hash_set<uint64_t> leaves;  // distinct behaviours of recovery
};

class Explorer {
 public:
  struct Options {
    int nested = 1;           // cuts inside recovery
    int lives = 1;            // 2: the subject's continuation follows each recovery, and the power fails in it
    bool merge_lives = true;  // an equal second life stands for another
    bool paranoid = false;    // hash everything after each reset
    bool remember = true;     // make_explorer: remembers executions, where the strategy allows it
    uint64_t merge_after = QuerySearch::kMergeAfter;
    bool visible_only = false;      // make_trie_explorer: of every line the content with everything persisted
    size_t trie_bytes = 256 << 20;  // limit of the trie; beyond it the trie is begun anew
    bool keep_answers = false;      // for recall(): keeps the answers, and not only digests of judged answers
    bool obligations = true;        // make_eager_explorer: whether this explorer takes the subject's obligations
    // make_trie_explorer: called at each crash point, with its lines installed and nothing run on them yet.
    std::function<void()> before_search = {};
  };
  virtual ~Explorer() = default;

  // Explores the crash point of `frontier`; `changes` are the changes since the crash point before. Returns how many
  // crash states of the crash point are covered.
  virtual BigInt crash_point(const Frontier& frontier, const std::vector<Frontier::Change>& changes,
                             uint64_t ordinal) = 0;
  // Forgets everything, so that work can be split at fixed places with the same counts. The next crash point is
  // taken as it stands, whatever its `changes`.
  virtual void forget() = 0;

  const ExplorerCounts& counts() const { return counts_; }
  const Stopwatch& stopwatch() const { return stopwatch_; }
  // Not empty if a reset did not restore the state (--paranoid), or if recovery did not do the same twice. The results
  // of this process are not to be trusted then.
  const std::string& distrust() const { return distrust_; }

 protected:
  // --paranoid: `before` is the executor's digest before something was run and undone.
  void check_reset(const Executor& executor, uint64_t before, const char* what);

  ExplorerCounts counts_;
  Stopwatch stopwatch_;
  std::string distrust_;
};

// An explorer that remembers executions, and can tell of an image without running anything.
class MemoExplorer : public Explorer {
 public:
  // Returns the result of recovery on one image of the crash point at hand, from the executions so far. Returns null if
  // recovery would have to be executed. `image` has one content for each undecided line.
  virtual std::shared_ptr<const RecoveredState> recall(const LineSets& image) = 0;
  // Returns every answer of the query that was judged under the obligations in force, on whatever image. Needs
  // keep_answers.
  virtual const std::vector<std::string>& answers(QueryId query) const = 0;
};

// Follows the strategy in the quickest way that it allows.
std::unique_ptr<Explorer> make_explorer(Executor* executor, Strategy* strategy, Subject* subject,
                                        Explorer::Options options);
std::unique_ptr<MemoExplorer> make_trie_explorer(Executor* executor, Subject* subject,
                                                 const Explorer::Options& options);
std::unique_ptr<Explorer> make_eager_explorer(Executor* executor, Strategy* strategy, Subject* subject,
                                              const Explorer::Options& options);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_EXPLORER_H_
