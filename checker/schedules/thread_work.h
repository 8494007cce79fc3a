// The operations that the threads of a workload do, and the words that findings use for them.
#ifndef POWERCUT_CHECKER_SCHEDULES_THREAD_WORK_H_
#define POWERCUT_CHECKER_SCHEDULES_THREAD_WORK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checker/oracle/history.h"
#include "powercut/target.h"
#include "tracer/format/trace.h"
#include "tracer/runtime/recording/recorder.h"

namespace powercut {

struct ThreadOperation {
  OpKind kind{};
  uint64_t id = 0;  // of the key
  std::vector<uint8_t> key, value;
  std::string text;  // command of kMaintain
};

// A thread does one of these operations next. There is more than one where the workload leaves the choice open
// (client_choices.h).
using Alternatives = std::vector<ThreadOperation>;

struct ThreadWork {
  const powercut_target* target = nullptr;
  powercut_table* table = nullptr;
  std::vector<std::vector<Alternatives>> clients;
  bool store_buffers = false;  // other threads see a thread's stores later (store_buffer.h)
  bool alike = false;          // clients that differ by the order of the threads are the same
  bool checks_exists = true;   // whether an insert may meet its key
  // The operations that follow on one thread once the clients have ended.
  std::vector<ThreadOperation> after;
  const powercut_background* background = nullptr;
  std::function<void(const char*)> mark;  // hears of each
  Recorder* recorder = nullptr;           // its events go to who runs the threads, not to its writer
  const History* history = nullptr;       // of the run before the threads
  uint64_t pool_size = 0;
  uint64_t first_event = 0;
  size_t most_value = 0;  // bytes of a value that a lookup may answer with
};

// Calls the target, on a thread or a fiber. The call owns nothing, for a jump may leave it. A lookup's value comes to
// `answer`, and its number of bytes to `size`.
powercut_status call_operation(const ThreadWork& work, const ThreadOperation& operation, std::span<uint8_t> answer,
                               size_t* size);
// The events of the trace for an operation of thread `number`. The events view the operation's and the answer's bytes
// and own none.
Event begin_of(const ThreadOperation& operation, uint32_t number);
Event end_of(powercut_status status, std::span<const uint8_t> answer, uint32_t number);

// `number`: from 1 on. Null: the thread is the table's own.
std::string thread_name(uint32_t number, const ThreadOperation* operation);
// "erase" or "maintain 'expand'": the ability that a scenario with the operation needs of its target.
std::string need_of(const ThreadOperation& operation);
// Why an operation that a phase lists counts as not run.
std::string not_supported(const std::string& thread);
// Why an answer is wrong with no power cut. `value`: the value that a lookup has found.
std::string not_explained(const std::string& thread, uint64_t id, powercut_status status,
                          const std::optional<std::string>& value);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_THREAD_WORK_H_
