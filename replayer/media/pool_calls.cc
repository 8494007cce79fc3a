#include "replayer/media/pool_calls.h"

#include <map>
#include <utility>

#include "replayer/media/medium.h"

namespace powercut {
namespace {

class CallsOfMedia final : public FileCalls {
 public:
  CallsOfMedia(std::vector<PoolFile> files, bool marks_phases) : files_(std::move(files)), events_(marks_phases) {
    CallsOfMedia::start();
  }

  void start() override {
    pools_.clear();
    for (const PoolFile& file : files_) pools_[file.offset] = medium_of_file(file).calls(file);
  }
  void call(const Event& call, const Emit& emit) override {
    std::unique_ptr<PoolCalls>& pool = pools_[call.pool];
    // The program neither mapped nor wrote to it: none of its bytes is in the trace.
    if (pool == nullptr) pool = medium_of_file({}).calls({});
    events_.begin(call, emit);
    pool->call(call, &events_);
  }
  void pass(const Event& event) override {
    for (auto& [offset, pool] : pools_) pool->pass(event);
  }

 private:
  const std::vector<PoolFile> files_;
  CallEvents events_;
  std::map<uint64_t, std::unique_ptr<PoolCalls>> pools_;  // by the offset of the window
};

}  // namespace

std::unique_ptr<FileCalls> make_file_calls(std::vector<PoolFile> files, bool marks_phases) {
  return std::make_unique<CallsOfMedia>(std::move(files), marks_phases);
}

}  // namespace powercut
