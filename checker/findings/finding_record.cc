#include "checker/findings/finding_record.h"

#include <set>

#include "base/json_field.h"
#include "base/user_file.h"
#include "checker/trace/loaded_trace.h"
#include "replayer/media/medium.h"
#include "replayer/models/content_field.h"

namespace powercut {
namespace {

constexpr const char* kNextForRecords =
    "Name a file of the folder 'findings' that 'powercut run' wrote, as it was written.";

std::vector<FindingRecord::Line> lines_of(const JsonField& list) {
  std::vector<FindingRecord::Line> out;
  std::set<uint64_t> seen;
  for (const JsonField& item : list.items()) {
    const uint64_t offset = item["offset"].number();
    if (offset % kLineSize != 0) throw item["offset"].wrong("the offset of a line, a multiple of 64");
    if (!seen.insert(offset).second) throw item["offset"].wrong("of another line than those before it");
    out.push_back(
        {offset / kLineSize, content_of(item["bytes"]), item.has("decided") ? item["decided"].flag() : false});
  }
  return out;
}

FindingRecord::Nested nested_of(const JsonField& item) {
  FindingRecord::Nested out;
  out.after_return = item["after_return"].flag();
  for (const JsonField& store : item["recovery_stores"].items()) {
    out.stores.emplace_back(store["offset"].number(), store["size"].number());
  }
  out.lines = lines_of(item["lines"]);
  for (const JsonField& content : item.items_of("contents")) {
    out.contents.push_back(bytes_of(content, "the bytes of a sector as hex digits"));
  }
  return out;
}

FindingRecord record_of(const JsonField& root) {
  FindingRecord out;
  if (root.has("target")) out.target = root["target"].text();
  if (root.has("variant")) out.variant = root["variant"].text();
  if (root.has("scenario")) out.scenario = root["scenario"].text();
  if (root.has("engine")) {
    const JsonField engine = root["engine"];
    out.model = engine["model"].text();
    out.atoms = engine["atoms"].text();
    if (persistency_of(out.model) == nullptr) throw engine["model"].wrong("a persistency model");
    if (!atom_policy(out.atoms)) throw engine["atoms"].wrong("an atom policy");
  }
  const JsonField point = root["crash_point"];
  out.crash_point = point["index"].number();
  out.event = point["event"].number();
  out.when = point["when"].text();
  out.query = root["query"]["text"].text();
  out.image = lines_of(root["image"]);
  for (const JsonField& item : root["nested_image"].items()) out.nested.push_back(nested_of(item));
  if (point["depth"].number() != out.nested.size()) {
    throw point["depth"].wrong(std::to_string(out.nested.size()) + ", as many cuts as 'nested_image' has");
  }
  return out;
}

}  // namespace

Result<FindingRecord> parse_finding(const std::string& text, const std::string& path) {
  const Json json = parse_json(text);
  if (json.is_discarded()) return usage_error("not JSON", path, kNextForRecords);
  try {
    FindingRecord record = record_of(JsonField(json, ""));
    record.path = path;
    return record;
  } catch (const Malformed& malformed) {
    return usage_error("not a finding: " + malformed.at + ": " + malformed.what, path, kNextForRecords);
  }
}

Result<FindingRecord> read_finding(const std::string& path) {
  const Result<std::string> text = read_user_file(path, kNextForRecords);
  if (!text) return text.error();
  return parse_finding(*text, path);
}

}  // namespace powercut
