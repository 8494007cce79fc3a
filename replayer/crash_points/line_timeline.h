// The recent events of each line, for the timeline of a finding: when it was dirty, flushed, durable.
//
// Every process of a run has it and no event is spared it. It is therefore a log that only grows at its end; each
// record has a link to the one before it of the same line. Old records are never written again (a fork shares them for
// good), and an event costs no search. The oldest part of a very long trace is dropped.
#ifndef POWERCUT_REPLAYER_CRASH_POINTS_LINE_TIMELINE_H_
#define POWERCUT_REPLAYER_CRASH_POINTS_LINE_TIMELINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tracer/format/trace.h"

namespace powercut {

class LineTimeline {
 public:
  struct Entry {
    uint64_t event;
    EventKind kind;
    uint8_t code;
    uint32_t size;
    uint32_t stack;
    const char* state;  // "dirty", "flushed" or "durable" after the event
  };
  // `lines`: of the pool. `kept_blocks`: blocks of kBlock records before the oldest is dropped.
  explicit LineTimeline(uint64_t lines, uint64_t kept_blocks = 512) : newest_(lines), kept_blocks_(kept_blocks) {}

  void apply(const Event& event);
  // Remembers the present records of each line; go_back() forgets all later records, as often as it is called.
  void keep();
  void go_back();
  // The last kShown entries of a line at most, oldest first.
  std::vector<Entry> entries(uint64_t line) const;

  static constexpr size_t kShown = 32;
  static constexpr uint64_t kBlock = 65536;

 private:
  enum class State : uint8_t { kDirty, kFlushed, kDurable };
  struct Record {
    uint64_t event : 42;
    uint64_t size : 7;  // within the line: up to 64
    uint64_t kind : 5;
    uint64_t code : 8;
    uint64_t state : 2;
    uint32_t stack;
    uint32_t back;  // so many records ago was the line's last one; 0: none that is known
  };
  static_assert(sizeof(Record) == 16);

  void add(uint64_t line, const Event& event, uint64_t size, State state);
  void wait_for_fence(uint32_t thread, uint64_t line);
  const Record* find(uint64_t number) const;

  std::vector<uint64_t> newest_;  // by line: number of its last record, from 1; 0: none
  std::vector<std::unique_ptr<Record[]>> blocks_;
  uint64_t kept_blocks_;
  uint64_t count_ = 0;
  struct Kept {
    absl::flat_hash_map<uint64_t, uint64_t> newest;  // of lines that have changed since
    absl::flat_hash_map<uint32_t, std::vector<uint64_t>> unfenced;
  };
  std::optional<Kept> kept_;
  absl::flat_hash_map<uint32_t, std::vector<uint64_t>> unfenced_;  // thread -> lines its next fence makes durable
  // Of a device: whoever stores, its next flush makes it durable.
  static constexpr uint32_t kWholeDevice = ~uint32_t{0};
  bool device_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_CRASH_POINTS_LINE_TIMELINE_H_
