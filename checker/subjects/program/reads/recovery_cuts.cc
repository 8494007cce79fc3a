#include "checker/subjects/program/reads/recovery_cuts.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "checker/subjects/program/processes/run_server.h"
#include "powercut/contents.h"
#include "replayer/crash_points/crash_points.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/media/medium.h"
#include "replayer/media/stream_files.h"
#include "tracer/format/kept_event.h"
#include "tracer/format/line_bytes.h"
#include "tracer/format/reader.h"
#include "tracer/format/writer.h"
#include "tracer/stream/converter.h"

namespace powercut {
namespace {

// Zeroed memory, which the object owns.
class Memory {
 public:
  explicit Memory(uint64_t size) : size_(std::max<uint64_t>(size, 1)) {
    void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) at_ = static_cast<uint8_t*>(at);
  }
  ~Memory() {
    if (at_ != nullptr) munmap(at_, size_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint8_t* get() const { return at_; }

 private:
  uint64_t size_;
  uint8_t* at_ = nullptr;
};

struct Removed {
  const std::string& path;
  ~Removed() { unlink(path.c_str()); }
};

// From the offsets of the run's own trace to those of the recording.
class Places {
 public:
  Places(const StreamSurvey& survey, const TracePools& pools, const std::vector<std::string>& images) {
    for (const StreamPool& pool : survey.pools) {
      const auto image = std::ranges::find(images, pool.path);
      if (!pool.used || image == images.end()) continue;
      const PoolWindow& window = pools.windows[static_cast<size_t>(image - images.begin())];
      parts_.push_back({pool.offset, std::min(pool.window, window.space()), window.offset});
      cut_short_ = cut_short_ || pool.size > window.size;
    }
  }
  // Nothing: of no pool of ours, or behind its end.
  std::optional<uint64_t> operator()(uint64_t at) const {
    for (const Part& part : parts_) {
      if (at - part.from < part.size) return part.to + (at - part.from);
    }
    return std::nullopt;
  }
  // The run has made a file longer.
  bool cut_short() const { return cut_short_; }

 private:
  struct Part {
    uint64_t from, size, to;
  };
  std::vector<Part> parts_;
  bool cut_short_ = false;
};

EngineError cannot_cut(const std::string& why) {
  return usage_error("recovery cannot be cut: " + why, "--nested 1", "Leave it out.");
}

bool stores_something(const Event& event) {
  return event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
}

// The stores, flushes and fences of a stream, with their stacks' numbers.
Result<std::vector<KeptEvent>> events_of(const std::string& stream, const StreamSurvey& survey,
                                         const std::string& scratch, RecoveryStacks* stacks) {
  TraceError error;
  const Removed removed{scratch};
  {
    auto writer = TraceWriter::create(scratch, "{}", &error);
    if (writer == nullptr) return usage_error(error);
    // Below main there are frames of the library that serves the runs.
    if (const auto failed = convert_stream(stream, survey, RunServer::library(), *writer)) return usage_error(*failed);
    if (const auto failed = writer->finish()) return usage_error(*failed);
  }
  auto reader = TraceReader::open(scratch, &error);
  if (reader == nullptr) return usage_error(error);
  if (!reader->read_through(file_calls_of(survey))) return usage_error(*reader->error());
  std::vector<KeptEvent> out;
  std::map<uint32_t, uint32_t> numbers;  // by the stream's own
  for (Event event; reader->next(&event);) {
    const auto [number, added] = numbers.try_emplace(event.stack);
    if (added) number->second = stacks->add(reader->stack(event.stack), reader->modules());
    event.stack = number->second;
    out.emplace_back(event);
    // This call makes the contents of sectors known to this process.
    if (event.kind == EventKind::kContent) powercut_content_name(event.value.data(), event.value.size(), nullptr, 0);
  }
  if (reader->error()) return usage_error(*reader->error());
  return out;
}

}  // namespace

uint32_t RecoveryStacks::add(std::span<const Frame> frames, const std::vector<TraceModule>& modules) {
  std::vector<Frame> stack;
  std::vector<std::pair<uint32_t, uint64_t>> key;
  for (const Frame& frame : frames) {
    const TraceModule& module = modules[frame.module];
    const auto known = std::ranges::find_if(modules_, [&](const TraceModule& other) {
      return other.path == module.path && other.build_id == module.build_id;
    });
    stack.push_back({static_cast<uint32_t>(known - modules_.begin()), frame.offset});
    if (known == modules_.end()) modules_.push_back(module);
    key.emplace_back(stack.back().module, frame.offset);
  }
  const auto [at, added] = numbers_.try_emplace(std::move(key), static_cast<uint32_t>(stacks_.size()));
  if (added) stacks_.push_back(std::move(stack));
  return at->second;
}

Result<RecoveryCuts> RecoveryCuts::of(const std::string& stream, const TracePools& pools,
                                      const std::vector<std::string>& images, const Before& before,
                                      const RecoveryModel& model, const std::string& scratch, RecoveryStacks* stacks) {
  TraceError error;
  const bool by_calls = pools.changed_by_calls();
  const auto survey = survey_stream(stream, pools.layout(), &error);
  if (!survey) return usage_error(error);
  // Stores that the stream lacks would be missing from the images.
  if (!survey->end) return cannot_cut("the run that records its stores was killed");
  if (!survey->notes.empty()) return cannot_cut(survey->notes.front().text);
  auto events = events_of(stream, *survey, scratch, stacks);
  if (!events) return events.error();
  const Memory memory(survey->size);
  if (memory.get() == nullptr) {
    return harness_error(std::string("no memory for recovery's stores (") + std::strerror(errno) + ")", stream,
                         "Free some memory, or leave out --nested.");
  }
  const Places places(*survey, pools, images);
  RecoveryCuts out;
  std::map<uint64_t, uint64_t> stored;  // lines of the run's own trace, and of the recording
  const std::unique_ptr<Model> persistency = make_model(model.name, model.policy, survey->size);
  // A cut makes all earlier contents durable, and the run's own events come behind the cut. Only a stream of
  // calls has the earlier contents itself.
  const auto is_cut = [](const KeptEvent& kept) { return kept.view().kind == EventKind::kCut; };
  const auto first = by_calls ? std::ranges::find_if(*events, is_cut) : events->begin();
  if (by_calls && first == events->end()) {
    return cannot_cut("it marks phases of its own, so what its device held before cannot be told");
  }
  const std::span<const KeptEvent> own(first, events->end());
  for (const KeptEvent& kept : std::span(events->begin(), first)) persistency->apply(kept.view());
  for (const KeptEvent& kept : own) {
    const Event event = kept.view();
    if (!stores_something(event)) continue;
    for_each_line(event.addr, event.addr + event.value.size(), [&](uint64_t line, uint64_t) {
      const auto place = places(line * kLineSize);
      if (!place || !stored.emplace(line, *place / kLineSize).second) return;
      const Content content = before(*place / kLineSize);
      out.base[*place / kLineSize] = content;
      if (by_calls) return;
      Event initial;
      initial.kind = EventKind::kStore;
      initial.addr = line * kLineSize;
      initial.size = kLineSize;
      initial.value = content.bytes;
      persistency->apply(initial);
    });
  }
  // An image is no longer than the recorded program has made its file.
  if (places.cut_short()) {
    out.truncated = true;
    return out;
  }
  Frontier frontier(memory.get());
  CrashPoints walk(persistency.get(), false);
  std::set<uint64_t> so_far;
  const auto at_point = [&] {
    if (so_far.empty()) return;
    frontier.follow(persistency.get());
    out.truncated = out.truncated || frontier.truncated();
    Point& point = out.points.emplace_back();
    point.stores = out.stores.size();
    for (const uint64_t line : so_far) {
      const LineSet* pending = frontier.find(line);
      LineSet definite = definite_line(line, content_at(memory.get(), line));
      point.sets.push_back(pending != nullptr ? *pending : std::move(definite));
      point.sets.back().line = stored.at(line);
    }
    std::ranges::sort(point.sets, {}, &LineSet::line);
  };
  const auto nothing = [](const Event&) {};
  const auto applied = [&](const Event& event) {
    if (!stores_something(event)) return;
    for_each_line(event.addr, event.addr + event.value.size(), [&](uint64_t line, uint64_t) {
      if (stored.contains(line)) so_far.insert(line);
    });
    if (const auto place = places(event.addr)) out.stores.push_back({*place, event.value.size(), event.stack});
  };
  for (const KeptEvent& kept : own) {
    const Event event = kept.view();
    while (walk.next(&event, nothing, applied)) at_point();
  }
  while (walk.next(nullptr, nothing, applied)) at_point();
  if (!out.points.empty()) out.points.back().after_end = true;
  return out;
}

}  // namespace powercut
