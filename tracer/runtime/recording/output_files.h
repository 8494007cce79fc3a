// The files that are the program's standard output and error, while its output is looked at for acknowledgements. The
// sizes of the files say what had left the program, whoever wrote it, the C library itself included.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_OUTPUT_FILES_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_OUTPUT_FILES_H_

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace powercut::runtime {

class OutputFiles {
 public:
  // `folder`: holds the two files `stdout` and `stderr`, as POWERCUT_OUTPUT names it; empty: nobody asks for the
  // output.
  explicit OutputFiles(std::string_view folder) {
    if (folder.empty()) return;
    for (size_t i = 0; i < files_.size(); ++i) {
      files_[i].path = std::string(folder) + (i == 0 ? "/stdout" : "/stderr");
      struct stat status{};
      if (stat(files_[i].path.c_str(), &status) != 0) continue;
      files_[i].device = status.st_dev;
      files_[i].inode = status.st_ino;
    }
  }

  // Calls told(1 for standard output or 2 for error, size) for each file that has grown.
  template <typename Told>
  void look(const Told& told) {
    for (size_t i = 0; i < files_.size(); ++i) {
      File& file = files_[i];
      if (file.inode == 0) continue;
      const auto number = static_cast<uint32_t>(i + 1);
      struct stat status{};
      // The descriptor's status takes a fifth of the time of the path's, but the program may have another file at the
      // descriptor.
      const bool known =
          fstat(static_cast<int>(number), &status) == 0 && status.st_dev == file.device && status.st_ino == file.inode;
      if (!known && stat(file.path.c_str(), &status) != 0) continue;
      const auto size = static_cast<uint64_t>(status.st_size);
      if (size == file.size) continue;
      file.size = size;
      told(number, size);
    }
  }

 private:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;  // 0: there was no file when the folder was named
    uint64_t size = 0;
  };
  std::array<File, 2> files_;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_OUTPUT_FILES_H_
