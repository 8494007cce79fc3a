#include "tracer/calls/recorder.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/clock.h"
#include "tracer/calls/calling_thread.h"
#include "tracer/calls/code_places.h"
#include "tracer/calls/filter.h"
#include "tracer/calls/followed_call.h"
#include "tracer/calls/marks.h"
#include "tracer/calls/told_stores.h"
#include "tracer/calls/tree_log.h"

namespace powercut {
namespace {

constexpr long kOptions = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                          PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
// Seconds that processes of the command may outlive it.
constexpr double kSettle = 0.3;
// Seconds that a copy from a pipe may take while others wait for its end: it may wait for one of them.
constexpr double kPatience = 0.3;

constexpr const char* kTryAgain = "Run the command by itself to see whether it works, then record it again.";

// The request takes numbers and pointers as one type.
long trace_it(int request, pid_t thread, uintptr_t address, uintptr_t data) {
  return ptrace(static_cast<__ptrace_request>(request), thread, address, data);
}

class Recorder {
 public:
  Recorder(const RecordedCommand& command, TraceWriter& trace)
      : command_(command), log_(trace, command.folder), places_(trace), steps_(command.steps) {}

  TreeLog& log() { return log_; }
  // The command runs under a tracer of instructions, which tells its stores through mappings in the file that is made.
  std::optional<EngineError> take_stores() {
    stores_.emplace(places_);
    return stores_->make(command_.stores, log_);
  }

  std::optional<EngineError> start(const Printed& printed) {
    const std::vector<sock_filter> filter = calls_filter();
    int go[2], failed[2];
    if (pipe2(go, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0) return broken("cannot make a pipe");
    std::vector<char*> words;
    for (const std::string& word : command_.command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pin();
    main_ = fork();
    if (main_ < 0) return broken("cannot start a process");
    if (main_ == 0) {
      close(go[1]);
      char seized = 0;
      if (::read(go[0], &seized, 1) != 1) _exit(127);
      printed.take_over();
      if (install_filter(filter)) execvp(words[0], words.data());
      const int error = errno;
      [[maybe_unused]] const ssize_t told = ::write(failed[1], &error, sizeof error);
      _exit(127);
    }
    allow_many_files();
    close(go[0]);
    close(failed[1]);
    failures_ = OwnDescriptor(failed[0]);
    const OwnDescriptor starter(go[1]);
    if (trace_it(PTRACE_SEIZE, main_, 0, kOptions) != 0) {
      const EngineError error = broken("the command cannot be traced");
      kill(main_, SIGKILL);
      waitpid(main_, nullptr, 0);
      return error;
    }
    thread(main_);
    const sigset_t news = child_news();
    sigprocmask(SIG_BLOCK, &news, nullptr);
    if (::write(starter.number(), "", 1) != 1) return broken("cannot start the command");
    return std::nullopt;
  }

  // Returns the status of the command.
  int follow() {
    // A process that has hardly begun has no news yet, and is waited for as well: the kernel knows it.
    int status = 0;
    for (pid_t who; (who = wait_for_news(&status)) >= 0;) {
      if (who != 0) take(who, status);
    }
    return main_status_;
  }

  // Tells how many calls were recorded, and waits for the answer. Nobody is asked any more once the other end has gone.
  void step() {
    if (steps_ < 0) return;
    const uint64_t calls = log_.calls();
    uint8_t answer = 0;
    ssize_t got = send(steps_, &calls, sizeof calls, MSG_NOSIGNAL);
    if (got == sizeof calls) {
      while ((got = recv(steps_, &answer, 1, 0)) < 0 && errno == EINTR) {
      }
    }
    if (got <= 0) steps_ = -1;
  }

  // The errno of a command that could not be started, else 0.
  int failure() const {
    int error = 0;
    return ::read(failures_.number(), &error, sizeof error) == sizeof error ? error : 0;
  }

 private:
  struct Thread {
    explicit Thread(pid_t thread, uint32_t number) : calling(thread, number) {}
    CallingThread calling;
    std::optional<SystemCall> waits;      // at the entry of a call, until another thread's has ended
    std::optional<FollowedCall> running;  // until its exit
  };

  EngineError broken(const std::string& what) const {
    return harness_error(absl::StrCat(what, ": ", std::strerror(errno)), command_.command.front(), kTryAgain);
  }

  static sigset_t child_news() {
    sigset_t out;
    sigemptyset(&out);
    sigaddset(&out, SIGCHLD);
    return out;
  }

  // All that the program starts inherits the processor.
  static void pin() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }

  // The recorder holds a descriptor for each thread of the program, and some for files. The command keeps its own
  // limit.
  static void allow_many_files() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }

  Thread& thread(pid_t who) {
    auto& found = threads_[who];
    if (found == nullptr) found = std::make_unique<Thread>(who, born_++);
    return *found;
  }

  // Returns a thread with its news, 0 if time has passed, or -1 if no thread is left.
  pid_t wait_for_news(int* status) {
    if (!ended_at_ && waiting_.empty()) {
      pid_t who;
      while ((who = waitpid(-1, status, __WALL)) < 0 && errno == EINTR) {
      }
      return who;
    }
    const pid_t who = waitpid(-1, status, __WALL | WNOHANG);
    if (who != 0) return who;
    const double now = seconds_now();
    if (ended_at_ && now > *ended_at_ + kSettle) end_the_rest();
    if (running_ != 0 && !waiting_.empty() && now > running_since_ + kPatience &&
        threads_.at(running_)->running->may_wait()) {
      log_.note(TreeNote::kUnknown,
                "a copy into the folder waited for another call on it, so their order is not known");
      running_ = 0;
      let_next_run();
    }
    // News raise SIGCHLD, which is blocked: it stays until somebody waits for it.
    const timespec most = {0, 50'000'000};
    const sigset_t news = child_news();
    sigtimedwait(&news, nullptr, &most);
    return 0;
  }

  void end_the_rest() {
    log_.note(TreeNote::kUnknown,
              "processes of the command outlived it, and were ended: what they do later is not recorded");
    for (const auto& [who, thread] : threads_) kill(who, SIGKILL);
    ended_at_ = seconds_now();  // those that have no news yet are ended next time
  }

  void go_on(pid_t who, int signal = 0) { trace_it(PTRACE_CONT, who, 0, static_cast<uintptr_t>(signal)); }

  void take(pid_t who, int status) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) return gone(who, status);
    if (!WIFSTOPPED(status)) return;
    const int signal = WSTOPSIG(status), event = status >> 16;
    Thread& stopped = thread(who);
    if (signal == (SIGTRAP | 0x80)) return end_call(stopped);
    switch (event) {
      case PTRACE_EVENT_SECCOMP:
        return begin_call(stopped);
      case PTRACE_EVENT_EXEC:
        return run_another_program(who);
      case PTRACE_EVENT_FORK:
      case PTRACE_EVENT_VFORK:
      case PTRACE_EVENT_CLONE:
        return go_on(who);
      case PTRACE_EVENT_STOP:
        // A stop of the whole process by a signal lasts until SIGCONT; any other is that of a new thread.
        if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) {
          trace_it(PTRACE_LISTEN, who, 0, 0);
          return;
        }
        return go_on(who);
      default:
        return go_on(who, signal);
    }
  }

  void gone(pid_t who, int status) {
    if (who == main_) {
      main_status_ = status;
      ended_at_ = seconds_now();
    }
    const auto found = threads_.find(who);
    if (found == threads_.end()) return;
    if (found->second->running) cut_off(*found->second);
    if (found->second->calling.process() == who) places_.forget(who);
    std::erase(waiting_, who);
    threads_.erase(found);
    if (running_ == who) {
      running_ = 0;
      let_next_run();
    }
  }

  void cut_off(Thread& thread) {
    log_.by(thread.calling.number(), thread.running->name(), stack_);
    if (thread.running->cut_off(log_)) return;
    log_.note(TreeNote::kUnknown, absl::StrCat("a thread was killed within a call of ", thread.running->name()));
  }

  // The other threads have gone, and the one that has made the call has the number of its process from now on.
  void run_another_program(pid_t who) {
    unsigned long before = 0;
    trace_it(PTRACE_GETEVENTMSG, who, 0, reinterpret_cast<uintptr_t>(&before));
    places_.forget(who);
    const auto old = threads_.find(static_cast<pid_t>(before));
    // A leader that was within a call, or waited for one, has gone without further news.
    std::erase(waiting_, who);
    if (running_ == who) {
      cut_off(thread(who));
      running_ = 0;
    }
    if (static_cast<pid_t>(before) != who && old != threads_.end()) {
      const uint32_t number = old->second->calling.number();
      threads_.erase(old);
      threads_[who] = std::make_unique<Thread>(who, number);
    }
    go_on(who);
    if (running_ == 0) let_next_run();
  }

  void begin_call(Thread& thread) {
    const pid_t who = thread.calling.thread();
    __ptrace_syscall_info info{};
    trace_it(PTRACE_GET_SYSCALL_INFO, who, sizeof info, reinterpret_cast<uintptr_t>(&info));
    if (info.op != PTRACE_SYSCALL_INFO_SECCOMP) return go_on(who);
    if (info.seccomp.ret_data == kStopsAsForeign) {
      log_.note(TreeNote::kUnknown, "the program makes calls of 32-bit code, which are not followed");
      return go_on(who);
    }
    SystemCall call;
    call.number = info.seccomp.nr;
    for (size_t i = 0; i < call.arguments.size(); ++i) call.arguments[i] = info.seccomp.args[i];
    call.counter = info.instruction_pointer;
    call.stack = info.stack_pointer;
    if (info.seccomp.ret_data == kStopsAsRefused) return refuse(who, call);
    if (running_ == 0) return run(thread, call);
    // Whether the call is on the folder is known only when no other one may change what its names mean.
    thread.waits = call;
    waiting_.push_back(who);
  }

  void run(Thread& thread, const SystemCall& call) {
    const pid_t who = thread.calling.thread();
    log_.by(thread.calling.number(), "", 0);
    FollowedCall followed(thread.calling, call, log_);
    if (!followed.follows()) return go_on(who);
    step();
    if (stores_) stores_->is_of(thread.calling.process());
    stack_ = stores_ ? stores_->stack_of_call(thread.calling.number())
                     : places_.stack(thread.calling.process(), who, call.counter, call.stack);
    log_.by(thread.calling.number(), followed.name(), stack_);
    if (const auto result = followed.make(thread.calling, log_)) return answer(who, *result);
    thread.running.emplace(std::move(followed));
    running_ = who;
    running_since_ = seconds_now();
    trace_it(PTRACE_SYSCALL, who, 0, 0);
  }

  void end_call(Thread& thread) {
    const pid_t who = thread.calling.thread();
    __ptrace_syscall_info info{};
    trace_it(PTRACE_GET_SYSCALL_INFO, who, sizeof info, reinterpret_cast<uintptr_t>(&info));
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && thread.running) {
      log_.by(thread.calling.number(), thread.running->name(), stack_);
      thread.running->after(thread.calling, info.exit.rval, log_);
      thread.running.reset();
    }
    go_on(who);
    if (running_ == who) {
      running_ = 0;
      let_next_run();
    }
  }

  void let_next_run() {
    while (running_ == 0 && !waiting_.empty()) {
      const pid_t next = waiting_.front();
      waiting_.pop_front();
      Thread& thread = *threads_.at(next);
      const SystemCall call = *thread.waits;
      thread.waits.reset();
      run(thread, call);
    }
  }

  // The call fails as on a kernel that is too old for it.
  void refuse(pid_t who, const SystemCall& call) {
    const bool shares = call.number == SYS_ioctl;
    log_.note(TreeNote::kTold,
              shares ? "a request to share blocks of files was refused, as by a file system without reflinks"
                     : "io_uring or Linux AIO was refused, as by an old kernel");
    answer(who, shares ? -EOPNOTSUPP : -ENOSYS);
  }

  // The thread goes on with this result, and the kernel does not see the call.
  void answer(pid_t who, int64_t result) {
    trace_it(PTRACE_POKEUSER, who, offsetof(user, regs.orig_rax), ~uintptr_t{0});
    trace_it(PTRACE_POKEUSER, who, offsetof(user, regs.rax), static_cast<uintptr_t>(result));
    go_on(who);
  }

  const RecordedCommand& command_;
  TreeLog log_;
  CodePlaces places_;
  std::optional<ToldStores> stores_;
  OwnDescriptor failures_;
  int steps_;

  pid_t main_ = 0;
  int main_status_ = 0;
  std::optional<double> ended_at_;  // of the main process
  std::unordered_map<pid_t, std::unique_ptr<Thread>> threads_;
  uint32_t born_ = 0;

  pid_t running_ = 0;  // the thread that is within a call on the folder
  double running_since_ = 0;
  uint32_t stack_ = 0;  // of this call
  std::deque<pid_t> waiting_;
};

}  // namespace

Result<Recorded> record_command(const RecordedCommand& command) {
  const std::vector<std::string> words(command.command.begin() + static_cast<std::ptrdiff_t>(command.tracer_words),
                                       command.command.end());
  nlohmann::ordered_json metadata = {{"files", {{"folder", command.folder}, {"command", words}}}};
  TraceError error;
  const auto trace = TraceWriter::create(
      command.trace, metadata.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), &error);
  if (trace == nullptr) return usage_error(error);
  Recorder recorder(command, *trace);
  TreeLog& log = recorder.log();
  if (auto wrong = log.begin()) return *wrong;
  if (!command.stores.empty()) {
    if (auto wrong = recorder.take_stores()) return *wrong;
  }
  Marks marks;
  if (!command.marks.empty()) {
    if (auto wrong = marks.make(command.marks, log)) return *wrong;
  }
  Printed printed;
  if (!command.output.empty()) {
    if (auto wrong = printed.make(command.output, log)) return *wrong;
  }
  const uint64_t before = trace->events();
  if (auto wrong = recorder.start(printed)) return *wrong;
  Recorded out;
  out.status = recorder.follow();
  recorder.step();
  if (const int failure = recorder.failure(); failure != 0) {
    return usage_error(absl::StrCat("the command cannot be started: ", std::strerror(failure)), command.command.front(),
                       "Name a program that exists and may be run.");
  }
  if (auto wrong = marks.wrong()) return *wrong;
  if (marks.has_operations() && !command.output.empty()) {
    return usage_error("the program marks its operations itself", "--ack",
                       "Leave --ack out, or the marks: an operation that both end would be two.");
  }
  log.compare_at_the_end();
  out.touched = trace->events() > before + marks.events();
  log.ended(WIFSIGNALED(out.status), WIFSIGNALED(out.status) ? WTERMSIG(out.status) : WEXITSTATUS(out.status));
  out.missed = log.missed();
  out.printed = printed.grown();
  constexpr size_t kNamed = 3;
  out.elsewhere = log.likely_elsewhere(kNamed);
  out.elsewhere_count = log.files_elsewhere();
  if (const auto wrong = trace->finish()) return usage_error(*wrong);
  out.events = trace->events();
  return out;
}

}  // namespace powercut
