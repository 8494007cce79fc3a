// The trie of the steps of all recoveries. All crash points of a run share the trie.
//
// Recovery is a function of the bytes that it reads of the medium. A path through the trie is one behaviour. It
// consists of reads, each with one branch for every value that was ever seen there. Between the reads stand the stores,
// flushes and fences that recovery then made, in order; at the end a leaf holds the result. A path that is followed
// with an image's values tells what recovery would do on this image, without running it.
//
//   read word 512 ─┬─ 0 ──▶ read word 0 ── … ──▶ leaf: returned OK
//                  └─ 4242 ─▶ read word 576 ── … ─▶ store 4242 … fence ─ store 512 … fence ─▶ leaf: returned OK
//
// Behind a fence there may be a digest of the machine's state (convergence.h). A path may end at such a digest without
// a leaf: the execution was left because another one had been in the same state.
//
// A leaf keeps results, never verdicts: bytes that recovery did not read can still differ, and obligations change.
#ifndef POWERCUT_REPLAYER_SEARCH_RECOVERY_TRIE_H_
#define POWERCUT_REPLAYER_SEARCH_RECOVERY_TRIE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replayer/search/subject.h"

namespace powercut {

// The result of an execution of recovery.
struct RecoveredState {
  Outcome outcome;
  std::string result;
  Subject::Opened opened;
  std::vector<uint8_t> heap;                           // the target's heap, from its beginning
  std::vector<std::pair<uint64_t, uint64_t>> globals;  // words of the target's globals that changed; ascending
  uint64_t path = 0;                                   // digest of all reads
};

class RecoveryTrie {
 public:
  enum class Kind : uint8_t { kNothing, kRead, kStore, kFlush, kFence, kState, kLeaf };

  // A place that the next step of a path hangs from.
  struct Place {
    uint32_t node = 0;    // 0: the root
    bool branch = false;  // below a read: the branch of `value`
    uint64_t value = 0;
  };
  // One step, as it was recorded.
  struct Step {
    Kind kind = Kind::kNothing;
    uint8_t bytes = 0;                                            // kRead: which bytes of the word
    FlushKind flush{};                                            // kFlush
    uint32_t flags = 0, stack = 0;                                // kStore
    uint64_t at = 0;                                              // kRead, kStore, kFlush: pool offset
    std::span<const uint8_t> stored;                              // kStore
    Signature state;                                              // kState
    const std::shared_ptr<const RecoveredState>* leaf = nullptr;  // kLeaf
  };

  RecoveryTrie();
  // The step that hangs from `place`; kNothing when no recovery has come this way.
  Step step(const Place& place) const;
  // The place after the step that hangs from `place`; for a read, of the branch of `value`.
  Place after(const Place& place, uint64_t value = 0) const;

  // The stack with this number (return addresses, innermost first).
  const std::vector<uint64_t>& stack(uint32_t number) const { return stacks_[number]; }
  size_t bytes() const;
  void clear();

  // Enters one execution: a PathListener that follows known steps and adds those that are new.
  class Recorder final : public PathListener {
   public:
    explicit Recorder(RecoveryTrie* trie) : trie_(trie) {}
    void read(uint64_t word, uint8_t bytes, uint64_t value) override;
    void store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t flags, CodePlace place) override;
    void flush(uint64_t offset, FlushKind kind) override;
    void fence() override;
    // Enters the machine's state at this place. Not every execution that comes this way must call it.
    void state(const Signature& digest);
    void finish(std::shared_ptr<const RecoveredState> state);
    // Returns whether an earlier execution has come this way and gone further.
    bool is_known() const { return trie_->child(place_) != 0; }
    // Returns whether recovery did something else than an earlier execution that read the same.
    bool contradicted() const { return contradicted_; }

   private:
    // Follows the step at place_ if it is the given one; makes the step if there is none. Afterwards place_ is behind
    // it.
    void follow(Kind kind, uint64_t at, uint8_t code, uint64_t value, uint32_t extra);
    void pass_states();

    RecoveryTrie* trie_;
    Place place_;
    bool contradicted_ = false;
  };

 private:
  struct Node {
    uint64_t at = 0;
    uint64_t value = 0;  // kRead: value of the first branch; kStore: where in blob_ its bytes begin
    uint32_t child = 0;  // behind the step; kRead: of the first branch; 0: nothing yet
    uint32_t extra = 0;  // kStore: size of its bytes; kState: index into states_; kLeaf: into leaves_
    Kind kind{};
    uint8_t code = 0;  // kRead: bytes; kStore: flags; kFlush: kind
  };
  struct Edge {
    uint32_t node;
    uint64_t value;
    bool operator==(const Edge&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Edge& e) {
      return H::combine(std::move(h), e.node, e.value);
    }
  };
  uint32_t child(const Place& place) const;
  void hang(const Place& place, uint32_t node);
  uint32_t stack_number(std::vector<uint64_t> stack);

  std::vector<Node> nodes_;                       // [0]: the root, whose child is the first step
  absl::flat_hash_map<Edge, uint32_t> branches_;  // all branches but the first one of each read
  std::vector<uint8_t> blob_;
  std::vector<Signature> states_;
  std::vector<std::shared_ptr<const RecoveredState>> leaves_;
  size_t leaf_bytes_ = 0;
  std::vector<std::vector<uint64_t>> stacks_;
  absl::flat_hash_map<std::vector<uint64_t>, uint32_t> stack_numbers_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SEARCH_RECOVERY_TRIE_H_
