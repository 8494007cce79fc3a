#include "replayer/executor/recovery_follower.h"

#include <algorithm>
#include <bit>

#include "tracer/world/quiet_heap.h"

namespace powercut {
namespace {

constexpr uint64_t kEmptyPath = 0x9E3779B97F4A7C15;

uint64_t extend_path(uint64_t path, uint64_t word, uint8_t bytes, uint64_t value) {
  const unsigned __int128 mixed =
      static_cast<unsigned __int128>(path ^ ((word << 8 | bytes) * 0x9FB21C651E98DF25)) * (value ^ 0xD6E8FEB86659FD93);
  return static_cast<uint64_t>(mixed) ^ static_cast<uint64_t>(mixed >> 64) ^ std::rotl(path, 17);
}

}  // namespace

// ---- an execution ----------------------------------------------------------------------------------

void RecoveryFollower::begin_path(Decisions* decisions) {
  decisions_ = decisions;
  path_ = kEmptyPath;
  ++path_epoch_;
  done_ = {};
  fenced_ = false;
}

void RecoveryFollower::begin(Decisions* decisions, std::vector<Cut>* cuts) {
  begin_path(decisions);
  cuts_ = cuts;
  decided_before_ = memory_->mark().decided;
  nested_.emplace(options_.policy, *options_.persistency);
}

void RecoveryFollower::begin(Decisions* decisions, PathListener* listener) {
  begin_path(decisions);
  listener_ = listener;
  nested_.reset();
}

void RecoveryFollower::go_on(Decisions* decisions, const UndecidedMemory::Mark& level, const NestedCuts& before,
                             std::vector<Cut>* cuts) {
  const uint64_t path = path_;
  begin_path(decisions);
  recovery_path_ = path;
  continued_ = true;
  cuts_ = cuts;
  decided_before_ = level.decided;
  nested_ = before;
}

void RecoveryFollower::end() {
  if (std::exchange(continued_, false)) path_ = recovery_path_;
  decisions_ = nullptr;
  listener_ = nullptr;
  cuts_ = nullptr;
}

void RecoveryFollower::cut() {
  if (cuts_ != nullptr && decisions_->fresh()) cuts_->push_back(nested_->cut(memory_->narrowed(decided_before_)));
}

std::optional<Cut> RecoveryFollower::cut_after() { return nested_->cut_after(memory_->narrowed(decided_before_)); }

// ---- reads -----------------------------------------------------------------------------------------

uint64_t RecoveryFollower::first_seen(uint64_t line, uint64_t mask) {
  LineInfo& info = (*lines_)[line];
  if (info.seen_stamp != path_epoch_) {
    info.seen_stamp = path_epoch_;
    info.seen_mask = 0;
  }
  const uint64_t fresh = mask & ~info.seen_mask;
  info.seen_mask |= mask;
  return fresh;
}

void RecoveryFollower::read(uint64_t line, uint64_t mask) {
  for (uint64_t left = first_seen(line, mask); left != 0;) {
    const uint64_t at = std::countr_zero(left) / 8 * 8;
    const auto bytes = static_cast<uint8_t>(left >> at);
    left &= ~(uint64_t{0xff} << at);
    const uint64_t undecided = memory_->undecided(line, uint64_t{bytes} << at);
    if (undecided != 0) memory_->decide(line, undecided, decisions_);
    const uint64_t word = line * kLineSize + at;
    const uint64_t value = memory_->peek(word, bytes);
    path_ = extend_path(path_, word, bytes, value);
    if (listener_ == nullptr) continue;
    const QuietHeap quiet;
    listener_->read(word, bytes, value);
  }
}

void RecoveryFollower::lines_read(uint64_t number, CodePlace place) {
  if (number <= peaks_.lines_read.value || continued_) return;
  const QuietHeap quiet;
  peaks_.lines_read = {number, foreign(place.stack())};
}

// ---- stores, flushes, fences -------------------------------------------------------------------------

void RecoveryFollower::store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t flags, CodePlace place) {
  const QuietHeap quiet;
  for_each_line(offset, offset + bytes.size(), [this](uint64_t line, uint64_t mask) { first_seen(line, mask); });
  count(&done_.stores, &peaks_.stores, place);
  if (listener_ != nullptr) {
    listener_->store(offset, bytes, flags, place);
  } else {
    nested_->store(StoreTraits::of((flags & POWERCUT_STORE_NT) != 0, flags), offset, bytes,
                   cuts_ == nullptr ? std::vector<uint64_t>{} : place.stack(), [this] { cut(); });
  }
  if (options_.edits.empty()) return;
  const CodeEdit here = edits_at(place);
  for (uint64_t line = offset & ~(kLineSize - 1); here.flush && line < offset + bytes.size(); line += kLineSize) {
    make_flush(line, FlushKind::kClwb, place);
  }
  if (here.fence) make_fence(place);
}

void RecoveryFollower::flush(uint64_t offset, FlushKind kind, CodePlace place) {
  const QuietHeap quiet;
  if (!options_.edits.empty() && edits_at(place).drop) return;
  if (options_.list_sites && !continued_) note_site(false, static_cast<uint8_t>(kind), place);
  make_flush(offset, kind, place);
}

void RecoveryFollower::fence(FenceKind kind, CodePlace place) {
  const QuietHeap quiet;
  if (!options_.persistency->has_fence(kind)) return;  // such a fence orders nothing on this medium
  if (!options_.edits.empty() && edits_at(place).drop) return;
  if (options_.list_sites && !continued_) note_site(true, static_cast<uint8_t>(kind), place);
  make_fence(place);
}

void RecoveryFollower::make_flush(uint64_t offset, FlushKind kind, CodePlace place) {
  count(&done_.flushes, &peaks_.flushes, place);
  if (listener_ != nullptr) {
    listener_->flush(offset, kind);
  } else {
    nested_->flush(offset, kind, [this] { cut(); });
  }
}

void RecoveryFollower::make_fence(CodePlace place) {
  count(&done_.fences, &peaks_.fences, place);
  if (listener_ != nullptr) {
    listener_->fence();
    fenced_ = true;
  } else {
    nested_->fence([this] { cut(); });
  }
}

bool RecoveryFollower::behind_fence(LiveState live) {
  if (listener_ == nullptr) return true;
  const QuietHeap quiet;
  return listener_->behind_fence(live);
}

CodeEdit RecoveryFollower::edits_at(CodePlace place) const {
  CodeEdit here;
  std::array<uint64_t, CodeEdit::kMostFrames> stack;
  uint32_t known = 0;
  for (const CodeEdit& edit : options_.edits) {
    if (edit.stack[0] != reinterpret_cast<uint64_t>(place.pc)) continue;
    if (known == 0) known = powercut_stack(place.pc, place.frame, stack.data(), stack.size());
    if (edit.stack.size() > known || !std::equal(edit.stack.begin(), edit.stack.end(), stack.begin())) continue;
    here.drop = here.drop || edit.drop;
    here.flush = here.flush || edit.flush;
    here.fence = here.fence || edit.fence;
  }
  return here;
}

void RecoveryFollower::note_site(bool fence, uint8_t code, CodePlace place) {
  ++sites_[{fence, code, foreign(place.stack())}];
}

std::vector<uint64_t> RecoveryFollower::foreign(std::vector<uint64_t> stack) const {
  std::erase_if(stack, [this](uint64_t address) { return options_.own_code.holds(address, 1); });
  return stack;
}

}  // namespace powercut
