#include "replayer/media/files/trace_effects.h"

#include <linux/falloc.h>
#include <sys/mman.h>

#include <string>
#include <utility>

namespace powercut::files {
namespace {

std::string text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

Allocation allocation_of(unsigned mode) {
  const bool keep = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  if ((mode & FALLOC_FL_PUNCH_HOLE) != 0) return Allocation::kPunch;
  if ((mode & FALLOC_FL_ZERO_RANGE) != 0) return keep ? Allocation::kZeroKeep : Allocation::kZero;
  return keep ? Allocation::kKeep : Allocation::kExtend;
}

SyncKind sync_of(uint8_t flags) {
  const auto kind = static_cast<TreeSync>(flags & ((1U << kSyncFlagsShift) - 1));
  const unsigned asked = flags >> kSyncFlagsShift;
  if (kind == TreeSync::kFile) return SyncKind::kFile;
  if (kind == TreeSync::kData) return SyncKind::kData;
  const bool waits = kind == TreeSync::kMapped && (asked & MS_SYNC) != 0;
  return waits ? SyncKind::kRange : SyncKind::kStarted;
}

}  // namespace

void TraceEffects::tell() {
  if (!at_hand_) return;
  const Effect effect = *std::exchange(at_hand_, std::nullopt);
  use_(effect, number_);
}

void TraceEffects::take(const Event& event) {
  if (event.kind == EventKind::kOpBegin || event.kind == EventKind::kOpEnd) {
    tell();
    Effect mark;
    mark.kind = event.kind == EventKind::kOpBegin ? EffectKind::kBegin : EffectKind::kEnd;
    use_(mark, number_);
  } else if (event.kind == kTreeCall) {
    take_call(event);
  }
}

void TraceEffects::take_call(const Event& event) {
  const auto call = static_cast<TreeCall>(event.code);
  if (call == TreeCall::kWrite && (event.flags & kTreeContinues) != 0) {
    if (at_hand_) at_hand_->data += text(event.value);
    return;
  }
  tell();
  if (call == TreeCall::kStarted) {
    started_ = true;
    return;
  }
  if (call == TreeCall::kNote) {
    complete_ = complete_ && static_cast<TreeNote>(event.flags) == TreeNote::kTold;
    return;
  }
  if (call == TreeCall::kEnded) return;
  if (started_) ++number_;
  using enum EffectKind;
  static constexpr EffectKind kinds[] = {kInode,  kContent, kEntry, kAttributes, kCreate, kLink,    kUnlink,
                                         kRename, kWrite,   kSize,  kAllocate,   kSync,   kSyncAll, kAttributes};
  Effect effect;
  effect.kind = kinds[event.code];
  effect.inode = event.pool;
  switch (call) {
    case TreeCall::kInode:
    case TreeCall::kCreate:
      effect.inode_kind = static_cast<InodeKind>(event.flags);
      effect.target = text(event.value);
      [[fallthrough]];
    case TreeCall::kEntry:
    case TreeCall::kLink:
    case TreeCall::kUnlink:
      effect.folder = event.addr;
      effect.name = text(event.key);
      break;
    case TreeCall::kRename:
      effect.folder = event.addr;
      effect.name = text(event.key);
      effect.to_folder = event.size;
      effect.to_name = text(event.value);
      effect.exchange = event.flags != 0;
      break;
    case TreeCall::kWrite:
      effect.offset = event.addr;
      effect.data = text(event.value);
      if ((event.flags & kThroughAll) != 0) {
        effect.through = Through::kAll;
      } else if ((event.flags & kThroughData) != 0) {
        effect.through = Through::kData;
      }
      break;
    case TreeCall::kContent:
      effect.offset = event.addr;
      effect.data = text(event.value);
      effect.size = event.addr + event.value.size();
      break;
    case TreeCall::kSize:
      if (!started_) effect.kind = kContent;  // a file that ends in a hole
      effect.size = event.size;
      break;
    case TreeCall::kAllocate:
      effect.offset = event.addr;
      effect.size = event.size;
      effect.allocation = allocation_of(event.flags);
      break;
    case TreeCall::kSync:
      effect.sync = sync_of(event.flags);
      if (static_cast<TreeSync>(event.flags & ((1U << kSyncFlagsShift) - 1)) >= TreeSync::kRange) {
        effect.offset = event.addr;
        effect.size = event.size;
      }
      break;
    case TreeCall::kSyncAll:
    case TreeCall::kAttributes:
    case TreeCall::kStarted:
    case TreeCall::kNote:
    case TreeCall::kEnded:
      break;
  }
  if (call == TreeCall::kWrite) {
    at_hand_ = std::move(effect);
  } else {
    use_(effect, number_);
  }
}

}  // namespace powercut::files
