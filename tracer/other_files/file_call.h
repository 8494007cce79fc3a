// A call on files that call_filter.h tells of, before it is made: which names it uses, and how.
//
// Known inaccuracies: attributes and times of files are no change; what a process is handed by one that is not watched
// (a descriptor over a socket) is not seen.
#ifndef POWERCUT_TRACER_OTHER_FILES_FILE_CALL_H_
#define POWERCUT_TRACER_OTHER_FILES_FILE_CALL_H_

#include <functional>
#include <string>
#include <vector>

namespace powercut {

// The effect of a call on one name.
struct FileUse {
  enum class Change : uint8_t {
    kNone,
    kMaybe,     // opened for writing; a file that is not there may be made
    kContents,  // of a file, at once
    kMade,      // the name, which must not be there
    kTaken,     // the name, which must be there
    kReplaced,  // the name, whether it is there or not
  };
  std::string path;    // absolute, without links in its folders
  bool looks = false;  // the call's result tells what is there, or lets the caller read it
  bool lists = false;  // the names in this folder are read
  Change change = Change::kNone;
  bool defines = false;  // whatever was there, it is the caller's afterwards
  bool adds = false;     // the caller can do nothing with it but write behind its end
  bool tree = false;     // what lies below the name goes along
};

struct FileCall {
  std::vector<FileUse> uses;
  std::string unseen;  // the caller can use files from now on without being seen, by this; empty: it cannot
};

// Takes the next call of a listener, and lets it be made where `allow` says so; it fails as on a read-only file system
// otherwise. False: nobody is left whose calls it could tell of.
bool take_file_call(int listener, const std::function<bool(const FileCall&)>& allow);

}  // namespace powercut
#endif  // POWERCUT_TRACER_OTHER_FILES_FILE_CALL_H_
