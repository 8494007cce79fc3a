// Explores one crash point: recovery on every crash state, queries on every recovered state, cuts inside
// recovery, to the depth asked for. The strategy says which crash states; the Subject says what runs and
// what its results mean. Nothing here knows a scheme.
//
// Queries (EXPLORER.md): each runs on the recovered state and is undone, branching over what it reads, under
// the candidates that recovery left. Independent lines are never multiplied with one another. Queries whose read
// set holds what it held at an earlier leaf are not run again (query_memory.h).
#ifndef POWERCUT_REPLAYER_EXPLORER_H_
#define POWERCUT_REPLAYER_EXPLORER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/executor.h"
#include "replayer/query_memory.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

// One concrete crash image: a content for every line of every level down to the one at hand.
struct Image {
  struct Line {
    uint64_t line = 0;
    Content content;
    uint32_t candidates = 0;
    bool decided = false;  // the execution observed something that singles out some candidates
  };
  std::vector<std::vector<Line>> levels;  // [0]: the first cut; [d]: the cut inside the d-th recovery
  struct Nested {
    uint64_t stores_seen = 0;
    bool after_return = false;
    std::vector<Executor::NestedStore> stores;
  };
  std::vector<Nested> nested;  // one for each level but the first
};

// Where target code leaves a result: fixed memory, since the target's heap is dropped after each execution.
class ResultBuffer {
 public:
  ResultBuffer() : bytes_(1 << 20) {}
  void clear() { size_ = 0, overflow_ = false; }
  void put(const void* data, size_t size);
  void put_byte(uint8_t byte) { put(&byte, 1); }
  void put_u32(uint32_t value) { put(&value, 4); }
  std::string_view view() const { return {bytes_.data(), size_}; }
  bool overflow() const { return overflow_; }

 private:
  std::vector<char> bytes_;
  size_t size_ = 0;
  bool overflow_ = false;
};

// The result of an execution that did not return: '!', how it ended, the signal.
void put_failure(const Outcome& outcome, ResultBuffer* buffer);

// What is run on crash images, and who judges it. Calls marked [target] happen inside target code's guard:
// they may not allocate outside the result buffer.
class Subject {
 public:
  virtual ~Subject() = default;
  // [target] Opens the table; the result tells how. Returns whether queries make sense.
  virtual void recover(ResultBuffer* result) = 0;
  virtual bool usable() const = 0;
  // The queries to ask at this leaf, ascending; valid until the next call. `version` changes with the list.
  virtual const std::vector<QueryId>& queries(uint64_t* version) = 0;
  // The address of what recovery opened: part of what queries depend on.
  virtual uint64_t context() const = 0;
  // Queries whose answers have to be judged again though they are the same, since obligations changed.
  virtual const std::vector<QueryId>& obliged() = 0;
  // Whether answered() wants every query at every leaf, changed or not.
  virtual bool wants_all() const = 0;
  // [target] Runs one query.
  virtual void run(QueryId query, ResultBuffer* result) = 0;
  // Judges. kExplain: give me the image that shows it, through explained(). A query with an answer that is not
  // kGood is judged again at the next leaf.
  enum class Judgement : uint8_t { kGood, kBad, kExplain };
  virtual Judgement recovered(int depth, const Outcome& outcome, std::string_view result) = 0;
  virtual Judgement answered(int depth, QueryId query, std::string_view result) = 0;
  // `outcome` is null when the execution returned.
  virtual void explained(int depth, QueryId query, std::string_view result, const Outcome* outcome,
                         const Image& image) = 0;
};

// The pseudo-query of recovery itself.
inline constexpr QueryId kRecoveryQuery = 0;

struct ExplorerCounts {
  uint64_t executions = 0;               // runs of recovery
  uint64_t query_runs = 0;               // executions of queries
  uint64_t query_answers = 0;            // queries asked, answered by a run or from memory
  absl::flat_hash_set<uint64_t> leaves;  // distinct behaviours of recovery
};

class Explorer {
 public:
  struct Options {
    int nested = 1;         // cuts inside recovery
    bool paranoid = false;  // hash everything after each reset
    bool remember = true;   // keep results of queries from leaf to leaf
  };
  Explorer(Executor* executor, Strategy* strategy, Subject* subject, const Options& options);

  // Explores the crash point whose undecided lines are `pending`; the pool holds everything else.
  // Returns how many of its crash states are covered.
  // `changed`: the lines whose candidates differ from those at the crash point before.
  BigInt crash_point(const LineSets& pending, const std::vector<uint64_t>& changed, uint64_t ordinal);
  // Forgets remembered results, so that work can be split at fixed places with the same counts.
  void forget() { memory_.forget(); }

  const ExplorerCounts& counts() const { return counts_; }
  std::string_view result(ResultId id) const { return results_[id]; }
  // Set when a reset did not restore the state (--paranoid, or after a fault): this process is not to be
  // trusted any more.
  const std::string& distrust() const { return distrust_; }

 private:
  struct Frame {
    LineSets sets;
    std::vector<std::vector<uint32_t>> alive_at_cut;  // of the cut that the next frame is under
    Image::Nested nested;                             // how this frame came to be (depth > 0)
  };

  void level(int depth, const LineSets& sets, uint64_t ordinal, Image::Nested nested, BigInt* covered);
  void search(int depth, uint64_t ordinal);
  void ask_all(int depth);
  // Runs the query down all its branches; its distinct results.
  std::vector<ResultId> run_all(QueryId query, const Executor::Mark& leaf);
  void judge(int depth, QueryId query, const std::vector<ResultId>& results, const Executor::Mark& leaf);
  // Runs the query once under `decisions` and interns its result.
  ResultId run_query(QueryId query, Decisions* decisions, Outcome* outcome);
  void explain(int depth, QueryId query, ResultId wanted, const Executor::Mark& leaf);
  ResultId intern(std::string_view result);
  Image image() const;
  void check_reset(uint64_t before, const char* what);

  Executor* executor_;
  Strategy* strategy_;
  Subject* subject_;
  Options options_;
  ExplorerCounts counts_;
  ResultBuffer buffer_;
  std::vector<Frame> frames_;
  QueryMemory memory_;
  absl::flat_hash_map<std::string, ResultId> interned_;
  std::vector<std::string> results_;
  std::string distrust_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_H_
