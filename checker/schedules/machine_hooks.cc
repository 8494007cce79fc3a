// The half of the machine that runs on a fiber, in hooks of target code: whether the thread pauses before the event at
// hand, and what the event does to memory, buffers and places. The calls of a search, and the running of fibers, are in
// target_machine.cc.
#include "checker/schedules/machine_hooks.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checker/schedules/target_machine.h"
#include "xxhash.h"

namespace powercut {
namespace {

using Next = Fiber::Next;

// Most events of one step; a longer step is not followed.
constexpr size_t kMostStepEvents = 100'000;
// Most entries of a store buffer.
constexpr size_t kMostBuffered = 1000;

}  // namespace

bool TargetMachine::on_own_stack(uint64_t address) const {
  return address >= stack_begin(current_) && address < stack_end(current_);
}

// The code's next events depend on its registers and its stack, from the return address of the hook on.
uint64_t TargetMachine::place_in_code(uint64_t stack) const {
  if (tells_by_chain_ || !on_own_stack(stack)) return Fiber::kToldByChain;
  const uint64_t registers = XXH3_64bits(live_, kLiveRegisters * sizeof live_[0]);
  return XXH3_64bits_withSeed(reinterpret_cast<const void*>(stack), stack_end(current_) - stack, registers) | 2;
}

// False in the handler of a signal, which runs on a stack of its own.
bool TargetMachine::can_pause() const { return on_own_stack(reinterpret_cast<uint64_t>(__builtin_frame_address(0))); }

bool TargetMachine::is_visible(uint64_t address, uint64_t size, bool writes) {
  if (is_local(address)) return false;
  const bool visible = places_.is_visible(current_, address, size, writes);
  return visible || (writes && eadr_ && places_.in_pool(address));
}

void TargetMachine::use(uint64_t address, uint64_t size, bool writes) {
  if (!is_local(address) && places_.use(current_, &fibers_, address, size, writes)) count_access();
}

// Counts an access of a shared place: a loop of such accesses may only wait.
void TargetMachine::count_access() {
  Fiber& fiber = fibers_[current_];
  if (++fiber.accesses <= kPatience || fiber.says_when || watching_) return;
  watching_ = true;
  __powercut_steps = 0;
}

void TargetMachine::read(uint64_t address, uint64_t size) {
  Fiber& fiber = fibers_[current_];
  const uint64_t at = place_of_target(address);
  fiber.chain = XXH3_64bits_withSeed(reinterpret_cast<const void*>(at), size, fiber.chain + address);
  for (uint64_t word = address & ~uint64_t{7}; word < address + size; word += 8) {
    if (fiber.reads.size() < Fiber::kMostReads) fiber.reads.push_back({word, word_at(place_of_target(word))});
    if (current_ >= clients_ && fiber.batch_reads.size() < Fiber::kMostReads) {
      fiber.batch_reads.push_back({word, word_at(place_of_target(word))});
    }
  }
}

void TargetMachine::keep(uint64_t address, uint64_t size) {
  if (is_local(address)) return;  // they change hands as a whole
  const QuietHeap quiet;
  journal_.keep(place_of_target(address), size);
}

// To other threads, a block that is given back looks like a store to the whole block.
void TargetMachine::on_free(uint64_t address, uint64_t size) {
  const QuietHeap quiet;
  if (size == 0) return;
  if (is_visible(address, size, true) && can_pause()) pause_before(Next::kStore, address, Fiber::kToldByChain);
  use(address, size, true);
  const uint64_t before = freed_.empty() ? 0 : freed_.back().digest;
  freed_.push_back({{address, address + size}, before + XXH3_64bits(&address, sizeof address)});
}

void TargetMachine::check_freed(uint64_t address, uint64_t size) {
  if (freed_.empty() || address < arena.begin) return;
  for (const auto& [block, digest] : freed_) {
    if (address < block.end && block.begin < address + size) {
      fail(Trouble::kUseAfterFree, kUseAfterFree);
    }
  }
}

// The code behind the event is another place, also where the values read tell the place. Otherwise a store that changes
// nothing would lead to the state that it began in, and the code behind it would not be run.
void TargetMachine::pause_before(Next next, uint64_t address, uint64_t place) {
  pause(next, address, place);
  Fiber& fiber = fibers_[current_];
  if (place == Fiber::kToldByChain) fiber.chain = XXH3_64bits_withSeed(&address, sizeof address, fiber.chain + 1);
}

// Before an event that comes once the thread's buffer is empty.
void TargetMachine::await_empty(bool visible, uint64_t address, uint64_t place) {
  const bool empty = buffer().empty();
  if (!visible && empty) return;
  if (can_pause()) return pause(Next::kFence, address, place, true);
  if (!empty) give_up("the handler of a signal uses a locked instruction while its stores wait to be seen");
}

void TargetMachine::check_length() {
  if (buffer().size() > kMostBuffered) give_up("more than 1,000 of its stores wait to be seen");
  if (events_.size() - events_at_step_ > kMostStepEvents) give_up("it stores without end, or nearly so, in one step");
}

void TargetMachine::note_store() {
  fibers_[current_].stored = true;
  fibers_[current_].accesses = 0;
}

void TargetMachine::stored(uint64_t address, uint64_t size) {
  note_store();
  wake(address, size);
}

// Other threads that wait for these bytes look again.
void TargetMachine::wake(uint64_t address, uint64_t size) {
  for (uint32_t thread = 0; thread < fibers(); ++thread) {
    if (thread == current_ || !fibers_[thread].waits_for(address, size)) continue;
    fibers_[thread].waiting = false;
    woken_.push_back(thread);
  }
}

void TargetMachine::on_load(uint64_t address, uint64_t size) {
  const ClearsHookStack clears;
  const uint64_t stack = take_stack();
  if (!in_target() || size == 0) return;
  const QuietHeap quiet;
  if (is_visible(address, size, false) && can_pause()) pause(Next::kAccess, address, place_in_code(stack));
  use(address, size, false);
  check_freed(address, size);
  read(address, size);
}

void TargetMachine::on_store(uint64_t address, uint64_t size, uint32_t flags, const void* value, const void* pc,
                             const void* frame) {
  const ClearsHookStack clears;
  const uint64_t stack = take_stack();
  if (!in_target() || size == 0) return;
  const QuietHeap quiet;
  const bool whole = (flags & POWERCUT_STORE_CONTINUES) == 0;
  const bool in_step = (flags & POWERCUT_STORE_IN_STEP) != 0;
  const bool visible = is_visible(address, size, true);
  const bool buffered = !in_step && !is_local(address) && goes_to_buffer(visible);
  if (visible && whole && !in_step && !buffered && can_pause()) {
    pause_before(Next::kStore, address, place_in_code(stack));
  }
  use(address, size, true);
  check_freed(address, size);
  check_length();
  const bool changes = std::memcmp(reinterpret_cast<const void*>(place_of_target(address)), value, size) != 0;
  if (buffered) {
    buffer().store(address, place_of_target(address), {static_cast<const uint8_t*>(value), size}, visible);
    into_buffer([&] { work_.recorder->store(address, size, flags, value, pc, frame); });
    if (changes) note_store();
    return;
  }
  work_.recorder->store(address, size, flags, value, pc, frame);
  keep(address, size);
  if (changes) stored(address, size);
}

void TargetMachine::on_rmw_begin(uint64_t address, uint64_t size, const void* pc, const void* frame) {
  const ClearsHookStack clears;
  const uint64_t stack = take_stack();
  if (!in_target()) return;
  const QuietHeap quiet;
  const bool visible = is_visible(address, size, true);
  await_empty(visible || lines_.drains(current_ + 1), address, place_in_code(stack));
  use(address, size, true);
  check_freed(address, size);
  check_length();
  work_.recorder->rmw_begin(address, size, pc, frame);
  read(address, size);
  keep(address, size);
  if (places_.in_pool(address)) lines_.prepare(address - kPoolBase, size);
  std::memcpy(rmw_old_, reinterpret_cast<const void*>(place_of_target(address)),
              std::min<uint64_t>(size, sizeof rmw_old_));
}

void TargetMachine::on_rmw_end(uint64_t address, uint64_t size, uint32_t is_stored, const void* pc, const void* frame) {
  const ClearsHookStack clears;
  take_stack();
  if (!in_target() || is_stored == 0) return;
  const QuietHeap quiet;
  const auto* now = reinterpret_cast<const void*>(place_of_target(address));
  work_.recorder->rmw_end(address, size, is_stored, pc, frame);
  if (std::memcmp(now, rmw_old_, std::min<uint64_t>(size, sizeof rmw_old_)) != 0) stored(address, size);
}

void TargetMachine::on_flush(uint64_t address, uint32_t kind, const void* pc, const void* frame) {
  const ClearsHookStack clears;
  const uint64_t stack = take_stack();
  if (!in_target() || !places_.in_pool(address)) return;
  const QuietHeap quiet;
  const bool now = kind == POWERCUT_CLFLUSH;
  const uint64_t line = SharedPlaces::line_place(address);
  const bool visible = places_.is_visible(current_, line, now) || (now && lines_.clflush_raises(address - kPoolBase));
  if (goes_to_buffer(false)) {
    places_.use(current_, &fibers_, line, now);
    buffer().push(address, visible);
    return into_buffer([&] { work_.recorder->flush(address, kind, pc, frame); });
  }
  if (visible && can_pause()) pause_before(now ? Next::kClflush : Next::kFlush, address, place_in_code(stack));
  places_.use(current_, &fibers_, line, now);
  work_.recorder->flush(address, kind, pc, frame);
}

void TargetMachine::on_fence(uint32_t kind, const void* pc, const void* frame) {
  const ClearsHookStack clears;
  const uint64_t stack = take_stack();
  if (!in_target()) return;
  const QuietHeap quiet;
  if (kind == POWERCUT_SFENCE && goes_to_buffer(false)) {
    buffer().push(0, false);
    return into_buffer([&] { work_.recorder->fence(kind, pc, frame); });
  }
  await_empty(lines_.drains(current_ + 1), 0, place_in_code(stack));
  work_.recorder->fence(kind, pc, frame);
}

void TargetMachine::on_mark(const char* name) {
  if (!in_target()) return;
  const QuietHeap quiet;
  work_.recorder->mark(name);
  if (work_.mark) work_.mark(name);
}

// A turn of a loop. A loop may come back to its state of a turn ago without having stored anything. It then does the
// same again until some word that it reads is changed.
void TargetMachine::on_turn(const uint64_t* live, bool waits) {
  const ClearsHookStack clears;
  if (!in_target()) return;
  const QuietHeap quiet;
  Fiber& fiber = fibers_[current_];
  if (!waits && !watching_) fail(Trouble::kLivelock, "it goes round a loop without end");
  if (!waits && fiber.accesses <= kPatience) {  // the thread has stored meanwhile
    watching_ = false;
    __powercut_steps = kMostTurns;
    return;
  }
  fiber.says_when = fiber.says_when || waits;
  if (!waits && fiber.says_when) {
    watching_ = false;
    __powercut_steps = kMostTurns;
    return;
  }
  const auto begin = reinterpret_cast<uint64_t>(live);
  const uint64_t turn = XXH3_64bits(live, stack_end(current_) - begin) | 1;
  if (!waits) __powercut_steps = 0;
  if (turn != fiber.turn || fiber.stored) {
    fiber.turn = turn;
    fiber.chain_at_turn = fiber.chain;
    fiber.reads.clear();
    fiber.stored = false;
    return;
  }
  fiber.chain = fiber.chain_at_turn;
  fiber.waiting = fiber.reads.size() < Fiber::kMostReads && Fiber::reads_hold(fiber.reads);
  if (can_pause()) pause(Next::kTurn, 0, tells_by_chain_ ? Fiber::kToldByChain : turn | 2);
  fibers_[current_].reads.clear();
}

// A lock's function is about to look at its object, and to change it in the same step.
void TargetMachine::on_lock(uint64_t address, uint64_t size) {
  if (!in_target()) return;
  const QuietHeap quiet;
  await_empty(is_visible(address, size, true), address, Fiber::kToldByChain);
  use(address, size, true);
  check_freed(address, size);
  fibers_[current_].chain_at_step = fibers_[current_].chain;
  read(address, size);
}

// The thread cannot go on before the object changes, and then stands where it stood before.
void TargetMachine::on_lock_taken(uint64_t address, uint64_t size) {
  if (!in_target()) return;
  const QuietHeap quiet;
  Fiber& fiber = fibers_[current_];
  fiber.chain = fiber.chain_at_step;
  fiber.reads.clear();
  for (uint64_t word = address & ~uint64_t{7}; word < address + size; word += 8) fiber.reads.push_back({word, 0});
  fiber.waiting = true;
  if (can_pause()) pause(Next::kTurn, address, Fiber::kToldByChain);
  fibers_[current_].reads.clear();
}

// The thread makes a call that is not modelled: the search is not complete, and the call is no finding.
void TargetMachine::give_up(const std::string& what) {
  const QuietHeap quiet;
  doubt_ = thread_name(current_) + " could not be followed: " + what;
  leave({Trouble::kDied, doubt_, /*followed=*/false});
}

// False: a real thread's accesses are in no schedule.
bool TargetMachine::heard_beside() {
  beside_.store(true, std::memory_order_relaxed);
  return false;
}

bool TargetMachine::is_local(uint64_t address) const {
  for (const ThreadLocals& local : locals_) {
    if (local.range.holds(address, 1)) return true;
  }
  return false;
}

void TargetMachine::fail(Trouble kind, const std::string& text) {
  leave({kind, thread_name(current_) + ": " + text + "."});
}

// For good: nothing of the thread runs any more in this schedule.
void TargetMachine::leave(FoundTrouble trouble) {
  in_call_ = arena_active = false;
  leave_trap();
  trouble_ = std::move(trouble);
  siglongjmp(escape_, 1);
}

void TargetMachine::on_signal(int signal, siginfo_t* info, void*) {
  TargetMachine* machine = current_machine;
  if (machine == nullptr || !machine->in_target()) return die_of(signal);
  const QuietHeap quiet;
  std::string text = died_of(signal);
  if (signal == SIGSEGV) absl::StrAppend(&text, " at 0x", absl::Hex(reinterpret_cast<uint64_t>(info->si_addr)));
  machine->fail(Trouble::kDied, text);
}

}  // namespace powercut
