#include "tracer/pmemcheck/sections.h"

#include "tracer/pmemcheck/frames.h"
#include "tracer/pmemcheck/log.h"

namespace powercut::pmemcheck {

namespace {
const std::string kBegin = ".BEGIN", kEnd = ".END";
}  // namespace

std::string Sections::marker(std::string_view name) {
  const std::string text = field_text(std::string(name));
  const std::string_view view(text);
  if (view == name && !view.starts_with(kWrappedMarker)) {
    if (view.ends_with(kBegin) && view.size() > kBegin.size())
      return begin(view.substr(0, view.size() - kBegin.size()));
    if (view.ends_with(kEnd) && view.size() > kEnd.size()) {
      if (std::string closed = end(view.substr(0, view.size() - kEnd.size())); !closed.empty()) return closed;
    }
  }
  const std::string wrapped = "|" + std::string(kWrappedMarker) + text;
  return wrapped + kBegin + wrapped + kEnd;
}

std::string Sections::begin(std::string_view operation) {
  open_.emplace_back(operation);
  return "|" + open_.back() + kBegin;
}

std::string Sections::end(std::string_view operation) {
  if (open_.empty() || open_.back() != operation) return "";
  open_.pop_back();
  return "|" + std::string(operation) + kEnd;
}

}  // namespace powercut::pmemcheck
