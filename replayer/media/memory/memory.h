// Persistent memory: lines of a cache, flushes and fences. There are two models: caches survive a power cut under
// `eadr`, and are lost under `adr`.
#ifndef POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_
#define POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_

#include "replayer/models/persistency.h"

namespace powercut {

class ImageWriter;
class PoolCalls;
struct PoolFile;

// The rules that both models share.
class MemoryRules : public Persistency {
 public:
  bool has_fence(FenceKind kind) const override { return kind != FenceKind::kDevice; }
  Durable by_fence() const override { return Durable::kOfThread; }
  std::vector<std::string> assumptions(std::string_view atoms, bool store_buffers) const override;
};

// Turns calls on a file that the program maps into events.
std::unique_ptr<PoolCalls> make_memory_calls(const PoolFile& file);
const ImageWriter& memory_images();

const Persistency& adr();
const Persistency& eadr();

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_MEMORY_MEMORY_H_
