#include "replayer/schedules/line_states.h"

#include <algorithm>
#include <cstring>

#include "replayer/models/candidates.h"
#include "replayer/models/moves.h"
#include "tracer/format/event_groups.h"
#include "xxhash.h"

namespace powercut {
namespace {

uint64_t digest_of(const Content& content, uint64_t seed) {
  return XXH3_64bits_withSeed(content.bytes.data(), kLineSize, seed);
}

}  // namespace

const LineStates::Line* LineStates::find(uint64_t number) const {
  const auto at = std::lower_bound(lines_.begin(), lines_.end(), number,
                                   [](const auto& line, uint64_t wanted) { return line->number < wanted; });
  return at == lines_.end() || (*at)->number != number ? nullptr : at->get();
}

// Returns the line as this state's own, to be changed. The durable content of a line without pending stores is its
// visible content.
LineStates::Line* LineStates::change(uint64_t number) {
  const auto at = std::lower_bound(lines_.begin(), lines_.end(), number,
                                   [](const auto& line, uint64_t wanted) { return line->number < wanted; });
  std::shared_ptr<Line> own;
  if (at != lines_.end() && (*at)->number == number) {
    // If no other state shares the line, this state owns it and may change it in place.
    own = at->use_count() == 1 ? std::const_pointer_cast<Line>(*at) : std::make_shared<Line>(**at);
    own->state.reset();
    own->frontier.reset();
    *at = own;
  } else {
    own = std::make_shared<Line>();
    own->number = number;
    std::memcpy(own->floor.bytes.data(), visible_ + number * kLineSize, kLineSize);
    own->initial = own->floor;
    lines_.insert(at, own);
  }
  return own.get();
}

void LineStates::begin(const Model& model) {
  for (const PendingLines::Line& pending : model.pending().lines()) {
    auto line = std::make_shared<Line>();
    line->number = pending.number;
    line->was_pending = true;
    line->floor = line->initial = model.floor(pending.number);
    line->log = pending.log;
    line->log.take_floor();
    lines_.push_back(std::move(line));
  }
}

void LineStates::absorb(Line* line) {
  line->log.take_floor().apply_to(&line->floor);
  if (!line->log.pending()) line->log.clear();
}

void LineStates::settle_in_flight() {
  for (const uint64_t number : in_flight_) {
    Line* line = change(number);
    line->log.settle_chain(policy_);
    absorb(line);
  }
  in_flight_.clear();
}

void LineStates::apply(const Event& event) {
  const bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
  const bool continues = store && (event.flags & kStoreContinues) != 0;
  if (!continues) settle_in_flight();
  if (!store) last_store_.reset();
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore: {
      const StoreTraits traits = StoreTraits::of(event.kind == EventKind::kNtStore, event.flags);
      if (!traits.continues || !last_store_) last_store_ = event.index;
      storing_ = event.thread;
      for (uint64_t at = event.addr, end = event.addr + event.value.size(); at < end;) {
        const uint64_t number = at / kLineSize, in_line = at % kLineSize;
        const uint64_t length = std::min(end - at, kLineSize - in_line);
        const uint64_t cuts =
            traits.memcall && policy_ == AtomPolicy::kAny ? move_cuts(event.addr, event.value.size(), number) : 0;
        change(number)->log.append(*last_store_, event.thread, event.stack, traits, static_cast<uint32_t>(in_line),
                                   event.value.subspan(at - event.addr, length), cuts, policy_);
        if (caches_persist_ && !traits.non_temporal) in_flight_.push_back(number);
        at += length;
      }
      return;
    }
    case EventKind::kFlush: {
      const Line* known = find(event.addr / kLineSize);
      if (caches_persist_ || known == nullptr || !known->log.pending()) return;
      Line* line = change(event.addr / kLineSize);
      if (static_cast<FlushKind>(event.code) == FlushKind::kClflush) {
        line->log.settle_chain(policy_);
        absorb(line);
      } else {
        line->log.remember(event.thread);
      }
      return;
    }
    case EventKind::kFence:
      for (size_t i = 0; i < lines_.size(); ++i) {
        if (!lines_[i]->log.fence_raises(event.thread)) continue;
        Line* line = change(lines_[i]->number);
        line->log.fence(event.thread, policy_);
        absorb(line);
      }
      return;
    case POWERCUT_OPERATION_EVENTS:
    case POWERCUT_PROCESS_EVENTS:
    case POWERCUT_NAME_EVENTS:
    case EventKind::kCut:
    case POWERCUT_TREE_EVENTS:
    case EventKind::kContent:
      return;
  }
}

void LineStates::prepare(uint64_t offset, uint64_t size) {
  for (uint64_t line = offset / kLineSize; line <= (offset + size - 1) / kLineSize; ++line) {
    if (find(line) == nullptr) change(line);
  }
}

bool LineStates::drains(uint32_t thread) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const auto& line) { return line->log.fence_raises(thread); });
}

bool LineStates::clflush_raises(uint64_t offset) const {
  const Line* line = find(offset / kLineSize);
  return !caches_persist_ && line != nullptr && line->log.settle_raises();
}

// Lines without pending stores are left out: their content is the visible content, which the memory's own digest
// covers.
uint64_t LineStates::state() const {
  uint64_t sum = 0;
  for (const auto& line : lines_) {
    if (!line->log.pending()) continue;
    if (!line->state) line->state = digest_of(line->floor, line->number) ^ line->log.digest();
    sum = XXH3_64bits_withSeed(&*line->state, sizeof *line->state, sum + line->number);
  }
  for (const uint64_t number : in_flight_) sum = XXH3_64bits_withSeed(&number, sizeof number, sum + 1);
  return sum;
}

uint64_t LineStates::frontier() const {
  uint64_t sum = 0;
  for (const auto& line : lines_) {
    if (!line->frontier) {
      uint64_t of_line = 0;
      if (!line->log.pending()) {
        if (line->was_pending || line->floor != line->initial) of_line = digest_of(line->floor, line->number);
      } else {
        // The contents are a set, so their order must not matter.
        const CandidateSet set = candidates(line->log, {&line->floor, 1}, policy_, kCandidateLimit);
        for (const Content& content : set.contents) of_line += digest_of(content, line->number);
        if (set.contents.size() == 1 && !line->was_pending && set.contents[0] == line->initial) of_line = 0;
      }
      line->frontier = of_line;
    }
    sum += *line->frontier;
  }
  return sum;
}

}  // namespace powercut
