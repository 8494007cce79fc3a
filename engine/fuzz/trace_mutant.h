// Mutants of a trace that its checksums do not give away: events, payload bytes or metadata are changed, and header,
// frame and footer are made anew.
#ifndef POWERCUT_ENGINE_FUZZ_TRACE_MUTANT_H_
#define POWERCUT_ENGINE_FUZZ_TRACE_MUTANT_H_

#include <string>
#include <vector>

#include "engine/fuzz/mutate.h"
#include "tracer/format/trace.h"

namespace powercut::fuzz {

// A trace in memory, its events with bytes of their own.
class TraceSeed {
 public:
  // Throws std::runtime_error when the file is no trace of one frame's length.
  explicit TraceSeed(const std::string& path);

  // The bytes of a mutant's file.
  std::string mutant(Draw* draw) const;

 private:
  struct Kept {
    Event event;
    std::string value, key, text;
    Event view() const;
  };
  void change_events(Draw* draw, std::vector<Kept>* events) const;
  std::string payload_of(const std::vector<Kept>& events) const;
  static std::string wrap(const std::string& metadata, const std::string& payload);

  std::string file_, metadata_;
  Json parsed_metadata_;
  std::vector<Kept> events_;
  std::vector<TraceModule> modules_;
  std::vector<std::vector<Frame>> stacks_;
};

}  // namespace powercut::fuzz
#endif  // POWERCUT_ENGINE_FUZZ_TRACE_MUTANT_H_
