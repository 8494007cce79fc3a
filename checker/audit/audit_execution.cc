#include "checker/audit/audit_execution.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "tracer/world/arena.h"
#include "tracer/world/virtual_world.h"

namespace powercut {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kTicksASecond = 4;
// As in the executor: the first page of the arena stays unused, so a heap address is the same in both.
constexpr uint64_t kGuard = 4096;

AuditExecution* current = nullptr;  // signal handlers are process-wide, and so is this

uint8_t* lazy_memory(uint64_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no address space for the audit's copies of pages");
  return static_cast<uint8_t*>(at);
}

void give_back(int signal) {
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const auto* machine = static_cast<const ucontext_t*>(context);
  if (current == nullptr) return give_back(signal);
  current->on_fault(signal, reinterpret_cast<uint64_t>(info->si_addr),
                    static_cast<uint64_t>(machine->uc_mcontext.gregs[REG_RIP]));
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void PageJournal::guard(const std::vector<MemoryRange>& ranges) {
  uint64_t pages = 0;
  for (const MemoryRange& range : ranges) {
    Area area{range.begin / kPage * kPage, (range.end + kPage - 1) / kPage * kPage, nullptr, nullptr};
    if (area.begin == area.end) continue;
    area.copies = lazy_memory(area.end - area.begin);
    area.kept = lazy_memory((area.end - area.begin) / kPage);
    pages += (area.end - area.begin) / kPage;
    areas_.push_back(area);
  }
  kept_pages_ = reinterpret_cast<uint64_t*>(lazy_memory((pages + 1) * sizeof(uint64_t)));
  for (const Area& area : areas_) {
    if (mprotect(reinterpret_cast<void*>(area.begin), area.end - area.begin, PROT_READ) != 0) {
      throw std::runtime_error("cannot write-protect the target's memory");
    }
  }
}

bool PageJournal::keep(uint64_t address) {
  for (const Area& area : areas_) {
    if (address < area.begin || address >= area.end) continue;
    const uint64_t page = address / kPage * kPage;
    uint8_t& flag = area.kept[(page - area.begin) / kPage];
    if (flag != 0) return false;
    std::memcpy(area.copies + (page - area.begin), reinterpret_cast<const void*>(page), kPage);
    // The call itself: mprotect() is the target's here (arena_mappings.cc).
    if (syscall(SYS_mprotect, page, kPage, PROT_READ | PROT_WRITE) != 0) return false;
    flag = 1;
    kept_pages_[kept_count_++] = page;
    return true;
  }
  return false;
}

void PageJournal::restore() {
  for (size_t i = 0; i < kept_count_; ++i) {
    const uint64_t page = kept_pages_[i];
    for (const Area& area : areas_) {
      if (page < area.begin || page >= area.end) continue;
      std::memcpy(reinterpret_cast<void*>(page), area.copies + (page - area.begin), kPage);
    }
  }
}

AuditExecution::AuditExecution(uint64_t pool_size, std::vector<MemoryRange> globals)
    : pool_{kPoolBase, kPoolBase + pool_size}, globals_(std::move(globals)), own_code_(executable_code()) {
  void* at = mmap(reinterpret_cast<void*>(pool_.end), kArenaSize, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("the address range of the target's heap is taken in this process");
  heap_ = {pool_.end + kGuard, pool_.end + kArenaSize};
  arena = {heap_.begin, heap_.end, heap_.begin, heap_.begin};
  stack_t alternate{};
  alternate.ss_size = 256 * 1024;
  alternate.ss_sp = std::malloc(alternate.ss_size);
  sigaltstack(&alternate, nullptr);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) handle(signal, on_signal);
  handle(SIGVTALRM, [](int, siginfo_t*, void*) {
    if (current != nullptr) current->on_tick();
  });
  current = this;
}

void AuditExecution::start_clocks() {
  const itimerval ticks{{0, 1'000'000 / kTicksASecond}, {0, 1'000'000 / kTicksASecond}};
  setitimer(ITIMER_VIRTUAL, &ticks, nullptr);
  const itimerval whole{{0, 0}, {kSecondsOfOneImage, 0}};
  setitimer(ITIMER_REAL, &whole, nullptr);
}

Outcome AuditExecution::run(const std::function<void()>& body) {
  Outcome outcome;
  ticks_ = 0;
  // In an instrumented library the hooks stay off, but its loops count all the same.
  __powercut_steps = INT64_MAX;
  if (sigsetjmp(escape_, 0) == 0) {
    running_ = true;
    arena_active = true;
    try {
      body();
    } catch (...) {
      outcome.kind = Outcome::Kind::kException;
    }
  } else {
    outcome.kind = ended_;
    outcome.signal = signal_;
  }
  arena_active = false;
  running_ = false;
  return outcome;
}

void AuditExecution::hold() {
  held_top_ = arena.top;
  arena_keep();
  held_world_ = virtual_world.state;
  std::vector<MemoryRange> ranges = globals_;
  ranges.push_back(pool_);
  ranges.push_back({heap_.begin, arena.top});
  journal_.guard(ranges);
}

void AuditExecution::reset() {
  arena_drop_to(held_top_);
  virtual_world.state = held_world_;
  journal_.restore();
}

void AuditExecution::stop(Outcome::Kind kind, int signal) {
  running_ = false;
  arena_active = false;
  ended_ = kind;
  signal_ = signal;
  siglongjmp(escape_, 1);
}

void AuditExecution::on_fault(int signal, uint64_t address, uint64_t code) {
  if (signal == SIGSEGV && journal_.keep(address)) return;
  // A fault of the engine's own code is ours (as in the executor): the process dies, and its parent says so.
  if (!running_ || own_code_.holds(code, 1)) return give_back(signal);
  stop(signal == SIGABRT ? Outcome::Kind::kAbort : Outcome::Kind::kSignal, signal);
}

void AuditExecution::on_tick() {
  if (!running_) return;
  ticks_ = ticks_ + 1;
  if (ticks_ > kSecondsOfOneExecution * kTicksASecond) stop(Outcome::Kind::kSteps, 0);
}

}  // namespace powercut
