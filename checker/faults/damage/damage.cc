#include "checker/faults/damage/damage.h"

#include <algorithm>

#include "checker/faults/damage/device_cells.h"
#include "replayer/undecided/novelty.h"

namespace powercut {

std::unique_ptr<Damages> make_damages(FaultKind kind, const LoadedTrace& loaded) {
  switch (kind) {
    case FaultKind::kMedia:
      return make_media_errors(loaded);
    case FaultKind::kShorn:
      return make_shorn_writes(loaded);
    case FaultKind::kUnserialisable:
      return make_lost_writes(loaded);
    case FaultKind::kStaleMapping:
      return make_stale_mappings(loaded);
    case FaultKind::kPairedPage:
      return make_paired_pages(loaded);
    case FaultKind::kUnstableRead:
      return make_unstable_reads(loaded);
    case FaultKind::kStuckBits:
      return make_stuck_bits(loaded);
    case FaultKind::kBitFlip:
    case FaultKind::kAllocation:
    case FaultKind::kStale:
      break;
  }
  return make_bit_flips(loaded);
}

bool ends_operation(const TraceFollower& at) { return !at.instant().before && !at.history().in_flight(); }

uint64_t changed_bytes(const uint8_t* pool, const LineSet& set) {
  return differing_bytes(content_at(pool, set.line), set.contents[0]);
}

void ListedDamages::look(const FaultImage& image) {
  found_.clear();
  known_.clear();
  unread_ = 0;
  find(image);
}

void ListedDamages::add(const FaultImage& image, Damage damage) {
  std::string digest;
  uint64_t read = 0;
  std::erase_if(damage.lines, [&](const LineSet& set) { return changed_bytes(image.pool, set) == 0; });
  if (damage.lines.empty()) return;
  std::sort(damage.lines.begin(), damage.lines.end(),
            [](const LineSet& a, const LineSet& b) { return a.line < b.line; });
  for (const LineSet& set : damage.lines) {
    read |= changed_bytes(image.pool, set) & image.read(set.line);
    digest.append(reinterpret_cast<const char*>(&set.line), sizeof set.line);
    digest.append(reinterpret_cast<const char*>(set.contents[0].bytes.data()), kLineSize);
  }
  if (!known_.insert(std::move(digest)).second) return;
  if (read == 0) {
    ++unread_;
  } else {
    found_.push_back(std::move(damage));
  }
}

}  // namespace powercut
