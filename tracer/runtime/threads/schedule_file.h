// The file by which a driver asks a program for a schedule, and by which the program reports the schedule that it ran.
// The driver (checker/subjects/program/schedules) and the program's runtime (scheduled_program.h) both map the file.
// The file outlives the program, which may die or be killed.
//
// A schedule is a list of choices. At each *decision* more than one thread may go on, and the next entry of `choice`
// names the chosen thread. Beyond the end of the choices the running thread goes on, or if that thread waits, the next
// by its number.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_FILE_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace powercut::runtime {

inline constexpr uint32_t kScheduleVersion = 2;
// The length of a search's longest schedule (replayer/schedules/search.h).
inline constexpr size_t kMostDecisions = 10'000;
inline constexpr size_t kMostPlaces = 1 << 16;
inline constexpr size_t kMostOrder = 4096;

// The rule for choosing beyond the end of the choices. kOrder: marked operations that begin once there are threads come
// one after the other, each in the thread that `order` names for it. Threads wait before operations whose turn has not
// come.
enum class Tail : uint32_t { kGoesOn, kRandom, kPct, kOrder };

// Threads are numbered from 1 on; a set of them has bit N for number N.
struct Decision {
  uint16_t may;     // threads that could go on
  uint16_t costly;  // the threads of `may` whose choice costs a preemption
  uint16_t from;    // the thread that came to the decision
  uint16_t to;      // the thread that was chosen
  uint64_t so_far;  // digest of all that the threads have done before
};

enum class ScheduleEnd : uint32_t {
  kUnknown,   // the program died, or was killed
  kDone,      // kMostDecisions decisions, or a loop that does not end
  kDeadlock,  // the program's threads wait for each other
  kTooLong,   // the schedule has kMostDecisions decisions
  kMany,      // more places race than there is room for
  kNoOrder,   // the operations cannot come in this order
};

struct ScheduleFile {
  // ---- the driver's ----
  uint32_t version;
  Tail tail;
  uint64_t seed;         // seed of a random tail
  uint32_t changes;      // pct: how many changes of priorities
  uint32_t length;       // pct: within how many decisions the changes come
  uint32_t every_store;  // eadr: stores to the pools are visible
  uint32_t choices, places, order_length;
  // ---- the program's ----
  std::atomic<int32_t> owner;   // the process that follows the schedule, once there is one
  std::atomic<uint64_t> beats;  // grows while hooks are called
  uint32_t threads;             // how many threads there were
  uint32_t decisions, found;
  ScheduleEnd end;
  uint64_t so_far;  // digest of all that the threads have done
  char doubt[512];  // why these schedules are not all that the program could do
  char text[1024];  // deadlock: which threads wait
  uint16_t choice[kMostDecisions];
  uint32_t order[kMostOrder];
  Decision log[kMostDecisions];
  // Words (address / 8) and lines (kLinePlace | address / 64) whose uses are visible, and places whose uses should have
  // been.
  uint64_t place[kMostPlaces];
  uint64_t found_place[kMostPlaces];
};
inline constexpr uint64_t kLinePlace = uint64_t{1} << 63;

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_FILE_H_
