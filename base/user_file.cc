#include "base/user_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace powercut {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Counts brackets outside of texts. The count of a text that is no JSON means nothing, and the parser refuses such a
// text.
bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostNesting) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<std::string> read_user_file(const std::string& path, const std::string& next) {
  // Without O_NONBLOCK the opening itself waits for a pipe's other end.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat status{};
  const auto refused = [&](const std::string& what) -> EngineError {
    if (fd >= 0) close(fd);
    return usage_error(what, path, next);
  };
  if (fd < 0 || fstat(fd, &status) != 0) return refused(std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refused(std::string("this is ") + kind_of(status.st_mode) + ", not a file");
  std::string out;
  char buffer[65536];
  for (;;) {
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return refused(std::string("cannot be read: ") + std::strerror(errno));
    if (size == 0) break;
    out.append(buffer, static_cast<size_t>(size));
    if (out.size() > kMostFileBytes) return refused("the file is larger than 1 GiB");
  }
  close(fd);
  return out;
}

Json parse_json(std::string_view text) {
  if (nests_too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

}  // namespace powercut
