#include "checker/edit/trace_editor.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/user_file.h"
#include "checker/trace/loaded_trace.h"
#include "tracer/format/event_groups.h"
#include "tracer/format/reader.h"
#include "tracer/format/trace_names.h"
#include "tracer/format/writer.h"

namespace powercut {
namespace {

// The reader's next call ends its bytes.
Event without_bytes(Event event) {
  event.value = event.key = {};
  event.text = {};
  return event;
}

constexpr uint64_t kMostBytes = uint64_t{1} << 40;

// Facts about an event of the input, beyond the call of the reader that gave it.
struct Kept {
  Event event;
  std::vector<uint8_t> value;

  explicit Kept(const Event& of) : event(without_bytes(of)), value(of.value.begin(), of.value.end()) {}
  Event view() const {
    Event out = event;
    out.value = value;
    return out;
  }
};

bool is_store(EventKind kind) { return kind == EventKind::kStore || kind == EventKind::kNtStore; }
bool is_movable(EventKind kind) { return is_store(kind) || kind == EventKind::kFlush || kind == EventKind::kFence; }

// Whether a move must not pass an event: operations of its thread, and events of the whole program.
bool holds_up(const Event& passed, uint32_t thread) {
  switch (passed.kind) {
    case POWERCUT_OPERATION_EVENTS:
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
      return passed.thread == thread;
    case EventKind::kPhase:
    case EventKind::kCut:
      return true;
    case POWERCUT_MEMORY_EVENTS:
    case EventKind::kAllocate:
    case EventKind::kFree:
    case EventKind::kMarker:
    case POWERCUT_TREE_EVENTS:
    case EventKind::kContent:
      break;
  }
  return false;
}

std::string at_event(uint64_t index) { return "event " + std::to_string(index); }

class Editor {
 public:
  Editor(const std::string& in, const TraceEdits& edits) : in_(in), edits_(edits) {}

  Result<EditedTrace> write(const std::string& out) {
    auto known = open_run(in_);
    if (!known) return known.error();
    known_ = std::move(*known);
    if (auto wrong = survey()) return *wrong;
    if (auto wrong = check()) return *wrong;
    return copy(out);
  }

 private:
  EngineError refused(const std::string& what) const { return usage_error(what, edits_.path, kEditsNext); }
  const Kept* find(uint64_t index) const {
    const auto found = named_.find(index);
    return found == named_.end() ? nullptr : &found->second;
  }

  // Reads the whole trace once and keeps what the edits name, and what their moves pass.
  std::optional<EngineError> survey() {
    absl::flat_hash_set<uint64_t> wanted(edits_.drop.begin(), edits_.drop.end());
    for (const TraceEdits::Insert& insert : edits_.insert) wanted.insert({insert.after, insert.stack_of});
    std::vector<std::pair<uint64_t, uint64_t>> passed;  // first and last event of a move's way
    for (const TraceEdits::Move& move : edits_.move) {
      wanted.insert(move.after);
      wanted.insert(move.events.begin(), move.events.end());
      passed.emplace_back(std::min(move.after, move.events.front()), std::max(move.after, move.events.back()));
    }
    std::sort(passed.begin(), passed.end());
    size_t begun = 0;
    uint64_t on_the_way_to = 0;  // the last event of the ways that have begun
    Event event;
    while (known_->next(&event)) {
      ++events_;
      if (wanted.contains(event.index)) named_.emplace(event.index, event);
      for (; begun < passed.size() && passed[begun].first <= event.index; ++begun) {
        on_the_way_to = std::max(on_the_way_to, passed[begun].second + 1);
      }
      if (event.index < on_the_way_to) way_.push_back(without_bytes(event));
    }
    if (known_->error()) return usage_error(*known_->error());
    return std::nullopt;
  }

  std::optional<EngineError> check() {
    metadata_ = parse_json(known_->metadata());
    if (!metadata_.is_object()) {
      return usage_error("the trace's metadata is not JSON", in_, "Record it again with 'powercut record'.");
    }
    for (uint64_t index : edits_.drop) {
      const Kept* event = find(index);
      if (event == nullptr) return no_such(index, "drop");
      if (event->event.kind != EventKind::kFlush && event->event.kind != EventKind::kFence) {
        return refused("drop: " + at_event(index) + " is a " + name_of(event->event.kind) +
                       "; a flush or a fence can be dropped");
      }
      if (!dropped_.insert(index).second) return refused("drop: " + at_event(index) + " is named twice");
    }
    for (const TraceEdits::Insert& insert : edits_.insert) {
      if (auto wrong = check(insert)) return wrong;
      inserts_[insert.after].push_back(&insert);
    }
    for (const TraceEdits::Move& move : edits_.move) {
      for (uint64_t index : move.events) {
        if (!moved_.insert(index).second) return refused("move: " + at_event(index) + " is moved twice");
        if (dropped_.contains(index)) return refused("move: " + at_event(index) + " is dropped as well");
      }
    }
    for (const TraceEdits::Move& move : edits_.move) {
      if (auto wrong = check(move)) return wrong;
      moves_[move.after].push_back(&move);
    }
    const bool has_recovery = metadata_.contains("plan");
    if (!edits_.recovery.empty() && !has_recovery) {
      return refused("recovery: the trace is of a program of its own, whose recovery runs as it is");
    }
    // A stack may end in code of no module of the trace: the process that ran recovery.
    for (const RecoveryRule& rule : edits_.recovery) {
      if (rule.frames[0].module < known_->modules().size()) continue;
      return refused("recovery: there is no module " + std::to_string(rule.frames[0].module) + "; the trace has " +
                     std::to_string(known_->modules().size()));
    }
    return std::nullopt;
  }

  EngineError no_such(uint64_t index, const std::string& field) const {
    return refused(field + ": there is no " + at_event(index) + "; the trace has " + std::to_string(events_) +
                   " events, numbered from 0");
  }

  std::optional<EngineError> check(const TraceEdits::Insert& insert) const {
    for (uint64_t index : {insert.after, insert.stack_of}) {
      if (find(index) == nullptr) return no_such(index, "insert");
    }
    if (!insert.flush) return std::nullopt;
    // In a trace that names no pool a flush may be anywhere, but not of everything: each line is an event.
    const uint64_t size = metadata_.contains("pool") ? metadata_["pool"].value("size", uint64_t{0}) : kMostBytes;
    // In this order nothing wraps around.
    if (insert.flush->size > size || insert.flush->offset > size - insert.flush->size) {
      return refused("insert: a flush of bytes " + std::to_string(insert.flush->offset) + " to " +
                     std::to_string(insert.flush->offset + insert.flush->size) + " after " + at_event(insert.after) +
                     "; the pool has " + std::to_string(size));
    }
    return std::nullopt;
  }

  std::optional<EngineError> check(const TraceEdits::Move& move) const {
    const Kept* after = find(move.after);
    if (after == nullptr) return no_such(move.after, "move");
    if (moved_.contains(move.after)) return refused("move: " + at_event(move.after) + " is moved itself");
    const absl::flat_hash_set<uint64_t> together(move.events.begin(), move.events.end());
    for (uint64_t index : move.events) {
      const Kept* kept = find(index);
      if (kept == nullptr) return no_such(index, "move");
      const Event& event = kept->event;
      if (!is_movable(event.kind)) {
        return refused("move: " + at_event(index) + " is a " + name_of(event.kind) +
                       "; stores, flushes and fences can be moved");
      }
      if (event.thread != after->event.thread) {
        return refused("move: " + at_event(index) + " is of thread " + std::to_string(event.thread) + ", " +
                       at_event(move.after) + " of thread " + std::to_string(after->event.thread));
      }
      for (const Event& passed : passed_by(index, move.after)) {
        if (together.contains(passed.index)) continue;
        if (holds_up(passed, event.thread)) {
          return refused("move: from " + at_event(index) + " to behind " + at_event(move.after) + " it would pass " +
                         at_event(passed.index) + ", " + name_of(passed.kind));
        }
        const bool overlaps = is_store(event.kind) && is_store(passed.kind) && event.addr < passed.addr + passed.size &&
                              passed.addr < event.addr + event.size;
        if (overlaps) {
          return refused("move: " + at_event(index) + " would pass " + at_event(passed.index) +
                         ", which stores to the same bytes: the program would leave other values");
        }
      }
    }
    return std::nullopt;
  }

  std::span<const Event> passed_by(uint64_t index, uint64_t after) const {
    const uint64_t first = index < after ? index + 1 : after + 1, last = index < after ? after + 1 : index;
    const auto before = [](const Event& event, uint64_t bound) { return event.index < bound; };
    const auto begin = std::lower_bound(way_.begin(), way_.end(), first, before);
    return {begin, std::lower_bound(begin, way_.end(), last, before)};
  }

  Json edited_metadata() const {
    Json out = metadata_;
    Json edits = out.contains("edits") ? out["edits"] : Json{{"edits", 1}};
    const auto add = [&](const char* name, uint64_t count) { edits[name] = edits.value(name, uint64_t{0}) + count; };
    add("dropped", result_.dropped);
    add("inserted", result_.inserted);
    add("moved", result_.moved);
    if (!edits.contains("recovery")) edits["recovery"] = Json::array();
    for (RecoveryRule rule : edits_.recovery) {
      const auto foreign = [this](const Frame& frame) { return frame.module >= modules_.size(); };
      rule.frames.erase(std::find_if(rule.frames.begin(), rule.frames.end(), foreign), rule.frames.end());
      for (Frame& frame : rule.frames) frame.module = modules_[frame.module];
      edits["recovery"].push_back(json_of(rule));
    }
    out["edits"] = edits;
    return out;
  }

  Result<EditedTrace> copy(const std::string& out) {
    auto reader = open_trace(in_);
    if (!reader) return reader.error();
    result_ = {.events = 0, .dropped = dropped_.size(), .inserted = 0, .moved = moved_.size()};
    for (const TraceEdits::Insert& insert : edits_.insert) {
      if (insert.flush) result_.inserted += last_line(*insert.flush) - insert.flush->offset / kLineSize + 1;
      result_.inserted += insert.fence ? 1 : 0;
    }
    // A trace does not define a module twice, but nothing forbids it.
    std::vector<TraceModule> distinct;
    for (const TraceModule& module : known_->modules()) {
      const auto same = std::find_if(distinct.begin(), distinct.end(), [&](const TraceModule& m) {
        return m.path == module.path && m.build_id == module.build_id;
      });
      modules_.push_back(static_cast<uint32_t>(same - distinct.begin()));
      if (same == distinct.end()) distinct.push_back(module);
    }
    TraceError error;
    writer_ = TraceWriter::create(out, edited_metadata().dump(-1, ' ', false, Json::error_handler_t::replace), &error);
    if (writer_ == nullptr) return usage_error(error);
    for (const TraceModule& module : distinct) writer_->module(module);

    Event event;
    std::vector<uint64_t> pieces;  // of the store at hand: nothing can be put between them
    const auto append_behind = [&] {
      for (uint64_t index : pieces) {
        if (!moved_.contains(index)) append_inserts(index);
        append_moves(index);
      }
      pieces.clear();
    };
    while ((*reader)->next(&event)) {
      if (!is_store(event.kind) || (event.flags & kStoreContinues) == 0) append_behind();
      if (!moved_.contains(event.index) && !dropped_.contains(event.index)) append_known(event);
      pieces.push_back(event.index);
    }
    append_behind();
    if ((*reader)->error()) return usage_error(*(*reader)->error());
    if (auto wrong = writer_->finish()) return usage_error(*wrong);
    result_.events = writer_->events();
    return result_;
  }

  static uint64_t last_line(const TraceEdits::Range& range) { return (range.offset + range.size - 1) / kLineSize; }

  void append_inserts(uint64_t index) {
    const auto here = inserts_.find(index);
    if (here == inserts_.end()) return;
    for (const TraceEdits::Insert* insert : here->second) {
      Event event;
      event.thread = find(insert->stack_of)->event.thread;
      event.stack = find(insert->stack_of)->event.stack;
      if (insert->flush) {
        event.kind = EventKind::kFlush;
        event.code = static_cast<uint8_t>(insert->flush->kind);
        for (uint64_t line = insert->flush->offset / kLineSize; line <= last_line(*insert->flush); ++line) {
          event.addr = line * kLineSize;
          append(event);
        }
      }
      if (insert->fence) {
        event.kind = EventKind::kFence;
        event.code = static_cast<uint8_t>(*insert->fence);
        event.addr = 0;
        append(event);
      }
    }
  }

  void append_moves(uint64_t index) {
    const auto here = moves_.find(index);
    if (here == moves_.end()) return;
    for (const TraceEdits::Move* move : here->second) {
      for (uint64_t moved : move->events) {
        append_known(find(moved)->view());
        append_inserts(moved);
      }
    }
  }

  // An event of the input. A piece that was taken from behind the one before it is a store of its own.
  void append_known(Event event) {
    if (is_store(event.kind) && last_known_ + 1 != event.index) event.flags &= static_cast<uint8_t>(~kStoreContinues);
    append(event);
    last_known_ = event.index;
  }

  void append(Event event) {
    event.stack = stack(event.stack);
    writer_->append(event);
    last_known_ = kNone;
  }

  uint32_t stack(uint32_t id) {
    if (id == 0) return 0;
    if (id >= stacks_.size()) stacks_.resize(id + 1, 0);
    if (stacks_[id] == 0) {
      const std::span<const Frame> known = known_->stack(id);
      std::vector<Frame> frames(known.begin(), known.end());
      for (Frame& frame : frames) frame.module = modules_[frame.module];
      stacks_[id] = writer_->stack(frames);
    }
    return stacks_[id];
  }

  const std::string& in_;
  const TraceEdits& edits_;
  std::unique_ptr<TraceReader> known_;  // at the end: it knows all modules and stacks
  Json metadata_;
  uint64_t events_ = 0;
  absl::flat_hash_map<uint64_t, Kept> named_;
  std::vector<Event> way_;  // that a move may pass, ascending; without bytes, keys and texts
  absl::flat_hash_set<uint64_t> dropped_, moved_;
  absl::flat_hash_map<uint64_t, std::vector<const TraceEdits::Insert*>> inserts_;  // by the event before them
  absl::flat_hash_map<uint64_t, std::vector<const TraceEdits::Move*>> moves_;

  std::unique_ptr<TraceWriter> writer_;
  std::vector<uint32_t> modules_;  // of the input -> of the output
  std::vector<uint32_t> stacks_;   // the same; 0: not yet written
  EditedTrace result_;
  static constexpr uint64_t kNone = ~uint64_t{0} - 1;
  uint64_t last_known_ = kNone;  // the event of the input that was appended last, if it is the last one
};

}  // namespace

Result<EditedTrace> edit_trace(const std::string& in, const TraceEdits& edits, const std::string& out) {
  return Editor(in, edits).write(out);
}

}  // namespace powercut
