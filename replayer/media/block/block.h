// A file that is a block device: its calls as events of the trace, where a write of sectors is a store of their
// contents' names (tracer/FORMAT.md, "Devices"), and its crash images.
#ifndef POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_H_
#define POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_H_

#include <memory>

namespace powercut {

class ImageWriter;
class PoolCalls;
struct PoolFile;

// Precondition of both: the file has the layout of a device.
std::unique_ptr<PoolCalls> make_block_calls(const PoolFile& file);
const ImageWriter& block_images();

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_H_
