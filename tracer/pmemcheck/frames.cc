#include "tracer/pmemcheck/frames.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <charconv>

namespace powercut::pmemcheck {

namespace {

// Limits of FORMAT.md: longer texts, and more modules, do not fit into a trace.
constexpr size_t kMaxText = 4000, kMaxModules = 65000, kMaxDepth = 256;

// Returns the length of "0x4011a6: " at the start of `text`, 0 if the text has no such start.
size_t address_prefix(std::string_view text) {
  if (!text.starts_with("0x")) return 0;
  const size_t end = text.find_first_not_of("0123456789abcdefABCDEF", 2);
  if (end == std::string_view::npos || end == 2 || end > 18 || text.substr(end, 2) != ": ") return 0;
  return end + 2;
}

std::string named(std::string_view text) { return std::string(kFrameModule).append(text); }

}  // namespace

std::vector<std::pair<uint64_t, std::string_view>> frames_in(std::string_view field) {
  std::vector<std::pair<uint64_t, std::string_view>> frames;
  while (!field.empty()) {
    const size_t prefix = address_prefix(field);
    uint64_t address = 0;
    if (prefix != 0) std::from_chars(field.data() + 2, field.data() + prefix - 2, address, 16);
    const std::string_view rest = field.substr(prefix);
    // Inlined functions follow each other without a break: "0x1: a (x.h:3)0x1: b (y.c:4)".
    size_t end = rest.find(")0x");
    while (end != std::string_view::npos && address_prefix(rest.substr(end + 1)) == 0) end = rest.find(")0x", end + 1);
    const std::string_view text = rest.substr(0, end == std::string_view::npos ? end : end + 1);
    frames.emplace_back(address, text);
    field = rest.substr(text.size());
  }
  return frames;
}

std::string frame_text(const std::string& module, uint64_t offset) {
  const std::string_view name(module);
  if (!name.starts_with(kFrameModule)) return absl::StrCat("0x", absl::Hex(offset), ": ??? (in ", module, ")");
  const std::string text(name.substr(kFrameModule.size()));
  return offset == 0 ? text : absl::StrCat("0x", absl::Hex(offset), ": ", text);
}

std::string field_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c == '|' || c == ';' || c < 0x20 || c == 0x7f; }, '_');
  // pmreorder takes the last entry with START anywhere in it for the beginning of the log.
  for (size_t at = 0; (at = text.find("START", at)) != std::string::npos;) text.replace(at, 5, "start");
  return text;
}

uint32_t StackTable::module_of(std::string_view text) {
  std::string kept(text.substr(0, kMaxText));
  if (auto found = modules_.find(kept); found != modules_.end()) return found->second;
  if (modules_.size() >= kMaxModules) {
    ++unnamed_;
    return writer_->module({named("???"), ""});
  }
  const uint32_t index = writer_->module({named(kept), ""});
  return modules_.emplace(std::move(kept), index).first->second;
}

uint32_t StackTable::id_of(const std::vector<std::string>& fields) {
  if (fields.empty()) return 0;
  std::string key = absl::StrJoin(fields, ";");
  if (auto found = stacks_.find(key); found != stacks_.end()) return found->second;
  std::vector<Frame> frames;
  for (const std::string& field : fields) {
    for (const auto& [address, text] : frames_in(field)) {
      if (frames.size() < kMaxDepth) frames.push_back({module_of(text), address});
    }
  }
  const uint32_t id = frames.empty() ? 0 : writer_->stack(frames);
  return stacks_.emplace(std::move(key), id).first->second;
}

}  // namespace powercut::pmemcheck
