// A chunk of the exploration: its crash points and their result.
//
// Chunks follow from the trace and from the options of what to explore, never from --jobs. Each chunk is explored with
// nothing remembered from the chunk before: its result is the same in any worker, at any time.
#ifndef POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHUNK_RESULT_H_
#define POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHUNK_RESULT_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_stream.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

// The crash points from `first` on whose event lies before `end_event`.
struct Chunk {
  uint64_t number = 0;
  uint64_t first = 0;  // ordinal of its first crash point
  uint64_t end_event = 0;
};

// The counts of a chunk of crash points. Sums over chunks do not depend on which worker explored them.
struct ChunkCounts {
  uint64_t crash_points = 0;
  uint64_t executions = 0, query_runs = 0, query_answers = 0, loads = 0;
  uint64_t lives = 0, new_lives = 0;  // second lives (Explorer)
  BigInt covered = 0;
  bool complete = true;  // strategy and candidate sets left nothing out
  // Wall clock, by activity: "exploring" is all time inside crash points.
  std::map<std::string, double> seconds;

  void add(const ChunkCounts& other);
};

// The highest value of a measure ("recovery.fences", "duplicates") that a crash state of the chunk showed, and the
// first crash point that showed this value.
struct Maximum {
  uint64_t value = 0;
  Json where;  // {crash_point, operation, key, stack} of reports/EVENTS.md
};

// The sites of explore --list-recovery-sites: kind, name and stack as JSON text, with the number of executions.
using RecoverySites = std::map<std::string, uint64_t>;

struct ChunkResult {
  uint64_t number = 0;
  ChunkCounts counts;
  // True if a signal, the time budget or a finding that needs no power cut stopped the chunk before its end. Such a
  // result is not kept.
  bool stopped = false;
  std::string distrust;              // why the worker cannot be trusted any more: the chunk is to be done again
  std::vector<uint64_t> leaves;      // digests of recovery's distinct behaviours, ascending
  std::vector<uint64_t> read_lines;  // bitmap by line: some recovery or query read it
  std::vector<uint64_t> reached;     // bitmap of reached_stores(), of all that had been explored by then
  std::map<std::string, Maximum> maxima;
  RecoverySites recovery_sites;
  std::vector<Json> findings;         // the findings as events, in the order of reports
  std::vector<std::string> troubles;  // why the verdict is not known: failures of our own harness, and doubts
  uint32_t sources = 0;               // WorldSources that target code asked for, and that made no difference
};

// A packet's payload: one line of JSON, then leaves, read_lines and reached as 64-bit little-endian words.
std::string encode(const ChunkResult& result);
std::optional<ChunkResult> decode_chunk_result(std::string_view payload);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHUNK_RESULT_H_
