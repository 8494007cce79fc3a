// Stores through mappings of files, as a tracer of instructions tells them (store_record.h): with it they are exact.
// Its program counters are those of the recorded process, since the program runs within the tracer's process.
#ifndef POWERCUT_TRACER_CALLS_TOLD_STORES_H_
#define POWERCUT_TRACER_CALLS_TOLD_STORES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "tracer/calls/code_places.h"
#include "tracer/calls/own_descriptor.h"
#include "tracer/calls/store_record.h"
#include "tracer/calls/told_file.h"
#include "tracer/calls/tree_log.h"

namespace powercut {

class ToldStores : public ToldFile {
 public:
  explicit ToldStores(CodePlaces& places) : places_(places) {}
  // Makes the file. The log relies on its stores from now on.
  std::optional<EngineError> make(const std::string& path, TreeLog& log);
  // The process of the thread that writes next.
  void is_of(pid_t process) { process_ = process; }
  void wrote(TreeLog& log, uint64_t offset, uint64_t size) override;
  // The stores have happened before they are told: the write is no instant at which files are compared.
  bool is_an_instant() const override { return false; }
  // Returns the stack of the call that the thread makes; 0: unknown.
  uint32_t stack_of_call(uint32_t thread);

 private:
  bool take(const powercut_store_record& record, std::span<const uint8_t> bytes, TreeLog& log);

  CodePlaces& places_;
  OwnDescriptor file_;
  pid_t process_ = 0;
  std::map<std::pair<pid_t, uint64_t>, uint32_t> stacks_;   // of the trace, by process and name
  std::map<std::pair<pid_t, uint64_t>, uint32_t> threads_;  // of the trace, by process and the tracer's number
  std::unordered_map<uint32_t, uint32_t> calls_;            // stacks, by thread
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_TOLD_STORES_H_
