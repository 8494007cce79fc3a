// The target's threads as a machine that a search can lead (replayer/schedules/machine.h): fibers of this one thread,
// on stacks at fixed addresses, driven by the hooks that instrumented code calls anyway.
//
// A thread stands before its next *visible* event: an operation's begin or end, an access of a place that races, or one
// that makes something durable. What comes between two of these nobody else can see, so it is done in one step. A place
// (a word, or a line of the pool) is shared if two threads use it and one of them changes it; it races if no visible
// event has kept two such uses apart. Which ones do shows as schedules are run; when there are more of them, the search
// begins again.
//
// With store buffers, each thread has a second one beside it, its *gate*: a step of it lets the buffer's first entry
// leave, and those behind it of which others cannot tell. Locked instructions, `mfence`, functions of locks and the end
// of an operation wait until the buffer is empty.
//
// To return to a state costs what has changed since: memory by a journal of the stores, a fiber by a copy of its live
// stack. Two states are the same if memory, what is pending, what the operations may answer, and each thread's place
// are. A thread's place is told by its registers and its stack. Where the runtime has called a hook for the code, as in
// memcpy, it is told by the values that the thread has read since its operation began: code does the same after the
// same reads.
//
// Known inaccuracies: what uninstrumented code loads of heap and globals is not seen; and it runs without scheduling
// points.
#ifndef POWERCUT_CHECKER_SCHEDULES_TARGET_MACHINE_H_
#define POWERCUT_CHECKER_SCHEDULES_TARGET_MACHINE_H_

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "checker/schedules/client_choices.h"
#include "checker/schedules/store_buffer.h"
#include "checker/schedules/thread_work.h"
#include "powercut/target.h"
#include "replayer/schedules/line_states.h"
#include "replayer/schedules/machine.h"
#include "tracer/format/kept_event.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/recording/recorder.h"
#include "tracer/world/arena.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/thread_locals.h"

namespace powercut {

class TargetMachine final : public ScheduleMachine {
 public:
  struct FoundTrouble {
    Trouble kind;
    std::string text;
    bool followed = true;  // false: the engine could not go on, and the target need not be at fault
  };

  // One at a time: hooks and signals are the process's. `model`: where the run before the schedules has left the pool.
  // All arguments outlive it.
  TargetMachine(const ThreadWork& work, const ClientChoices& choices, const Model& model);
  ~TargetMachine() override;
  TargetMachine(const TargetMachine&) = delete;
  TargetMachine& operator=(const TargetMachine&) = delete;

  // The events of the schedule at hand, and the number of the thread of each: clients from 1 on, then the target's own.
  const std::vector<KeptEvent>& events() const { return events_; }
  // A number for each step of the schedule at hand that no other step has: what two schedules have in common.
  struct Step {
    uint64_t number;
    size_t events;  // so many when it was done
  };
  const std::vector<Step>& steps() const { return steps_; }
  const std::optional<FoundTrouble>& trouble() const { return trouble_; }
  // Makes every use of a shared place visible, not only those of places that race: the slow, obvious way, which also
  // learns which places race.
  void show_shared(bool on) { shows_shared_ = on; }
  // How many are known to be shared, or to race.
  uint64_t places() const { return shared_.size() + racing_.size(); }
  // Tells each place in the code by the values that were read: as well a slow way.
  void tell_by_chain(bool on) { tells_by_chain_ = on; }
  // Why schedules that were run are not all that the target can do; empty where nothing is known.
  std::string doubt() const;
  // An operation of the threads, or of those behind them, that answered UNSUPPORTED; empty where there was none.
  const std::string& unsupported() const { return unsupported_; }
  // The first operation that has ended in no schedule so far; empty where each has.
  std::string never_ended() const;

  uint32_t threads() const override { return fibers() * (work_.store_buffers ? 2 : 1); }
  ThreadState state_of(uint32_t thread) const override;
  bool at_cut(uint32_t thread) const override;
  bool at_store(uint32_t thread) const override;
  uint64_t ways(uint32_t thread) const override;
  void choose(uint32_t thread, uint32_t way) override;
  void step(uint32_t thread) override;
  bool troubled() const override { return trouble_.has_value(); }
  void deadlocked() override;
  void livelocked() override;
  bool needs_restart() override { return std::exchange(more_shared_, false); }
  void keep(std::unique_ptr<Mark>* mark) override;
  void restore(const Mark& mark) override;
  Digest state() const override;
  Digest frontier() const override;

 private:
  enum class Next : uint8_t {
    kBegin,
    kEnd,
    kAccess,
    kStore,
    kFlush,
    kClflush,
    kFence,
    kTurn,
    kWork,
    kIdle,
    kJoin,
    kDone
  };
  struct Read {
    uint64_t word, value;
  };
  // Of a place that is shared and does not race: by a thread, since its last visible event.
  struct Use {
    uint64_t place;
    bool changes;
  };
  struct Fiber {
    boost::context::detail::fcontext_t at = nullptr;
    Next next = Next::kBegin;
    uint64_t address = 0;
    uint64_t place = 0;     // in its code: a hash of its registers and stack; kBetweenCalls, or kToldByChain
    uint64_t chain = 0;     // of the values read since the operation began
    bool waiting = false;   // until another thread stores to what it has read
    bool stored = false;    // since its last turn
    uint32_t accesses = 0;  // of shared places, since it last stored
    std::vector<Use> uses;
    uint64_t used = 0;  // their hash
    StoreBuffer buffer;
    bool awaits_empty = false;  // its next event comes once its buffer is empty
    uint64_t turn = 0, chain_at_turn = 0;
    std::vector<Read> reads;        // since its last turn
    std::vector<Read> batch_reads;  // of the target's own thread, since its batch began
    size_t operation = 0;
    uint8_t way = 0;                 // of its alternatives
    ClientChoices::Taken taken = 0;  // up to now
    powercut_status status = POWERCUT_OK;
    std::vector<uint8_t> answer;
    size_t answered = 0;
    Arena heap;
    bool says_when = false;       // it pauses where it waits, so other turns of its loops need not be heard
    uint64_t chain_at_step = 0;   // before it looked at a lock
    std::vector<uint8_t> locals;  // its thread-local variables, while it does not run
  };
  // A thread as it stands between two steps.
  struct Image {
    Fiber fiber;
    std::vector<uint8_t> stack;
    uint64_t digest = 0;
    uint32_t users = 0;
  };
  // Of a state that has the image. One that no state has is written again: its memory is as large as the next needs.
  class ImageRef {
   public:
    ImageRef() = default;
    explicit ImageRef(TargetMachine* machine);
    ImageRef(const ImageRef& other) : machine_(other.machine_), image_(other.image_) { take(); }
    ImageRef& operator=(const ImageRef& other) {
      if (image_ == other.image_) return *this;
      give();
      machine_ = other.machine_;
      image_ = other.image_;
      take();
      return *this;
    }
    ~ImageRef() { give(); }
    Image* operator->() const { return image_; }
    bool operator==(const ImageRef& other) const { return image_ == other.image_; }

   private:
    void take() {
      if (image_ != nullptr) ++image_->users;
    }
    void give() {
      if (image_ != nullptr && --image_->users == 0) machine_->unused_.push_back(image_);
    }
    TargetMachine* machine_ = nullptr;
    Image* image_ = nullptr;
  };
  struct Keys {
    struct Key {
      Linearizations all, unread;
    };
    std::vector<std::pair<uint64_t, Key>> keys;  // by id
    struct Running {
      std::optional<uint32_t> all, unread, prefixes;
    };
    // Of a buffered target: what a power cut may leave of all keys, and that as a number.
    std::optional<Prefixes> prefixes;
    uint64_t prefixes_digest = 0, legal_digest = 0;
    std::vector<Running> running;  // by thread
    uint64_t digest = 0;
  };
  struct Word {
    uint64_t address, old;
  };
  static constexpr uint64_t kToldByChain = 0, kBetweenCalls = 1;
  static constexpr size_t kLiveRegisters = 6;
  struct State;  // a Mark
  struct Hooks;

  uint32_t fibers() const { return static_cast<uint32_t>(fibers_.size()); }
  bool is_gate(uint32_t thread) const { return thread >= fibers(); }
  bool stands_at_cut(uint32_t thread) const;
  bool gate_stands_at_cut(uint32_t thread) const;  // of the thread's gate
  // Whether others can tell when the first entry of the buffer leaves.
  bool first_is_visible(uint32_t thread) const;
  void leave_buffer(uint32_t thread);
  void leave_buffer_unseen(uint32_t thread);
  void start(uint32_t thread);
  static void enter(boost::context::detail::transfer_t from);
  [[noreturn]] void run_thread(uint32_t thread);
  void run_client(uint32_t thread);
  void run_background(uint32_t thread, uint32_t number);
  void run_operation(Fiber* fiber, const ThreadOperation& operation);
  void pause(Next next, uint64_t address, uint64_t place = kBetweenCalls, bool buffer_empty = false);
  // The same before an event that reads nothing: a store or a flush.
  void pause_before(Next next, uint64_t address, uint64_t place);
  void go_on(uint32_t thread);
  void begin_step(uint32_t thread);
  void end_step();
  void capture(uint32_t thread);
  static uint64_t digest_of(const Fiber& fiber);
  bool is_client(uint32_t thread) const { return thread < clients_; }
  std::vector<ClientChoices::Taken> taken() const;
  const ThreadOperation* operation_of(uint32_t thread) const;

  void begin_operation(uint32_t thread);
  void end_operation(uint32_t thread);
  int32_t number_of(std::string value);
  Keys::Key* key_of(Keys* keys, uint64_t id);
  uint32_t number_of_key(const ThreadOperation& operation);
  void prefixes_changed(Keys* keys);
  static uint64_t digest_of(const Keys& keys);

  // ---- in hooks --------------------------------------------------------------------------------------
  // Code of the target runs, and on a fiber.
  bool in_target() { return is_engine_thread() ? running_ && in_call_ : heard_beside(); }
  bool is_engine_thread() const { return pthread_self() == engine_thread_; }
  bool heard_beside();
  uint64_t take_stack() { return std::exchange(live_[kLiveRegisters], 0); }
  uint64_t place_in_code(uint64_t stack) const;
  void on_load(uint64_t address, uint64_t size);
  void on_store(uint64_t address, uint64_t size, uint32_t flags, const void* value, const void* pc, const void* frame);
  void on_rmw_begin(uint64_t address, uint64_t size, const void* pc, const void* frame);
  void on_rmw_end(uint64_t address, uint64_t size, uint32_t stored, const void* pc, const void* frame);
  void on_flush(uint64_t address, uint32_t kind, const void* pc, const void* frame);
  void on_fence(uint32_t kind, const void* pc, const void* frame);
  void on_turn(const uint64_t* live, bool waits);
  void on_lock(uint64_t address, uint64_t size);
  void on_lock_taken(uint64_t address, uint64_t size);
  [[noreturn]] void give_up(const std::string& what);
  bool is_local(uint64_t address) const;
  void on_event(const Event& event);
  void make_event(const Event& event);
  // The events of what `record` records go to the running thread's buffer, with its last entry.
  template <typename Record>
  void into_buffer(Record record) {
    buffering_ = true;
    record();
    buffering_ = false;
  }
  StoreBuffer& buffer() { return fibers_[current_].buffer; }
  // Whether a store, flush or fence goes to the buffer. Else nobody can tell it from one that is seen at once.
  bool goes_to_buffer(bool visible) { return work_.store_buffers && (visible || !buffer().empty()); }
  bool on_own_stack(uint64_t address) const;
  bool can_pause() const;
  // Whether other threads can tell when the access is made.
  bool is_visible(uint64_t address, uint64_t size, bool writes);
  bool is_visible(uint64_t place, bool changes);
  void use(uint64_t address, uint64_t size, bool writes);
  bool use(uint64_t place, bool changes);
  void begin_uses(Fiber* fiber);
  void count_access();
  void read(uint64_t address, uint64_t size);
  void keep(uint64_t address, uint64_t size);
  void on_free(uint64_t address, uint64_t size);
  void check_freed(uint64_t address, uint64_t size);
  void check_length();
  void await_empty(bool visible, uint64_t address, uint64_t place);
  void note_store();  // the running thread has changed something
  void stored(uint64_t address, uint64_t size);
  void wake(uint64_t address, uint64_t size);
  [[noreturn]] void fail(Trouble kind, const std::string& text);
  [[noreturn]] void leave(FoundTrouble trouble);
  std::string thread_name(uint32_t thread) const;
  static void on_signal(int signal, siginfo_t* info, void* context);
  static TargetMachine* current_machine;

  const ThreadWork& work_;
  const ClientChoices& choices_;
  const bool eadr_;
  powercut_sink sink_{};
  std::vector<Fiber> fibers_;
  std::deque<Image> all_images_;
  std::vector<Image*> unused_;
  std::vector<ImageRef> images_;  // by thread
  uint32_t clients_ = 0;
  uint32_t current_ = 0;
  bool running_ = false, in_call_ = false;
  const pthread_t engine_thread_ = pthread_self();
  std::atomic<bool> beside_ = false;  // a thread that nobody schedules has run code of the target
  boost::context::detail::fcontext_t engine_ = nullptr;
  sigjmp_buf escape_;

  std::vector<Word> journal_;
  size_t step_begin_ = 0;
  size_t events_at_step_ = 0;
  std::vector<std::pair<uint64_t, size_t>> scratch_;  // address, place in the journal
  Digest memory_;
  LineStates lines_;
  std::shared_ptr<const Keys> keys_;
  std::vector<KeptEvent> events_;
  std::vector<Step> steps_;
  uint64_t steps_made_ = 0;
  // While a store lands under eadr: which threads stood at a cut before it, as bits. It may have woken some; a cut in
  // the middle of it is one in which they have not gone on.
  std::optional<uint32_t> cuts_in_flight_;
  std::optional<FoundTrouble> trouble_;
  std::string doubt_, unsupported_;
  std::vector<std::vector<bool>> ended_;  // by thread and operation: in some schedule
  struct Freed {
    MemoryRange block;
    uint64_t digest;  // of this one and those before it, in whatever order
  };
  std::vector<Freed> freed_;  // blocks of the heap, in this schedule
  absl::flat_hash_map<std::string, int32_t> value_numbers_;
  absl::flat_hash_map<uint64_t, uint32_t> key_numbers_;  // of keys that the history does not know yet, by id
  std::vector<uint32_t> woken_;
  std::vector<ThreadLocals> locals_;

  struct Users {
    uint32_t all = 0, changing = 0;  // threads, as bits
  };
  // By place: the number of a word, or kLines and that of a line of the pool.
  absl::flat_hash_map<uint64_t, Users> users_;
  absl::flat_hash_set<uint64_t> shared_, racing_;
  bool shows_shared_ = false, tells_by_chain_ = false;
  bool more_shared_ = false;  // or racing
  bool buffering_ = false;    // events of the running thread go to its buffer
  bool watching_ = false;     // each turn of a loop of the running thread
  uint64_t rmw_old_[2] = {0, 0};
  uint64_t live_[kLiveRegisters + 1] = {};  // powercut_keep_live(); no stack: the hook was not called by the code
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_TARGET_MACHINE_H_
