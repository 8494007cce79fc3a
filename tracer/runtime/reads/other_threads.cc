#include "tracer/runtime/reads/other_threads.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "tracer/runtime/reads/call_filter.h"
#include "tracer/runtime/reads/closed_area.h"
#include "tracer/runtime/reads/kernel.h"

// Makes the interrupted call once more with the registers that it had; the calling thread and the new thread go on
// behind the call. The code needs no stack: the new thread's stack has the words that its first function finds there.
asm(".text\n"
    ".globl powercut_reads_clone\n"
    ".hidden powercut_reads_clone\n"
    "powercut_reads_clone:\n\t"
    "syscall\n"
    ".globl powercut_reads_cloned\n"
    ".hidden powercut_reads_cloned\n"
    "powercut_reads_cloned:\n\t"
    "jmp *powercut_reads_behind_clone(%rip)\n");

extern "C" {
[[gnu::visibility("hidden")]] extern const char powercut_reads_clone[];
[[gnu::visibility("hidden"), gnu::used]] constinit uint64_t powercut_reads_behind_clone = 0;
}

namespace powercut::runtime {
namespace {

constexpr size_t kMostThreads = 128;
// The code of this library's signals, which no call of the program can make.
constexpr int kStopCode = -61;
// A thread that does not stop within this many looks cannot be stopped. After kLooks looks each one waits for kPause.
constexpr int kLooks = 1000, kMostLooks = 100'000;
constexpr timespec kPause = {0, 50'000};
// The waiting calls that are made by wait_in_kernel(). All other calls go on after a signal.
constexpr uint16_t kWaits[] = {SYS_nanosleep, SYS_clock_nanosleep, SYS_poll, SYS_ppoll, SYS_pause};

struct Stopped {
  std::atomic<int> thread{0};
  std::atomic<bool> answered{false};
};
struct Waiting {
  std::atomic<int> thread{0};
  std::atomic<bool> in_kernel{false};
};

struct World {
  std::atomic<bool> threads{false}, concurrent{false};
  std::atomic<int> owner{0};  // thread that has the turn
  uint32_t turns = 0;         // how often the owner has taken the turn
  std::atomic<bool> stopping{false};
  std::atomic<size_t> count{0};  // how many threads are in `stopped`
  Stopped stopped[kMostThreads];
  Waiting waiting[kMostThreads];  // threads that have ever waited
};
constinit World world{};
constinit thread_local int own_number = 0;
constinit thread_local Waiting* own_wait = nullptr;

int self() {
  if (own_number == 0) own_number = static_cast<int>(kernel(SYS_gettid));
  return own_number;
}

void pause_look(int look) {
  if (look < kLooks) {
    kernel(SYS_sched_yield);
  } else {
    kernel(SYS_nanosleep, reinterpret_cast<long>(&kPause), 0);
  }
}

void wait_while_stopped() {
  for (int look = 0; world.stopping && world.owner != self(); ++look) pause_look(look);
}

// Calls `visit` with the number of each thread of the process.
template <typename Visit>
void each_thread(const Visit& visit) {
  static constexpr char kFolder[] = "/proc/self/task";
  const long folder = kernel(SYS_open, reinterpret_cast<long>(kFolder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) refuse("its threads cannot be listed");
  struct Entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[1];
  };
  alignas(Entry) char entries[2048];
  for (;;) {
    const long size = kernel(SYS_getdents64, folder, reinterpret_cast<long>(entries), sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries + at);
      int number = 0;
      for (const char* digit = entry->name; *digit >= '0' && *digit <= '9'; ++digit)
        number = number * 10 + *digit - '0';
      if (number != 0) visit(number);
      at += entry->size;
    }
  }
  kernel(SYS_close, folder);
}

bool is_in_kernel(int thread) {
  return std::ranges::any_of(world.waiting, [&](const Waiting& one) { return one.thread == thread && one.in_kernel; });
}

// Returns false if there is no such thread any more.
bool ask_to_stop(int thread) {
  siginfo_t info{};
  info.si_signo = SIGTRAP;
  info.si_code = kStopCode;
  return kernel(SYS_rt_tgsigqueueinfo, kernel(SYS_getpid), thread, SIGTRAP, reinterpret_cast<long>(&info)) == 0;
}

void wait_for(const Stopped& one) {
  for (int look = 0; !one.answered; ++look) {
    if (kernel(SYS_tgkill, kernel(SYS_getpid), one.thread, 0) != 0) return;
    if (look > kMostLooks) refuse("one of its threads does not stop");
    pause_look(look);
  }
}

// From now on calls that wait come to the handler, in this thread and in threads that it starts.
void see_waits() {
  if (!install_wait_filter(kWaits, std::size(kWaits))) refuse("the kernel takes no second filter of its system calls");
}

constexpr long kThread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_SETTLS;
constexpr long kFork = CSIGNAL | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;

long start_thread(ucontext_t* context) {
  greg_t* const registers = context->uc_mcontext.gregs;
  const auto behind = static_cast<uint64_t>(registers[REG_RIP]);
  if (powercut_reads_behind_clone != 0 && powercut_reads_behind_clone != behind) {
    refuse("it starts threads at two places");
  }
  if (!world.threads) see_waits();
  powercut_reads_behind_clone = behind;
  world.threads = world.concurrent = true;
  registers[REG_RIP] = reinterpret_cast<greg_t>(powercut_reads_clone);
  return SYS_clone;
}

long start_process(long number, const long (&a)[6]) {
  if (world.threads) refuse("it starts a process while it has threads");
  world.concurrent = true;
  const long child = kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (child == 0) own_number = 0;
  return child;
}

}  // namespace

bool has_threads() { return world.threads.load(std::memory_order_relaxed); }
bool is_concurrent() { return world.concurrent.load(std::memory_order_relaxed); }

void take_turn() {
  if (!has_threads()) return;
  const int me = self();
  if (world.owner != me) {
    int nobody = 0;
    for (int look = 0; !world.owner.compare_exchange_weak(nobody, me); nobody = 0) pause_look(look++);
  }
  ++world.turns;
}

void give_turn() {
  if (!has_threads() || --world.turns != 0) return;
  world.owner = 0;
}

Alone::Alone() { take_turn(); }
Alone::~Alone() { give_turn(); }

void stop_others() {
  if (!has_threads()) return;
  const int me = self();
  world.count = 0;
  world.stopping = true;
  for (size_t asked = 0;;) {
    each_thread([&](int thread) {
      const size_t count = world.count;
      const auto known = [&](const Stopped& one) { return one.thread == thread; };
      if (thread == me || std::any_of(world.stopped, world.stopped + count, known)) return;
      if (count == kMostThreads) refuse("it has more than 128 threads");
      world.stopped[count].answered = false;
      world.stopped[count].thread = thread;
      world.count = count + 1;
      // A thread that is in the kernel stops by itself when it comes back.
      if (is_in_kernel(thread) || !ask_to_stop(thread)) world.stopped[count].answered = true;
    });
    if (asked == world.count) return;  // no stopped thread starts another thread
    for (; asked < world.count; ++asked) wait_for(world.stopped[asked]);
  }
}

void go_on() { world.stopping = false; }

bool stopped_by(const siginfo_t* info) {
  if (info->si_code != kStopCode) return false;
  const int error = errno, me = self();
  for (size_t i = 0; i < world.count; ++i) {
    if (world.stopped[i].thread == me) world.stopped[i].answered = true;
  }
  wait_while_stopped();
  errno = error;
  return true;
}

bool waits(long number) { return std::ranges::find(kWaits, number) != std::end(kWaits); }

long wait_in_kernel(long number, const long (&a)[6]) {
  for (size_t i = 0; own_wait == nullptr && i < kMostThreads; ++i) {
    int nobody = 0;
    if (world.waiting[i].thread.compare_exchange_strong(nobody, self())) own_wait = &world.waiting[i];
  }
  if (own_wait == nullptr) refuse("it has more than 128 threads");
  // Either stop_others() finds the thread in the kernel, or the thread finds that it is to stop: no signal ends the
  // call.
  for (own_wait->in_kernel = true; world.stopping; own_wait->in_kernel = true) {
    own_wait->in_kernel = false;
    wait_while_stopped();
  }
  const long result = kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  own_wait->in_kernel = false;
  wait_while_stopped();
  return result;
}

long start_another(long number, const long (&a)[6], ucontext_t* context) {
  // The arguments of clone3 lie in memory; after ENOSYS the C library asks by clone.
  if (number == SYS_clone3) return -ENOSYS;
  const bool forks = number == SYS_fork || (number == SYS_clone && (a[0] & ~kFork) == 0 && a[1] == 0);
  if (forks) return start_process(number, a);
  if (number == SYS_clone && (a[0] & kThread) == kThread && a[1] != 0) return start_thread(context);
  refuse("it starts a process that shares its memory");
}

}  // namespace powercut::runtime
