#include "tracer/runtime/reads/decode.h"

extern "C" [[gnu::visibility("default")]] void powercut_decode(const ucontext_t* context,
                                                               powercut::TrappedAccess* access) {
  *access = powercut::decode_access(*context);
}
