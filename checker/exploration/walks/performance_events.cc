#include "checker/exploration/walks/performance_events.h"

#include "checker/exploration/performance_events.h"
#include "replayer/media/medium.h"
#include "replayer/media/open_trace.h"

namespace powercut {
namespace {

// An interruption is asked for once in so many events.
constexpr uint64_t kAskedEvery = 1 << 16;

PoolUse use_of(const TracePools& pools) {
  PoolUse out;
  for (const PoolWindow& window : pools.windows) {
    if (const auto word = window.images().size_word(window.file())) out.size_word = word;
    for (const auto& [begin, end] : window.volatile_parts) {
      out.volatile_parts.emplace_back(window.offset + begin, window.offset + end);
    }
  }
  return out;
}

}  // namespace

Result<std::vector<Json>> performance_events(const ProgramOptions& options, const TracePools& pools,
                                             const std::function<bool()>& interrupted) {
  std::vector<Json> out;
  if (pools.lacks_something()) return out;
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  const std::unique_ptr<Model> model = make_model(options.model, options.policy(), pools.space);
  PerformanceBugs bugs(**reader, use_of(pools));
  Event event;
  while ((*reader)->next(&event)) {
    if (event.kind == EventKind::kFork) return out;
    if (event.index % kAskedEvery == 0 && interrupted()) return out;
    model->apply(event);
    bugs.apply(event);
  }
  if ((*reader)->error()) return usage_error(*(*reader)->error());
  model->finish();
  const std::vector<PerformanceBug> rows = bugs.finish(*model);
  return performance_events(rows, bugs.persisting(), **reader);
}

}  // namespace powercut
