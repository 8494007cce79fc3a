// Pools as files: which files are pools, where they get mapped, and how system calls change them.
//
// A file is a pool if its path was named, whatever name the program opens it by: files are compared by device and
// inode. A file that does not exist yet is recognised once it exists. A file that replaces a pool begins with the
// contents of the new file. Bytes that a system call has written to a file are read back from the file, since they may
// have come from anywhere.
#ifndef POWERCUT_TRACER_PIN_POOL_FILES_H_
#define POWERCUT_TRACER_PIN_POOL_FILES_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "tracer/file_calls/file_calls.h"
#include "tracer/pin/recorder.h"
#include "tracer/stream/pool_file.h"

namespace powercut {
namespace pin {

struct SystemCall {
  uint64_t number = UINT64_MAX;  // of x86-64 Linux
  uint64_t arguments[6] = {};
};

// The meaning for the pools of a system call that succeeded.
struct Effect {
  enum Kind : uint8_t {
    kNothing,
    kMapped,         // at `address`, `length`, from `offset` of `pool`; -1: over an address that may have been a pool's
    kRemapped,       // `from`, `from_length` became `address`, `length`
    kPrivate,        // mapped so that stores do not reach the file
    kFileWritten,    // `length` bytes at `offset` of `pool`
    kFileZeroed,     // `length` zeroes at `offset` of `pool`
    kFileLooked,     // the size of `pool` may have changed
    kFileSynced,     // `pool`, or all pools: -1
    kRangeSynced,    // `address`, `length`
    kMemoryWritten,  // the kernel stored to `pieces`
    kMemoryRead,     // the kernel read `pieces`
  };
  Kind kind = kNothing;
  bool synced = false;  // kFileWritten: the descriptor writes through
  bool moves = true;    // kRemapped: the old place is gone
  int pool = -1;
  uint64_t address = 0, length = 0, offset = 0, from = 0, from_length = 0;
  std::vector<Piece> pieces;
};

class PoolFiles {
 public:
  PoolFiles(Recorder& recorder, bool loads) : recorder_(recorder), loads_(loads) {}

  // Adds a path to watch. Called before begin().
  void name(const std::string& path);
  // Defines the named pools in the stream, with their contents. Called once, before the program runs.
  void begin();

  // The program says that this range is persistent (powercut_mark_pool).
  void registered(uint32_t thread, uint64_t address, uint64_t length, const Frames& frames);

  // Called before a call: records all that must be recorded while the memory is still there.
  void before(uint32_t thread, const SystemCall& call);
  // Returns the index of the argument that names the stream's descriptor in a call that would close it, or -1.
  int closes_stream(const SystemCall& call) const;

  // Both are called after a call that succeeded. An effect is cheap to have; only an effect other than kNothing is
  // worth a call stack.
  Effect effect_of(const SystemCall& call, uint64_t result) const;
  void apply(uint32_t thread, const Effect& effect, const Frames& frames);

 private:
  int pool_of(int descriptor) const;
  Effect on_file(Effect::Kind kind, uint64_t descriptor, uint64_t offset, uint64_t length) const;
  Effect written(const powercut_file_call& known, const uint64_t* arguments, uint64_t length) const;
  Effect mapped(const SystemCall& call, uint64_t address) const;
  Effect remapped(const SystemCall& call, uint64_t address) const;
  Effect on_memory(Effect::Kind kind, uint64_t address, uint64_t length) const;
  Effect on_vector(uint64_t vector, uint64_t count, uint64_t length) const;
  void look(Recorder::Entry& entry, int pool);
  void write_file(Recorder::Entry& entry, const Effect& effect);

  Recorder& recorder_;
  const bool loads_;
  std::vector<PoolFile> pools_;  // by their number in the stream
};

}  // namespace pin
}  // namespace powercut
#endif  // POWERCUT_TRACER_PIN_POOL_FILES_H_
