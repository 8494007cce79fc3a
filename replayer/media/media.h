// The media of media.def, each by the function of its name. A new medium compiles the files anew that include this
// header: the table (medium.cc) and the media's own folders.
#ifndef POWERCUT_REPLAYER_MEDIA_MEDIA_H_
#define POWERCUT_REPLAYER_MEDIA_MEDIA_H_

#include "replayer/media/medium.h"

namespace powercut {

// Each medium's folder defines the function of its name.
#define MEDIUM(name) const Medium& name##_medium();
#include "replayer/media/media.def"
#undef MEDIUM

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_MEDIA_H_
