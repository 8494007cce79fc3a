// `powercut-engine dump`: a trace as people (text), programs (json) or the conformance suite (--normal) read it.
// Text goes to standard output as it is, without an event stream around it; json is an event stream with one
// "trace_event" a record and a last "dumped".
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <cstdio>
#include <memory>

#include "base/event_stream.h"
#include "base/user_file.h"
#include "engine/commands.h"
#include "replayer/media/open_trace.h"
#include "tracer/format/reader.h"
#include "tracer/format/trace_names.h"
#include "tracer/pmemcheck/frames.h"
#include "tracer/record/target_library.h"
#include "tracer/view/normal_form.h"

namespace powercut {

namespace {

std::string flags_text(uint8_t flags) {
  std::string text;
  if (flags & kStoreAtomic) text += " atomic";
  if (flags & kStoreMemcall) text += " memcall";
  if (flags & kStoreRmw) text += " locked";
  if (flags & kStoreContinues) text += " continues";
  return text;
}

std::string printable(std::span<const uint8_t> bytes) { return absl::CEscape(std::string(bytes.begin(), bytes.end())); }

std::string tree_call_text(const Event& event) {
  const auto call = static_cast<TreeCall>(event.code);
  std::string text = name_of(call);
  for (const TreeField field : fields_of(call)) {
    switch (field) {
      case TreeField::kInode:
        absl::StrAppend(&text, " inode ", event.pool);
        break;
      case TreeField::kFlags:
        absl::StrAppend(&text, " flags ", event.flags);
        break;
      case TreeField::kPlace:
        absl::StrAppend(&text, has_bytes(call) || has_range(call) ? " at " : " folder ", event.addr);
        break;
      case TreeField::kSize:
        absl::StrAppend(&text, call == TreeCall::kRename ? " folder " : " size ", event.size);
        break;
      case TreeField::kName:
        absl::StrAppend(&text, " '", printable(event.key), "'");
        break;
      case TreeField::kValue:
        absl::StrAppend(&text, has_bytes(call) ? absl::StrCat(" ", event.value.size(), " bytes ", hex(event.value))
                                               : absl::StrCat(" '", printable(event.value), "'"));
        break;
    }
  }
  return event.text.empty() ? text : absl::StrCat(text, " by ", std::string(event.text));
}

std::string detail(const Event& event) {
  if (event.kind == kTreeCall) return tree_call_text(event);
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      return absl::StrCat("0x", absl::Hex(event.addr), " ", event.size, event.size == 1 ? " byte " : " bytes ",
                          hex(event.value), flags_text(event.flags));
    case EventKind::kFlush:
      return absl::StrCat("0x", absl::Hex(event.addr), " ", name_of(static_cast<FlushKind>(event.code)));
    case EventKind::kFence:
      return name_of(static_cast<FenceKind>(event.code));
    case EventKind::kContent:
      return absl::StrCat(event.value.size(), " bytes ",
                          hex(event.value.first(std::min<size_t>(event.value.size(), 16))),
                          event.value.size() > 16 ? "…" : "");
    case EventKind::kOpBegin: {
      std::string text = name_of(static_cast<OpKind>(event.code));
      if (!event.text.empty()) absl::StrAppend(&text, " '", std::string(event.text), "'");
      if (!event.key.empty()) absl::StrAppend(&text, " key ", hex(event.key));
      if (!event.value.empty()) absl::StrAppend(&text, " value ", hex(event.value));
      return text;
    }
    case EventKind::kOpEnd:
      return absl::StrCat(status_name(static_cast<powercut_status>(event.code)), event.value.empty() ? "" : " value ",
                          hex(event.value));
    case EventKind::kAllocate:
      return absl::StrCat("0x", absl::Hex(event.addr), " ", event.size, " bytes");
    case EventKind::kFree:
      return absl::StrCat("0x", absl::Hex(event.addr));
    case EventKind::kMarker:
    case EventKind::kSearched:
      return std::string(event.text);
    case EventKind::kPhase:
      return absl::StrCat("'", std::string(event.text), "'", event.code == 1 ? " explored" : " not explored");
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kCut:
    case EventKind::kCrashPoint:
      return "";
    case EventKind::kFork:
      return absl::StrCat(event.code, " threads");
    case EventKind::kBack:
      return absl::StrCat("to event ", event.size, " after the fork");
    case EventKind::kTrouble:
      return absl::StrCat(name_of(static_cast<Trouble>(event.code)), ": ", std::string(event.text));
  }
  return "";
}

std::string stack_text(const TraceReader& reader, uint32_t id) {
  std::string text;
  for (const Frame& frame : reader.stack(id)) {
    const std::string& path = reader.modules()[frame.module].path;
    absl::StrAppend(&text, text.empty() ? "  @ " : " < ");
    if (std::string_view(path).starts_with(pmemcheck::kFrameModule)) {
      absl::StrAppend(&text, pmemcheck::frame_text(path, frame.offset));
    } else {
      absl::StrAppend(&text, path.substr(path.rfind('/') + 1), "+0x", absl::Hex(frame.offset));
    }
  }
  return text;
}

// Names are bytes, and are told in hex.
void add_tree_call(const Event& event, bool contents, Json& json) {
  const auto call = static_cast<TreeCall>(event.code);
  json["call"] = name_of(call);
  json["by"] = event.text;
  for (const TreeField field : fields_of(call)) {
    switch (field) {
      case TreeField::kInode:
        json["inode"] = event.pool;
        break;
      case TreeField::kFlags:
        json["flags"] = event.flags;
        break;
      case TreeField::kPlace:
        json[has_bytes(call) || has_range(call) ? "offset" : "folder"] = event.addr;
        break;
      case TreeField::kSize:
        json[call == TreeCall::kRename ? "new_folder" : "size"] = event.size;
        break;
      case TreeField::kName:
        json["name"] = hex(event.key);
        break;
      case TreeField::kValue:
        if (has_bytes(call) && !contents) {
          json["size"] = event.value.size();
        } else {
          json[call == TreeCall::kRename ? "new_name" : "bytes"] = hex(event.value);
        }
        break;
    }
  }
}

Json event_json(const TraceReader& reader, const Event& event, bool contents) {
  Json json = {
      {"event", "trace_event"}, {"index", event.index}, {"kind", name_of(event.kind)}, {"thread", event.thread}};
  if (event.kind == kTreeCall) add_tree_call(event, contents, json);
  switch (event.kind) {
    case EventKind::kStore:
    case EventKind::kNtStore:
      json["offset"] = event.addr;
      json["bytes"] = hex(event.value);
      json["flags"] = event.flags;
      break;
    case EventKind::kFlush:
      json["offset"] = event.addr;
      json["code"] = name_of(static_cast<FlushKind>(event.code));
      break;
    case EventKind::kFence:
      json["code"] = name_of(static_cast<FenceKind>(event.code));
      break;
    case EventKind::kContent:
      json["bytes"] = hex(event.value);
      break;
    case EventKind::kOpBegin:
      json["code"] = name_of(static_cast<OpKind>(event.code));
      json["key"] = hex(event.key);
      json["value"] = hex(event.value);
      json["text"] = event.text;
      break;
    case EventKind::kOpEnd:
      json["code"] = status_name(static_cast<powercut_status>(event.code));
      json["value"] = hex(event.value);
      break;
    case EventKind::kAllocate:
      json["offset"] = event.addr;
      json["size"] = event.size;
      break;
    case EventKind::kFree:
      json["offset"] = event.addr;
      break;
    case EventKind::kMarker:
    case EventKind::kSearched:
      json["text"] = event.text;
      break;
    case EventKind::kPhase:
      json["text"] = event.text;
      json["explore"] = event.code == 1;
      break;
    case EventKind::kThreadStart:
    case EventKind::kThreadEnd:
    case EventKind::kCut:
    case EventKind::kCrashPoint:
      break;
    case EventKind::kFork:
      json["threads"] = event.code;
      break;
    case EventKind::kBack:
      json["events"] = event.size;
      break;
    case EventKind::kTrouble:
      json["code"] = name_of(static_cast<Trouble>(event.code));
      json["text"] = event.text;
      break;
  }
  Json stack = Json::array();
  for (const Frame& frame : reader.stack(event.stack)) stack.push_back({frame.module, frame.offset});
  json["stack"] = stack;
  return json;
}

int fail_in_text(const EngineError& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "powercut-engine: %s\n", error.message().c_str());
  return error.exit_code();
}

int dump_text(const std::string& trace, bool normal) {
  auto opened = open_trace(trace);
  if (!opened) return fail_in_text(opened.error());
  TraceReader* reader = opened->get();
  reader->take_tree_calls();
  NormalForm form;
  Event event;
  while (reader->next(&event)) {
    std::string line =
        normal ? form.add(event)
               : absl::StrCat(absl::Dec(event.index, absl::kSpacePad8), " t", event.thread, " ", name_of(event.kind),
                              " ", detail(event), stack_text(*reader, event.stack), "\n");
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  if (reader->error()) return fail_in_text(usage_error(*reader->error()));
  if (std::fflush(stdout) != 0) {
    return fail_in_text(usage_error("cannot write the dump", "standard output", "Free some space and try again."));
  }
  return kExitOk;
}

int dump_json(const std::string& trace, bool contents) {
  EventStream events = EventStream::standard_output();
  events.hello("dump");
  auto opened = open_trace(trace);
  if (!opened) return events.error(opened.error());
  TraceReader* reader = opened->get();
  reader->take_tree_calls();
  Event event;
  while (reader->next(&event)) events.emit(event_json(*reader, event, contents));
  if (reader->error()) return events.error(usage_error(*reader->error()));
  Json modules = Json::array();
  for (const TraceModule& module : reader->modules()) {
    modules.push_back({{"path", module.path}, {"build_id", module.build_id}});
  }
  events.emit({{"event", "modules"}, {"modules", modules}});
  Json metadata = parse_json(reader->metadata());
  events.emit({{"event", "dumped"},
               {"trace", trace},
               {"events", reader->total_events()},
               {"metadata", metadata.is_discarded() ? Json() : metadata}});
  return events.end(kExitOk);
}

}  // namespace

void add_dump_command(CommandLine& app, int& exit_code) {
  auto* command = app.add_subcommand("dump", "Print a trace.");
  struct Options {
    std::string trace, format = "text";
    bool normal = false, no_contents = false;
  };
  auto asked = std::make_shared<Options>();
  command->add_option("--trace", asked->trace, "Trace to read")->required();
  command->add_option("--format", asked->format, "text or json")->one_of({"text", "json"})->capture_default_str();
  command->add_flag("--no-contents", asked->no_contents, "For calls on files, sizes in the place of bytes (json)");
  command->add_flag("--normal", asked->normal, "The normal form that all tracers agree on (text)");
  command->callback([asked, &exit_code] {
    exit_code = asked->format == "json" && !asked->normal ? dump_json(asked->trace, !asked->no_contents)
                                                          : dump_text(asked->trace, asked->normal);
  });
}

}  // namespace powercut
