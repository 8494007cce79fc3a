// Persistent memory: lines of a cache, flushes and fences. Two models, which differ in whether caches survive a power
// cut.
#ifndef POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_
#define POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_

#include "replayer/models/persistency.h"

namespace powercut {

// The rules that both models have.
class MemoryRules : public Persistency {
 public:
  bool has_fence(FenceKind kind) const override { return kind != FenceKind::kDevice; }
  Durable by_fence() const override { return Durable::kOfThread; }
  std::vector<std::string> assumptions(std::string_view atoms, bool store_buffers) const override;
};

const Persistency& adr();
const Persistency& eadr();

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_
