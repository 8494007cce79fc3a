#include "replayer/models/model.h"

#include <algorithm>

namespace powercut {

void PendingLines::store(uint64_t event, uint32_t thread, uint32_t stack, bool non_temporal, bool memcall, bool whole,
                         uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const uint64_t line = offset / kLineSize;
    const uint64_t in_line = offset % kLineSize;
    const size_t length = std::min<size_t>(bytes.size(), kLineSize - in_line);
    lines_[line].append(event, thread, stack, non_temporal, memcall, whole, static_cast<uint32_t>(in_line),
                        bytes.first(length), policy_);
    if (non_temporal) watched_[thread].insert(line);
    changed_.insert(line);
    offset += length;
    bytes = bytes.subspan(length);
  }
}

bool PendingLines::flush(uint32_t thread, uint64_t offset, FlushKind kind) {
  const uint64_t line = offset / kLineSize;
  const auto found = lines_.find(line);
  if (found == lines_.end() || !found->second.pending()) return false;
  if (kind == FlushKind::kClflush) {
    const bool raised = found->second.settle_chain(policy_);
    if (raised) changed_.insert(line);
    return raised;
  }
  found->second.remember(thread);
  const bool useful = found->second.fence_raises(thread);
  if (useful) watched_[thread].insert(line);
  return useful;
}

void PendingLines::fence(uint32_t thread) {
  const auto watched = watched_.find(thread);
  if (watched == watched_.end()) return;
  for (uint64_t line : watched->second) {
    const auto found = lines_.find(line);
    if (found != lines_.end() && found->second.fence(thread, policy_)) changed_.insert(line);
  }
  watched->second.clear();
}

void PendingLines::settle_chains() {
  for (auto& [line, log] : lines_) {
    if (log.settle_chain(policy_)) changed_.insert(line);
  }
}

void PendingLines::settle_all() {
  for (auto& [line, log] : lines_) {
    log.settle_all();
    changed_.insert(line);
  }
  watched_.clear();
}

std::vector<uint64_t> PendingLines::raised_by_fence(uint32_t thread) const {
  std::vector<uint64_t> out;
  const auto watched = watched_.find(thread);
  if (watched == watched_.end()) return out;
  for (uint64_t line : watched->second) {
    const LineLog* log = find(line);
    if (log != nullptr && log->fence_raises(thread)) out.push_back(line);
  }
  return out;
}

bool PendingLines::raised_by_clflush(uint64_t offset) const {
  const LineLog* log = find(offset / kLineSize);
  return log != nullptr && log->settle_raises();
}

const LineLog* PendingLines::find(uint64_t line) const {
  const auto found = lines_.find(line);
  return found == lines_.end() ? nullptr : &found->second;
}

std::vector<uint64_t> PendingLines::take_changed() {
  std::vector<uint64_t> out(changed_.begin(), changed_.end());
  changed_.clear();
  return out;
}

Content Model::floor(uint64_t line) const {
  Content content;
  std::memcpy(content.bytes.data(), durable_.data() + line * kLineSize, kLineSize);
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
  auto found = pending_.lines().find(line);
  if (found == pending_.lines().end()) return;
  Content content;
  uint8_t* at = durable_.data() + line * kLineSize;
  std::memcpy(content.bytes.data(), at, kLineSize);
  found->second.take_floor().apply_to(&content);
  std::memcpy(at, content.bytes.data(), kLineSize);
  if (!found->second.pending()) pending_.lines().erase(found);
}

void Model::absorb_all() {
  std::vector<uint64_t> lines;  // absorb() erases
  for (const auto& [line, log] : pending_.lines()) lines.push_back(line);
  for (uint64_t line : lines) absorb(line);
}

void Model::store(const Event& event) {
  pending_.store(event.index, event.thread, event.stack, event.kind == EventKind::kNtStore,
                 (event.flags & kStoreMemcall) != 0, (event.flags & kStoreRmw) != 0, event.addr, event.value);
}

std::unique_ptr<Model> make_model(std::string_view name, AtomPolicy policy, uint64_t pool_size) {
  if (name == "adr") return make_adr(policy, pool_size);
  if (name == "eadr") return make_eadr(policy, pool_size);
  return nullptr;
}

}  // namespace powercut
