#include "checker/native/finding_record.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "checker/native/event_stream.h"
#include "checker/native/session.h"

namespace powercut {
namespace {

constexpr const char* kNext = "Name a file of the folder 'findings' that 'powercut run' wrote, as it was written.";

// Thrown by the readers below and caught by parse_finding().
struct Malformed {
  std::string at, what;
};

// One JSON value and its place in the record, "nested_image[0].lines[2].bytes".
class Field {
 public:
  Field(const Json& json, std::string at) : json_(&json), at_(std::move(at)) {}

  bool has(const std::string& name) const {
    return json_->is_object() && json_->contains(name) && !(*json_)[name].is_null();
  }
  Field operator[](const std::string& name) const {
    const std::string at = at_.empty() ? name : at_ + "." + name;
    if (!json_->is_object() || !json_->contains(name)) throw Malformed{at, "this field is missing"};
    return {(*json_)[name], at};
  }
  std::vector<Field> items() const {
    if (!json_->is_array()) throw wrong("a list");
    std::vector<Field> out;
    for (size_t i = 0; i < json_->size(); ++i) out.emplace_back((*json_)[i], at_ + "[" + std::to_string(i) + "]");
    return out;
  }
  std::string text() const {
    if (!json_->is_string()) throw wrong("a text");
    return json_->get<std::string>();
  }
  uint64_t number() const {
    if (!json_->is_number_unsigned()) throw wrong("a natural number");
    return json_->get<uint64_t>();
  }
  bool flag() const {
    if (!json_->is_boolean()) throw wrong("true or false");
    return json_->get<bool>();
  }
  Content content() const {
    const Malformed bad = wrong("64 bytes as hex digits");
    const std::string digits = text();
    if (digits.size() != 2 * kLineSize) throw bad;
    Content out;
    for (size_t i = 0; i < kLineSize; ++i) {
      const auto value = [&](char digit) -> unsigned {
        if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
        if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
        throw bad;
      };
      out.bytes[i] = static_cast<uint8_t>(value(digits[2 * i]) << 4 | value(digits[2 * i + 1]));
    }
    return out;
  }
  Malformed wrong(const std::string& wanted) const {
    return {at_.empty() ? "the whole file" : at_, "this must be " + wanted};
  }

 private:
  const Json* json_;
  std::string at_;
};

std::vector<FindingRecord::Line> lines_of(const Field& list) {
  std::vector<FindingRecord::Line> out;
  std::set<uint64_t> seen;
  for (const Field& item : list.items()) {
    const uint64_t offset = item["offset"].number();
    if (offset % kLineSize != 0) throw item["offset"].wrong("the offset of a line, a multiple of 64");
    if (!seen.insert(offset).second) throw item["offset"].wrong("of another line than those before it");
    out.push_back({offset / kLineSize, item["bytes"].content(), item.has("decided") ? item["decided"].flag() : false});
  }
  return out;
}

FindingRecord::Nested nested_of(const Field& item) {
  FindingRecord::Nested out;
  out.after_return = item["after_return"].flag();
  for (const Field& store : item["recovery_stores"].items()) {
    out.stores.emplace_back(store["offset"].number(), store["size"].number());
  }
  out.lines = lines_of(item["lines"]);
  return out;
}

FindingRecord record_of(const Field& root) {
  FindingRecord out;
  if (root.has("target")) out.target = root["target"].text();
  if (root.has("variant")) out.variant = root["variant"].text();
  if (root.has("scenario")) out.scenario = root["scenario"].text();
  if (root.has("engine")) {
    const Field engine = root["engine"];
    out.model = engine["model"].text();
    out.atoms = engine["atoms"].text();
    if (!make_model(out.model, AtomPolicy::kAny, kLineSize)) throw engine["model"].wrong("a persistency model");
    if (!atom_policy(out.atoms)) throw engine["atoms"].wrong("an atom policy");
  }
  const Field point = root["crash_point"];
  out.crash_point = point["index"].number();
  out.event = point["event"].number();
  out.when = point["when"].text();
  out.query = root["query"]["text"].text();
  out.image = lines_of(root["image"]);
  for (const Field& item : root["nested_image"].items()) out.nested.push_back(nested_of(item));
  if (point["depth"].number() != out.nested.size()) {
    throw point["depth"].wrong(std::to_string(out.nested.size()) + ", as many cuts as 'nested_image' has");
  }
  return out;
}

}  // namespace

Result<FindingRecord> parse_finding(const std::string& text, const std::string& path) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return usage_error("not JSON", path, kNext);
  try {
    FindingRecord record = record_of(Field(json, ""));
    record.path = path;
    return record;
  } catch (const Malformed& malformed) {
    return usage_error("not a finding: " + malformed.at + ": " + malformed.what, path, kNext);
  }
}

Result<FindingRecord> read_finding(const std::string& path) {
  if (std::filesystem::is_directory(path)) return usage_error("this is a folder, not a finding", path, kNext);
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) {
    return usage_error(std::string("cannot be read (") + std::strerror(errno) + ")", path, kNext);
  }
  return parse_finding(text, path);
}

}  // namespace powercut
