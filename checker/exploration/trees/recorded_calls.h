// The calls of a recorded folder, kept in memory: walks over them take no reader. A tried fix edits them.
#ifndef POWERCUT_CHECKER_EXPLORATION_TREES_RECORDED_CALLS_H_
#define POWERCUT_CHECKER_EXPLORATION_TREES_RECORDED_CALLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_field.h"
#include "base/result.h"
#include "checker/subjects/program/outputs/operations.h"
#include "replayer/media/files/crash_points.h"
#include "tracer/format/kept_event.h"

namespace powercut {

// A call, or a mark; calls have the numbers of `powercut view`.
struct RecordedCall {
  files::Effect effect;
  uint64_t number = 0;
  std::optional<KeptEvent> mark;  // begin or end of an operation
};

class RecordedCalls {
 public:
  // Usage errors: the trace cannot be read, or is no recording of a folder.
  static Result<RecordedCalls> load(const std::string& trace);

  const std::vector<RecordedCall>& calls() const { return calls_; }
  uint64_t events() const { return events_; }
  const Json& metadata() const { return metadata_; }
  const std::vector<TraceModule>& modules() const { return modules_; }
  // Sentences about what the recording missed: no verdict on it is clean.
  const std::vector<std::string>& missed() const { return missed_; }

  // Applies edits: [{"before" or "after": call, "sync": "file" or "data", "inode": number}, {…, "sync": "all"},
  // {"move": call, "before": call}, {"through": call, "last": call, "folder": number, "name": text}]. Usage error: an
  // edit names no call of the recording.
  std::optional<EngineError> edit(const Json& edits, const std::string& where);

 private:
  using Place = std::vector<RecordedCall>::iterator;
  // The first event of a call; behind its last event, and before the marks that follow it.
  Place before(uint64_t number);
  Place behind(uint64_t number);
  // Makes a rewrite in place go through another file. Call `first` emptied the file, call `last` is the last change of
  // the new contents. The other file is synced and takes the name, and its folder is synced. The file that the program
  // has open is this one from then on. False: the edit names no such calls.
  bool go_through(uint64_t first, uint64_t last, uint64_t folder, const std::string& name);

  std::vector<RecordedCall> calls_;
  uint64_t events_ = 0;
  Json metadata_;
  std::vector<TraceModule> modules_;
  std::vector<std::string> missed_;
};

// Hears of a walk over the calls.
class CallWalk {
 public:
  // `at` is called at each crash point of each disk, with the operations up to there.
  using At = std::function<void(size_t disk, files::Side, uint64_t call)>;
  CallWalk(const RecordedCalls& calls, std::vector<files::Disk*> disks, Operations* operations, At at);

  // Walks until the end, or until `goes_on` says no. Returns the number of a call that no program can have made.
  std::optional<uint64_t> walk(const std::function<bool()>& goes_on);
  // Calls since the last operation ended that changed something.
  bool changed_outside() const { return changed_outside_; }

 private:
  void take_mark(const RecordedCall& call);

  const RecordedCalls& calls_;
  std::vector<files::Disk*> disks_;
  Operations* operations_;
  std::vector<files::CrashPoints> crash_points_;
  bool changed_outside_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_TREES_RECORDED_CALLS_H_
