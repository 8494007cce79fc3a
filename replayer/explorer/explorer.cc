#include "replayer/explorer/explorer.h"

namespace powercut {

void Explorer::check_reset(const Executor& executor, uint64_t before, const char* what) {
  if (executor.memory().digest() == before) return;
  distrust_ = std::string("the state after undoing ") + what +
              " differs from the state before: code that is not instrumented wrote to pool, heap or globals";
}

}  // namespace powercut
