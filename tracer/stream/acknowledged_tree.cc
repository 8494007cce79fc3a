#include "tracer/stream/acknowledged_tree.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "tracer/format/reader.h"
#include "tracer/format/tree_calls.h"
#include "tracer/format/writer.h"

namespace powercut {
namespace {

// A call that leaves something for a sync to make durable.
bool changes(TreeCall call) {
  switch (call) {
    case TreeCall::kInode:
    case TreeCall::kCreate:
    case TreeCall::kLink:
    case TreeCall::kUnlink:
    case TreeCall::kRename:
    case TreeCall::kWrite:
    case TreeCall::kSize:
    case TreeCall::kAllocate:
    case TreeCall::kAttributes:
      return true;
    case TreeCall::kContent:
    case TreeCall::kEntry:
    case TreeCall::kStarted:
    case TreeCall::kSync:
    case TreeCall::kSyncAll:
    case TreeCall::kNote:
    case TreeCall::kEnded:
      return false;
  }
  return false;
}

class Copy {
 public:
  Copy(TraceReader& from, TraceWriter& to) : from_(from), to_(to) {}
  void append(Event event) {
    if (event.stack >= stacks_.size()) stacks_.resize(event.stack + 1, 0);
    uint32_t& known = stacks_[event.stack];
    if (const std::span<const Frame> frames = from_.stack(event.stack); known == 0 && !frames.empty()) {
      std::vector<Frame> copied;
      for (const Frame& frame : frames) {
        copied.push_back({to_.module(from_.modules()[frame.module]), frame.offset});
      }
      known = to_.stack(copied);
    }
    event.stack = known;
    to_.append(event);
  }
  void begin(const std::string& text) {
    Event event;
    event.kind = EventKind::kOpBegin;
    event.code = static_cast<uint8_t>(OpKind::kMaintain);
    event.text = text;
    to_.append(event);
  }
  void end() {
    Event event;
    event.kind = EventKind::kOpEnd;
    to_.append(event);
  }

 private:
  TraceReader& from_;
  TraceWriter& to_;
  std::vector<uint32_t> stacks_;  // of the copy, by those of the original; 0: not met yet
};

// Whether the folder held something before the program. Otherwise the first operation also makes what the folder holds.
bool begins_with_files(TraceReader& reader) {
  Event event;
  while (reader.next(&event)) {
    if (event.kind == kTreeCall && event.code == static_cast<uint8_t>(TreeCall::kStarted)) break;
    if (event.kind == kTreeCall && event.code == static_cast<uint8_t>(TreeCall::kEntry)) return true;
  }
  return false;
}

}  // namespace

std::optional<TraceError> acknowledge_tree(const std::string& trace, const std::string& out, const std::string& ack,
                                           const std::vector<TreeOutput>& outputs,
                                           const std::vector<AcknowledgedTogether>& groups, uint64_t* events) {
  TraceError error;
  const auto reader = TraceReader::open(trace, &error);
  if (reader == nullptr) return error;
  auto metadata = nlohmann::ordered_json::parse(reader->metadata(), nullptr, false);
  metadata["files"]["ack"] = ack;
  using Json = nlohmann::ordered_json;
  const auto writer = TraceWriter::create(out, metadata.dump(-1, ' ', false, Json::error_handler_t::replace), &error);
  if (writer == nullptr) return error;
  reader->take_tree_calls();
  const bool at_once = begins_with_files(*reader);
  reader->rewind();
  Copy copy(*reader, *writer);
  AcknowledgedOperations operations(groups, at_once,
                                    {[&](const std::string& text) { copy.begin(text); }, [&] { copy.end(); }});
  bool started = false;
  size_t next = 0;
  Event event;
  while (reader->next(&event)) {
    for (; next < outputs.size() && outputs[next].events <= event.index; ++next) operations.output_grown();
    const auto call = static_cast<TreeCall>(event.code);
    const bool is_call = event.kind == kTreeCall;
    if (is_call && started && changes(call)) operations.stores();
    if (is_call && call == TreeCall::kEnded) operations.finish();
    started = started || (is_call && call == TreeCall::kStarted);
    copy.append(event);
  }
  if (reader->error()) return reader->error();
  *events = writer->events();
  return writer->finish();
}

}  // namespace powercut
