// How a schedule is asked of a program and told by it: a file that the driver (checker/subjects/program/schedules) and
// the program's runtime (scheduled_program.h) both map. It is there after the program has died or was killed, too.
//
// A schedule is a list of choices. At each *decision* more than one thread may go on; who is chosen is the next entry
// of `choice`, and beyond their end it is the thread that runs, or where that one waits, the next by its number.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_FILE_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace powercut::runtime {

inline constexpr uint32_t kScheduleVersion = 2;
// As long as a search's longest schedule (replayer/schedules/search.h).
inline constexpr size_t kMostDecisions = 10'000;
inline constexpr size_t kMostPlaces = 1 << 16;
inline constexpr size_t kMostOrder = 4096;

// Who goes on beyond the end of the choices. kOrder: marked operations that begin once there are threads come one after
// the other, each in the thread that `order` names for it; threads wait before operations whose turn has not come.
enum class Tail : uint32_t { kGoesOn, kRandom, kPct, kOrder };

// Threads are numbered from 1 on; a set of them has bit N for number N.
struct Decision {
  uint16_t may;     // who could go on,
  uint16_t costly;  // of these, whom it costs a preemption to choose
  uint16_t from;    // who came to it
  uint16_t to;      // who was chosen
  uint64_t so_far;  // digest of all that the threads have done before
};

enum class ScheduleEnd : uint32_t {
  kUnknown,   // the program died, or was killed
  kDone,      // it ended
  kDeadlock,  // its threads wait for each other
  kTooLong,   // kMostDecisions
  kMany,      // more places than there is room for
  kNoOrder,   // the operations cannot come in this order
};

struct ScheduleFile {
  // ---- the driver's ----
  uint32_t version;
  Tail tail;
  uint64_t seed;         // of a random tail
  uint32_t changes;      // pct: of priorities,
  uint32_t length;       // within so many decisions
  uint32_t every_store;  // eadr: stores to the pools are visible
  uint32_t choices, places, order_length;
  // ---- the program's ----
  std::atomic<int32_t> owner;   // the process that follows the schedule, once there is one
  std::atomic<uint64_t> beats;  // grows while hooks are called
  uint32_t threads;             // that there were
  uint32_t decisions, found;
  ScheduleEnd end;
  uint64_t so_far;  // digest of all that the threads have done
  char doubt[512];  // why this is not all that the program could do
  char text[1024];  // of a deadlock: who waits
  uint16_t choice[kMostDecisions];
  uint32_t order[kMostOrder];
  Decision log[kMostDecisions];
  // Words (address / 8) and lines (kLinePlace | address / 64) whose uses are visible, and those that should have been.
  uint64_t place[kMostPlaces];
  uint64_t found_place[kMostPlaces];
};
inline constexpr uint64_t kLinePlace = uint64_t{1} << 63;

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_SCHEDULE_FILE_H_
