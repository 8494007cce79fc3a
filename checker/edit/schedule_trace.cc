#include "checker/edit/schedule_trace.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/user_file.h"
#include "tracer/format/writer.h"

namespace powercut {
namespace {

// Appends events with modules and stacks as another trace has them.
class Copier {
 public:
  Copier(const TraceReader* from, TraceWriter* to) : from_(from), to_(to) {}
  void append(const Event& event) {
    Event copy = event;
    std::vector<Frame> frames;
    for (const Frame& frame : from_->stack(event.stack)) {
      frames.push_back({to_->module(from_->modules()[frame.module]), frame.offset});
    }
    copy.stack = frames.empty() ? 0 : to_->stack(frames);
    to_->append(copy);
  }

 private:
  const TraceReader* from_;
  TraceWriter* to_;
};

}  // namespace

Result<ScheduleTrace> write_schedule(const std::string& trace, TraceFollower& follower, uint64_t crash_point,
                                     const std::string& out) {
  bool there = false;
  while (!there && follower.next()) there = follower.instant().ordinal == crash_point;
  if (const auto error = follower.error()) return usage_error(*error);
  if (!there || !follower.in_tree()) {
    return usage_error("crash point " + std::to_string(crash_point) + " is not one of a tree of schedules", trace,
                       "Name a crash point of a finding that threads have.");
  }
  auto reader = open_trace(trace);
  if (!reader) return reader.error();
  TraceError error;
  Json metadata = parse_json((*reader)->metadata());
  metadata["schedule"] = {{"of", trace}, {"crash_point", crash_point}};
  const auto writer = TraceWriter::create(out, metadata.dump(-1, ' ', false, Json::error_handler_t::replace), &error);
  if (writer == nullptr) return usage_error(error);
  Copier copier(reader->get(), writer.get());
  Event event;
  while ((*reader)->next(&event) && event.kind != EventKind::kFork) copier.append(event);
  if ((*reader)->error()) return usage_error(*(*reader)->error());
  if (metadata.contains("program")) {
    Event begins;
    begins.kind = EventKind::kMarker;
    begins.text = kScheduleBegins;
    copier.append(begins);
  }
  ScheduleTrace result;
  result.first = writer->events();
  // Stacks are defined before they are used: those of the schedule may stand behind the fork.
  Copier of_schedule(&follower.reader(), writer.get());
  for (const KeptEvent& kept : follower.schedule()) of_schedule.append(kept.view());
  if (const auto wrong = writer->finish()) return usage_error(*wrong);
  result.events = writer->events();
  return result;
}

}  // namespace powercut
