// The target's threads as a machine that a search can lead (replayer/schedules/machine.h): fibers of this one thread,
// on stacks at fixed addresses, driven by the hooks that instrumented code calls anyway.
//
// A thread stands before its next *visible* event: an operation's begin or end, an access of a place that races
// (shared_places.h), or an event that makes something durable. No other thread can see the events between two visible
// events, so they are done in one step. This class joins the parts: fibers and their images (fiber.h), changed words
// (word_journal.h), places (shared_places.h), the answers that operations may give (operation_answers.h), and the hooks
// (machine_hooks.cc).
//
// With store buffers, each thread has a second one beside it, its *gate*: a step of the gate lets the buffer's first
// entry leave, and the entries behind it that other threads cannot notice. Locked instructions, `mfence`, functions of
// locks and the end of an operation wait until the buffer is empty.
//
// A return to a state costs as much as has changed since: memory by a journal of the stores, a fiber by a copy of its
// live stack. Two states are the same if they share memory, pending lines, the answers that the operations may give,
// and each thread's place. A thread's place is told by its registers and its stack. Where the runtime has called a hook
// for the code, as in memcpy, the place is told by values. They are the values that the thread has read since its
// operation began: code does the same after the same reads.
//
// Known inaccuracies: loads of heap and globals by uninstrumented code are not seen; and such code runs without
// scheduling points.
#ifndef POWERCUT_CHECKER_SCHEDULES_TARGET_MACHINE_H_
#define POWERCUT_CHECKER_SCHEDULES_TARGET_MACHINE_H_

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checker/schedules/client_choices.h"
#include "checker/schedules/fiber.h"
#include "checker/schedules/operation_answers.h"
#include "checker/schedules/shared_places.h"
#include "checker/schedules/thread_work.h"
#include "checker/schedules/word_journal.h"
#include "powercut/target.h"
#include "replayer/schedules/line_states.h"
#include "replayer/schedules/machine.h"
#include "tracer/format/kept_event.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/recording/recorder.h"
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

  // Only one machine may exist at a time: hooks and signals are the process's. `model`: the state in which the run
  // before the schedules has left the pool. All arguments outlive this.
  TargetMachine(const ThreadWork& work, const ClientChoices& choices, const Model& model);
  ~TargetMachine() override;
  TargetMachine(const TargetMachine&) = delete;
  TargetMachine& operator=(const TargetMachine&) = delete;

  // The events of the schedule at hand, and the number of the thread of each: clients from 1 on, then the target's own.
  const std::vector<KeptEvent>& events() const { return events_; }
  // A number for each step of the schedule at hand that no other step has. Equal numbers show which steps two schedules
  // have in common.
  struct Step {
    uint64_t number;
    size_t events;  // number of events when the step was done
  };
  const std::vector<Step>& steps() const { return steps_; }
  const std::optional<FoundTrouble>& trouble() const { return trouble_; }
  // Makes every use of a shared place visible, not only those of places that race: the slow, obvious way, which also
  // learns which places race.
  void show_shared(bool on) { places_.show_shared(on); }
  // How many places are known to be shared, or to race.
  uint64_t places() const { return places_.count(); }
  // Tells each place in the code by the values that were read: another slow way.
  void tell_by_chain(bool on) { tells_by_chain_ = on; }
  // Why the target can do more than the schedules that were run show; empty where no reason is known.
  std::string doubt() const;
  // An operation of the threads, or of the phases behind them, that answered UNSUPPORTED; empty where there was none.
  const std::string& unsupported() const { return unsupported_; }
  // The first operation that has ended in no schedule so far; empty where each operation has ended in some schedule.
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
  bool needs_restart() override { return places_.take_more(); }
  void keep(std::unique_ptr<Mark>* mark) override;
  void restore(const Mark& mark) override;
  Digest state() const override;
  Digest frontier() const override;

 private:
  using Next = Fiber::Next;
  // Turns of loops in one step, beyond which the step counts as one without end.
  static constexpr int64_t kMostTurns = 20'000'000;
  // Accesses of shared places without a store after which a thread's loop is looked at for one that only waits.
  static constexpr uint32_t kPatience = 8;
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
  void pause(Next next, uint64_t address, uint64_t place = Fiber::kBetweenCalls, bool buffer_empty = false);
  // Pauses before an event that reads nothing: a store or a flush.
  void pause_before(Next next, uint64_t address, uint64_t place);
  void go_on(uint32_t thread);
  void begin_step(uint32_t thread);
  void end_step();
  void capture(uint32_t thread);
  bool is_client(uint32_t thread) const { return thread < clients_; }
  std::vector<ClientChoices::Taken> taken() const;
  const ThreadOperation* operation_of(uint32_t thread) const;

  void begin_operation(uint32_t thread);
  void end_operation(uint32_t thread);

  // ---- in hooks (machine_hooks.cc) -------------------------------------------------------------------
  template <typename Listener>
  friend powercut_sink sink_of(Listener* self);
  // Whether code of the target runs, on a fiber.
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
  void on_mark(const char* name);
  void on_turn(const uint64_t* live, bool waits);
  void on_lock(uint64_t address, uint64_t size);
  void on_lock_taken(uint64_t address, uint64_t size);
  [[noreturn]] void give_up(const std::string& what);
  bool is_local(uint64_t address) const;
  void on_event(const Event& event);
  void make_event(const Event& event);
  // The events that `record` records go to the running thread's buffer, with its last entry.
  template <typename Record>
  void into_buffer(Record record) {
    buffering_ = true;
    record();
    buffering_ = false;
  }
  StoreBuffer& buffer() { return fibers_[current_].buffer; }
  // Whether a store, flush or fence goes to the buffer. Otherwise no thread can tell the event from one that is seen at
  // once.
  bool goes_to_buffer(bool visible) { return work_.store_buffers && (visible || !buffer().empty()); }
  bool on_own_stack(uint64_t address) const;
  bool can_pause() const;
  // Whether other threads can tell when the access is made.
  bool is_visible(uint64_t address, uint64_t size, bool writes);
  void use(uint64_t address, uint64_t size, bool writes);
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
  FiberImages all_images_;
  std::vector<FiberImages::Ref> images_;  // by thread
  uint32_t clients_ = 0;
  uint32_t current_ = 0;
  bool running_ = false, in_call_ = false;
  const pthread_t engine_thread_ = pthread_self();
  std::atomic<bool> beside_ = false;  // a thread that nobody schedules has run code of the target
  boost::context::detail::fcontext_t engine_ = nullptr;
  sigjmp_buf escape_;

  WordJournal journal_;
  size_t events_at_step_ = 0;
  LineStates lines_;
  SharedPlaces places_;
  OperationAnswers answers_;
  std::vector<KeptEvent> events_;
  std::vector<Step> steps_;
  uint64_t steps_made_ = 0;
  // While a store lands under eadr: the threads that stood at a cut before the store, as bits. The store may have woken
  // some of these threads; at a cut in the middle of the store they have not gone on.
  std::optional<uint32_t> cuts_in_flight_;
  std::optional<FoundTrouble> trouble_;
  std::string doubt_, unsupported_;
  std::vector<std::vector<bool>> ended_;  // by thread and operation: in some schedule
  struct Freed {
    MemoryRange block;
    uint64_t digest;  // of this block and earlier ones, in whatever order
  };
  std::vector<Freed> freed_;  // blocks of the heap, in this schedule
  std::vector<uint32_t> woken_;
  std::vector<ThreadLocals> locals_;
  bool tells_by_chain_ = false;
  bool buffering_ = false;  // events of the running thread go to its buffer
  bool watching_ = false;   // each turn of a loop of the running thread
  uint64_t rmw_old_[2] = {0, 0};
  uint64_t live_[kLiveRegisters + 1] = {};  // powercut_keep_live(); no stack: the hook was not called by the code
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_TARGET_MACHINE_H_
