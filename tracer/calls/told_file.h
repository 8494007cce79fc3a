// A file outside of the folder by which the program tells something: its writes are a part of the recording.
#ifndef POWERCUT_TRACER_CALLS_TOLD_FILE_H_
#define POWERCUT_TRACER_CALLS_TOLD_FILE_H_

#include <cstdint>

namespace powercut {

class TreeLog;

class ToldFile {
 public:
  ToldFile() = default;
  ToldFile(const ToldFile&) = delete;
  ToldFile& operator=(const ToldFile&) = delete;
  virtual ~ToldFile() = default;
  // The thread that the log names has written these bytes, and no other call runs.
  virtual void wrote(TreeLog& log, uint64_t offset, uint64_t size) = 0;
  // Whether a write is an instant for which all stores through mappings must be known.
  virtual bool is_an_instant() const { return true; }
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_TOLD_FILE_H_
