// What a clevel table looks like: the context, the buffers of its threads, then its levels from the last to the first.
#include "targets/clevel/table.h"
#include "targets/common/drawing.h"

namespace powercut::clevel {

void Table::Draw(Drawing* to) {
  using Number = unsigned long long;
  const View& view = this->view();
  to->Group("root");
  to->Pointer("context", &root()->context);
  to->Word("resizing", &root()->context, sizeof root()->context, "%s", view.is_resizing ? "yes" : "no");
  to->Word("rehashed", &root()->rehashed, sizeof root()->rehashed, "%llu", static_cast<Number>(root()->rehashed));
  for (int t = 0; t < kThreads; ++t) {
    Buffer& buffer = root()->buffers[t];
    to->Group("buffer of thread %d", t);
    const struct {
      const char* label;
      const uint64_t* word;
    } words[] = {{"item", &buffer.item},           {"level", &buffer.level},
                 {"context", &buffer.context},     {"old item", &buffer.old_item},
                 {"old level", &buffer.old_level}, {"old context", &buffer.old_context}};
    for (const auto& [label, word] : words) to->Pointer(label, word);
  }
  for (int i = 0; i < view.count; ++i) {
    const Level& level = view.levels[i];
    // A level keeps its name while others come and go: it is named by its size.
    to->Group("level of %llu buckets", static_cast<Number>(level.buckets()));
    for (uint64_t b = 0; b < level.buckets() && to->Wants(); ++b) {
      const uint64_t* bucket = level.slots + b * options_.slots;
      to->Bucket(b);
      for (uint32_t s = 0; s < options_.slots; ++s) {
        const uint64_t word = pmem::atomic_load(&bucket[s]);
        if (word == 0) {
          to->Empty(s, &bucket[s], sizeof word);
        } else {
          to->Item(s, KeyOf(word), ValueOf(word), &bucket[s], sizeof word);
        }
      }
    }
  }
}

}  // namespace powercut::clevel

POWERCUT_DRAWS(powercut::clevel::Table)
