#include "replayer/search/recovery_trie.h"

#include <cstring>

#include "tracer/runtime/hooks.h"

namespace powercut {

RecoveryTrie::RecoveryTrie() : nodes_(1) {}

uint32_t RecoveryTrie::child(const Place& place) const {
  const Node& node = nodes_[place.node];
  if (!place.branch || node.child == 0 || node.value == place.value) return node.child;
  const auto found = branches_.find(Edge{place.node, place.value});
  return found == branches_.end() ? 0 : found->second;
}

void RecoveryTrie::hang(const Place& place, uint32_t child) {
  Node& node = nodes_[place.node];
  if (!place.branch) {
    node.child = child;
  } else if (node.child == 0) {
    node.value = place.value;
    node.child = child;
  } else {
    branches_.emplace(Edge{place.node, place.value}, child);
  }
}

RecoveryTrie::Step RecoveryTrie::step(const Place& place) const {
  const uint32_t at = child(place);
  if (at == 0) return {};
  const Node& node = nodes_[at];
  Step out;
  out.kind = node.kind;
  out.at = node.at;
  switch (node.kind) {
    case Kind::kRead:
      out.bytes = node.code;
      break;
    case Kind::kStore:
      out.flags = node.code;
      std::memcpy(&out.stack, blob_.data() + node.value, sizeof out.stack);
      out.stored = {blob_.data() + node.value + sizeof out.stack, node.extra};
      break;
    case Kind::kFlush:
      out.flush = static_cast<FlushKind>(node.code);
      break;
    case Kind::kState:
      out.state = states_[node.extra];
      break;
    case Kind::kLeaf:
      out.leaf = &leaves_[node.extra];
      break;
    case Kind::kFence:
    case Kind::kNothing:
      break;
  }
  return out;
}

RecoveryTrie::Place RecoveryTrie::after(const Place& place, uint64_t value) const {
  const uint32_t at = child(place);
  return {at, nodes_[at].kind == Kind::kRead, value};
}

size_t RecoveryTrie::bytes() const {
  return nodes_.capacity() * sizeof(Node) + branches_.capacity() * (sizeof(Edge) + 9) + blob_.capacity() +
         states_.capacity() * sizeof(Signature) + leaf_bytes_;
}

void RecoveryTrie::clear() { *this = RecoveryTrie(); }

uint32_t RecoveryTrie::stack_number(std::vector<uint64_t> stack) {
  const auto [at, added] = stack_numbers_.try_emplace(stack, static_cast<uint32_t>(stacks_.size()));
  if (added) stacks_.push_back(std::move(stack));
  return at->second;
}

void RecoveryTrie::Recorder::pass_states() {
  for (uint32_t next; (next = trie_->child(place_)) != 0 && trie_->nodes_[next].kind == Kind::kState;) place_ = {next};
}

void RecoveryTrie::Recorder::state(const Signature& digest) {
  const uint32_t known = trie_->child(place_);
  if (known != 0) return pass_states();
  trie_->states_.push_back(digest);
  follow(Kind::kState, 0, 0, 0, static_cast<uint32_t>(trie_->states_.size() - 1));
}

void RecoveryTrie::Recorder::follow(Kind kind, uint64_t at, uint8_t code, uint64_t value, uint32_t extra) {
  if (kind != Kind::kState) pass_states();
  const uint32_t known = trie_->child(place_);
  if (known != 0) {
    const Node& node = trie_->nodes_[known];
    contradicted_ = contradicted_ || node.kind != kind || node.at != at || node.code != code ||
                    (kind == Kind::kStore && node.extra != extra);
  }
  if (known == 0 || contradicted_) {
    // A contradiction ends the run; the path is entered all the same, so that nothing here depends on it.
    const auto made = static_cast<uint32_t>(trie_->nodes_.size());
    trie_->nodes_.push_back({at, kind == Kind::kRead ? 0 : value, 0, extra, kind, code});
    if (known == 0) trie_->hang(place_, made);
    place_ = {made, kind == Kind::kRead, value};
    return;
  }
  place_ = {known, kind == Kind::kRead, value};
}

void RecoveryTrie::Recorder::read(uint64_t word, uint8_t bytes, uint64_t value) {
  follow(Kind::kRead, word, bytes, value, 0);
}

void RecoveryTrie::Recorder::store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t flags, CodePlace place) {
  const auto size = static_cast<uint32_t>(bytes.size());
  pass_states();
  if (const uint32_t known = trie_->child(place_); known != 0) {
    const Node& node = trie_->nodes_[known];
    contradicted_ =
        contradicted_ || (node.kind == Kind::kStore && node.extra == size &&
                          std::memcmp(trie_->blob_.data() + node.value + sizeof(uint32_t), bytes.data(), size) != 0);
    follow(Kind::kStore, offset, static_cast<uint8_t>(flags), 0, size);
    return;
  }
  const uint32_t stack = trie_->stack_number(place.stack());
  std::vector<uint8_t>& blob = trie_->blob_;
  const uint64_t begin = blob.size();
  blob.resize(begin + sizeof stack + size);
  std::memcpy(blob.data() + begin, &stack, sizeof stack);
  std::memcpy(blob.data() + begin + sizeof stack, bytes.data(), size);
  follow(Kind::kStore, offset, static_cast<uint8_t>(flags), begin, size);
}

void RecoveryTrie::Recorder::flush(uint64_t offset, FlushKind kind) {
  follow(Kind::kFlush, offset, static_cast<uint8_t>(kind), 0, 0);
}

void RecoveryTrie::Recorder::fence() { follow(Kind::kFence, 0, 0, 0, 0); }

void RecoveryTrie::Recorder::finish(std::shared_ptr<const RecoveredState> state) {
  trie_->leaf_bytes_ += sizeof *state + state->heap.size() + state->result.size() + state->globals.size() * 16;
  trie_->leaves_.push_back(std::move(state));
  follow(Kind::kLeaf, 0, 0, 0, static_cast<uint32_t>(trie_->leaves_.size() - 1));
}

}  // namespace powercut
