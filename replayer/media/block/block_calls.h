// Calls on a file that is a block device, as events of the trace: a write of sectors is a store of their contents'
// names (tracer/FORMAT.md, "Devices").
#ifndef POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_CALLS_H_
#define POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_CALLS_H_

#include <memory>

#include "replayer/media/pool_calls.h"

namespace powercut {

// Precondition: the file has the layout of a device.
std::unique_ptr<PoolCalls> make_block_calls(const PoolFile& file);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_BLOCK_BLOCK_CALLS_H_
