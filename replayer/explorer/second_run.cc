#include "replayer/explorer/second_run.h"

#include <array>
#include <cstring>

namespace powercut {
namespace {

std::string at_offset(uint64_t offset) { return "offset " + std::to_string(offset) + " of the pool"; }

std::string text_of(const RecoveryTrie::Step& step) {
  switch (step.kind) {
    case RecoveryTrie::Kind::kRead:
      return "reads " + at_offset(step.at);
    case RecoveryTrie::Kind::kStore:
      return "stores to " + at_offset(step.at);
    case RecoveryTrie::Kind::kFlush:
      return "flushes " + at_offset(step.at);
    case RecoveryTrie::Kind::kFence:
      return "fences";
    case RecoveryTrie::Kind::kLeaf:
      return "ends";
    case RecoveryTrie::Kind::kState:
    case RecoveryTrie::Kind::kNothing:
      break;
  }
  return "goes on";
}

}  // namespace

const RecoveryTrie::Step* SecondRun::next() {
  if (!difference_.empty()) return nullptr;
  pass_states();
  step_ = trie_->step(place_);
  return &step_;
}

void SecondRun::pass_states() {
  while (trie_->step(place_).kind == Kind::kState) place_ = trie_->after(place_);
}

// The first run may have been left at a state.
bool SecondRun::behind_fence(LiveState) {
  if (!difference_.empty() || trie_->step(place_).kind != Kind::kState) return true;
  pass_states();
  stopped_ = trie_->step(place_).kind == Kind::kNothing;
  return !stopped_;
}

void SecondRun::differs(const std::string& now) {
  difference_ = "it " + now + " where it " + text_of(step_) + " at first";
  std::array<uint64_t, 24> frames;
  const uint32_t count =
      powercut_stack(__builtin_return_address(0), __builtin_frame_address(0), frames.data(), frames.size());
  stack_.assign(frames.begin(), frames.begin() + count);
}

bool SecondRun::same_bytes(std::span<const uint8_t> then, std::span<const uint8_t> now) const {
  if (then.size() != now.size()) return false;
  for (size_t i = 0; i < now.size(); i += 8) {
    const size_t size = std::min<size_t>(8, now.size() - i);
    uint64_t was = 0, is = 0;
    std::memcpy(&was, &then[i], size);
    std::memcpy(&is, &now[i], size);
    const bool address_in_heap = size == 8 && heap_.holds(was, 1) && is - was == TargetRunner::kHeapShift;
    if (was != is && !address_in_heap) return false;
  }
  return true;
}

void SecondRun::read(uint64_t word, uint8_t bytes, uint64_t value) {
  const RecoveryTrie::Step* step = next();
  if (step == nullptr) return;
  if (step->kind != Kind::kRead || step->at != word || step->bytes != bytes) {
    differs("reads " + at_offset(word));
    return;
  }
  place_ = trie_->after(place_, value);
}

void SecondRun::store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t, CodePlace) {
  const RecoveryTrie::Step* step = next();
  if (step == nullptr) return;
  if (step->kind != Kind::kStore || step->at != offset || step->stored.size() != bytes.size()) {
    differs("stores to " + at_offset(offset));
  } else if (!same_bytes(step->stored, bytes)) {
    differs("stores other bytes to " + at_offset(offset));
  } else {
    place_ = trie_->after(place_);
  }
}

void SecondRun::flush(uint64_t offset, FlushKind kind) {
  const RecoveryTrie::Step* step = next();
  if (step == nullptr) return;
  if (step->kind != Kind::kFlush || step->at != offset || step->flush != kind) {
    differs("flushes " + at_offset(offset));
  } else {
    place_ = trie_->after(place_);
  }
}

void SecondRun::fence() {
  const RecoveryTrie::Step* step = next();
  if (step == nullptr) return;
  if (step->kind != Kind::kFence) {
    differs("fences");
  } else {
    place_ = trie_->after(place_);
  }
}

void SecondRun::finish(const Outcome& outcome, std::string_view result) {
  const RecoveryTrie::Step* step = next();
  if (step == nullptr) return;
  if (step->kind != Kind::kLeaf) {
    differs("ends");
  } else if ((*step->leaf)->outcome.kind != outcome.kind || (*step->leaf)->result != result) {
    step_.kind = Kind::kLeaf;
    differs("ends with another result");
  } else {
    return;
  }
  stack_ = outcome.stack;  // nothing of the target is on the engine's own
}

}  // namespace powercut
