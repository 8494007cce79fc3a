// The pool files of a program trace: which file each part of the trace's offset space is.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_TRACE_POOLS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_TRACE_POOLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/event_stream.h"
#include "base/result.h"
#include "replayer/media/image_writer.h"
#include "replayer/media/medium.h"
#include "tracer/stream/device_layout.h"

namespace powercut {

struct PoolWindow {
  std::string path;      // as recorded, absolute
  uint64_t offset = 0;   // of its first byte in the offset space; a multiple of 4096
  uint64_t size = 0;     // of the file
  uint64_t address = 0;  // where it was mapped, 0: not known
  std::optional<DeviceLayout> device = {};
  // [begin, end) of the file that the program uses like ordinary memory, by its own word.
  std::vector<std::pair<uint64_t, uint64_t>> volatile_parts = {};

  PoolFile file() const { return {.offset = offset, .window = 0, .size = size, .device = device}; }
  const ImageWriter& images() const { return *medium_of_file(file()).images; }
  // Bytes of the offset space.
  uint64_t space() const { return images().space(file()); }
};

// A file beside the pools that the recorded program has changed.
struct OtherFile {
  std::string path;
  bool named = false;  // its name came or went
};

struct TracePools {
  std::vector<PoolWindow> windows;  // ascending by offset, disjoint
  uint64_t space = 0;               // size of the offset space: a multiple of the line, at least one
  Json program;                     // metadata "program", or null
  // Changes of the pools that the trace has no stores for, one sentence each: the trace's images are not all that a
  // power cut may leave.
  std::vector<std::string> unseen;
  // Uses of a device that are not modelled, one sentence each: here, too, the trace's images are not all.
  std::vector<std::string> refused;

  // Files beside the pools that the program has changed, where its recording has looked.
  std::vector<OtherFile> other_files;

  bool lacks_something() const { return !unseen.empty() || !refused.empty(); }
  // Whether the program changes a pool by calls alone (ImageWriter::by_calls).
  bool changed_by_calls() const;
  // The layout of the pools that have one; the usual layout where none has.
  DeviceLayout layout() const;
  // The medium of the pools: memory, or a device.
  const Medium& medium() const;
};

// Reads a trace's metadata. A trace that names no files (a program built with `powercut cc` that recorded itself) has
// one pool, whose path is `pool_path`. The path must not be empty then.
Result<TracePools> pools_of_trace(const std::string& metadata, const std::string& trace, const std::string& pool_path);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_IMAGES_TRACE_POOLS_H_
