// Counts the events of a trace by kind of operation, for `record` and `stats`.
#ifndef POWERCUT_TRACER_VIEW_TRACE_STATS_H_
#define POWERCUT_TRACER_VIEW_TRACE_STATS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/event_stream.h"
#include "tracer/format/reader.h"

namespace powercut {

struct OperationCounters {
  uint64_t operations = 0;  // begun
  uint64_t stores = 0;      // cacheable and non-temporal
  uint64_t nt_stores = 0;   // of these, non-temporal
  uint64_t store_bytes = 0;
  uint64_t flushes = 0;
  uint64_t fences = 0;
  uint64_t lines = 0;   // distinct 64-byte lines written, summed over operations
  uint64_t blocks = 0;  // distinct 256-byte blocks written, summed over operations
};

class TraceStats {
 public:
  void add(const Event& event);
  // Call finish() after the last event.
  void finish();

  // Counters by kind of operation; "none" counts the events outside of operations.
  using Table = std::map<std::string, OperationCounters>;
  const Table& all() const { return all_; }
  const Table& explored() const { return explored_; }  // phases with explore = true
  // The number of times that each mark was reached in explored phases.
  const std::map<std::string, uint64_t>& marks() const { return marks_; }
  uint64_t operations() const;
  uint64_t events() const { return events_; }
  const std::map<std::string, uint64_t>& events_by_kind() const { return events_by_kind_; }

  static Json json(const Table& table);

 private:
  // The operation that a thread is in.
  struct Running {
    std::string kind = "none";
    bool explored = false;
    OperationCounters counters;
    absl::flat_hash_set<uint64_t> lines, blocks;
  };
  void close(Running& running);

  Table all_, explored_;
  std::map<std::string, uint64_t> marks_, events_by_kind_;
  absl::flat_hash_map<uint32_t, Running> threads_;
  bool exploring_ = false;
  uint64_t events_ = 0;
};

// Reads the whole trace; returns its counts, or the reader's error.
Result<TraceStats> stats_of(TraceReader& reader);

}  // namespace powercut
#endif  // POWERCUT_TRACER_VIEW_TRACE_STATS_H_
