// Which files beside the pools come back after a run: those in a pool's folder and below.
//
// In the folder in which the commands run, and in those that hold it, other things than data lie. There a file that is
// made anew or only added to stays, such as a log, unless its name begins with that of a pool.
#ifndef POWERCUT_TRACER_OTHER_FILES_DATA_FOLDERS_H_
#define POWERCUT_TRACER_OTHER_FILES_DATA_FOLDERS_H_

#include <string>
#include <vector>

#include "tracer/other_files/file_call.h"

namespace powercut {

class DataFolders {
 public:
  // `pools`: their files. `working`: the folder in which the commands run.
  DataFolders(const std::vector<std::string>& pools, const std::string& working);

  // Before a change. Whether what is under the name now has to be there afterwards; that may be nothing.
  bool comes_back(const FileUse& use);

 private:
  std::vector<std::string> pools_, folders_, shared_;
  std::vector<std::string> stays_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_OTHER_FILES_DATA_FOLDERS_H_
