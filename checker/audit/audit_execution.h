// Runs uninstrumented target code in a process of its own and puts memory back between queries.
//
// No hook tells what the code writes, so the pages of pool, heap and globals are write-protected once recovery has
// returned. The first write to a page faults, keeps the page's recovered content and lets the write happen. A reset
// copies the kept pages back. A page stays writable from then on. An image thus costs one fault for each page that any
// of its queries writes, and a reset costs as much as has been written.
//
// Known inaccuracies: a system call that writes to protected memory fails with EFAULT instead of faulting; thread-local
// variables, and the globals of libraries under the target, stay as a query leaves them until the image is done.
#ifndef POWERCUT_CHECKER_AUDIT_AUDIT_EXECUTION_H_
#define POWERCUT_CHECKER_AUDIT_AUDIT_EXECUTION_H_

#include <csetjmp>
#include <cstdint>
#include <functional>
#include <vector>

#include "replayer/executor/executor.h"
#include "tracer/world/virtual_world.h"

namespace powercut {

class PageJournal {
 public:
  // Protects the pages that `ranges` touch. Once per object.
  void guard(const std::vector<MemoryRange>& ranges);
  // A write to `address` has faulted. Keeps the page and makes it writable; false when the page is not protected.
  // Allocates nothing: the fault may have come from inside malloc.
  bool keep(uint64_t address);
  // Puts back the contents that every kept page had when it was guarded.
  void restore();
  size_t kept() const { return kept_count_; }

 private:
  struct Area {
    uint64_t begin = 0, end = 0;  // whole pages
    uint8_t* copies = nullptr;    // of kept pages, at the same offset
    uint8_t* kept = nullptr;      // one flag a page
  };
  std::vector<Area> areas_;
  uint64_t* kept_pages_ = nullptr;
  size_t kept_count_ = 0;
};

// One per process. The heap is the arena of tracer/world/arena.h, as in an exploration.
class AuditExecution {
 public:
  // Loop and call counting needs hooks; here an execution may take this much processor time.
  static constexpr int kSecondsOfOneExecution = 2;
  // Wall clock for all of one image; after it SIGALRM ends the process.
  static constexpr int kSecondsOfOneImage = 120;

  // Maps the arena behind a pool of this size, where an exploration has it, and takes the signals of faults.
  AuditExecution(uint64_t pool_size, std::vector<MemoryRange> globals);

  // In the process of the image: starts its clocks.
  void start_clocks();
  // Calls target code; a fault, an exception or an exhausted time limit becomes an Outcome.
  Outcome run(const std::function<void()>& body);
  // The state that reset() leads back to is the present one. Once per process.
  void hold();
  void reset();

  // For the signal handlers.
  void on_fault(int signal, uint64_t address, uint64_t code);
  void on_tick();

 private:
  [[noreturn]] void stop(Outcome::Kind kind, int signal);

  MemoryRange pool_, heap_;
  std::vector<MemoryRange> globals_;
  MemoryRange own_code_;
  PageJournal journal_;
  uint64_t held_top_ = 0;
  WorldState held_world_;
  volatile bool running_ = false;
  volatile int ticks_ = 0;
  Outcome::Kind ended_{};
  int signal_ = 0;
  sigjmp_buf escape_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_AUDIT_AUDIT_EXECUTION_H_
