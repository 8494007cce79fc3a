// Where the files lie that are installed with this program.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_BESIDE_ENGINE_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_BESIDE_ENGINE_H_

#include <filesystem>
#include <string>

namespace powercut {

// `relative`: to the folder of this program.
inline std::string beside_engine(const std::string& relative) {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / relative)
      .lexically_normal()
      .string();
}

inline std::string run_server_program() { return beside_engine("powercut-run-server"); }

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_BESIDE_ENGINE_H_
