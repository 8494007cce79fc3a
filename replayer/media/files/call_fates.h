// The fate of each recorded call on a legal tree: on disk, lost, or partly so. Calls whose changes are all durable
// are left out.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_CALL_FATES_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_CALL_FATES_H_

#include <cstdint>
#include <map>

#include "replayer/media/files/tree_world.h"

namespace powercut::files {

// Changes of a call that are not durable: how many of them the tree has.
struct CallFate {
  uint32_t on_disk = 0, lost = 0;
  const char* name() const { return lost == 0 ? "on-disk" : on_disk == 0 ? "lost" : "partly"; }
};
// By the number of the call. A change that a later one hides is on disk if the later one is.
using CallFates = std::map<uint32_t, CallFate>;

CallFates fates_of(TreeWorld* world, const ChosenTree& tree);

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_CALL_FATES_H_
