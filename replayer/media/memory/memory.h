// Persistent memory: lines of a cache, flushes and fences. Two models, which differ in whether caches survive a power
// cut.
#ifndef POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_
#define POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_

#include "replayer/models/persistency.h"

namespace powercut {

class PoolCalls;
struct PoolFile;

// The rules that both models have.
class MemoryRules : public Persistency {
 public:
  bool has_fence(FenceKind kind) const override { return kind != FenceKind::kDevice; }
  Durable by_fence() const override { return Durable::kOfThread; }
  std::vector<std::string> assumptions(std::string_view atoms, bool store_buffers) const override;
};

// Calls on a file that the program maps.
std::unique_ptr<PoolCalls> make_memory_calls(const PoolFile& file);

const Persistency& adr();
const Persistency& eadr();

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_
