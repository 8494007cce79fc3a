#include "checker/subjects/library/recovery_steps.h"

#include <algorithm>
#include <utility>

#include "checker/findings/finding_parts.h"
#include "tracer/format/trace_names.h"
#include "tracer/world/quiet_heap.h"

namespace powercut {

// Each callback calls the executor's own hook, which may end the execution and not return. A load is kept after this
// call, when its bytes are decided. A store is kept before the call, while its bytes are at hand.
struct RecoverySteps::Hooks {
  static RecoverySteps* of(void* self) { return static_cast<RecoverySteps*>(self); }

  static void store(void* s, uint64_t a, uint64_t n, uint32_t flags, const void* value, const void* pc,
                    const void* fp) {
    of(s)->access(Kind::kStore, a, n, flags, value, {pc, fp});
    of(s)->before_.store(of(s)->before_.self, a, n, flags, value, pc, fp);
  }
  static void load(void* s, uint64_t a, uint64_t n) {
    // Loads are announced without a place: the stack begins in the hooks.
    const CodePlace place{__builtin_return_address(0), *static_cast<void* const*>(__builtin_frame_address(0))};
    of(s)->before_.load(of(s)->before_.self, a, n);
    of(s)->access(Kind::kLoad, a, n, 0, nullptr, place);
  }
  static void rmw_begin(void* s, uint64_t a, uint64_t n, const void* pc, const void* fp) {
    of(s)->before_.rmw_begin(of(s)->before_.self, a, n, pc, fp);
    of(s)->access(Kind::kLoad, a, n, 0, nullptr, {pc, fp});
  }
  static void rmw_end(void* s, uint64_t a, uint64_t n, uint32_t stored, const void* pc, const void* fp) {
    of(s)->before_.rmw_end(of(s)->before_.self, a, n, stored, pc, fp);
    if (stored != 0) of(s)->access(Kind::kStore, a, n, POWERCUT_STORE_RMW, nullptr, {pc, fp});
  }
  static void flush(void* s, uint64_t a, uint32_t kind, const void* pc, const void* fp) {
    of(s)->access(Kind::kFlush, a, 1, kind, nullptr, {pc, fp});
    of(s)->before_.flush(of(s)->before_.self, a, kind, pc, fp);
  }
  static void fence(void* s, uint32_t kind, const void* pc, const void* fp) {
    of(s)->access(Kind::kFence, 0, 0, kind, nullptr, {pc, fp});
    of(s)->before_.fence(of(s)->before_.self, kind, pc, fp);
  }
  static void out_of_steps(void* s, const uint64_t* live) { of(s)->before_.out_of_steps(of(s)->before_.self, live); }
  static void mark(void* s, const char* name) { of(s)->before_.mark(of(s)->before_.self, name); }
};

void RecoverySteps::begin(Part part) {
  end();
  part_ = part;
  powercut_get_sink(&before_);
  sink_ = {};
  sink_.self = this;
  sink_.store = Hooks::store;
  sink_.load = Hooks::load;
  sink_.rmw_begin = Hooks::rmw_begin;
  sink_.rmw_end = Hooks::rmw_end;
  sink_.flush = Hooks::flush;
  sink_.fence = Hooks::fence;
  sink_.out_of_steps = Hooks::out_of_steps;
  sink_.mark = Hooks::mark;
  powercut_set_sink(&sink_);
  listening_ = true;
}

void RecoverySteps::end() {
  if (!listening_) return;
  listening_ = false;
  powercut_set_sink(&before_);
  if (at_hand_) keep(*std::exchange(at_hand_, std::nullopt));
}

void RecoverySteps::access(Kind kind, uint64_t address, uint64_t size, uint32_t code, const void* value,
                           CodePlace place) {
  if (!executor_->runner().running()) return;
  if (kind != Kind::kFence && !executor_->memory().pool_range().holds(address, size)) return;
  const QuietHeap quiet;
  Step step{.part = part_, .kind = kind, .code = code, .size = size, .bytes = {}, .stack = place.stack()};
  if (kind != Kind::kFence) step.offset = address - kPoolBase;
  if (kind == Kind::kFlush) step.size = kLineSize, step.offset -= step.offset % kLineSize;
  if (kind == Kind::kLoad || kind == Kind::kStore) {
    const auto* from = value != nullptr ? static_cast<const uint8_t*>(value) : executor_->memory().bytes_at(address);
    step.bytes.assign(from, from + std::min(size, kMostBytes));
  }
  const bool grows = at_hand_ && at_hand_->kind == kind && !step.bytes.empty() && at_hand_->part == part_ &&
                     at_hand_->offset + at_hand_->size == step.offset && at_hand_->size + size <= kMostBytes &&
                     at_hand_->stack == step.stack;
  if (grows) {
    at_hand_->size += size;
    at_hand_->bytes.insert(at_hand_->bytes.end(), step.bytes.begin(), step.bytes.end());
    return;
  }
  if (at_hand_) keep(*std::exchange(at_hand_, std::nullopt));
  at_hand_ = std::move(step);
}

bool RecoverySteps::on_pending_line(const Step& step) const {
  if (step.kind == Kind::kFence || step.size == 0) return false;
  const auto line = pending_.lower_bound(step.offset / kLineSize);
  return line != pending_.end() && *line <= (step.offset + step.size - 1) / kLineSize;
}

void RecoverySteps::keep(Step step) {
  step.number = all_++;
  if (first_.size() < kMost) {
    first_.push_back(std::move(step));
  } else if (between_.size() < kMost && on_pending_line(step)) {
    between_.push_back(std::move(step));
  } else {
    last_.push_back(std::move(step));
    if (last_.size() > kMost) last_.pop_front();
  }
}

Json RecoverySteps::step_json(const Step& step, bool pending, FrameResolver* frames, const MemoryRange& own_code) {
  std::vector<uint64_t> stack = step.stack;
  std::erase_if(stack, [&](uint64_t pc) { return own_code.holds(pc, 1); });
  const char* kind = "load";
  std::string detail;
  switch (step.kind) {
    case Kind::kLoad:
      break;
    case Kind::kStore:
      kind = "store";
      if ((step.code & POWERCUT_STORE_NT) != 0) detail = "nt";
      break;
    case Kind::kFlush:
      kind = "flush";
      detail = name_of(static_cast<FlushKind>(step.code));
      break;
    case Kind::kFence:
      kind = "fence";
      detail = name_of(static_cast<FenceKind>(step.code));
      break;
  }
  return {{"number", step.number},
          {"part", step.part == Part::kQuery ? "query" : "recovery"},
          {"kind", kind},
          {"detail", detail},
          {"offset", step.offset},
          {"size", step.size},
          {"bytes", hex(step.bytes)},
          {"pending", pending},
          {"stack", frames_json(frames->resolve(stack))}};
}

Json RecoverySteps::json(FrameResolver* frames) const {
  std::vector<const Step*> kept;
  for (const Step& step : first_) kept.push_back(&step);
  for (const Step& step : between_) kept.push_back(&step);
  for (const Step& step : last_) kept.push_back(&step);
  std::sort(kept.begin(), kept.end(), [](const Step* a, const Step* b) { return a->number < b->number; });
  Json steps = Json::array();
  for (const Step* step : kept) {
    steps.push_back(step_json(*step, on_pending_line(*step), frames, executor_->options().own_code));
  }
  return {{"all", all_}, {"steps", steps}};
}

}  // namespace powercut
