// The output of a program that acknowledges by what it prints: two files, and how far they had grown at which event.
#ifndef POWERCUT_TRACER_CALLS_PRINTED_H_
#define POWERCUT_TRACER_CALLS_PRINTED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tracer/calls/own_descriptor.h"
#include "tracer/calls/told_file.h"
#include "tracer/calls/tree_log.h"

namespace powercut {

// The size of an output after a write to it.
struct PrintedSoFar {
  uint64_t events = 0;  // of the trace before this write
  int output = 1;       // 1 standard output, 2 standard error
  uint64_t size = 0;
};

class Printed {
 public:
  // Makes the files `stdout` and `stderr` of the folder.
  std::optional<EngineError> make(const std::string& folder, TreeLog& log);
  // Gives the outputs of this process to the files, if there are files. For a child of fork(): no allocation.
  void take_over() const;
  const std::vector<PrintedSoFar>& grown() const { return grown_; }

 private:
  class Output : public ToldFile {
   public:
    Output(std::vector<PrintedSoFar>& grown, int number) : grown_(grown), number_(number) {}
    void wrote(TreeLog& log, uint64_t offset, uint64_t size) override;
    OwnDescriptor file;

   private:
    std::vector<PrintedSoFar>& grown_;
    int number_;
  };
  std::vector<PrintedSoFar> grown_;
  Output outputs_[2] = {{grown_, 1}, {grown_, 2}};
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_PRINTED_H_
