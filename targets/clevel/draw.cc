// Draws a clevel table: the context, the buffers of its threads, then its levels from the last to the first.
#include "targets/clevel/table.h"
#include "targets/common/drawing.h"

namespace powercut::clevel {

static constexpr const char* kRehashedBy[kMostRehashers] = {"rehashed by 0", "rehashed by 1", "rehashed by 2",
                                                            "rehashed by 3"};

void Table::Draw(Drawing* to) {
  using Number = unsigned long long;
  const View& view = this->view();
  to->Group("root");
  to->Pointer("context", &root()->context);
  to->Word("resizing", &root()->context, sizeof root()->context, "%s", view.is_resizing ? "yes" : "no");
  for (uint32_t t = 0; t < strides(); ++t) {
    to->Word(options_.concurrent ? kRehashedBy[t] : "rehashed", RehashedWord(t), sizeof(uint64_t), "%llu",
             static_cast<Number>(RehashedOf(t, view.last())));
  }
  for (uint32_t t = 0; t < (options_.concurrent ? kClients + strides() : kThreads); ++t) {
    Buffer& buffer = options_.concurrent ? lines(t).buffer : root()->buffers[t];
    to->Group("buffer of thread %u", t);
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
