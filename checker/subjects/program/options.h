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
  std::vector<std::string> probes;   // JSON lists of words as well, in the order of their runs
  std::string continuation;          // a JSON list of words; may be empty
  std::string tracer;                // parse_trace_prefix(); may be empty
  std::string device_tracer;         // parse_trace_prefix() of a tracer that records accesses of a device
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
  int nested = 0;                  // cuts inside recovery, one deep; such cuts take a tracer
  uint64_t images = 4096;          // up to so many states of a crash point are tried one by one; more are sampled
  uint64_t native_box = 32;        // with a tracer, boxes up to this size are enumerated: a traced run takes as long
  double budget_seconds = 0;       // 0: none
  double budget_spent = 0;         // seconds of the budget that were spent before this process began
  double budget_found = 0;         // seconds once there is a finding: the rest is for explaining; 0: the whole budget
  uint64_t budget_executions = 0;  // 0: none

  AtomPolicy policy() const { return persistency_of(model)->policy(*atom_policy(atoms)); }
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OPTIONS_H_
