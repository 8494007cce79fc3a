#include "tracer/calls/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <iterator>

#include "tracer/calls/own_descriptor.h"

namespace powercut {

std::string script_function(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return "";
  const std::string_view kind = name.substr(0, colon);
  if (kind != "JS" && kind != "Eval" && kind != "Script" && kind != "LazyCompile") return "";
  name.remove_prefix(colon + 1);
  // The mark of the compiler that has made the code.
  if (!name.empty() && std::string_view("~*^+").find(name.front()) != std::string_view::npos) name.remove_prefix(1);
  const size_t blank = name.find(" /"), column = name.rfind(':');
  if (blank == std::string_view::npos || column == std::string_view::npos || column <= blank) return "";
  const std::string_view place = name.substr(blank + 1, column - blank - 1);
  if (place.rfind(':') == std::string_view::npos) return "";
  const std::string function(blank == 0 ? "(anonymous)" : name.substr(0, blank));
  return function + " (" + std::string(place) + ")";
}

const std::string& PerfMap::function_at(uint64_t address) {
  static const std::string kNone;
  const std::string* found = find(address);
  // A runtime that writes no map need not be asked for each address.
  const bool asks = read_ != 0 || std::has_single_bit(++absent_);
  if (found == nullptr && asks && read_on()) found = find(address);
  return found == nullptr ? kNone : *found;
}

const std::string* PerfMap::find(uint64_t address) const {
  const auto next = codes_.upper_bound(address);
  if (next == codes_.begin() || address >= std::prev(next)->second.end) return nullptr;
  return &std::prev(next)->second.function;
}

bool PerfMap::read_on() {
  const OwnDescriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  if (!file || fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_mtime < since_) return false;
  if (status.st_size <= read_) return false;
  std::string text(static_cast<size_t>(status.st_size - read_), '\0');
  const ssize_t got = pread(file.number(), text.data(), text.size(), read_);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  size_t first = 0;
  for (size_t end; (end = text.find('\n', first)) != std::string::npos; first = end + 1) {
    take(std::string_view(text).substr(first, end - first));
  }
  read_ += static_cast<int64_t>(first);
  return first != 0;
}

// Code may lie where other code has been.
void PerfMap::take(std::string_view line) {
  const std::string text(line);
  uint64_t begin = 0, size = 0;
  int name = 0;
  if (std::sscanf(text.c_str(), "%" SCNx64 " %" SCNx64 " %n", &begin, &size, &name) != 2 || size == 0) return;
  auto old = codes_.lower_bound(begin);
  if (old != codes_.begin() && std::prev(old)->second.end > begin) --old;
  while (old != codes_.end() && old->first < begin + size) old = codes_.erase(old);
  codes_[begin] = {begin + size, script_function(std::string_view(text).substr(static_cast<size_t>(name)))};
}

}  // namespace powercut
