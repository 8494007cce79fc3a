#include "checker/schedules/target_machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checker/schedules/machine_hooks.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "tracer/record/target_library.h"
#include "tracer/world/quiet_heap.h"
#include "tracer/world/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// Bytes of the target's heap for each thread: a thread's allocations are then the same in all schedules.
constexpr uint64_t kHeapOfThread = uint64_t{8} << 20;
constexpr size_t kClearedStack = 8 << 10;

uint32_t threads_of(const ThreadWork& work) {
  const uint32_t own = work.background == nullptr ? 0 : work.background->threads(work.table);
  return static_cast<uint32_t>(work.clients.size()) + own + (work.after.empty() ? 0 : 1);
}

// Swaps the thread-local variables in memory with those kept in `bytes`.
void exchange_locals(const std::vector<ThreadLocals>& locals, std::vector<uint8_t>* bytes) {
  uint8_t* at = bytes->data();
  for (const ThreadLocals& local : locals) {
    const uint64_t size = local.range.end - local.range.begin;
    std::swap_ranges(at, at + size, reinterpret_cast<uint8_t*>(local.range.begin));
    at += size;
  }
}

}  // namespace

TargetMachine* TargetMachine::current_machine = nullptr;

struct TargetMachine::State final : Mark {
  size_t journal = 0, events = 0, steps = 0, freed = 0;
  std::vector<FiberImages::Ref> images;
  LineStates lines;
  OperationAnswers::State answers;
  Digest memory;
  WorldState world;
  std::optional<uint32_t> cuts_in_flight;
  explicit State(const LineStates& given) : lines(given) {}
};

TargetMachine::TargetMachine(const ThreadWork& work, const ClientChoices& choices, const Model& model)
    : work_(work),
      choices_(choices),
      eadr_(model.rules().stores_at_once()),
      lines_(AtomPolicy::kAny, eadr_, pool_bytes()),
      places_(work.pool_size),
      answers_(work, threads_of(work)) {
  current_machine = this;
  work.recorder->redirect([this](const Event& event) { on_event(event); });
  lines_.begin(model);
  clients_ = static_cast<uint32_t>(work.clients.size());
  const uint32_t count = threads_of(work);
  if (count > kMostThreads) throw std::runtime_error("more threads than can be scheduled");
  void* at = mmap(reinterpret_cast<void*>(kStacks), kMostThreads * 2 * kStackSize, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("the address range of the threads' stacks is taken in this process");

  Hooks::listen(this);
  locals_ = thread_locals();
  powercut_keep_live(live_);

  for (const auto& operations : work.clients) ended_.emplace_back(operations.size());
  ended_.resize(count);
  if (!work.after.empty()) ended_.back().resize(work.after.size());

  const uint64_t heap = (arena.top + kPageSize - 1) / kPageSize * kPageSize;
  fibers_.resize(count);
  images_.resize(count);
  for (uint32_t thread = 0; thread < count; ++thread) {
    Fiber& fiber = fibers_[thread];
    const uint64_t begin = heap + thread * kHeapOfThread;
    fiber.heap = {.begin = arena.begin,
                  .end = arena.end,
                  .top = begin,
                  .high = begin,
                  .floor = begin,
                  .limit = begin + kHeapOfThread};
    fiber.answer.resize(work.most_value);
    for (const ThreadLocals& local : locals_) {
      const auto* initial = reinterpret_cast<const uint8_t*>(local.initial.begin);
      std::vector<uint8_t> bytes(initial, initial + (local.initial.end - local.initial.begin));
      bytes.resize(local.range.end - local.range.begin);
      fiber.locals.insert(fiber.locals.end(), bytes.begin(), bytes.end());
    }
    start(thread);
  }
}

TargetMachine::~TargetMachine() {
  munmap(reinterpret_cast<void*>(kStacks), kMostThreads * 2 * kStackSize);
  powercut_keep_live(nullptr);
  unwatch_code();
  powercut_set_sink(nullptr);
  current_machine = nullptr;
}

// ---- fibers ----------------------------------------------------------------------------------------

void TargetMachine::start(uint32_t thread) {
  mprotect(reinterpret_cast<void*>(stack_begin(thread)), kStackSize, PROT_READ | PROT_WRITE);
  fibers_[thread].at = make_fcontext(reinterpret_cast<void*>(stack_end(thread)), kStackSize, enter);
  go_on(thread);
  end_step();
}

void TargetMachine::enter(transfer_t from) {
  TargetMachine* machine = current_machine;
  machine->engine_ = from.fctx;
  machine->run_thread(machine->current_);
}

void TargetMachine::run_thread(uint32_t thread) {
  const uint32_t own = fibers() - clients_ - (work_.after.empty() ? 0 : 1);
  if (thread < clients_) {
    run_client(thread);
  } else if (thread < clients_ + own) {
    run_background(thread, thread - clients_);
  } else {
    pause(Next::kJoin, 0);
    run_client(thread);
  }
  for (;;) pause(Next::kDone, 0);
}

void TargetMachine::run_client(uint32_t thread) {
  const size_t count = is_client(thread) ? work_.clients[thread].size() : work_.after.size();
  for (size_t i = 0; i < count; ++i) {
    fibers_[thread].operation = i;
    pause(Next::kBegin, 0);
    clear_stack_below<kClearedStack>();
    run_operation(&fibers_[thread], *operation_of(thread));
    pause(Next::kEnd, 0);
  }
}

void TargetMachine::run_background(uint32_t thread, uint32_t number) {
  for (;;) {
    Fiber& fiber = fibers_[thread];
    fiber.chain = 0;
    fiber.batch_reads.clear();
    pause(Next::kWork, 0);
    clear_stack_below<kClearedStack>();
    powercut_status status = POWERCUT_OK;
    in_call_ = arena_active = true;
    try {
      status = work_.background->work(work_.table, number);
    } catch (...) {
      fail(Trouble::kDied, "it threw an exception");
    }
    in_call_ = arena_active = false;
    if (status == POWERCUT_OK) continue;
    // The thread has nothing to do until a word that it has read changes.
    fiber.chain = 0;
    fiber.waiting = Fiber::reads_hold(fiber.batch_reads);
    fiber.reads = fiber.batch_reads;
    pause(Next::kIdle, 0);
  }
}

// Nothing on this frame owns memory: when the thread is returned to an earlier state, it is copied.
void TargetMachine::run_operation(Fiber* fiber, const ThreadOperation& operation) {
  powercut_status status = POWERCUT_OK;
  size_t size = 0;
  in_call_ = arena_active = true;
  try {
    status = call_operation(work_, operation, fiber->answer, &size);
  } catch (...) {
    fail(Trouble::kDied, "it threw an exception");
  }
  in_call_ = arena_active = false;
  fiber->status = status;
  fiber->answered = size;
}

// From a fiber to the engine, and back when the thread makes its next step.
void TargetMachine::pause(Next next, uint64_t address, uint64_t place, bool buffer_empty) {
  Fiber& fiber = fibers_[current_];
  fiber.next = next;
  fiber.awaits_empty = buffer_empty || next == Next::kEnd;
  fiber.place = place;
  fiber.address = address;
  const bool in_call = in_call_, active = arena_active;
  arena_active = false;
  const transfer_t back = jump_fcontext(engine_, nullptr);
  engine_ = back.fctx;
  in_call_ = in_call;
  arena_active = active;
}

void TargetMachine::go_on(uint32_t thread) {
  Fiber& fiber = fibers_[thread];
  begin_step(thread);
  const Arena heap = arena;
  arena = fiber.heap;
  powercut_stack_range(reinterpret_cast<const void*>(stack_begin(thread)),
                       reinterpret_cast<const void*>(stack_end(thread)));
  work_.recorder->set_thread(thread + 1);
  if (!places_.shows_shared()) fiber.begin_uses();
  watching_ = fiber.accesses > kPatience && !fiber.says_when;
  __powercut_steps = watching_ ? 0 : kMostTurns;
  exchange_locals(locals_, &fiber.locals);
  fiber.buffer.lay();
  running_ = true;
  // A thread that fails is left by a jump, and never gone on with.
  if (sigsetjmp(escape_, 0) == 0) {
    const transfer_t left = jump_fcontext(fiber.at, nullptr);
    fiber.at = left.fctx;
  }
  running_ = in_call_ = arena_active = buffering_ = false;
  fiber.buffer.lift();
  exchange_locals(locals_, &fiber.locals);
  fiber.heap = arena;
  arena = heap;
}

void TargetMachine::begin_step(uint32_t thread) {
  current_ = thread;
  journal_.begin_step();
  events_at_step_ = events_.size();
}

void TargetMachine::step(uint32_t thread) {
  const uint32_t owner = is_gate(thread) ? thread - fibers() : thread;
  uint32_t cuts = 0;
  for (uint32_t other = 0; eadr_ && other < fibers(); ++other) cuts |= uint32_t{stands_at_cut(other)} << other;
  steps_.push_back({steps_made_++, 0});
  if (is_gate(thread)) {
    begin_step(owner);
    leave_buffer(owner);
  } else {
    if (fibers_[thread].next == Next::kBegin) begin_operation(thread);
    if (fibers_[thread].next == Next::kEnd) end_operation(thread);
    if (!trouble_) go_on(thread);
  }
  leave_buffer_unseen(owner);
  end_step();
  steps_.back().events = events_.size();
  cuts_in_flight_ = lines_.in_flight(owner + 1) ? std::optional(cuts) : std::nullopt;
}

bool TargetMachine::first_is_visible(uint32_t thread) const {
  const StoreBuffer::Entry& first = fibers_[thread].buffer.first();
  return first.visible || gate_stands_at_cut(thread);
}

void TargetMachine::leave_buffer(uint32_t thread) {
  const StoreBuffer::Entry entry = fibers_[thread].buffer.first();
  fibers_[thread].buffer.pop();
  for (const KeptEvent& event : entry.events) make_event(event.view());
  if (entry.at == 0) return;
  auto* there = reinterpret_cast<void*>(entry.at);
  const bool changes = std::memcmp(there, entry.value.data(), entry.value.size()) != 0;
  keep(entry.address, entry.value.size());
  std::memcpy(there, entry.value.data(), entry.value.size());
  if (changes) wake(entry.address, entry.value.size());
}

void TargetMachine::leave_buffer_unseen(uint32_t thread) {
  while (!fibers_[thread].buffer.empty() && !first_is_visible(thread)) leave_buffer(thread);
}

void TargetMachine::end_step() {
  journal_.end_step();
  capture(current_);
  for (const uint32_t thread : woken_) {
    if (thread != current_) capture(thread);
  }
  woken_.clear();
}

void TargetMachine::capture(uint32_t thread) {
  images_[thread] = all_images_.capture(fibers_[thread], thread, /*has_stack=*/!trouble_);
}

// ---- what a search asks ----------------------------------------------------------------------------

ThreadState TargetMachine::state_of(uint32_t thread) const {
  if (is_gate(thread)) {
    if (!fibers_[thread - fibers()].buffer.empty()) return ThreadState::kReady;
    return state_of(thread - fibers()) == ThreadState::kEnded ? ThreadState::kEnded : ThreadState::kWaiting;
  }
  const Fiber& fiber = fibers_[thread];
  if (fiber.awaits_empty && !fiber.buffer.empty()) return ThreadState::kWaiting;
  const auto clients_ended = [this] {
    return std::all_of(fibers_.begin(), fibers_.begin() + clients_,
                       [](const Fiber& client) { return client.next == Next::kDone; });
  };
  switch (fiber.next) {
    case Next::kDone:
      return ThreadState::kEnded;
    case Next::kIdle:
      if (!fiber.waiting) return ThreadState::kReady;
      return clients_ended() ? ThreadState::kEnded : ThreadState::kWaiting;
    case Next::kJoin: {
      // The target's own threads come to rest before the table is used by one thread.
      const bool rest = std::all_of(fibers_.begin() + clients_, fibers_.end() - 1,
                                    [](const Fiber& own) { return own.next == Next::kIdle && own.waiting; });
      const bool seen =
          std::all_of(fibers_.begin(), fibers_.end(), [](const Fiber& any) { return any.buffer.empty(); });
      return clients_ended() && rest && seen ? ThreadState::kReady : ThreadState::kWaiting;
    }
    case Next::kTurn:
      return fiber.waiting ? ThreadState::kWaiting : ThreadState::kYields;
    case Next::kBegin:
    case Next::kEnd:
    case Next::kAccess:
    case Next::kStore:
    case Next::kFlush:
    case Next::kClflush:
    case Next::kFence:
    case Next::kWork:
      break;
  }
  return ThreadState::kReady;
}

bool TargetMachine::at_cut(uint32_t thread) const {
  if (is_gate(thread)) return gate_stands_at_cut(thread - fibers());
  return cuts_in_flight_ ? (*cuts_in_flight_ >> thread & 1) != 0 : stands_at_cut(thread);
}

bool TargetMachine::gate_stands_at_cut(uint32_t thread) const {
  const StoreBuffer& buffer = fibers_[thread].buffer;
  if (buffer.empty()) return true;
  const StoreBuffer::Entry& first = buffer.first();
  if (first.at != 0 || first.events.empty()) return false;
  const Event event = first.events.front().view();
  if (event.kind == EventKind::kFence) return lines_.drains(thread + 1);
  return static_cast<FlushKind>(event.code) == FlushKind::kClflush && lines_.clflush_raises(event.addr);
}

bool TargetMachine::stands_at_cut(uint32_t thread) const {
  const Fiber& fiber = fibers_[thread];
  if (fiber.awaits_empty && !fiber.buffer.empty()) return true;  // its gate goes on
  switch (fiber.next) {
    case Next::kBegin:
    case Next::kEnd:
    case Next::kDone:
    case Next::kJoin:
      return true;
    case Next::kFence:
      return lines_.drains(thread + 1);
    case Next::kClflush:
      return lines_.clflush_raises(fiber.address - kPoolBase);
    case Next::kStore:
      return at_store(thread);
    case Next::kAccess:
    case Next::kFlush:
    case Next::kTurn:
    case Next::kWork:
    case Next::kIdle:
      break;
  }
  return fiber.waiting;
}

bool TargetMachine::at_store(uint32_t thread) const {
  if (is_gate(thread)) return false;  // no eadr with store buffers
  const Fiber& fiber = fibers_[thread];
  return eadr_ && fiber.next == Next::kStore && fiber.address - kPoolBase < work_.pool_size;
}

uint64_t TargetMachine::ways(uint32_t thread) const {
  const bool chooses = choices_.open() && is_client(thread) && fibers_[thread].next == Next::kBegin;
  return chooses ? choices_.ways(taken(), thread) : 1;
}

void TargetMachine::choose(uint32_t thread, uint32_t way) {
  if (is_client(thread) && fibers_[thread].next == Next::kBegin) fibers_[thread].way = static_cast<uint8_t>(way);
}

std::vector<ClientChoices::Taken> TargetMachine::taken() const {
  std::vector<ClientChoices::Taken> out;
  for (uint32_t thread = 0; thread < clients_; ++thread) out.push_back(fibers_[thread].taken);
  return out;
}

void TargetMachine::keep(std::unique_ptr<Mark>* mark) {
  if (*mark == nullptr) *mark = std::make_unique<State>(lines_);
  auto* out = static_cast<State*>(mark->get());
  out->lines = lines_;
  out->journal = journal_.size();
  out->events = events_.size();
  out->steps = steps_.size();
  out->freed = freed_.size();
  out->images = images_;
  out->answers = answers_.state();
  out->memory = journal_.digest();
  out->world = virtual_world.state;
  out->cuts_in_flight = cuts_in_flight_;
}

void TargetMachine::restore(const Mark& mark) {
  const auto& state = static_cast<const State&>(mark);
  journal_.undo(state.journal, state.memory);
  events_.resize(state.events);
  steps_.resize(state.steps);
  freed_.resize(state.freed);
  for (uint32_t thread = 0; thread < fibers(); ++thread) {
    if (images_[thread] == state.images[thread]) continue;
    images_[thread] = state.images[thread];
    const FiberImages::Ref& image = images_[thread];
    fibers_[thread] = image->fiber;
    std::memcpy(image->fiber.at, image->stack.data(), image->stack.size());
  }
  lines_ = state.lines;
  answers_.restore(state.answers);
  virtual_world.state = state.world;
  cuts_in_flight_ = state.cuts_in_flight;
  trouble_.reset();
}

Digest TargetMachine::state() const {
  uint64_t words[8 + kMostThreads];
  size_t count = 0;
  const auto add = [&](uint64_t word) { words[count++] = word; };
  add(journal_.digest().high);
  add(journal_.digest().low);
  add(lines_.state());
  add(answers_.digest());
  add(XXH3_64bits(&virtual_world.state, sizeof virtual_world.state));
  add(freed_.empty() ? 0 : freed_.back().digest);
  add(cuts_in_flight_ ? uint64_t{*cuts_in_flight_} : ~uint64_t{0});
  if (choices_.open()) add(choices_.digest(taken()));
  for (uint32_t thread = 0; thread < fibers(); ++thread) {
    add(images_[thread]->digest);
  }
  const XXH128_hash_t hash = XXH3_128bits(words, count * sizeof(uint64_t));
  return {hash.high64, hash.low64};
}

// The legal contents and the possible images: judging an image depends on nothing else.
Digest TargetMachine::frontier() const { return {lines_.frontier(), answers_.legal()}; }

std::string TargetMachine::thread_name(uint32_t thread) const {
  return powercut::thread_name(thread + 1, operation_of(thread));
}

const ThreadOperation* TargetMachine::operation_of(uint32_t thread) const {
  const Fiber& fiber = fibers_[thread];
  if (is_client(thread)) return &work_.clients[thread][fiber.operation][fiber.way];
  if (thread + 1 == fibers() && !work_.after.empty()) return &work_.after[fiber.operation];
  return nullptr;
}

std::string TargetMachine::never_ended() const {
  for (uint32_t thread = 0; thread < ended_.size(); ++thread) {
    for (size_t number = 0; number < ended_[thread].size(); ++number) {
      if (!ended_[thread][number]) return absl::StrCat("operation ", number + 1, " of thread ", thread + 1);
    }
  }
  return "";
}

void TargetMachine::deadlocked() {
  std::string text;
  for (uint32_t thread = 0; thread < fibers(); ++thread) {
    if (state_of(thread) != ThreadState::kWaiting || fibers_[thread].next == Next::kIdle) continue;
    if (fibers_[thread].next == Next::kJoin) continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ", thread_name(thread), " waits");
  }
  trouble_ = {Trouble::kDeadlock, text + ", and nobody is left to go on."};
}

void TargetMachine::livelocked() {
  trouble_ = {Trouble::kLivelock, "Every thread that can go on has had a turn, and all are back where they were."};
}

// ---- operations ------------------------------------------------------------------------------------

void TargetMachine::begin_operation(uint32_t thread) {
  begin_step(thread);
  Fiber& fiber = fibers_[thread];
  if (is_client(thread)) fiber.taken = choices_.take(fiber.taken, thread, fiber.way);
  const ThreadOperation& operation = *operation_of(thread);
  on_event(begin_of(operation, thread + 1));
  fiber.chain = 0;
  fiber.begin_uses();
  answers_.begin(thread, operation);
}

void TargetMachine::end_operation(uint32_t thread) {
  begin_step(thread);
  const ThreadOperation& operation = *operation_of(thread);
  Fiber& fiber = fibers_[thread];
  const bool looked_up = operation.kind == OpKind::kLookup && fiber.status == POWERCUT_OK;
  const Event event = end_of(fiber.status, {fiber.answer.data(), fiber.answered}, thread + 1);
  const auto found = looked_up ? std::optional(text_of(event.value)) : std::nullopt;
  on_event(event);
  std::fill(fiber.answer.begin(), fiber.answer.end(), uint8_t{0});  // nobody looks at it any more
  fiber.chain = 0;
  fiber.begin_uses();
  fiber.accesses = 0;
  fiber.turn = 0;
  fiber.reads.clear();
  fiber.stored = false;
  fiber.says_when = false;
  if (!answers_.end(thread, operation, fiber.status, found)) {
    trouble_ = {Trouble::kNotLinearizable, not_explained(thread_name(thread), operation.id, fiber.status, found)};
  }
  ended_[thread][fiber.operation] = true;
  if (fiber.status == POWERCUT_UNSUPPORTED) {
    // The operation has had no effect. Other answers may contradict it, so no finding rests on them.
    doubt_ = unsupported_ = not_supported(thread_name(thread));
    trouble_ = {Trouble::kDied, doubt_, /*followed=*/false};
  }
  if (fiber.status == POWERCUT_CORRUPT || fiber.status == POWERCUT_NOT_FORMATTED) {
    trouble_ = {Trouble::kNotLinearizable,
                absl::StrCat(thread_name(thread), " answered ", status_name(fiber.status), ".")};
  }
}

void TargetMachine::on_event(const Event& event) {
  if (buffering_) return buffer().add(KeptEvent(event));
  make_event(event);
}

void TargetMachine::make_event(const Event& event) {
  Event numbered = event;
  numbered.index = work_.first_event + events_.size();
  lines_.apply(numbered);
  events_.emplace_back(numbered);
}

std::string TargetMachine::doubt() const {
  if (beside_.load(std::memory_order_relaxed)) {
    return "a thread that was started before the schedules begin ran beside them, and could not be followed";
  }
  return doubt_.empty() ? answers_.doubt() : doubt_;
}

}  // namespace powercut
