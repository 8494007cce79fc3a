#include "checker/schedules/target_machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replayer/undecided/line_set.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/key_bytes.h"
#include "tracer/record/target_library.h"
#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/world/fault_signals.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/pool_traps.h"
#include "tracer/world/quiet_heap.h"
#include "tracer/world/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// Below all that target code works on, so that the windows of the hooks leave them out.
constexpr uint64_t kStackSize = uint64_t{256} << 10;
constexpr uint64_t kStacks = kLoadHeapBase - (uint64_t{1} << 30);
constexpr uint64_t kMostThreads = POWERCUT_MOST_THREADS;
constexpr size_t kClearedStack = 8 << 10;
constexpr size_t kHookStack = 2 << 10;  // frames of the engine in a hook
// Of the target's heap, for each thread: what one allocates is then the same in all schedules.
constexpr uint64_t kHeapOfThread = uint64_t{8} << 20;
// Turns of loops in one step, beyond which it does not end.
constexpr int64_t kMostTurns = 20'000'000;
// Accesses of shared places without a store after which a thread's loop is looked at for one that only waits.
constexpr uint32_t kPatience = 8;
constexpr size_t kMostReads = 4096;
// Events of one step, beyond which it is not followed.
constexpr size_t kMostStepEvents = 100'000;
// Of shared places in one step.
constexpr size_t kMostUses = 4096;
// Entries of a store buffer.
constexpr size_t kMostBuffered = 1000;
// Of places that are lines.
constexpr uint64_t kLines = uint64_t{1} << 63;

uint64_t stack_begin(uint32_t thread) { return kStacks + thread * 2 * kStackSize + kStackSize; }
uint64_t stack_end(uint32_t thread) { return stack_begin(thread) + kStackSize; }

uint64_t load(uint64_t address) { return load_word(reinterpret_cast<const uint8_t*>(address)); }

uint64_t line_of(uint64_t address) { return (address - kPoolBase) / kLineSize; }

// Where the bytes at an address of the target are.
uint64_t place(uint64_t address) {
  return reinterpret_cast<uint64_t>(runtime::place_of(reinterpret_cast<const void*>(address)));
}

void mix_in(Digest* digest, const uint64_t (&pair)[2]) {
  const XXH128_hash_t hash = XXH3_128bits(pair, sizeof pair);
  digest->high ^= hash.high64;
  digest->low ^= hash.low64;
}

// What earlier calls left on the stack would make the same thread another one.
template <size_t kBytes>
[[gnu::noinline]] void clear_stack_below() {
  char bytes[kBytes];
  std::memset(bytes, 0, sizeof bytes);
  asm volatile("" : : "r"(bytes) : "memory");
}
// So would what a hook leaves, which differs from schedule to schedule.
struct ClearsStack {
  ~ClearsStack() { clear_stack_below<kHookStack>(); }
};

// Puts the thread-local variables of a fiber in the place of those that are there, and these in the fiber's.
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
  std::vector<ImageRef> images;
  LineStates lines;
  std::shared_ptr<const Keys> keys;
  Digest memory;
  WorldState world;
  std::optional<uint32_t> cuts_in_flight;
  explicit State(const LineStates& given) : lines(given) {}
};

struct TargetMachine::Hooks {
  static TargetMachine& of(void* self) { return *static_cast<TargetMachine*>(self); }
  static powercut_sink sink(TargetMachine* self) {
    powercut_sink out{};
    out.self = self;
    out.load = [](void* s, uint64_t a, uint64_t n) { of(s).on_load(a, n); };
    out.store = [](void* s, uint64_t a, uint64_t n, uint32_t f, const void* v, const void* pc, const void* fp) {
      of(s).on_store(a, n, f, v, pc, fp);
    };
    out.rmw_begin = [](void* s, uint64_t a, uint64_t n, const void* pc, const void* fp) {
      of(s).on_rmw_begin(a, n, pc, fp);
    };
    out.rmw_end = [](void* s, uint64_t a, uint64_t n, uint32_t stored, const void* pc, const void* fp) {
      of(s).on_rmw_end(a, n, stored, pc, fp);
    };
    out.flush = [](void* s, uint64_t a, uint32_t kind, const void* pc, const void* fp) {
      of(s).on_flush(a, kind, pc, fp);
    };
    out.fence = [](void* s, uint32_t kind, const void* pc, const void* fp) { of(s).on_fence(kind, pc, fp); };
    out.out_of_steps = [](void* s, const uint64_t* live) { of(s).on_turn(live, false); };
    out.mark = [](void* s, const char* name) {
      if (!of(s).in_target()) return;
      const QuietHeap quiet;
      of(s).work_.recorder->mark(name);
      if (of(s).work_.mark) of(s).work_.mark(name);
    };
    return out;
  }
  static powercut_scheduler scheduler(TargetMachine* self) {
    return {.self = self,
            .pause = [](void* s, const uint64_t* live) { of(s).on_turn(live, true); },
            .access = [](void* s, const void* at, uint64_t n, const void*,
                         const void*) { of(s).on_lock(reinterpret_cast<uint64_t>(at), n); },
            .wait = [](void* s, const void* at, uint64_t n, const void*,
                       const void*) { of(s).on_lock_taken(reinterpret_cast<uint64_t>(at), n); },
            .create = [](void* s, uint64_t*, void* (*)(void*), void*) -> int {
              of(s).give_up("it starts a thread of its own");
            },
            .join = [](void* s, uint64_t, void**) -> int { of(s).give_up("it waits for the end of a thread"); },
            .detach = [](void* s, uint64_t) -> int { of(s).give_up("it detaches a thread"); },
            .exit = [](void* s, void*) { of(s).give_up("it ends its thread"); },
            .current = [](void* s) -> uint64_t {
              return of(s).is_engine_thread() && of(s).in_target() ? of(s).current_ + 1 : 0;
            },
            .of_system = 0,
            .time = nullptr};
  }

  static void changing(void* self, uint64_t address, uint64_t size) {
    if (of(self).in_target()) of(self).keep(address, size);
  }
  static void freed(void* self, uint64_t address, uint64_t size, const void*, const void*) {
    if (of(self).in_target()) of(self).on_free(address, size);
  }
  static void freed_again(void* self, uint64_t, uint64_t, const void*, const void*) {
    if (!of(self).in_target()) return;
    const QuietHeap quiet;
    of(self).fail(Trouble::kDoubleFree, "it frees a block that was freed before");
  }
  static bool running(uint64_t) { return current_machine != nullptr && current_machine->in_target(); }
  static void cannot_follow(const std::string& what, const void*, const void*) { current_machine->give_up(what); }
  static void blocked(const void*, const void*) {
    current_machine->give_up("it waits for a lock through code that is not instrumented");
  }
};

TargetMachine::TargetMachine(const ThreadWork& work, const ClientChoices& choices, const Model& model)
    : work_(work),
      choices_(choices),
      eadr_(model.rules().stores_at_once()),
      lines_(AtomPolicy::kAny, eadr_, pool_bytes()) {
  current_machine = this;
  work.recorder->redirect([this](const Event& event) { on_event(event); });
  lines_.begin(model);
  clients_ = static_cast<uint32_t>(work.clients.size());
  const uint32_t own = work.background == nullptr ? 0 : work.background->threads(work.table);
  const uint32_t count = clients_ + own + (work.after.empty() ? 0 : 1);
  if (count > kMostThreads) throw std::runtime_error("more threads than can be scheduled");
  void* at = mmap(reinterpret_cast<void*>(kStacks), kMostThreads * 2 * kStackSize, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("the address range of the threads' stacks is taken in this process");

  auto keys = std::make_shared<Keys>();
  keys->running.resize(count);
  if (work.history->prefixes()) {
    keys->prefixes = work.history->prefixes();
    keys->prefixes->renumber([this](uint32_t key, int32_t value) {
      return number_of(work_.history->keys()[key].written[static_cast<size_t>(value)]);
    });
    prefixes_changed(keys.get());
  }
  keys->digest = digest_of(*keys);
  keys_ = keys;

  sink_ = Hooks::sink(this);
  powercut_set_sink(&sink_);
  arena_events = {};
  arena_events.self = this;
  arena_events.changing = Hooks::changing;
  arena_events.freed = Hooks::freed;
  arena_events.freed_again = Hooks::freed_again;
  arena_events.keep_freed = true;
  const uint64_t base = kStacks + kMostThreads * 2 * kStackSize;
  __powercut_store_window = {base, ~uint64_t{0} - base};
  __powercut_load_window = __powercut_store_window;
  __powercut_real_flush = 0;
  unwatch_traps();
  handle_faults(on_signal);
  watch_traps(work.pool_size,
              {.running = Hooks::running, .cannot_follow = Hooks::cannot_follow, .blocked = Hooks::blocked});
  virtual_world.recording = true;
  locals_ = thread_locals();
  __powercut_scheduler = Hooks::scheduler(this);
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
  __powercut_scheduler = {};
  arena_events = {};
  virtual_world.recording = false;
  powercut_set_sink(nullptr);
  unwatch_traps();
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
    // Nothing to do until what it has looked at changes.
    fiber.chain = 0;
    fiber.waiting = std::all_of(fiber.batch_reads.begin(), fiber.batch_reads.end(),
                                [](const Read& read) { return load(place(read.word)) == read.value; });
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
  if (!shows_shared_) begin_uses(&fiber);
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
  step_begin_ = journal_.size();
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

// Takes over what the step has changed: each word once, whatever it held in between.
void TargetMachine::end_step() {
  scratch_.clear();
  for (size_t i = step_begin_; i < journal_.size(); ++i) scratch_.emplace_back(journal_[i].address, i);
  std::sort(scratch_.begin(), scratch_.end());
  for (size_t i = 0; i < scratch_.size(); ++i) {
    const uint64_t address = scratch_[i].first;
    if (i > 0 && address == scratch_[i - 1].first) continue;
    const uint64_t old = journal_[scratch_[i].second].old, now = load(address);
    if (now == old) continue;
    mix_in(&memory_, {address, old});
    mix_in(&memory_, {address, now});
  }
  capture(current_);
  for (const uint32_t thread : woken_) {
    if (thread != current_) capture(thread);
  }
  woken_.clear();
}

void TargetMachine::capture(uint32_t thread) {
  const ImageRef image(this);
  image->fiber = fibers_[thread];
  image->stack.clear();
  const auto begin = reinterpret_cast<uint64_t>(image->fiber.at);
  if (!trouble_ && begin >= stack_begin(thread) && begin < stack_end(thread)) {
    const auto* from = reinterpret_cast<const uint8_t*>(begin);
    image->stack.assign(from, from + (stack_end(thread) - begin));
  }
  image->digest = digest_of(image->fiber);
  images_[thread] = image;
}

TargetMachine::ImageRef::ImageRef(TargetMachine* machine) : machine_(machine) {
  if (machine->unused_.empty()) machine->unused_.push_back(&machine->all_images_.emplace_back());
  image_ = machine->unused_.back();
  machine->unused_.pop_back();
  take();
}

// What tells a thread in one state from itself in another, besides what its operation may still answer.
uint64_t TargetMachine::digest_of(const Fiber& fiber) {
  const bool by_chain = fiber.place == kToldByChain;
  // Which operation it was matters no more.
  const bool between = fiber.next == Next::kBegin || fiber.next == Next::kDone;
  const uint64_t words[] = {
      by_chain ? fiber.chain : fiber.place,
      fiber.used,
      fiber.buffer.digest(),
      fiber.heap.top,
      fiber.heap.last,
      XXH3_64bits(fiber.answer.data(), fiber.answer.size()),
      XXH3_64bits(fiber.locals.data(), fiber.locals.size()),
      fiber.address,
      uint64_t{fiber.operation} << 24 | (between ? 0 : uint64_t{fiber.way} << 16) | uint64_t(fiber.next) << 8 |
          uint64_t{fiber.awaits_empty} << 3 | uint64_t{by_chain} << 2 | uint64_t{fiber.waiting} << 1 |
          uint64_t{fiber.stored},
      fiber.next == Next::kEnd ? uint64_t(fiber.status) + 1 : 0,
  };
  return XXH3_64bits(words, sizeof words);
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
  out->keys = keys_;
  out->memory = memory_;
  out->world = virtual_world.state;
  out->cuts_in_flight = cuts_in_flight_;
}

void TargetMachine::restore(const Mark& mark) {
  const auto& state = static_cast<const State&>(mark);
  while (journal_.size() > state.journal) {
    std::memcpy(reinterpret_cast<void*>(journal_.back().address), &journal_.back().old, 8);
    journal_.pop_back();
  }
  events_.resize(state.events);
  steps_.resize(state.steps);
  freed_.resize(state.freed);
  for (uint32_t thread = 0; thread < fibers(); ++thread) {
    if (images_[thread] == state.images[thread]) continue;
    images_[thread] = state.images[thread];
    const ImageRef& image = images_[thread];
    fibers_[thread] = image->fiber;
    std::memcpy(image->fiber.at, image->stack.data(), image->stack.size());
  }
  lines_ = state.lines;
  keys_ = state.keys;
  memory_ = state.memory;
  virtual_world.state = state.world;
  cuts_in_flight_ = state.cuts_in_flight;
  trouble_.reset();
}

Digest TargetMachine::state() const {
  uint64_t words[8 + kMostThreads];
  size_t count = 0;
  const auto add = [&](uint64_t word) { words[count++] = word; };
  add(memory_.high);
  add(memory_.low);
  add(lines_.state());
  add(keys_->digest);
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

// What is legal, and what there may be: all that judging an image depends on.
Digest TargetMachine::frontier() const {
  if (keys_->prefixes) return {lines_.frontier(), keys_->legal_digest};
  uint64_t legal = 0;
  for (const auto& [id, key] : keys_->keys) {
    std::vector<uint64_t> part{id};
    const auto add = [&part](const std::set<Linearizations::State>& states) {
      part.push_back(states.size());
      for (const Linearizations::State state : states) part.push_back(static_cast<uint64_t>(state));
    };
    add(key.all.states());
    add(key.unread.states());
    legal += XXH3_64bits(part.data(), part.size() * sizeof(uint64_t));
  }
  return {lines_.frontier(), legal};
}

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

int32_t TargetMachine::number_of(std::string value) {
  return value_numbers_.try_emplace(std::move(value), static_cast<int32_t>(value_numbers_.size())).first->second;
}

TargetMachine::Keys::Key* TargetMachine::key_of(Keys* keys, uint64_t id) {
  for (auto& [known, key] : keys->keys) {
    if (known == id) return &key;
  }
  const bool counts = work_.history->counts();
  std::set<Linearizations::State> initial;
  const auto index =
      work_.history->find(text_of(key_bytes(id, static_cast<uint32_t>(operation_of(current_)->key.size()))));
  if (!index) {
    initial.insert(counts ? 0 : kAbsent);
  } else {
    const KeyHistory& history = work_.history->keys()[*index];
    const std::vector<int32_t> legal = history.all_legal();
    const std::set<int32_t> held = work_.history->prefixes() ? work_.history->prefixes()->held(*index)
                                                             : std::set<int32_t>(legal.begin(), legal.end());
    for (const int32_t state : held) {
      initial.insert(counts             ? history.sum(state)
                     : state == kAbsent ? kAbsent
                                        : number_of(history.written[static_cast<size_t>(state)]));
    }
  }
  const Linearizations begun(initial, counts);
  keys->keys.push_back({id, {begun, begun}});
  std::sort(keys->keys.begin(), keys->keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return key_of(keys, id);
}

uint32_t TargetMachine::number_of_key(const ThreadOperation& operation) {
  if (const auto index = work_.history->find(text_of(operation.key))) return *index;
  const auto next = static_cast<uint32_t>(work_.history->keys().size() + key_numbers_.size());
  return key_numbers_.try_emplace(operation.id, next).first->second;
}

void TargetMachine::prefixes_changed(Keys* keys) {
  keys->prefixes_digest = keys->prefixes->digest();
  keys->legal_digest = 0;
  const auto tables = keys->prefixes->tables();
  if (!tables) doubt_ = "the operations since the last sync can be told in more ways than are followed";
  for (const Prefixes::Table& table : tables.value_or(std::set<Prefixes::Table>{})) {
    keys->legal_digest += XXH3_64bits(table.data(), table.size() * sizeof(int32_t));
  }
}

uint64_t TargetMachine::digest_of(const Keys& keys) {
  uint64_t out = keys.prefixes_digest;
  const auto add = [&out](const auto&... parts) {
    const uint64_t words[] = {uint64_t{parts}...};
    out = XXH3_64bits_withSeed(words, sizeof words, out);
  };
  for (const auto& [id, key] : keys.keys) add(id, key.all.digest(), key.unread.digest());
  for (const Keys::Running& running : keys.running) {
    add(running.all.value_or(~0u), running.unread.value_or(~0u), running.prefixes.value_or(~0u));
  }
  return out;
}

void TargetMachine::begin_operation(uint32_t thread) {
  current_ = thread;
  step_begin_ = journal_.size();
  if (is_client(thread)) fibers_[thread].taken = choices_.take(fibers_[thread].taken, thread, fibers_[thread].way);
  const ThreadOperation& operation = *operation_of(thread);
  on_event(begin_of(operation, thread + 1));
  fibers_[thread].chain = 0;
  begin_uses(&fibers_[thread]);
  const bool is_sync = keys_->prefixes && is_sync_command(operation.kind, operation.text);
  if (operation.kind == OpKind::kMaintain && !is_sync) return;
  auto keys = std::make_shared<Keys>(*keys_);
  Keys::Running& running = keys->running[thread];
  const std::string written = text_of(operation.value);
  const Linearizations::State value = operation.kind == OpKind::kIncrement ? sum_of(written).value_or(0)
                                      : written.empty()                    ? kAbsent
                                                                           : number_of(written);
  if (keys->prefixes) {
    running.prefixes =
        is_sync ? keys->prefixes->begin_sync()
                : keys->prefixes->begin(operation.kind, number_of_key(operation), static_cast<int32_t>(value));
    prefixes_changed(keys.get());
  }
  if (!is_sync) {
    Keys::Key& key = *key_of(keys.get(), operation.id);
    running.all = key.all.begin(operation.kind, value);
    if (operation.kind != OpKind::kLookup) running.unread = key.unread.begin(operation.kind, value);
  }
  keys->digest = digest_of(*keys);
  keys_ = std::move(keys);
}

void TargetMachine::end_operation(uint32_t thread) {
  current_ = thread;
  step_begin_ = journal_.size();
  const ThreadOperation& operation = *operation_of(thread);
  Fiber& fiber = fibers_[thread];
  const bool looked_up = operation.kind == OpKind::kLookup && fiber.status == POWERCUT_OK;
  const Event event = end_of(fiber.status, {fiber.answer.data(), fiber.answered}, thread + 1);
  const auto found = looked_up ? std::optional(text_of(event.value)) : std::nullopt;
  on_event(event);
  std::fill(fiber.answer.begin(), fiber.answer.end(), uint8_t{0});  // nobody looks at it any more
  fiber.chain = 0;
  begin_uses(&fiber);
  fiber.accesses = 0;
  fiber.turn = 0;
  fiber.reads.clear();
  fiber.stored = false;
  fiber.says_when = false;
  const Keys::Running ended = keys_->running[thread];
  if (ended.all || ended.prefixes) {
    auto keys = std::make_shared<Keys>(*keys_);
    keys->running[thread] = {};
    Linearizations::Answer answer{fiber.status};
    // A sum of 0 and what is no sum are no answer that goes with OK.
    if (found) answer.found = work_.history->counts() ? sum_of(*found).value_or(0) : number_of(*found);
    if (ended.prefixes) {
      keys->prefixes->end(*ended.prefixes, answer);
      prefixes_changed(keys.get());
    }
    if (ended.all) {
      Keys::Key& key = *key_of(keys.get(), operation.id);
      key.all.end(*ended.all, answer);
      if (ended.unread) key.unread.end(*ended.unread, answer);
      if (key.all.states().empty()) {
        trouble_ = {Trouble::kNotLinearizable, not_explained(thread_name(thread), operation.id, fiber.status, found)};
      }
    }
    keys->digest = digest_of(*keys);
    keys_ = std::move(keys);
  }
  ended_[thread][fiber.operation] = true;
  if (fiber.status == POWERCUT_UNSUPPORTED) {
    // It has had no effect, whatever other answers would have it: no finding rests on them.
    doubt_ = unsupported_ = not_supported(thread_name(thread));
    trouble_ = {Trouble::kDied, doubt_, /*followed=*/false};
  }
  if (fiber.status == POWERCUT_CORRUPT || fiber.status == POWERCUT_NOT_FORMATTED) {
    trouble_ = {Trouble::kNotLinearizable,
                absl::StrCat(thread_name(thread), " answered ", status_name(fiber.status), ".")};
  }
}

// ---- in hooks --------------------------------------------------------------------------------------

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

bool TargetMachine::on_own_stack(uint64_t address) const {
  return address >= stack_begin(current_) && address < stack_end(current_);
}

// What the code does next depends on its registers and its stack, from the return address of the hook on.
uint64_t TargetMachine::place_in_code(uint64_t stack) const {
  if (tells_by_chain_ || !on_own_stack(stack)) return kToldByChain;
  const uint64_t registers = XXH3_64bits(live_, kLiveRegisters * sizeof live_[0]);
  return XXH3_64bits_withSeed(reinterpret_cast<const void*>(stack), stack_end(current_) - stack, registers) | 2;
}

// Not in the handler of a signal, on a stack of its own.
bool TargetMachine::can_pause() const { return on_own_stack(reinterpret_cast<uint64_t>(__builtin_frame_address(0))); }

bool TargetMachine::is_visible(uint64_t address, uint64_t size, bool writes) {
  if (is_local(address)) return false;
  bool visible = false;
  for (uint64_t word = address / 8; word <= (address + size - 1) / 8; ++word) visible |= is_visible(word, writes);
  if (!writes || address - kPoolBase >= work_.pool_size) return visible;
  for (uint64_t line = line_of(address); line <= line_of(address + size - 1); ++line) {
    visible |= is_visible(kLines | line, true);
  }
  return visible || eadr_;
}

bool TargetMachine::is_visible(uint64_t place, bool changes) {
  if (racing_.contains(place)) return true;
  if (shared_.contains(place)) return shows_shared_;
  Users& users = users_[place];
  const uint32_t own = 1u << current_;
  users.all |= own;
  if (changes) users.changing |= own;
  if (users.changing == 0 || (users.all & (users.all - 1)) == 0) return false;
  shared_.insert(place);
  more_shared_ = true;
  return true;
}

// The access is made.
void TargetMachine::use(uint64_t address, uint64_t size, bool writes) {
  if (is_local(address)) return;
  bool shared = false;
  for (uint64_t word = address / 8; word <= (address + size - 1) / 8; ++word) shared |= use(word, writes);
  if (shared) count_access();
  if (!writes || address - kPoolBase >= work_.pool_size) return;
  for (uint64_t line = line_of(address); line <= line_of(address + size - 1); ++line) use(kLines | line, true);
}

// A place races if another thread has used it since its last visible event, and one of the two uses changes it. Then
// its use is a visible event itself, and what that thread did before came before this one. False: it is not shared.
bool TargetMachine::use(uint64_t place, bool changes) {
  if (!shared_.contains(place)) return false;
  Fiber& fiber = fibers_[current_];
  // A step that goes on for so long may be a loop that waits for others and stores: they have to have a turn.
  bool races = racing_.contains(place) || (!shows_shared_ && fiber.uses.size() >= kMostUses);
  for (uint32_t thread = 0; !races && thread < fibers(); ++thread) {
    if (thread == current_) continue;
    for (const Use& other : fibers_[thread].uses) races |= other.place == place && (changes || other.changes);
  }
  if (!races) {
    fiber.uses.push_back({place, changes});
    fiber.used = XXH3_64bits_withSeed(&place, sizeof place, fiber.used + changes);
    return true;
  }
  if (racing_.insert(place).second) {
    if (!shows_shared_) more_shared_ = true;
    for (Fiber& other : fibers_) {
      const auto last =
          std::find_if(other.uses.rbegin(), other.uses.rend(), [place](const Use& use) { return use.place == place; });
      other.uses.erase(other.uses.begin(), last.base());
    }
  }
  begin_uses(&fiber);
  return true;
}

void TargetMachine::begin_uses(Fiber* fiber) {
  fiber->uses.clear();
  fiber->used = 0;
}

// Of a shared place, by a loop that may only wait.
void TargetMachine::count_access() {
  Fiber& fiber = fibers_[current_];
  if (++fiber.accesses <= kPatience || fiber.says_when || watching_) return;
  watching_ = true;
  __powercut_steps = 0;
}

void TargetMachine::read(uint64_t address, uint64_t size) {
  Fiber& fiber = fibers_[current_];
  const uint64_t at = place(address);
  fiber.chain = XXH3_64bits_withSeed(reinterpret_cast<const void*>(at), size, fiber.chain + address);
  for (uint64_t word = address & ~uint64_t{7}; word < address + size; word += 8) {
    if (fiber.reads.size() < kMostReads) fiber.reads.push_back({word, load(place(word))});
    if (current_ >= clients_ && fiber.batch_reads.size() < kMostReads) {
      fiber.batch_reads.push_back({word, load(place(word))});
    }
  }
}

void TargetMachine::keep(uint64_t address, uint64_t size) {
  if (is_local(address)) return;  // they change hands as a whole
  const QuietHeap quiet;
  const uint64_t begin = place(address);
  for (uint64_t word = begin & ~uint64_t{7}; word < begin + size; word += 8) journal_.push_back({word, load(word)});
}

// To give a block back is to others what a store to all of it would be.
void TargetMachine::on_free(uint64_t address, uint64_t size) {
  const QuietHeap quiet;
  if (size == 0) return;
  if (is_visible(address, size, true) && can_pause()) pause_before(Next::kStore, address, kToldByChain);
  use(address, size, true);
  const uint64_t before = freed_.empty() ? 0 : freed_.back().digest;
  freed_.push_back({{address, address + size}, before + XXH3_64bits(&address, sizeof address)});
}

void TargetMachine::check_freed(uint64_t address, uint64_t size) {
  if (freed_.empty() || address < arena.begin) return;
  for (const auto& [block, digest] : freed_) {
    if (address < block.end && block.begin < address + size) {
      fail(Trouble::kUseAfterFree, "it uses a block that was freed");
    }
  }
}

// What comes behind the event is another place, also where it is told by the values read. Else a store that changes
// nothing would lead to the state that it began in, and what follows would not be run.
void TargetMachine::pause_before(Next next, uint64_t address, uint64_t place) {
  pause(next, address, place);
  Fiber& fiber = fibers_[current_];
  if (place == kToldByChain) fiber.chain = XXH3_64bits_withSeed(&address, sizeof address, fiber.chain + 1);
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

// Others that wait for what is stored look again.
void TargetMachine::wake(uint64_t address, uint64_t size) {
  for (uint32_t thread = 0; thread < fibers(); ++thread) {
    Fiber& other = fibers_[thread];
    if (thread == current_ || !other.waiting) continue;
    const bool read =
        other.reads.size() >= kMostReads || std::any_of(other.reads.begin(), other.reads.end(), [&](const Read& word) {
          return word.word < address + size && address < word.word + 8;
        });
    if (!read) continue;
    other.waiting = false;
    woken_.push_back(thread);
  }
}

void TargetMachine::on_load(uint64_t address, uint64_t size) {
  const ClearsStack clears;
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
  const ClearsStack clears;
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
  const bool changes = std::memcmp(reinterpret_cast<const void*>(place(address)), value, size) != 0;
  if (buffered) {
    buffer().store(address, place(address), {static_cast<const uint8_t*>(value), size}, visible);
    into_buffer([&] { work_.recorder->store(address, size, flags, value, pc, frame); });
    if (changes) note_store();
    return;
  }
  work_.recorder->store(address, size, flags, value, pc, frame);
  keep(address, size);
  if (changes) stored(address, size);
}

void TargetMachine::on_rmw_begin(uint64_t address, uint64_t size, const void* pc, const void* frame) {
  const ClearsStack clears;
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
  if (address - kPoolBase < work_.pool_size) lines_.prepare(address - kPoolBase, size);
  std::memcpy(rmw_old_, reinterpret_cast<const void*>(place(address)), std::min<uint64_t>(size, sizeof rmw_old_));
}

void TargetMachine::on_rmw_end(uint64_t address, uint64_t size, uint32_t is_stored, const void* pc, const void* frame) {
  const ClearsStack clears;
  take_stack();
  if (!in_target() || is_stored == 0) return;
  const QuietHeap quiet;
  const auto* now = reinterpret_cast<const void*>(place(address));
  work_.recorder->rmw_end(address, size, is_stored, pc, frame);
  if (std::memcmp(now, rmw_old_, std::min<uint64_t>(size, sizeof rmw_old_)) != 0) stored(address, size);
}

void TargetMachine::on_flush(uint64_t address, uint32_t kind, const void* pc, const void* frame) {
  const ClearsStack clears;
  const uint64_t stack = take_stack();
  if (!in_target() || address - kPoolBase >= work_.pool_size) return;
  const QuietHeap quiet;
  const bool now = kind == POWERCUT_CLFLUSH;
  const uint64_t line = kLines | line_of(address);
  const bool visible = is_visible(line, now) || (now && lines_.clflush_raises(address - kPoolBase));
  if (goes_to_buffer(false)) {
    use(line, now);
    buffer().push(address, visible);
    return into_buffer([&] { work_.recorder->flush(address, kind, pc, frame); });
  }
  if (visible && can_pause()) pause_before(now ? Next::kClflush : Next::kFlush, address, place_in_code(stack));
  use(line, now);
  work_.recorder->flush(address, kind, pc, frame);
}

void TargetMachine::on_fence(uint32_t kind, const void* pc, const void* frame) {
  const ClearsStack clears;
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

// A turn of a loop. One that has come back to where it was a turn ago, and has stored nothing, does the same again
// until something that it reads is changed.
void TargetMachine::on_turn(const uint64_t* live, bool waits) {
  const ClearsStack clears;
  if (!in_target()) return;
  const QuietHeap quiet;
  Fiber& fiber = fibers_[current_];
  if (!waits && !watching_) fail(Trouble::kLivelock, "it goes round a loop without end");
  if (!waits && fiber.accesses <= kPatience) {  // it has stored meanwhile
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
  const bool same =
      fiber.reads.size() < kMostReads && std::all_of(
                                             fiber.reads.begin(), fiber.reads.end(),
                                             [](const Read& read) { return load(place(read.word)) == read.value; });
  fiber.waiting = same;
  if (can_pause()) pause(Next::kTurn, 0, tells_by_chain_ ? kToldByChain : turn | 2);
  fibers_[current_].reads.clear();
}

// A lock's function is about to look at its object, and to change it in the same step.
void TargetMachine::on_lock(uint64_t address, uint64_t size) {
  if (!in_target()) return;
  const QuietHeap quiet;
  await_empty(is_visible(address, size, true), address, kToldByChain);
  use(address, size, true);
  check_freed(address, size);
  fibers_[current_].chain_at_step = fibers_[current_].chain;
  read(address, size);
}

// It cannot go on before the object changes, and stands then where it stood before.
void TargetMachine::on_lock_taken(uint64_t address, uint64_t size) {
  if (!in_target()) return;
  const QuietHeap quiet;
  Fiber& fiber = fibers_[current_];
  fiber.chain = fiber.chain_at_step;
  fiber.reads.clear();
  for (uint64_t word = address & ~uint64_t{7}; word < address + size; word += 8) fiber.reads.push_back({word, 0});
  fiber.waiting = true;
  if (can_pause()) pause(Next::kTurn, address, kToldByChain);
  fibers_[current_].reads.clear();
}

// The thread does what is not modelled: the search is not complete, and this is no finding.
void TargetMachine::give_up(const std::string& what) {
  const QuietHeap quiet;
  doubt_ = thread_name(current_) + " could not be followed: " + what;
  leave({Trouble::kDied, doubt_, /*followed=*/false});
}

// False: what a real thread does is in no schedule.
bool TargetMachine::heard_beside() {
  beside_.store(true, std::memory_order_relaxed);
  return false;
}

std::string TargetMachine::doubt() const {
  if (!beside_.load(std::memory_order_relaxed)) return doubt_;
  return "a thread that was started before the schedules begin ran beside them, and could not be followed";
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
  const char* name = sigabbrev_np(signal);
  std::string text = absl::StrCat("it died of SIG", name == nullptr ? "?" : name);
  if (signal == SIGSEGV) absl::StrAppend(&text, " at 0x", absl::Hex(reinterpret_cast<uint64_t>(info->si_addr)));
  machine->fail(Trouble::kDied, text);
}

}  // namespace powercut
