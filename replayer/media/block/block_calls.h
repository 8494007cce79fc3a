// Turns calls on a file that is a block device into events. A write of sectors becomes a store of the names of their
// contents (tracer/FORMAT.md, "Devices").
#ifndef POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_CALLS_H_
#define POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_CALLS_H_

#include <memory>

#include "replayer/media/pool_calls.h"

namespace powercut {

// Precondition: the file has the layout of a device.
std::unique_ptr<PoolCalls> make_block_calls(const PoolFile& file);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_CALLS_H_
