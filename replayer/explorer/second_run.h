// Compares a second run of recovery with the path of the first run in the trie.
//
// The trie's premise is that recovery is a function of the bytes that it reads of the medium. Each new way through
// recovery is therefore run once more, in another world (virtual_world.h). In this world its heap lies elsewhere, and
// memory that nobody has initialised holds other bytes. The second run must read the same, store the same, flush and
// fence at the same places, and reach the same result. Addresses of recovery's own heap that it stores in the pool
// differ by as much as the heap has moved.
#ifndef POWERCUT_REPLAYER_EXPLORER_SECOND_RUN_H_
#define POWERCUT_REPLAYER_EXPLORER_SECOND_RUN_H_

#include <string>
#include <vector>

#include "replayer/search/recovery_trie.h"

namespace powercut {

class SecondRun final : public PathListener {
 public:
  SecondRun(const RecoveryTrie* trie, MemoryRange heap) : trie_(trie), heap_(heap) {}
  void read(uint64_t word, uint8_t bytes, uint64_t value) override;
  void store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t flags, CodePlace place) override;
  void flush(uint64_t offset, FlushKind kind) override;
  void fence() override;
  bool behind_fence(LiveState live) override;
  // Returns whether the second run was left at the place where the first run was left.
  bool stopped() const { return stopped_; }
  void finish(const Outcome& outcome, std::string_view result);

  // Returns the first difference: "it reads offset 64 where it read offset 128". Empty: there is none.
  const std::string& difference() const { return difference_; }
  // Returns the call stack of the first difference: return addresses, innermost first.
  const std::vector<uint64_t>& stack() const { return stack_; }

 private:
  using Kind = RecoveryTrie::Kind;
  // Returns the step that the first run took here. Null after the first difference.
  const RecoveryTrie::Step* next();
  void pass_states();
  void differs(const std::string& now);
  bool same_bytes(std::span<const uint8_t> then, std::span<const uint8_t> now) const;

  const RecoveryTrie* trie_;
  MemoryRange heap_;
  RecoveryTrie::Place place_;
  RecoveryTrie::Step step_;
  bool stopped_ = false;
  std::string difference_;
  std::vector<uint64_t> stack_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_SECOND_RUN_H_
