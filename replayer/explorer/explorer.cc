#include "replayer/explorer/explorer.h"

namespace powercut {

void Explorer::check_reset(const Executor& executor, uint64_t before, const char* what) {
  if (executor.memory().digest() == before) return;
  distrust_ = std::string("the state after undoing ") + what +
              " differs from the state before: code that is not instrumented wrote to pool, heap or globals";
}

std::unique_ptr<Explorer> make_explorer(Executor* executor, Strategy* strategy, Subject* subject,
                                        Explorer::Options options) {
  if (!options.remember || !strategy->may_remember()) return make_eager_explorer(executor, strategy, subject, options);
  options.visible_only = strategy->visible_only();
  return make_trie_explorer(executor, subject, options);
}

}  // namespace powercut
