#include "checker/edit/trace_edits.h"

#include "base/json_field.h"
#include "base/user_file.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

FlushKind flush_kind_of(const JsonField& kind) {
  for (FlushKind known : {FlushKind::kClwb, FlushKind::kClflushopt, FlushKind::kClflush}) {
    if (kind.text() == name_of(known)) return known;
  }
  throw kind.wrong("\"clwb\", \"clflushopt\" or \"clflush\"");
}

FenceKind fence_kind_of(const JsonField& kind) {
  for (FenceKind known : {FenceKind::kSfence, FenceKind::kMfence, FenceKind::kDevice}) {
    if (kind.text() == name_of(known)) return known;
  }
  throw kind.wrong("\"sfence\", \"mfence\" or \"device flush\"");
}

TraceEdits::Insert insert_of(const JsonField& item) {
  item.only({"after", "flush", "fence", "stack_of"});
  TraceEdits::Insert out;
  out.after = item["after"].number();
  out.stack_of = item.has("stack_of") ? item["stack_of"].number() : out.after;
  if (item.has("flush")) {
    const JsonField flush = item["flush"];
    flush.only({"offset", "size", "kind"});
    out.flush = {flush["offset"].number(), flush["size"].number(), flush_kind_of(flush["kind"])};
    if (out.flush->size == 0) throw flush["size"].wrong("at least 1 byte");
    if (out.flush->offset + out.flush->size < out.flush->offset) throw flush["size"].wrong("a size within the pool");
  }
  if (item.has("fence")) out.fence = fence_kind_of(item["fence"]);
  if (!out.flush && !out.fence) throw item.wrong("with 'flush' or 'fence', or both: it inserts nothing");
  return out;
}

TraceEdits::Move move_of(const JsonField& item) {
  item.only({"events", "after"});
  TraceEdits::Move out;
  for (const JsonField& event : item["events"].items()) {
    if (!out.events.empty() && event.number() <= out.events.back()) {
      throw event.wrong("a later event than the one before it: moved events keep their order");
    }
    out.events.push_back(event.number());
  }
  if (out.events.empty()) throw item["events"].wrong("at least one event");
  out.after = item["after"].number();
  return out;
}

}  // namespace

Result<TraceEdits> parse_edits(const std::string& text, const std::string& path) {
  const Json json = parse_json(text);
  if (json.is_discarded()) return usage_error("not JSON", path, kEditsNext);
  try {
    const JsonField root(json, "");
    root.only({"edits", "drop", "insert", "move", "recovery"});
    if (root["edits"].number() != 1) throw root["edits"].wrong("1, the version of this file");
    TraceEdits out;
    out.path = path;
    for (const JsonField& item : root.items_of("drop")) out.drop.push_back(item.number());
    for (const JsonField& item : root.items_of("insert")) out.insert.push_back(insert_of(item));
    for (const JsonField& item : root.items_of("move")) out.move.push_back(move_of(item));
    for (const JsonField& item : root.items_of("recovery")) out.recovery.push_back(recovery_rule_of(item));
    return out;
  } catch (const Malformed& malformed) {
    return usage_error("no edits: " + malformed.at + ": " + malformed.what, path, kEditsNext);
  }
}

Result<TraceEdits> read_edits(const std::string& path) {
  const Result<std::string> text = read_user_file(path, kEditsNext);
  if (!text) return text.error();
  return parse_edits(*text, path);
}

}  // namespace powercut
