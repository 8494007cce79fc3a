#include "checker/replay/judge_requests.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/json_field.h"
#include "base/user_file.h"
#include "replayer/models/content_field.h"

namespace powercut {
namespace {

using Take = LevelContents::Take;

constexpr const char* kNextForRequests = "The section \"Judging\" of reports/EVENTS.md says what a request is.";

// Nothing for any text but these two words.
std::optional<Take> take_of(const JsonField& field) {
  const std::string text = field.text();
  if (text == "visible") return Take::kVisible;
  if (text == "floor") return Take::kFloor;
  return std::nullopt;
}

LevelContents contents_of(const JsonField& level) {
  LevelContents out;
  const auto rest = take_of(level["rest"]);
  if (!rest) throw level["rest"].wrong("\"visible\" or \"floor\"");
  out.rest = *rest;
  std::set<uint64_t> seen;
  for (const JsonField& item : level.items_of("lines")) {
    item.only({"offset", "bytes"});
    const uint64_t offset = item["offset"].number();
    if (offset % kLineSize != 0) throw item["offset"].wrong("the offset of a line, a multiple of 64");
    if (!seen.insert(offset).second) throw item["offset"].wrong("of another line than those before it");
    LevelContents::Line line{.line = offset / kLineSize, .take = Take::kBytes, .content = {}, .decided = false};
    if (const auto take = take_of(item["bytes"])) {
      line.take = *take;
    } else {
      line.content = content_of(item["bytes"]);
    }
    out.lines.push_back(line);
  }
  return out;
}

// Reads a store: [offset, size], or an object with both, as in a finding's `recovery_stores`.
std::pair<uint64_t, uint64_t> store_of(const JsonField& store) {
  if (store.json().is_object()) return {store["offset"].number(), store["size"].number()};
  const std::vector<JsonField> parts = store.items();
  if (parts.size() != 2) throw store.wrong("[offset, size]");
  return {parts[0].number(), parts[1].number()};
}

ConcreteImage::Nested nested_image_of(const JsonField& item) {
  item.only({"after_return", "stores", "rest", "lines"});
  ConcreteImage::Nested out;
  out.after_return = item["after_return"].flag();
  for (const JsonField& store : item["stores"].items()) out.stores.push_back(store_of(store));
  out.contents = contents_of(item);
  return out;
}

JudgeRequest request_of(const JsonField& root) {
  root.only({"id", "crash_point", "rest", "lines", "nested"});
  JudgeRequest out;
  out.id = root["id"].json();
  const JsonField point = root["crash_point"];
  out.image.first = contents_of(root);
  out.range = point.json().is_string() || point.json().is_array();
  out.image.first.where_pending = out.range;
  if (!out.range) {
    out.first = out.last = point.number();
  } else if (point.json().is_array()) {
    const std::vector<JsonField> ends = point.items();
    if (ends.size() != 2 || ends[0].number() > ends[1].number()) throw point.wrong("[first, last]");
    out.first = ends[0].number();
    out.last = ends[1].number();
  } else if (point.text() != "all") {
    throw point.wrong("the number of a crash point, [first, last], or \"all\"");
  }
  for (const JsonField& item : root.items_of("nested")) out.image.nested.push_back(nested_image_of(item));
  return out;
}

}  // namespace

RequestQueue::RequestQueue(const std::vector<JudgeRequest>& requests) {
  for (const JudgeRequest& request : requests) {
    (request.range ? ranges_ : single_).push_back(&request);
    if (request.range) last_of_ranges_ = std::max(last_of_ranges_, request.last);
  }
}

std::vector<const JudgeRequest*> RequestQueue::at(uint64_t here) {
  std::vector<const JudgeRequest*> out;
  for (const JudgeRequest* request : ranges_) {
    if (request->first <= here && here <= request->last) out.push_back(request);
  }
  for (; next_ < single_.size() && single_[next_]->first == here; ++next_) out.push_back(single_[next_]);
  return out;
}

std::optional<EngineError> RequestQueue::left_over(uint64_t crash_points, const std::string& path) const {
  if (next_ == single_.size()) return std::nullopt;
  return usage_error(
      "the trace has " + std::to_string(crash_points) + " crash points, and number " +
          std::to_string(single_[next_]->first) + " is asked for: it was counted on another trace",
      path,
      "A run replaces the traces of an earlier one in the same folder: run it again for new findings, or "
      "name the trace that was meant.");
}

Result<std::vector<JudgeRequest>> parse_requests(const std::string& text, const std::string& path) {
  std::vector<JudgeRequest> out;
  std::istringstream lines(text);
  std::string line;
  uint64_t number = 0, least = 0;
  while (std::getline(lines, line)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto refused = [&](const std::string& what) {
      return usage_error("line " + std::to_string(number) + " is no request: " + what, path, kNextForRequests);
    };
    const Json json = parse_json(line);
    if (json.is_discarded()) return refused("not JSON");
    try {
      out.push_back(request_of(JsonField(json, "")));
    } catch (const Malformed& malformed) {
      return refused(malformed.at + ": " + malformed.what);
    }
    if (out.back().range) continue;
    const uint64_t point = out.back().first;
    if (point < least) {
      return refused("crash point " + std::to_string(point) + " comes after " + std::to_string(least) +
                     "; sort the requests by crash point");
    }
    least = point;
  }
  return out;
}

Result<std::vector<JudgeRequest>> read_requests(const std::string& path) {
  const Result<std::string> text = read_user_file(path, kNextForRequests);
  if (!text) return text.error();
  return parse_requests(*text, path);
}

}  // namespace powercut
