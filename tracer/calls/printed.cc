#include "tracer/calls/printed.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace powercut {

std::optional<EngineError> Printed::make(const std::string& folder, TreeLog& log) {
  for (int i = 0; i < 2; ++i) {
    const std::string path = absl::StrCat(folder, i == 0 ? "/stdout" : "/stderr");
    OwnDescriptor& file = outputs_[i].file;
    file = OwnDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
    struct stat status{};
    if (!file || fstat(file.number(), &status) != 0) {
      return harness_error(absl::StrCat("the file for the command's output cannot be made: ", std::strerror(errno)),
                           path, "Free some space and record again.");
    }
    log.tells(status, outputs_[i]);
  }
  return std::nullopt;
}

void Printed::take_over() const {
  for (int i = 0; i < 2; ++i) {
    if (outputs_[i].file) dup2(outputs_[i].file.number(), i + 1);
  }
}

void Printed::Output::wrote(TreeLog& log, uint64_t offset, uint64_t size) {
  grown_.push_back({log.events(), number_, offset + size});
}

}  // namespace powercut
