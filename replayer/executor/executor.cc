#include "replayer/executor/executor.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "replayer/executor/novelty.h"
#include "tracer/world/arena.h"
#include "tracer/world/pool_traps.h"
#include "tracer/world/virtual_world.h"
#include "xxhash.h"

// Defined by the linker.
extern "C" const char __executable_start[];
extern "C" const char etext[];

namespace powercut {
namespace {

Executor* current = nullptr;  // hooks and signal handlers are process-wide, and so is this

constexpr uint64_t kEmptyPath = 0x9E3779B97F4A7C15;

uint64_t extend_path(uint64_t path, uint64_t word, uint8_t bytes, uint64_t value) {
  const unsigned __int128 mixed =
      static_cast<unsigned __int128>(path ^ ((word << 8 | bytes) * 0x9FB21C651E98DF25)) * (value ^ 0xD6E8FEB86659FD93);
  return static_cast<uint64_t>(mixed) ^ static_cast<uint64_t>(mixed >> 64) ^ std::rotl(path, 17);
}

uint64_t line_mask(uint64_t in_line, uint64_t size) {
  const uint64_t ones = size >= 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1;
  return ones << in_line;
}

uint64_t load_word(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

// Expands 8 mask bits to 8 mask bytes.
constexpr std::array<uint64_t, 256> kSpread = [] {
  std::array<uint64_t, 256> table{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    for (unsigned i = 0; i < 8; ++i) {
      if (bits >> i & 1) table[bits] |= uint64_t{0xff} << (8 * i);
    }
  }
  return table;
}();
uint64_t spread(uint8_t bits) { return kSpread[bits]; }

bool equal_under(const Content& a, const Content& b, const std::array<uint64_t, 8>& mask) {
  uint64_t difference = 0;
  for (size_t w = 0; w < 8; ++w) difference |= (load_word(&a.bytes[w * 8]) ^ load_word(&b.bytes[w * 8])) & mask[w];
  return difference == 0;
}

// Zeroed memory that costs nothing until it is touched, for arrays as long as the pool.
template <typename T>
T* lazy_array(uint64_t count) {
  void* at =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no address space for the executor's tables");
  return static_cast<T*>(at);
}

void* map_at(uint64_t address, uint64_t size) {
  void* at = mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("the pool's address range is taken in this process");
  return at;
}

// Target code may store there, but nothing of it lasts: each execution begins with 0, and the engine's own calls change
// it in between.
MemoryRange errno_range() {
  const auto at = reinterpret_cast<uint64_t>(&errno);
  return {at, at + sizeof errno};
}

bool is_word_of_errno(uint64_t word) { return word == (errno_range().begin & ~uint64_t{7}); }

MemoryRange own_stack() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  const auto at = reinterpret_cast<uint64_t>(begin);
  return {at, at + size};
}

std::vector<uint64_t> stack_of(const void* pc, const void* frame) {
  std::array<uint64_t, 24> out;
  const uint32_t count = powercut_stack(pc, frame, out.data(), out.size());
  return {out.begin(), out.begin() + count};
}

// What earlier calls left on the stack would be found in the padding of objects that recovery copies to its heap. Two
// heaps that differ in nothing else are to be the same.
[[gnu::noinline]] void clear_stack_below(uint8_t fill) {
  std::array<char, 8 * 1024> area;
  std::memset(area.data(), fill, area.size());
  asm volatile("" : : "r"(area.data()) : "memory");
}

// What the C++ runtime keeps of a thread's exceptions (Itanium C++ ABI, 2.2.2): those caught, and how many are not yet.
struct ExceptionState {
  void* caught;
  unsigned uncaught;
};
ExceptionState exception_state() {
  ExceptionState out;
  std::memcpy(&out, abi::__cxa_get_globals(), sizeof out);
  return out;
}
void set_exception_state(const ExceptionState& state) { std::memcpy(abi::__cxa_get_globals(), &state, sizeof state); }

// What memory holds that a variant of an execution has not initialised.
constexpr uint8_t kOtherFill = 0xA7;

// Sentences beyond these say nothing new to anyone.
constexpr size_t kMostDoubts = 16;

// Unused bytes between pool and heap.
constexpr uint64_t kGuard = 4096;

// Signals that a fault of target code raises. Any other signal, and one of these outside an execution, is ours.
// So is a fault of an instruction of the engine while target code runs (a hook, a query's own code): taken for
// the target's, it would be a finding that nobody can fix. The process dies, and its parent says `unknown`.
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

void on_signal(int signal, siginfo_t* info, void* context) {
  const auto* machine = static_cast<const ucontext_t*>(context);
  const bool ours = current == nullptr || !current->running() ||
                    current->owns_code(static_cast<uint64_t>(machine->uc_mcontext.gregs[REG_RIP]));
  if (ours) {
    ::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  arena_active = false;  // the outcome outlives the target's heap
  Outcome outcome;
  outcome.kind = signal == SIGABRT ? Outcome::Kind::kAbort : Outcome::Kind::kSignal;
  outcome.signal = signal;
  outcome.address = signal == SIGABRT ? 0 : reinterpret_cast<uint64_t>(info->si_addr);
  outcome.stack = stack_of(reinterpret_cast<void*>(machine->uc_mcontext.gregs[REG_RIP] + 1),
                           reinterpret_cast<void*>(machine->uc_mcontext.gregs[REG_RBP]));
  current->stop(std::move(outcome));
}

bool runs_target_code(uint64_t pc) { return current != nullptr && current->running() && !current->owns_code(pc); }

// Memory of the target besides the pool, as it was before an execution. Uninstrumented code stores to it unseen; what
// it changed is found by comparison, and joins the journal. Kept once such code was met, since it costs a copy each
// time.
class OtherMemory {
 public:
  void keep(const std::vector<MemoryRange>& globals, uint64_t heap_end) {
    kept_ = true;
    ranges_ = globals;
    ranges_.push_back({arena.begin, heap_end});
    bytes_.clear();
    for (const MemoryRange& range : ranges_) {
      const auto* at = reinterpret_cast<const uint8_t*>(range.begin);
      bytes_.insert(bytes_.end(), at, at + (range.end - range.begin));
    }
  }
  // Calls `keep` with the address and the old value of each word that changed and of which `is_kept` does not say that
  // it can be taken back.
  template <typename IsKept, typename Keep>
  void take_back(const IsKept& is_kept, const Keep& keep) {
    const uint8_t* before = bytes_.data();
    if (!std::exchange(kept_, false)) return;
    for (const MemoryRange& range : ranges_) {
      const auto* now = reinterpret_cast<const uint8_t*>(range.begin);
      const uint64_t size = range.end - range.begin;
      for (uint64_t page = 0; page < size; page += kBlock) {
        const uint64_t length = std::min(kBlock, size - page);
        if (std::memcmp(now + page, before + page, length) == 0) continue;
        for (uint64_t i = page; i < page + length;) {
          const uint64_t word = (range.begin + i) & ~uint64_t{7};
          const uint64_t first = range.begin + i, last = std::min({word + 8, range.end, range.begin + page + length});
          const uint64_t at = i;
          i += last - first;
          if (std::memcmp(now + at, before + at, last - first) == 0 || is_kept(word)) continue;
          uint64_t old = load_word(reinterpret_cast<const uint8_t*>(word));
          std::memcpy(reinterpret_cast<uint8_t*>(&old) + (first - word), before + at, last - first);
          keep(word, old);
        }
      }
      before += size;
    }
  }

 private:
  static constexpr uint64_t kBlock = 4096;
  bool kept_ = false;
  std::vector<MemoryRange> ranges_;
  std::vector<uint8_t> bytes_;
};
OtherMemory other_memory;

void cannot_follow(const std::string& what, const void* pc, const void* frame) { current->give_up(what, pc, frame); }

void hang(const void* pc, const void* frame) {
  arena_active = false;
  Outcome outcome;
  outcome.kind = Outcome::Kind::kSteps;
  outcome.stack = stack_of(pc, frame);
  current->stop(std::move(outcome));
}

void install_signal_handlers() {
  static bool done = false;
  if (done) return;
  done = true;
  stack_t alternate{};
  alternate.ss_size = 256 * 1024;
  alternate.ss_sp = std::malloc(alternate.ss_size);
  sigaltstack(&alternate, nullptr);
  for (int signal : kFaults) {
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(signal, &action, nullptr);
  }
}

powercut_sink make_sink(Executor* self) {
  powercut_sink sink{};
  sink.self = self;
  sink.store = [](void* s, uint64_t a, uint64_t n, uint32_t f, const void* v, const void* pc, const void* fp) {
    static_cast<Executor*>(s)->on_store(a, n, f, v, pc, fp);
  };
  sink.load = [](void* s, uint64_t a, uint64_t n) { static_cast<Executor*>(s)->on_load(a, n); };
  sink.rmw_begin = [](void* s, uint64_t a, uint64_t n, const void* pc, const void* fp) {
    static_cast<Executor*>(s)->on_rmw_begin(a, n, pc, fp);
  };
  sink.rmw_end = [](void* s, uint64_t a, uint64_t n, uint32_t stored, const void* pc, const void* fp) {
    static_cast<Executor*>(s)->on_rmw_end(a, n, stored, pc, fp);
  };
  sink.flush = [](void* s, uint64_t a, uint32_t kind, const void* pc, const void* fp) {
    static_cast<Executor*>(s)->on_flush(a, kind, pc, fp);
  };
  sink.fence = [](void* s, uint32_t kind, const void* pc, const void* fp) {
    static_cast<Executor*>(s)->on_fence(kind, pc, fp);
  };
  sink.out_of_steps = [](void* s, const uint64_t* live) { static_cast<Executor*>(s)->on_steps({live}); };
  return sink;
}

}  // namespace

MemoryRange executable_code() {
  return {reinterpret_cast<uint64_t>(__executable_start), reinterpret_cast<uint64_t>(etext)};
}

void LineSet::compute_diff() {
  diff = 0;
  for (size_t i = 1; i < contents.size(); ++i) diff |= differing_bytes(contents[0], contents[i]);
}

Executor::Executor(const Options& options) : options_(options) {
  if (!options_.pool_is_mapped) map_pool(options_.pool_size);
  pool_range_ = {kPoolBase, kPoolBase + options_.pool_size};
  bytes_range_ = {pool_range_.begin + kPoolShift, pool_range_.end + kPoolShift};
  arena_range_ = {pool_range_.end, pool_range_.end + kArenaSize};
  map_at(arena_range_.begin, kArenaSize);
  // The first page stays unused, so that a store just past the pool is seen as what it is.
  const uint64_t heap = arena_range_.begin + kGuard;
  arena = {heap, arena_range_.end, heap, heap};
  stack_range_ = own_stack();
  const uint64_t lines = options_.pool_size / kLineSize;
  lines_ = lazy_array<LineInfo>(lines);
  madvise(lines_, lines * sizeof(LineInfo), MADV_HUGEPAGE);  // looked up at random; only a hint
  word_stamp_ = lazy_array<uint32_t>(kArenaSize / 8);
  read_bits_ = lazy_array<uint64_t>(kArenaSize / 8);
  install_signal_handlers();
  watch_traps(options_.pool_size, {.running = runs_target_code, .cannot_follow = cannot_follow, .blocked = hang});
  current = this;
  arena_events = {.self = this,
                  .changing = [](void* self, uint64_t address,
                                 uint64_t size) { static_cast<Executor*>(self)->before_change(address, size); },
                  .unmodelled =
                      [](void* self, const char* sentence, const void* pc, const void* frame) {
                        auto* executor = static_cast<Executor*>(self);
                        if (executor->running_) executor->give_up(sentence, pc, frame);
                      },
                  .fill = 0};
  virtual_world.self = this;
  virtual_world.changing = [](void* self) {
    static_cast<Executor*>(self)->before_change(world_state_range().begin, sizeof(WorldState));
  };
  sink_ = make_sink(this);
  powercut_set_sink(&sink_);
}

Executor::~Executor() {
  powercut_set_sink(nullptr);
  current = nullptr;
  arena_events = {};
  virtual_world.changing = nullptr;
  const uint64_t lines = options_.pool_size / kLineSize;
  munmap(lines_, lines * sizeof(LineInfo));
  munmap(word_stamp_, kArenaSize / 8 * sizeof(uint32_t));
  munmap(read_bits_, kArenaSize / 8 * sizeof(uint64_t));
  if (!options_.pool_is_mapped) unmap_pool(options_.pool_size);
  munmap(reinterpret_cast<void*>(arena_range_.begin), kArenaSize);
  arena = {};
}

// ---- the first cut -------------------------------------------------------------------------------

void Executor::set_base(uint64_t line, const LineSet* set) {
  assert(levels_.empty() && decided_.empty());
  const uint32_t slot = lines_[line].slot;
  if (set == nullptr) {
    if (slot == 0) return;
    // The last one takes its place.
    undecided_[slot - 1] = undecided_.back();
    lines_[undecided_.back().line].slot = slot;
    lines_[line].slot = 0;
    undecided_.pop_back();
    return;
  }
  const Undecided entry{set, kAllAlive, static_cast<uint32_t>(set->contents.size()), set->diff, 0, line};
  if (slot != 0) {
    undecided_[slot - 1] = entry;
    return;
  }
  undecided_.push_back(entry);
  lines_[line].slot = static_cast<uint32_t>(undecided_.size());
}

void Executor::clear_base() {
  assert(levels_.empty());
  for (const Undecided& u : undecided_) lines_[u.line].slot = 0;
  undecided_.clear();
}

// ---- levels --------------------------------------------------------------------------------------

void Executor::install(const LineSets& sets) {
  Level level{undecided_.size(), mark(), {}};
  for (const LineSet* entry : sets) {
    const LineSet& set = *entry;
    // A line that the level above left undecided is this level's now.
    if (lines_[set.line].slot != 0 || set.contents.size() > 1) {
      level.old_slots.emplace_back(set.line, lines_[set.line].slot);
      lines_[set.line].slot = 0;
    }
    write_line(set.line, set.contents[0], ~uint64_t{0});
    if (set.contents.size() == 1) continue;
    undecided_.push_back({&set, kAllAlive, static_cast<uint32_t>(set.contents.size()), set.diff, 0, set.line});
    lines_[set.line].slot = static_cast<uint32_t>(undecided_.size());
  }
  levels_.push_back(std::move(level));
}

void Executor::uninstall() {
  Level& level = levels_.back();
  undo(level.mark);
  for (const auto& [line, slot] : level.old_slots) lines_[line].slot = slot;
  undecided_.resize(level.first_undecided);
  levels_.pop_back();
}

Executor::Mark Executor::mark() const { return {words_.size(), decided_.size(), alive_.size(), arena.top}; }

void Executor::undo(const Mark& mark) {
  while (words_.size() > mark.words) {
    std::memcpy(reinterpret_cast<void*>(words_.back().address), &words_.back().old, 8);
    words_.pop_back();
  }
  while (decided_.size() > mark.decided) {
    undecided_[decided_.back().index] = decided_.back().old;
    decided_.pop_back();
  }
  alive_.resize(mark.alive);
  arena_drop_to(mark.arena);
}

// ---- running -------------------------------------------------------------------------------------

Outcome Executor::run(Decisions* decisions, const std::function<void()>& body) {
  decisions_ = decisions;
  decisions->restart();
  outcome_ = Outcome{};
  // Call stacks end here: the engine's own frames say nothing about the program.
  powercut_stack_range(reinterpret_cast<const void*>(stack_range_.begin), __builtin_frame_address(0));
  __powercut_store_window = {0, ~uint64_t{0}};
  __powercut_load_window = {kPoolBase, options_.pool_size + (heap_reads_ ? kArenaSize : 0)};
  __powercut_real_flush = 0;
  const bool watches_more = traps_ever();
  if (watches_more) other_memory.keep(options_.globals, arena.top);
  const size_t first_word = words_.size();
  begin_traps();
  __powercut_steps = loop_.begin(options_.step_budget) - 1;
  stack_end_ = static_cast<const uint64_t*>(__builtin_frame_address(0));
  virtual_world.variant = variant_;
  arena_events.fill = variant_ == 0 ? 0 : kOtherFill;
  if (variant_ != 0) arena.top = arena.high = std::max(arena.top, arena.high) + kHeapShift;
  arena_keep();
  fresh_ = {arena.top, arena_range_.end};
  // What an exception left by a jump has counted would be met by the next one.
  const ExceptionState exceptions = exception_state();
  errno = 0;
  // Nothing below is unwound when the target is left by a jump: what it held lives in the arena.
  if (sigsetjmp(escape_, 0) == 0) {
    running_ = true;
    arena_active = true;
    try {
      body();
    } catch (const std::exception& error) {
      outcome_.kind = Outcome::Kind::kException;
      arena_active = false;
      outcome_.text = error.what();
    } catch (...) {
      outcome_.kind = Outcome::Kind::kException;
    }
  }
  arena_active = false;
  running_ = false;
  __powercut_store_window = {0, 0};
  __powercut_load_window = {0, 0};
  if (watches_more) {
    other_memory.take_back(
        [&](uint64_t word) {
          return std::any_of(words_.begin() + static_cast<ptrdiff_t>(first_word), words_.end(),
                             [word](const Word& kept) { return kept.address == word; });
        },
        [&](uint64_t word, uint64_t old) { keep_word(word, old); });
  }
  if (options_.after_each) options_.after_each();
  virtual_world.variant = 0;
  arena_events.fill = 0;
  set_exception_state(exceptions);
  if (outcome_.kind == Outcome::Kind::kUnknown) {
    doubt("target code was not followed to its end" + place_of(outcome_.stack) + ": " + outcome_.text);
  }
  return std::move(outcome_);
}

void Executor::stop(Outcome outcome) {
  leave_trap();
  running_ = false;
  arena_active = false;
  outcome_ = std::move(outcome);
  siglongjmp(escape_, 1);
}

void Executor::give_up(std::string sentence, const void* pc, const void* frame) {
  arena_active = false;
  Outcome outcome;
  outcome.kind = Outcome::Kind::kUnknown;
  outcome.text = std::move(sentence);
  outcome.stack = stack_of(pc, frame);
  stop(std::move(outcome));
}

void Executor::doubt(std::string sentence) {
  if (doubts_.size() < kMostDoubts && std::find(doubts_.begin(), doubts_.end(), sentence) == doubts_.end()) {
    doubts_.push_back(std::move(sentence));
  }
}

std::string Executor::place_of(const std::vector<uint64_t>& stack) const {
  for (uint64_t address : stack) {
    Dl_info info{};
    const auto* place = reinterpret_cast<const void*>(address - 1);
    if (options_.own_code.holds(address, 1) || dladdr(place, &info) == 0 || info.dli_fname == nullptr) continue;
    const std::string_view path = info.dli_fname;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libpowercut_rt") || name.starts_with("libc.") || name.starts_with("libstdc++")) continue;
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%lx", address - 1 - reinterpret_cast<uint64_t>(info.dli_fbase));
    const std::string function = info.dli_sname == nullptr ? "" : std::string(" (") + info.dli_sname + ")";
    return " at " + std::string(name) + offset + function;
  }
  return "";
}

void Executor::on_steps(LiveState live) {
  if (!running_) return;
  arena_active = false;
  const bool looked = loop_.looking();
  int64_t granted = 0;
  const LoopWatch::Found found = loop_.step(
      live, stack_end_,
      [this] {
        heap_at_look_ = arena.top;
        return words_.size();
      },
      [this](uint64_t words) { return arena.top == heap_at_look_ && same_memory_since(words); }, &granted);
  if (found == LoopWatch::Found::kRepeats) {
    Outcome outcome;
    outcome.kind = Outcome::Kind::kSteps;
    outcome.stack = stack_of(live.pc(), live.frame());
    stop(std::move(outcome));
  }
  if (found == LoopWatch::Found::kSpent) {
    give_up("it took " + std::to_string(loop_.steps()) +
                " loop turns and calls, and its state did not repeat: raise --step-budget",
            live.pc(), live.frame());
  }
  // Stores to what this execution has allocated need no undoing, and are kept only to be compared.
  if (!looked && loop_.looking()) fresh_before_look_ = std::exchange(fresh_, {});
  if (looked && !loop_.looking()) fresh_ = fresh_before_look_;
  __powercut_steps = granted - 1;
  arena_active = true;
}

bool Executor::same_memory_since(uint64_t words) const {
  absl::flat_hash_map<uint64_t, uint64_t> then;
  for (size_t i = words_.size(); i-- > words;) then[words_[i].address] = words_[i].old;
  // Sleeping is not a change, until somebody looks at the clock; that is one.
  then.erase(reinterpret_cast<uint64_t>(&virtual_world.state.slept));
  return std::all_of(then.begin(), then.end(), [](const auto& word) {
    return load_word(reinterpret_cast<const uint8_t*>(word.first)) == word.second;
  });
}

Outcome Executor::run_recovery(Decisions* decisions, std::vector<Cut>* cuts, const std::function<void()>& body) {
  in_recovery_ = true;
  cuts_ = cuts;
  path_ = kEmptyPath;
  ++path_epoch_;
  recovery_decided_ = decided_.size();
  recovery_pending_.emplace(options_.policy);
  recovery_stores_.clear();
  done_ = {};
  Outcome outcome = run(decisions, body);
  in_recovery_ = false;
  cuts_ = nullptr;
  return outcome;
}

Outcome Executor::run_listened(PathListener* listener, const std::function<void()>& body) {
  Decisions decisions;  // advanced by nobody: the first value at each branch
  clear_stack_below(variant_ == 0 ? 0 : kOtherFill);
  listener_ = listener;
  path_ = kEmptyPath;
  ++path_epoch_;
  done_ = {};
  Outcome outcome = run(&decisions, body);
  listener_ = nullptr;
  return outcome;
}

void Executor::raise(uint64_t value, Peak* peak, const void* pc, const void* frame) {
  arena_active = false;
  *peak = {value, stack_of(pc, frame)};
  arena_active = true;
}

// Loads are announced without a place: the stack begins in the hooks, and the engine's own frames are left out of it.
void Executor::count_line_read() {
  raise(reads_.lines.size(), &peaks_.lines_read, __builtin_return_address(0), __builtin_frame_address(0));
  std::erase_if(peaks_.lines_read.stack, [this](uint64_t pc) { return options_.own_code.holds(pc, 1); });
}

void Executor::maybe_cut(bool raises) {
  if (!raises || cuts_ == nullptr || !decisions_->fresh()) return;
  arena_active = false;
  cuts_->push_back({.stores = *recovery_pending_,
                    .narrowed = narrowed(recovery_decided_),
                    .stores_seen = recovery_stores_.size(),
                    .after_return = false});
  arena_active = true;
}

std::optional<Cut> Executor::cut_after_recovery() {
  if (recovery_stores_.empty()) return std::nullopt;
  if (options_.caches_persist) land_stores();
  return Cut{.stores = *recovery_pending_,
             .narrowed = narrowed(recovery_decided_),
             .stores_seen = recovery_stores_.size(),
             .after_return = true};
}

std::vector<Narrowed> Executor::narrowed(size_t since_decided) const {
  std::vector<Narrowed> out;
  for (size_t i = since_decided; i < decided_.size(); ++i) {
    const uint32_t index = decided_[i].index;
    const Undecided& u = undecided_[index];
    // The state before the first of the line's entries tells whether any of them narrowed it.
    const bool first = std::none_of(decided_.begin() + static_cast<ptrdiff_t>(since_decided),
                                    decided_.begin() + static_cast<ptrdiff_t>(i),
                                    [index](const Decided& d) { return d.index == index; });
    if (!first || u.alive_count == decided_[i].old.alive_count) continue;
    Narrowed& line = out.emplace_back(Narrowed{u.set, {}});
    for (uint32_t k = 0; k < u.alive_count; ++k) line.alive.push_back(alive_at(u, k));
  }
  return out;
}

// The medium after the second cut: what each line held at the first one (its alive bases, fixed but unknown),
// under what recovery's own stores may have left on it. A line that recovery has neither observed nor stored to is as
// it was.
std::vector<LineSet> Executor::child(const Cut& cut) {
  std::vector<LineSet> out;
  const LineLog nothing;
  const auto add = [&](const LineSet& parent, const std::vector<uint32_t>& alive) {
    std::vector<Content> bases;
    for (uint32_t index : alive) bases.push_back(parent.contents[index]);
    const LineLog* log = cut.stores.find(parent.line);
    CandidateSet set = candidates(log == nullptr ? nothing : *log, bases, options_.policy, kNestedCandidateLimit);
    truncated_ = truncated_ || set.truncated;
    LineSet& line = out.emplace_back();
    line.line = parent.line;
    line.contents = std::move(set.contents);
    line.visible = set.visible;
    for (uint32_t base : set.base) line.base.push_back(alive[base]);
    line.compute_diff();
  };
  absl::flat_hash_set<uint64_t> done;
  for (const Narrowed& narrowed : cut.narrowed) {
    done.insert(narrowed.set->line);
    add(*narrowed.set, narrowed.alive);
    out.back().observed = true;
  }
  for (const auto& [number, log] : cut.stores.lines()) {
    if (done.contains(number)) continue;
    if (const auto known = alive_of(number)) {
      add(*known->set, known->alive);
      continue;
    }
    Content base;
    std::memcpy(base.bytes.data(), pool() + number * kLineSize, kLineSize);
    CandidateSet set = candidates(log, {&base, 1}, options_.policy, kNestedCandidateLimit);
    truncated_ = truncated_ || set.truncated;
    if (set.contents.size() == 1 && set.contents[0] == base) continue;
    LineSet& line = out.emplace_back();
    line.line = number;
    line.contents = std::move(set.contents);
    line.base.assign(line.contents.size(), 0);
    line.visible = set.visible;
    line.compute_diff();
  }
  return out;
}

// ---- following -----------------------------------------------------------------------------------

bool Executor::definite(uint64_t word, uint8_t bytes) const {
  const uint32_t slot = lines_[word / kLineSize].slot;
  return slot == 0 || (undecided_[slot - 1].diff & uint64_t{bytes} << (word % kLineSize)) == 0;
}

uint64_t Executor::peek(uint64_t word, uint8_t bytes) const { return load_word(pool() + word) & spread(bytes); }

void Executor::values(uint64_t word, uint8_t bytes, std::vector<uint64_t>* out) const {
  const Undecided& u = undecided_[lines_[word / kLineSize].slot - 1];
  const uint64_t wide = spread(bytes);
  // Bytes that were stored over are the same in all of them, and not asked for.
  assert((u.written & uint64_t{bytes} << (word % kLineSize)) == 0);
  out->clear();
  by_word_.clear();
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    const uint64_t value = load_word(&u.set->contents[alive_at(u, i)].bytes[word % kLineSize]) & wide;
    if (u.alive_count <= 64) {
      if (std::find(out->begin(), out->end(), value) == out->end()) out->push_back(value);
    } else if (by_word_.insert(value).second) {
      out->push_back(value);
    }
  }
}

void Executor::choose(uint64_t word, uint8_t bytes, uint64_t value) {
  const uint32_t slot = lines_[word / kLineSize].slot;
  if (slot == 0) return;
  const Undecided& u = undecided_[slot - 1];
  const uint64_t wide = spread(bytes);
  std::vector<uint32_t> alive;
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    const uint32_t index = alive_at(u, i);
    if ((load_word(&u.set->contents[index].bytes[word % kLineSize]) & wide) == value) alive.push_back(index);
  }
  assert(!alive.empty());
  if (alive.size() != u.alive_count) narrow(slot - 1, alive);
}

void Executor::keep_only(uint64_t line, const std::vector<uint32_t>& keep) {
  const uint32_t slot = lines_[line].slot;
  const Undecided& u = undecided_[slot - 1];
  std::vector<uint32_t> alive;
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    if (std::binary_search(keep.begin(), keep.end(), alive_at(u, i))) alive.push_back(alive_at(u, i));
  }
  assert(!alive.empty());
  narrow(slot - 1, alive);
}

void Executor::narrow(uint32_t index, const std::vector<uint32_t>& alive) {
  Undecided& u = undecided_[index];
  decided_.push_back({index, u});
  u.alive_begin = static_cast<uint32_t>(alive_.size());
  u.alive_count = static_cast<uint32_t>(alive.size());
  alive_.insert(alive_.end(), alive.begin(), alive.end());
  const Content& first = u.set->contents[alive.front()];
  uint64_t diff = 0;
  for (uint32_t i : alive) diff |= differing_bytes(first, u.set->contents[i]);
  u.diff = diff & ~u.written;
  write_line(u.set->line, first, ~u.written);
}

void Executor::replay_store(uint64_t offset, std::span<const uint8_t> bytes) {
  keep_words(kPoolBase + offset, bytes.size());
  arena_active = false;  // keep_words() leaves it on, as a hook does
  overwrite(kPoolBase + offset, bytes.size());
  std::memcpy(pool() + offset, bytes.data(), bytes.size());
}

void Executor::set_heap(std::span<const uint8_t> heap) {
  std::memcpy(reinterpret_cast<void*>(arena.begin), heap.data(), heap.size());
  arena.top = arena.begin + heap.size();
  arena.high = std::max(arena.high, arena.top);
}

void Executor::set_word(uint64_t address, uint64_t value) {
  keep_word(address, load_word(reinterpret_cast<const uint8_t*>(address)));
  std::memcpy(reinterpret_cast<void*>(address), &value, 8);
}

std::vector<std::pair<uint64_t, uint64_t>> Executor::changed_globals(const Mark& since) const {
  absl::flat_hash_map<uint64_t, uint64_t> now;
  for (size_t i = since.words; i < words_.size(); ++i) {
    const uint64_t address = words_[i].address;
    if (bytes_range_.holds(address, 8) || arena_range_.holds(address, 8)) continue;
    if (is_word_of_errno(address)) continue;
    now[address] = load_word(reinterpret_cast<const uint8_t*>(address));
  }
  std::vector<std::pair<uint64_t, uint64_t>> out(now.begin(), now.end());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Content> Executor::contents(uint64_t line) const {
  Content here;
  std::memcpy(here.bytes.data(), pool() + line * kLineSize, kLineSize);
  const uint32_t slot = lines_[line].slot;
  if (slot == 0 || undecided_[slot - 1].diff == 0) return {here};
  const Undecided& u = undecided_[slot - 1];
  std::vector<Content> out;
  absl::flat_hash_set<uint64_t> hashes;  // equality itself is decided on the bytes
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    Content content = u.set->contents[alive_at(u, i)];
    for (uint64_t left = u.written; left != 0; left &= left - 1) {
      content.bytes[std::countr_zero(left)] = here.bytes[std::countr_zero(left)];
    }
    // Candidates are distinct, so equal ones come from what was stored over them alone.
    const bool fresh = u.written == 0 || hashes.insert(XXH3_64bits(content.bytes.data(), kLineSize)).second ||
                       std::find(out.begin(), out.end(), content) == out.end();
    if (fresh) out.push_back(content);
  }
  return out;
}

// ---- hooks ---------------------------------------------------------------------------------------

// Most loads lie in one line, of which something was read before, and decide nothing.
void Executor::on_load(uint64_t address, uint64_t size) {
  if (!running_) return;
  ++loads_;
  const uint64_t offset = address - kPoolBase, in_line = offset % kLineSize;
  if (offset < options_.pool_size && in_line + size <= kLineSize && !follows_path()) [[likely]] {
    LineInfo& info = lines_[offset / kLineSize];
    if (info.read_stamp == read_epoch_) [[likely]] {
      const uint64_t mask = line_mask(in_line, size);
      info.read_mask |= mask;
      if (info.slot == 0 || (undecided_[info.slot - 1].diff & mask) == 0) return;
    }
  }
  load_slowly(address, size);
}

void Executor::load_slowly(uint64_t address, uint64_t size) {
  if (address >= pool_range_.end) {
    touch_arena(address, size);
    return;
  }
  uint64_t offset = address - kPoolBase;
  const uint64_t end = std::min(offset + size, options_.pool_size);
  while (offset < end) {
    const uint64_t line = offset / kLineSize;
    const uint64_t in_line = offset % kLineSize;
    const uint64_t length = std::min(end - offset, kLineSize - in_line);
    if (lines_[line].read_stamp != read_epoch_) {
      lines_[line].read_stamp = read_epoch_;
      lines_[line].read_mask = 0;
      lines_[line].ever_read = 1;
      arena_active = false;
      reads_.lines.push_back(line);
      arena_active = true;
      if (follows_path() && reads_.lines.size() > peaks_.lines_read.value) count_line_read();
    }
    const uint64_t mask = line_mask(in_line, length);
    lines_[line].read_mask |= mask;
    if (follows_path()) {
      note_path(line, mask);
    } else if (const uint32_t slot = lines_[line].slot; slot != 0 && (undecided_[slot - 1].diff & mask) != 0) {
      decide(slot - 1, undecided_[slot - 1].diff & mask);
    }
    offset += length;
  }
}

uint64_t Executor::first_seen(uint64_t line, uint64_t mask) {
  if (lines_[line].seen_stamp != path_epoch_) {
    lines_[line].seen_stamp = path_epoch_;
    lines_[line].seen_mask = 0;
  }
  const uint64_t fresh = mask & ~lines_[line].seen_mask;
  lines_[line].seen_mask |= mask;
  return fresh;
}

// Recovery is a function of what it reads of the medium: word by word, each byte once.
void Executor::note_path(uint64_t line, uint64_t mask) {
  const uint64_t fresh = first_seen(line, mask);
  for (uint64_t left = fresh; left != 0;) {
    const uint64_t at = std::countr_zero(left) / 8 * 8;
    const auto bytes = static_cast<uint8_t>(left >> at);
    left &= ~(uint64_t{0xff} << at);
    if (const uint32_t slot = lines_[line].slot; slot != 0) {
      const uint64_t undecided = undecided_[slot - 1].diff & uint64_t{bytes} << at;
      if (undecided != 0) decide(slot - 1, undecided);
    }
    const uint64_t word = line * kLineSize + at;
    const uint64_t value = peek(word, bytes);
    path_ = extend_path(path_, word, bytes, value);
    if (listener_ == nullptr) continue;
    arena_active = false;
    listener_->read(word, bytes, value);
    arena_active = true;
  }
}

void Executor::touch_arena(uint64_t address, uint64_t size) {
  const uint64_t end = std::min(address + size, reads_heap_);
  for (uint64_t word = address & ~uint64_t{7}; word < end; word += 8) {
    const uint64_t index = (word - arena_range_.begin) / 8;
    if (word_stamp_[index] != read_epoch_) {
      word_stamp_[index] = read_epoch_;
      read_bits_[index] = 0;
      arena_active = false;
      reads_.words.push_back(word);
      arena_active = true;
    }
    const uint64_t first = std::max(word, address), last = std::min(word + 8, address + size);
    read_bits_[index] |= spread(static_cast<uint8_t>(line_mask(first - word, last - first)));
  }
}

// Branches over the distinct values of the bytes in `mask` and keeps the candidates that show the chosen one.
void Executor::decide(uint32_t index, uint64_t mask) {
  arena_active = false;
  Undecided& u = undecided_[index];
  const std::vector<Content>& contents = u.set->contents;
  std::array<uint64_t, 8> wide;
  for (size_t w = 0; w < 8; ++w) wide[w] = spread(static_cast<uint8_t>(mask >> (8 * w)));
  groups_.resize(u.alive_count);
  representatives_.clear();
  by_value_.clear();
  const bool large = u.alive_count > 64;
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    const uint32_t index = alive_at(u, i);
    const Content& content = contents[index];
    const auto same = [&](uint32_t g) { return equal_under(content, contents[representatives_[g]], wide); };
    uint32_t group = 0;
    if (!large) {
      while (group < representatives_.size() && !same(group)) ++group;
    } else {
      Content masked;
      for (size_t w = 0; w < 8; ++w) {
        const uint64_t word = load_word(&content.bytes[w * 8]) & wide[w];
        std::memcpy(&masked.bytes[w * 8], &word, 8);
      }
      auto& bucket = by_value_[XXH3_64bits(masked.bytes.data(), kLineSize)];
      const auto found = std::find_if(bucket.begin(), bucket.end(), same);
      group = found == bucket.end() ? static_cast<uint32_t>(representatives_.size()) : *found;
      if (found == bucket.end()) bucket.push_back(group);
    }
    if (group == representatives_.size()) representatives_.push_back(index);
    groups_[i] = group;
  }
  if (representatives_.size() > 1) {
    const uint32_t chosen = decisions_->choose(static_cast<uint32_t>(representatives_.size()));
    decided_.push_back({index, u});
    const auto begin = static_cast<uint32_t>(alive_.size());
    for (uint32_t i = 0; i < u.alive_count; ++i) {
      if (groups_[i] == chosen) alive_.push_back(alive_at(u, i));
    }
    u.alive_begin = begin;
    u.alive_count = static_cast<uint32_t>(alive_.size()) - begin;
    const Content& first = contents[alive_[begin]];
    uint64_t diff = 0;
    for (uint32_t i = 1; i < u.alive_count; ++i) diff |= differing_bytes(first, contents[alive_[begin + i]]);
    u.diff = diff & ~u.written;
    write_line(u.set->line, first, ~u.written);
  }
  arena_active = true;
}

void Executor::before_change(uint64_t address, uint64_t size) {
  if (!running_ || fresh_.holds(address, size)) return;
  keep_words(address, size);
  if (writes_) note_write(address, size);
}

void Executor::keep_words(uint64_t address, uint64_t size) {
  arena_active = false;
  // A range lies in the pool as a whole or not at all.
  const auto begin = reinterpret_cast<uint64_t>(bytes_at(address));
  for (uint64_t word = begin & ~uint64_t{7}; word < begin + size; word += 8) {
    keep_word(word, load_word(reinterpret_cast<const uint8_t*>(word)));
  }
  arena_active = true;
}

void Executor::note_write(uint64_t address, uint64_t size) {
  if (fresh_.holds(address, size)) return;
  arena_active = false;
  const bool in_pool = pool_range_.holds(address, size);
  if (in_pool || arena_range_.holds(address, size)) {
    auto& lines = in_pool ? writes_->pool : writes_->heap;
    uint64_t at = address - (in_pool ? kPoolBase : heap_begin());
    for (const uint64_t end = at + size; at < end; at = (at / kLineSize + 1) * kLineSize) {
      lines[at / kLineSize] |= line_mask(at % kLineSize, std::min(end - at, kLineSize - at % kLineSize));
    }
  } else {
    writes_->globals = true;
  }
  arena_active = true;
}

WriteSet Executor::take_writes(const Mark& since) {
  const WriteSet stored = std::move(*writes_);
  writes_.reset();
  WriteSet out;
  if (stored.empty()) return out;
  absl::flat_hash_map<uint64_t, uint64_t> before;  // the oldest entry of a word has what it held at `since`
  for (size_t i = since.words; i < words_.size(); ++i) before.try_emplace(words_[i].address, words_[i].old);
  const auto now = [](uint64_t word) { return load_word(reinterpret_cast<const uint8_t*>(word)); };
  // Like the heap below, globals are the same in all states that are compared.
  out.globals = stored.globals && std::any_of(before.begin(), before.end(), [&](const auto& word) {
                  return !bytes_range_.holds(word.first, 8) && !arena_range_.holds(word.first, 8) &&
                         !is_word_of_errno(word.first) && word.second != now(word.first);
                });
  const auto keep = [&](uint64_t base, uint64_t line, uint64_t mask, uint64_t loaded, auto* lines) {
    uint64_t changed = 0;
    for (uint64_t w = 0; w < kLineSize; w += 8) {
      const auto known = before.find(base + line * kLineSize + w);
      if (known == before.end()) continue;
      const uint64_t differs = known->second ^ now(known->first);
      for (uint64_t b = 0; b < 8; ++b) changed |= uint64_t{(differs >> (8 * b) & 0xff) != 0} << (w + b);
    }
    if (const uint64_t kept = mask & (changed | ~loaded)) (*lines)[line] = kept;
  };
  for (const auto& [line, mask] : stored.pool) {
    const LineInfo& info = lines_[line];
    // Deciding a line is in the journal as well: its oldest entries need not be what the execution has overwritten.
    if (info.slot != 0) {
      out.pool[line] = mask;
      continue;
    }
    keep(reinterpret_cast<uint64_t>(pool()), line, mask, info.read_stamp == read_epoch_ ? info.read_mask : 0,
         &out.pool);
  }
  // As long as nobody follows reads of the heap, it is the same in all states that are compared.
  for (const auto& [line, mask] : stored.heap) {
    uint64_t loaded = heap_reads_ ? 0 : ~uint64_t{0};
    for (uint64_t w = 0; heap_reads_ && w < kLineSize; w += 8) {
      const uint64_t word = (heap_begin() - arena_range_.begin + line * kLineSize + w) / 8;
      if (word_stamp_[word] != read_epoch_) continue;
      for (uint64_t b = 0; b < 8; ++b) loaded |= uint64_t{(read_bits_[word] >> (8 * b) & 0xff) != 0} << (w + b);
    }
    keep(heap_begin(), line, mask, loaded, &out.heap);
  }
  return out;
}

void Executor::write_line(uint64_t line, const Content& content, uint64_t mask) {
  uint8_t* at = pool() + line * kLineSize;
  for (size_t w = 0; w < 8; ++w) {
    const uint64_t bits = spread(static_cast<uint8_t>(mask >> (8 * w)));
    const uint64_t old = load_word(at + w * 8);
    const uint64_t next = (old & ~bits) | (load_word(&content.bytes[w * 8]) & bits);
    if (next == old) continue;
    keep_word(reinterpret_cast<uint64_t>(at) + w * 8, old);
    std::memcpy(at + w * 8, &next, 8);
  }
}

// A store of the target hides what the medium held in these bytes.
void Executor::overwrite(uint64_t address, uint64_t size) {
  uint64_t offset = address - kPoolBase;
  const uint64_t end = offset + size;
  while (offset < end) {
    const uint64_t line = offset / kLineSize;
    const uint64_t length = std::min(end - offset, kLineSize - offset % kLineSize);
    if (follows_path()) first_seen(line, line_mask(offset % kLineSize, length));
    if (const uint32_t slot = lines_[line].slot; slot != 0) {
      Undecided& u = undecided_[slot - 1];
      const uint64_t mask = line_mask(offset % kLineSize, length);
      if ((mask & ~u.written) != 0) {
        decided_.push_back({slot - 1, u});
        u.written |= mask;
        u.diff &= ~mask;
      }
    }
    offset += length;
  }
}

void Executor::check_store(uint64_t address, uint64_t size, const void* pc, const void* frame) {
  if (pool_range_.holds(address, size) || MemoryRange{arena.begin, arena.top}.holds(address, size)) return;
  if (errno_range().holds(address, size)) return;
  for (const MemoryRange& range : options_.globals) {
    if (range.holds(address, size)) return;
  }
  Outcome outcome;
  outcome.kind = Outcome::Kind::kWildStore;
  outcome.address = address;
  arena_active = false;
  outcome.stack = stack_of(pc, frame);
  stop(std::move(outcome));
}

void Executor::store_off_stack(uint64_t address, uint64_t size, uint32_t flags, const void* value, const void* pc,
                               const void* frame) {
  check_store(address, size, pc, frame);
  if (!fresh_.holds(address, size)) keep_words(address, size);
  if (writes_) note_write(address, size);
  if (!pool_range_.holds(address, size)) return;
  arena_active = false;
  overwrite(address, size);
  if (follows_path()) count(&done_.stores, &peaks_.stores, pc, frame);
  arena_active = false;
  // A piece continues one that the pool has; those in other memory are not the medium's.
  if (!in_pieces_) flags &= ~uint32_t{POWERCUT_STORE_CONTINUES};
  in_pieces_ = true;
  const std::span<const uint8_t> bytes{static_cast<const uint8_t*>(value), size};
  if (in_recovery_) follow_store(address, bytes, flags, pc, frame);
  if (listener_ != nullptr) listener_->store(address - kPoolBase, bytes, flags, pc, frame);
  arena_active = true;
  if (!options_.edits.empty()) edit_after_store(address, size, pc, frame);
}

// Recovery's own stores, as the model sees them. Under eadr each is a crash point with that store in flight, and
// durable from the next one on (the crash points of eadr.cc).
void Executor::follow_store(uint64_t address, std::span<const uint8_t> bytes, uint32_t flags, const void* pc,
                            const void* frame) {
  const uint64_t offset = address - kPoolBase;
  const StoreTraits traits = StoreTraits::of((flags & POWERCUT_STORE_NT) != 0, flags);
  if (options_.caches_persist && !traits.continues) land_stores();
  recovery_pending_->store(recovery_stores_.size(), 0, 0, traits, offset, bytes);
  recovery_stores_.push_back({offset, bytes.size(), cuts_ == nullptr ? std::vector<uint64_t>{} : stack_of(pc, frame)});
  if (options_.caches_persist) maybe_cut(true);
  arena_active = false;
}

void Executor::land_stores() {
  for (uint64_t line : recovery_pending_->take_changed()) recovery_pending_->settle_chain(line);
}

void Executor::on_rmw_begin(uint64_t address, uint64_t size, const void* pc, const void* frame) {
  if (!running_) return;
  on_fence(static_cast<uint32_t>(FenceKind::kRmw), pc, frame);
  if (stack_range_.holds(address, size)) return;
  check_store(address, size, pc, frame);
  if (pool_range_.holds(address, size) || arena_range_.holds(address, size)) on_load(address, size);
  keep_words(address, size);
  if (writes_) note_write(address, size);  // also when a compare-exchange then stores nothing
}

void Executor::on_rmw_end(uint64_t address, uint64_t size, uint32_t stored, const void* pc, const void* frame) {
  if (!running_ || stored == 0 || !pool_range_.holds(address, size)) return;
  arena_active = false;
  overwrite(address, size);
  if (follows_path()) count(&done_.stores, &peaks_.stores, pc, frame);
  arena_active = false;
  if (in_recovery_) {
    follow_store(address, {bytes_at(address), size}, POWERCUT_STORE_RMW, pc, frame);
  }
  if (listener_ != nullptr) {
    listener_->store(address - kPoolBase, {bytes_at(address), size}, POWERCUT_STORE_RMW, pc, frame);
  }
  arena_active = true;
  if (!options_.edits.empty()) edit_after_store(address, size, pc, frame);
}

// Called by hooks: allocates nothing.
CodeEdit Executor::edits_at(const void* pc, const void* frame) const {
  CodeEdit here;
  std::array<uint64_t, CodeEdit::kMostFrames> stack;
  uint32_t known = 0;
  for (const CodeEdit& edit : options_.edits) {
    if (edit.stack[0] != reinterpret_cast<uint64_t>(pc)) continue;
    if (known == 0) known = powercut_stack(pc, frame, stack.data(), stack.size());
    if (edit.stack.size() > known || !std::equal(edit.stack.begin(), edit.stack.end(), stack.begin())) continue;
    here.drop = here.drop || edit.drop;
    here.flush = here.flush || edit.flush;
    here.fence = here.fence || edit.fence;
  }
  return here;
}

// The store is with the model and the listener already, though memory shows it only when the hook has returned: neither
// looks there.
void Executor::edit_after_store(uint64_t address, uint64_t size, const void* pc, const void* frame) {
  if (!follows_path()) return;
  const CodeEdit here = edits_at(pc, frame);
  for (uint64_t line = address & ~(kLineSize - 1); here.flush && line < address + size; line += kLineSize) {
    flush(line, FlushKind::kClwb, pc, frame);
  }
  if (here.fence) fence(pc, frame);
}

void Executor::note_site(bool fence, uint32_t code, const void* pc, const void* frame) {
  arena_active = false;
  FlushSite site{fence, static_cast<uint8_t>(code), stack_of(pc, frame)};
  std::erase_if(site.stack, [this](uint64_t address) { return options_.own_code.holds(address, 1); });
  ++sites_[std::move(site)];
  arena_active = true;
}

void Executor::on_flush(uint64_t address, uint32_t kind, const void* pc, const void* frame) {
  if (!running_ || !follows_path() || !pool_range_.holds(address, 1)) return;
  if (!options_.edits.empty() && edits_at(pc, frame).drop) return;
  if (options_.list_sites) note_site(false, kind, pc, frame);
  flush(address, static_cast<FlushKind>(kind), pc, frame);
}

void Executor::on_fence(uint32_t kind, const void* pc, const void* frame) {
  if (!running_ || !follows_path()) return;
  if (!options_.edits.empty() && edits_at(pc, frame).drop) return;
  if (options_.list_sites) note_site(true, kind, pc, frame);
  fence(pc, frame);
}

void Executor::flush(uint64_t address, FlushKind kind, const void* pc, const void* frame) {
  count(&done_.flushes, &peaks_.flushes, pc, frame);
  const uint64_t offset = address - kPoolBase;
  arena_active = false;
  if (listener_ != nullptr) listener_->flush(offset, kind);
  arena_active = true;
  if (!in_recovery_ || options_.caches_persist) return;
  maybe_cut(kind == FlushKind::kClflush && recovery_pending_->raised_by_clflush(offset));
  arena_active = false;
  recovery_pending_->flush(0, offset, kind);
  arena_active = true;
}

void Executor::fence(const void* pc, const void* frame) {
  count(&done_.fences, &peaks_.fences, pc, frame);
  arena_active = false;
  if (listener_ != nullptr) listener_->fence();
  arena_active = true;
  if (!in_recovery_) return;
  arena_active = false;
  const bool raises = !options_.caches_persist && !recovery_pending_->raised_by_fence(0).empty();
  arena_active = true;
  maybe_cut(raises);
  arena_active = false;
  recovery_pending_->fence(0);
  arena_active = true;
}

// ---- read sets and digests -------------------------------------------------------------------------

void Executor::begin_reads(const Mark& heap) {
  reads_.lines.clear();
  reads_.words.clear();
  reads_heap_ = heap.arena;
  ++read_epoch_;
}

Signature Executor::signature(uint64_t line, uint64_t mask) const {
  std::array<uint64_t, 8> wide;
  for (size_t w = 0; w < 8; ++w) wide[w] = spread(static_cast<uint8_t>(mask >> (8 * w)));
  Content here;
  const uint8_t* at = pool() + line * kLineSize;
  for (size_t w = 0; w < 8; ++w) {
    const uint64_t word = load_word(at + w * 8) & wide[w];
    std::memcpy(&here.bytes[w * 8], &word, 8);
  }
  XXH128_hash_t hash = XXH3_128bits(here.bytes.data(), kLineSize);
  const uint32_t slot = lines_[line].slot;
  if (slot == 0 || (undecided_[slot - 1].diff & mask) == 0) return {hash.low64, hash.high64};
  // The distinct projections of the alive candidates, in their fixed order. Bytes that were overwritten are
  // in memory, and so in `here`.
  const Undecided& u = undecided_[slot - 1];
  for (size_t w = 0; w < 8; ++w) wide[w] &= ~spread(static_cast<uint8_t>(u.written >> (8 * w)));
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> distinct;
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    const Content& content = u.set->contents[alive_at(u, i)];
    Content projected;
    for (size_t w = 0; w < 8; ++w) {
      const uint64_t word = load_word(&content.bytes[w * 8]) & wide[w];
      std::memcpy(&projected.bytes[w * 8], &word, 8);
    }
    const XXH128_hash_t own = XXH3_128bits(projected.bytes.data(), kLineSize);
    if (!distinct.insert({own.low64, own.high64}).second) continue;
    hash = XXH3_128bits_withSeed(&own, sizeof own, hash.low64 ^ std::rotl(hash.high64, 1));
  }
  return {hash.low64, hash.high64};
}

std::vector<Executor::Touched> Executor::touched() const {
  absl::btree_map<uint64_t, Content> lines;
  const auto add = [&](uint64_t line) -> Content& {
    const auto [at, added] = lines.try_emplace(line);
    if (added) std::memcpy(at->second.bytes.data(), pool() + line * kLineSize, kLineSize);
    return at->second;
  };
  for (size_t i = words_.size(); i-- > 0;) {
    const Word& word = words_[i];
    if (!bytes_range_.holds(word.address, 8)) continue;
    const uint64_t offset = word.address - bytes_range_.begin;
    std::memcpy(&add(offset / kLineSize).bytes[offset % kLineSize], &word.old, 8);
  }
  for (const Decided& decided : decided_) add(undecided_[decided.index].set->line);
  // A nested level may make a line definite with the very bytes that memory shows: nothing is written then.
  for (const Level& level : levels_) {
    for (const auto& [line, slot] : level.old_slots) add(line);
  }
  std::vector<Touched> out;
  out.reserve(lines.size());
  for (const auto& [line, before] : lines) out.push_back({line, before});
  return out;
}

std::span<const uint8_t> Executor::heap() const {
  return {reinterpret_cast<const uint8_t*>(arena.begin), arena.top - arena.begin};
}

Signature Executor::globals_signature() const {
  XXH128_hash_t hash{};
  for (const MemoryRange& range : options_.globals) {
    hash = XXH3_128bits_withSeed(reinterpret_cast<const void*>(range.begin), range.end - range.begin, hash.low64);
  }
  return {hash.low64, hash.high64};
}

std::optional<Narrowed> Executor::alive_of(uint64_t line) const {
  if (lines_[line].slot == 0) return std::nullopt;
  const Undecided& u = undecided_[lines_[line].slot - 1];
  Narrowed out{u.set, {}};
  for (uint32_t k = 0; k < u.alive_count; ++k) out.alive.push_back(alive_at(u, k));
  return out;
}

uint64_t Executor::heap_begin() const { return arena.begin; }

uint64_t Executor::digest() const {
  XXH64_hash_t hash = XXH3_64bits(pool(), options_.pool_size);
  for (const MemoryRange& range : options_.globals) {
    hash = XXH3_64bits_withSeed(reinterpret_cast<const void*>(range.begin), range.end - range.begin, hash);
  }
  return XXH3_64bits_withSeed(reinterpret_cast<const void*>(arena.begin), arena.top - arena.begin, hash);
}

}  // namespace powercut
