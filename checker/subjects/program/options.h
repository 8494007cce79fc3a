// The options of an exploration in program mode.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_OPTIONS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checker/trace/loaded_trace.h"
#include "replayer/media/medium.h"

namespace powercut {

struct ProgramOptions {
  std::string trace;
  std::string recover, check, dump;  // JSON lists of words; the last two may be empty
  std::vector<std::string> probes;   // of these as well, in the order in which they run
  std::string tracer;                // parse_trace_prefix(); may be empty
  std::string device_tracer;         // the same, of one that records what is done to a device
  bool report_reads = false;         // runs report their reads, where they can
  std::string model = "adr";
  std::string atoms = "any";
  std::string pool_path;   // of a trace that does not name its pool
  std::string work;        // folder for crash images; empty: /dev/shm
  std::string keep_image;  // file for an image on which recovery came to two ends; empty: none is kept
  bool ordered = false;    // the order of the lines that are printed counts
  double timeout = 10;     // seconds, of one run of one command
  // The run ends at the first finding that needs no power cut.
  bool stop_at_functional = false;
  int jobs = 1;
  uint64_t seed = 1;
  int nested = 0;                  // cuts inside recovery, one deep; they take a tracer
  uint64_t images = 4096;          // that a crash point's states are looked at one by one; above, they are sampled
  uint64_t native_box = 32;        // with a tracer, boxes up to this are run one by one: a traced run takes as long
  double budget_seconds = 0;       // 0: none
  double budget_spent = 0;         // of it, before this process began
  double budget_found = 0;         // once something was found: the rest is for explaining it; 0: the same
  uint64_t budget_executions = 0;  // 0: none

  AtomPolicy policy() const { return persistency_of(model)->policy(*atom_policy(atoms)); }
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OPTIONS_H_
