// Runs target code (recovery, queries) inside the engine on a crash image, and takes everything back.
//
// The pool and the target's heap are mapped once, at fixed addresses, back to back. Instrumented code calls
// the hooks before each access:
//   load   -- a pending line's bytes are decided when they are first read: the executor asks the active
//             Decisions which of the distinct values to show, keeps only the candidates that agree, and puts
//             the bytes in memory before the load happens;
//   store  -- the old word goes to the journal; undo() restores it, so that a reset costs what was written.
//             A store outside pool, arena, stack and the target's globals stops the execution before it happens.
// A signal, an exception, an abort, a loop that never ends or a spent step budget ends the execution as an Outcome.
//
// The pool is watched (pool_memory.h): code that calls no hooks faults, and pool_traps.h calls them for it.
//
// Known inaccuracy: what uninstrumented code loads from the target's heap and globals is not seen.
#ifndef POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_H_
#define POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_H_

#include <csetjmp>
#include <csignal>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "replayer/executor/decisions.h"
#include "replayer/executor/loop_watch.h"
#include "replayer/models/model.h"
#include "tracer/runtime/hooks.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/pool_memory.h"

namespace powercut {

inline constexpr uint64_t kArenaSize = uint64_t{1} << 30;

// How an execution of target code ended.
struct Outcome {
  enum class Kind : uint8_t {
    kReturned,
    kSignal,
    kAbort,
    kException,
    kSteps,  // its state repeats: it would never end
    kWildStore,
    kUnknown  // powercut cannot say how it goes on (text): neither good nor a finding
  };
  Kind kind = Kind::kReturned;
  int signal = 0;
  uint64_t address = 0;         // faulting or wild address
  std::string text;             // exception or assertion text; kUnknown: what could not be followed
  std::vector<uint64_t> stack;  // return addresses, innermost first
  bool returned() const { return kind == Kind::kReturned; }
};

// The contents that a line may have at the start of a level (a crash state before recovery runs).
struct LineSet {
  uint64_t line = 0;
  std::vector<Content> contents;  // distinct; never empty
  std::vector<uint32_t> base;     // nested levels: index into the parent's alive contents
  uint32_t visible = 0;           // the content with everything persisted
  uint64_t diff = 0;              // bytes in which the contents differ
  bool observed = false;          // nested levels: the recovery that was cut had observed the line
  void compute_diff();
};

using LineSets = std::vector<const LineSet*>;

// An undecided line of which an execution has observed something: the candidates that are still possible.
struct Narrowed {
  const LineSet* set = nullptr;
  std::vector<uint32_t> alive;
};

// A power cut inside (or right after) recovery: what later recoveries may find.
struct Cut {
  PendingLines stores{AtomPolicy::kAny};  // recovery's own stores above the undecided bases
  std::vector<Narrowed> narrowed;         // lines that recovery had observed; all others are as they were
  uint64_t stores_seen = 0;               // how many stores recovery had made
  bool after_return = false;
};

// A change of what target code does, at accesses to the pool whose call stack begins with `stack`: as if the code had
// been compiled without that flush or fence, or with some more after that store (checker/EDITS.md). It is made where
// the hooks come in, above everything that follows recovery, so that no way of following it can disagree.
struct CodeEdit {
  static constexpr size_t kMostFrames = 256;
  std::vector<uint64_t> stack;        // return addresses, innermost first; not empty
  bool drop = false;                  // of a flush or fence: it is ignored
  bool flush = false, fence = false;  // else, after a store: `clwb` of its lines, `sfence`
};

// A place of recovery's code that flushed or fenced.
struct FlushSite {
  bool fence = false;
  uint8_t code = 0;             // FenceKind or FlushKind
  std::vector<uint64_t> stack;  // return addresses, innermost first, without the engine's own
  auto operator<=>(const FlushSite&) const = default;
};

// Hears what recovery does to the pool, in order. Reads are those of the medium alone: bytes that recovery has read
// or stored before are left out, since the execution determines them.
class PathListener {
 public:
  virtual ~PathListener() = default;
  // `word`: offset of an aligned 8-byte word; `bytes`: which of its bytes; `value`: theirs, the others zero.
  virtual void read(uint64_t word, uint8_t bytes, uint64_t value) = 0;
  virtual void store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t flags, const void* pc,
                     const void* frame) = 0;
  virtual void flush(uint64_t offset, FlushKind kind) = 0;
  virtual void fence() = 0;
};

// A 128-bit digest of what a line holds or may hold.
struct Signature {
  uint64_t low = 0, high = 0;
  bool operator==(const Signature&) const = default;
};

// What code has stored outside its stack and the heap that it allocated itself.
struct WriteSet {
  absl::flat_hash_map<uint64_t, uint64_t> pool,
      heap;  // line -> bytes; of the heap, lines from Executor::heap_begin() on
  bool globals = false;
  bool empty() const { return pool.empty() && heap.empty() && !globals; }
};

// The code of this process's executable, without the libraries that it loads.
MemoryRange executable_code();

class Executor {
 public:
  struct Options {
    uint64_t pool_size = 0;
    AtomPolicy policy = AtomPolicy::kAny;
    bool caches_persist = false;  // eadr: recovery's stores are durable once visible
    int64_t step_budget = 0;
    std::vector<MemoryRange> globals;  // the target's writable data
    // Code that is not the target's: a fault in here is a failure of the harness and kills the process.
    MemoryRange own_code = {};
    bool pool_is_mapped = false;  // by map_pool(), in this process or the one that it was forked from
    std::vector<CodeEdit> edits = {};
    bool list_sites = false;  // keep recovery_sites()
    // Called when an execution has ended, in every process in which it did: target code may have forked.
    std::function<void()> after_each = {};
  };
  explicit Executor(const Options& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // The pool's bytes, for the engine.
  uint8_t* pool() const { return pool_bytes(); }
  // What target code is told: where its pool begins. Nothing can be accessed there.
  uint8_t* pool_address() const { return reinterpret_cast<uint8_t*>(kPoolBase); }
  uint64_t pool_size() const { return options_.pool_size; }
  const Options& options() const { return options_; }

  struct Mark {
    size_t words, decided, alive;
    uint64_t arena;
  };
  Mark mark() const;
  void undo(const Mark& mark);

  // --- the first cut ----------------------------------------------------------------------------
  // The undecided lines of a crash point, kept from one crash point to the next. `set` must stay where it is; null
  // makes the line definite: the pool holds it. Call it with nothing installed or executed on top.
  void set_base(uint64_t line, const LineSet* set);
  void clear_base();

  // --- levels -----------------------------------------------------------------------------------
  // Makes `sets` the crash state: writes definite contents to the pool, marks the rest undecided. `sets`
  // must outlive the level. Levels nest; uninstall() undoes the last one.
  void install(const LineSets& sets);
  void uninstall();

  // --- running target code ------------------------------------------------------------------------
  // Calls `body` with hooks on. `decisions` decides undecided bytes.
  Outcome run(Decisions* decisions, const std::function<void()>& body);
  // Recovery: run() that also follows its stores. Cuts at fresh crash points inside it go to `cuts` if not null.
  Outcome run_recovery(Decisions* decisions, std::vector<Cut>* cuts, const std::function<void()>& body);
  // The cut right after the recovery that ran last; nothing when it wrote nothing.
  std::optional<Cut> cut_after_recovery();
  // Recovery whose effects go to `listener`; loads of undecided bytes take the first alive candidate's value.
  Outcome run_listened(PathListener* listener, const std::function<void()>& body);
  // While `variant` is not 0, target code runs in another world (virtual_world.h), its heap begins elsewhere, and
  // memory that it has not initialised holds something else. Call it between executions.
  static constexpr uint64_t kHeapShift = uint64_t{1} << 16;
  void set_variant(uint64_t variant) { variant_ = variant; }
  // The lines that a cut changes for the level below it; call with the level's initial state restored. All other
  // lines are there as they are here.
  std::vector<LineSet> child(const Cut& cut);

  // --- following a recovery without running it -----------------------------------------------------
  // Whether memory shows the value of these bytes; else they are undecided.
  bool definite(uint64_t word, uint8_t bytes) const;
  uint64_t peek(uint64_t word, uint8_t bytes) const;
  // The distinct values that the alive candidates give these bytes, in the order of the candidates.
  void values(uint64_t word, uint8_t bytes, std::vector<uint64_t>* out) const;
  // Keeps the candidates that show `value`.
  void choose(uint64_t word, uint8_t bytes, uint64_t value);
  // Keeps the candidates [first, …) that `keep` names, by index into the set's contents; ascending.
  void keep_only(uint64_t line, const std::vector<uint32_t>& keep);
  void replay_store(uint64_t offset, std::span<const uint8_t> bytes);
  // The target's heap as an execution left it.
  void set_heap(std::span<const uint8_t> heap);
  // A word of the target's globals.
  void set_word(uint64_t address, uint64_t value);
  // The words of the target's globals that were stored to since the mark, with their present values.
  std::vector<std::pair<uint64_t, uint64_t>> changed_globals(const Mark& since) const;
  // Lines that were narrowed since the mark, in the order of their first narrowing.
  std::vector<Narrowed> narrowed(size_t since_decided) const;
  // Everything that the line may hold now: alive candidates under what was stored since, distinct.
  std::vector<Content> contents(uint64_t line) const;
  // Whether some child had a line with more candidates than are kept.
  bool truncated() const { return truncated_; }
  // Digest of what the last recovery read of the medium, in order: its leaf in the recovery trie.
  uint64_t path() const { return path_; }

  // --- read sets ----------------------------------------------------------------------------------
  // What the code loads from here on, once each: lines of the pool, and 8-byte words of the arena below `heap`, if
  // these are wanted (they are at first): code loads from its heap more often than from the pool.
  void begin_reads(const Mark& heap);
  void want_heap_reads(bool wanted) { heap_reads_ = wanted; }
  struct Reads {
    std::vector<uint64_t> lines;
    std::vector<uint64_t> words;  // addresses
  };
  const Reads& reads() const { return reads_; }
  // The bytes of a line of reads() that were loaded.
  uint64_t read_mask(uint64_t line) const { return lines_[line].read_mask; }
  // The bits of a word of reads() that were loaded. The rest may be padding, which holds whatever the stack held.
  uint64_t read_bits(uint64_t word) const { return read_bits_[(word - arena_range_.begin) / 8]; }
  // --- write sets ---------------------------------------------------------------------------------
  // From here on until take_writes(): what the code stores outside its stack and the heap that it allocates itself.
  void begin_writes() { writes_.emplace(); }
  // Of an execution that is not undone yet, begun at `since`: the bytes that hold something else than before it, and
  // those that it has overwritten and that are not in the read set. What they held is not known: on an image that the
  // execution cannot tell from this one it may be something else.
  WriteSet take_writes(const Mark& since);

  // Digest of everything that code can find in the bytes `mask` of `line` now: their value where it is definite,
  // else the set of values that the alive candidates give them together.
  Signature signature(uint64_t line, uint64_t mask) const;
  Signature globals_signature() const;
  // The lines whose state may differ from that of the first cut: written, decided, or of a nested level; ascending.
  struct Touched {
    uint64_t line;
    Content before;  // what the pool held at the first cut
  };
  std::vector<Touched> touched() const;
  uint64_t heap_begin() const;
  // The live heap of the target.
  std::span<const uint8_t> heap() const;

  // --- what is decided, for reports ---------------------------------------------------------------
  // The candidates of the line that are still possible; null when it is definite.
  std::optional<Narrowed> alive_of(uint64_t line) const;
  uint64_t loads() const { return loads_; }
  bool ever_read(uint64_t line) const { return lines_[line].ever_read != 0; }
  // Return addresses of the recovery's stores so far (nested findings name them).
  struct NestedStore {
    uint64_t offset, size;
    std::vector<uint64_t> stack;
  };
  const std::vector<NestedStore>& recovery_stores() const { return recovery_stores_; }

  // The most that one recovery of this executor did, and the call stack of what took it there.
  //
  // It is the most over all crash states, though not every state has an execution of its own: what a recovery does is a
  // function of what it reads, and a way that the trie follows instead of running it was run by this executor before
  // (RecoveryTrie::clear() forgets ways, never these numbers).
  struct Peak {
    uint64_t value = 0;
    std::vector<uint64_t> stack;  // return addresses, innermost first
  };
  struct RecoveryPeaks {
    Peak stores, flushes, fences, lines_read;
  };
  const RecoveryPeaks& recovery_peaks() const { return peaks_; }

  // Flushes of the pool and fences that executions of recovery made, with their numbers.
  const absl::btree_map<FlushSite, uint64_t>& recovery_sites() const { return sites_; }

  // A digest of pool, globals and live arena (--paranoid).
  uint64_t digest() const;

  // Why results so far are not all that target code can do: a sentence each, few and distinct, in the order in which
  // they came up. The verdict is `unknown` then, unless there are findings.
  const std::vector<std::string>& doubts() const { return doubts_; }
  void doubt(std::string sentence);
  // " at <library>+0x<offset>" of the target's innermost frame of a stack; empty when it has none.
  std::string place_of(const std::vector<uint64_t>& stack) const;
  // Target code asked for these WorldSources, and did the same in every world that was tried.
  void note_sources(uint32_t sources) { sources_ |= sources; }
  uint32_t sources() const { return sources_; }

  // Implementation of the hooks and signal handler; public for the C callbacks alone.
  void on_load(uint64_t address, uint64_t size);
  void on_store(uint64_t address, uint64_t size, uint32_t flags, const void* value, const void* pc, const void* frame) {
    if ((flags & POWERCUT_STORE_CONTINUES) == 0) in_pieces_ = false;
    if (!running_ || stack_range_.holds(address, size)) return;
    store_off_stack(address, size, flags, value, pc, frame);
  }
  void on_rmw_begin(uint64_t address, uint64_t size, const void* pc, const void* frame);
  void on_rmw_end(uint64_t address, uint64_t size, uint32_t stored, const void* pc, const void* frame);
  void on_flush(uint64_t address, uint32_t kind, const void* pc, const void* frame);
  void on_fence(uint32_t kind, const void* pc, const void* frame);
  void on_steps(LiveState live);
  // Ends the execution: it did what the engine does not model. `sentence` says what.
  [[noreturn]] void give_up(std::string sentence, const void* pc, const void* frame);
  [[noreturn]] void stop(Outcome outcome);
  bool running() const { return running_; }
  bool owns_code(uint64_t pc) const { return options_.own_code.holds(pc, 1); }

 private:
  static constexpr uint32_t kAllAlive = ~uint32_t{0};
  struct Undecided {
    const LineSet* set;
    uint32_t alive_begin;  // index into alive_, or kAllAlive
    uint32_t alive_count;
    uint64_t diff;     // undecided bytes: alive candidates differ, and nothing has overwritten them
    uint64_t written;  // bytes that this execution overwrote
    uint64_t line;     // the set's, which may be gone when the entry is taken away
  };
  struct Level {
    size_t first_undecided;
    Mark mark;
    std::vector<std::pair<uint64_t, uint32_t>> old_slots;
  };
  struct Word {
    uint64_t address, old;  // of the pool: where its bytes are
  };
  struct Decided {
    uint32_t index;
    Undecided old;
  };
  uint32_t alive_at(const Undecided& u, uint32_t i) const {
    return u.alive_begin == kAllAlive ? i : alive_[u.alive_begin + i];
  }
  // Where the bytes at an address of target code's are.
  uint8_t* bytes_at(uint64_t address) const {
    return reinterpret_cast<uint8_t*>(address - kPoolBase < options_.pool_size ? address + kPoolShift : address);
  }
  void decide(uint32_t index, uint64_t mask);
  void overwrite(uint64_t address, uint64_t size);
  void keep_words(uint64_t address, uint64_t size);
  // Memory of the target changes in a function that stands in for libc's.
  void before_change(uint64_t address, uint64_t size);
  void note_write(uint64_t address, uint64_t size);
  // Member by member: copying a pair that was just written in halves stalls.
  void keep_word(uint64_t address, uint64_t old) {
    Word& word = words_.emplace_back();
    word.address = address;
    word.old = old;
  }
  void write_line(uint64_t line, const Content& content, uint64_t mask);
  void load_slowly(uint64_t address, uint64_t size);
  void store_off_stack(uint64_t address, uint64_t size, uint32_t flags, const void* value, const void* pc,
                       const void* frame);
  bool follows_path() const { return in_recovery_ || listener_ != nullptr; }
  // One more of what a recovery does. Only a number that none has reached yet costs anything.
  void count(uint64_t* of_this_recovery, Peak* peak, const void* pc, const void* frame) {
    if (++*of_this_recovery > peak->value) [[unlikely]]
      raise(*of_this_recovery, peak, pc, frame);
  }
  void raise(uint64_t value, Peak* peak, const void* pc, const void* frame);
  void count_line_read();
  // What the edits of the code say of an access.
  CodeEdit edits_at(const void* pc, const void* frame) const;
  void edit_after_store(uint64_t address, uint64_t size, const void* pc, const void* frame);
  void note_site(bool fence, uint32_t code, const void* pc, const void* frame);
  // A flush of the pool or a fence, by the target's code or an edit of it.
  void flush(uint64_t address, FlushKind kind, const void* pc, const void* frame);
  void fence(const void* pc, const void* frame);
  void touch_arena(uint64_t address, uint64_t size);
  void maybe_cut(bool raises);
  void follow_store(uint64_t address, std::span<const uint8_t> bytes, uint32_t flags, const void* pc,
                    const void* frame);
  void land_stores();
  // The bytes of `mask` that this recovery has not read or stored before; they are noted.
  uint64_t first_seen(uint64_t line, uint64_t mask);
  void note_path(uint64_t line, uint64_t mask);
  size_t first_of_level() const { return levels_.empty() ? 0 : levels_.back().first_undecided; }
  void narrow(uint32_t index, const std::vector<uint32_t>& alive);
  void check_store(uint64_t address, uint64_t size, const void* pc, const void* frame);

  Options options_;
  MemoryRange pool_range_, arena_range_, stack_range_;
  MemoryRange bytes_range_;  // the pool's bytes
  MemoryRange fresh_;        // heap that this run allocates: undo drops it, and no old content of it is kept
  // What is kept of a line, in one piece: a query touches many lines, and each is a miss of the cache.
  struct LineInfo {
    uint32_t slot;        // 1 + index into undecided_, 0 = content is definite
    uint32_t read_stamp;  // the epoch that read_mask is of
    uint64_t read_mask;
    uint32_t seen_stamp;  // the path that seen_mask is of
    uint32_t ever_read;
    uint64_t seen_mask;  // bytes that this recovery has read or stored
  };
  LineInfo* lines_ = nullptr;       // by line, in lazily committed memory
  uint32_t* word_stamp_ = nullptr;  // arena words
  uint64_t* read_bits_ = nullptr;   // bits of them, valid where word_stamp_ is the epoch's

  std::vector<Undecided> undecided_;
  std::vector<uint32_t> alive_;
  std::vector<Level> levels_;
  std::vector<Word> words_;
  std::vector<Decided> decided_;
  std::vector<uint32_t> groups_, representatives_;                            // scratch of decide()
  absl::flat_hash_map<uint64_t, absl::InlinedVector<uint32_t, 1>> by_value_;  // the same, for large sets
  mutable absl::flat_hash_set<uint64_t> by_word_;                             // of values()

  Reads reads_;
  uint64_t reads_heap_ = 0;
  bool heap_reads_ = true;
  uint32_t read_epoch_ = 0;
  std::optional<WriteSet> writes_;

  bool truncated_ = false;
  bool running_ = false;
  bool in_recovery_ = false;
  bool in_pieces_ = false;  // an earlier piece of the store at hand lies in the pool
  Decisions* decisions_ = nullptr;
  std::vector<Cut>* cuts_ = nullptr;
  size_t recovery_decided_ = 0;  // decisions before the recovery at hand
  PathListener* listener_ = nullptr;
  uint32_t path_epoch_ = 0;
  std::optional<PendingLines> recovery_pending_;
  std::vector<NestedStore> recovery_stores_;
  struct {
    uint64_t stores, flushes, fences;
  } done_{};  // by the recovery at hand
  RecoveryPeaks peaks_;
  absl::btree_map<FlushSite, uint64_t> sites_;
  uint64_t path_ = 0;
  uint64_t loads_ = 0;
  LoopWatch loop_;
  const uint64_t* stack_end_ = nullptr;  // of target code, in the execution at hand
  MemoryRange fresh_before_look_;
  uint64_t heap_at_look_ = 0;
  // Whether memory is as it was when the journal had `words` entries.
  bool same_memory_since(uint64_t words) const;
  std::vector<std::string> doubts_;
  uint64_t variant_ = 0;
  uint32_t sources_ = 0;
  Outcome outcome_;
  powercut_sink sink_{};
  sigjmp_buf escape_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_H_
