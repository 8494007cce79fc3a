// The binaries mapped into this process; turns addresses into the (module, offset) frames of a trace.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_MODULE_MAP_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_MODULE_MAP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tracer/format/trace.h"

namespace powercut {

class ModuleMap {
 public:
  struct Place {
    const TraceModule* module;  // valid until the next call
    uint64_t offset;            // address - load bias, as a symboliser takes it
  };
  // Returns nothing for an address outside every module (generated code).
  std::optional<Place> find(uint64_t address);

 private:
  struct Range {
    uint64_t begin, end, bias;
    size_t module;
  };
  void refresh();
  const Range* lookup(uint64_t address) const;

  std::vector<TraceModule> modules_;
  std::vector<Range> ranges_;  // invariant: sorted, disjoint
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_MODULE_MAP_H_
