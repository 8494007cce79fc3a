#include "replayer/models/model.h"

#include <new>

namespace powercut {

Model::Model(const Persistency& rules, AtomPolicy wanted, uint64_t pool_size)
    : pending_(rules.policy(wanted)),
      rules_(rules),
      durable_(static_cast<uint8_t*>(std::calloc(pool_size + kLineSize, 1))) {
  if (durable_ == nullptr) throw std::bad_alloc();
}

Content Model::floor(uint64_t line) const {
  Content content;
  std::memcpy(content.bytes.data(), durable_.get() + line * kLineSize, kLineSize);
  if (const LineLog* log = pending_.find(line)) log->floor().apply_to(&content);
  return content;
}

CandidateSet Model::candidates(uint64_t line) const {
  const Content base = floor(line);
  const LineLog* log = pending_.find(line);
  if (log == nullptr || !log->pending()) return {.contents = {base}, .base = {0}};
  return powercut::candidates(*log, {&base, 1}, pending_.policy(), kCandidateLimit);
}

void Model::absorb(uint64_t line) {
  const Overlay floor = pending_.absorb(line);
  if (floor.mask == 0) return;
  uint8_t* at = durable_.get() + line * kLineSize;
  Content content;
  std::memcpy(content.bytes.data(), at, kLineSize);
  if (kept_) kept_->overwritten.try_emplace(line, content);
  floor.apply_to(&content);
  std::memcpy(at, content.bytes.data(), kLineSize);
}

void Model::keep() { kept_ = {pending_, unvisited_, {}}; }

void Model::go_back() {
  for (const auto& [line, content] : kept_->overwritten) {
    std::memcpy(durable_.get() + line * kLineSize, content.bytes.data(), kLineSize);
    pending_.touch(line);
  }
  kept_->overwritten.clear();
  pending_.become(kept_->pending);
  unvisited_ = kept_->unvisited;
}

Durable Model::made_durable(const Event& event) const {
  if (event.kind == EventKind::kFlush) return rules_.by_flush(static_cast<FlushKind>(event.code));
  return rules_.has_fence(static_cast<FenceKind>(event.code)) ? rules_.by_fence() : Durable::kNothing;
}

void Model::fence(const Event& event) {
  const Durable durable = made_durable(event);
  if (durable == Durable::kAll) return cut();
  if (durable != Durable::kOfThread) return;
  // The list stays valid while the fence is applied, since no other list is asked for.
  const std::vector<uint64_t>& raised = pending_.raised_by_fence(thread_of(event));
  pending_.fence(thread_of(event));
  for (uint64_t line : raised) absorb(line);
}

void Model::cut() {
  std::vector<uint64_t> lines;  // absorb() forgets lines
  for (const PendingLines::Line& line : pending_.lines()) lines.push_back(line.number);
  pending_.settle_all();
  for (uint64_t line : lines) absorb(line);
}

// Stores add images. Images of stores that are pending when exploring begins belong to no explored crash point yet.
void Model::note_for_begin(const Event& event) {
  const bool stores = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
  const bool begins = event.kind == EventKind::kPhase && event.code != 0;
  if (stores || begins) unvisited_ = unvisited_ || !pending_.empty();
}

void Model::store(const Event& event) {
  const StoreTraits traits = rules_.taken(StoreTraits::of(event.kind == EventKind::kNtStore, event.flags));
  pending_.store(event.index, thread_of(event), event.stack, traits, event.addr, event.value);
}

}  // namespace powercut
