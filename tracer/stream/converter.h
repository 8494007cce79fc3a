// Makes a trace of a stream (STREAM.md says how). The survey, the first pass, learns the pools: their sizes decide the
// trace's offsets and go into its metadata. The conversion, the second pass, writes the events.
#ifndef POWERCUT_TRACER_STREAM_CONVERTER_H_
#define POWERCUT_TRACER_STREAM_CONVERTER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tracer/format/writer.h"
#include "tracer/stream/acknowledgements.h"
#include "tracer/stream/device_layout.h"

namespace powercut {

struct StreamPool {
  std::string path;      // empty: memory that is no file
  uint64_t offset = 0;   // of its first byte in the trace
  uint64_t size = 0;     // bytes: the greatest size that the file had, or the greatest end of a mapping
  uint64_t window = 0;   // bytes of the trace's offset space that are its own
  uint64_t address = 0;  // of its first byte by the first mapping; 0 if never mapped
  // Ranges [begin, end) of the file that the program has disowned: the program stores there, and nobody records the
  // stores.
  std::vector<std::pair<uint64_t, uint64_t>> disowned = {};
  // Disowned ranges of a file of which the program kept others: it uses these ranges like ordinary memory.
  std::vector<std::pair<uint64_t, uint64_t>> volatile_parts = {};
  bool used = false;  // mapped or written; others have no window
  bool mapped = false;
  bool device = false;
  uint64_t first_size = 0;  // of the file before the program
};

struct StreamNote {
  uint8_t kind = 0;  // powercut_stream_note
  std::string text;
};

struct StreamEnd {
  bool signalled = false;
  uint32_t status = 0;  // or the signal
};

struct StreamSurvey {
  std::vector<StreamPool> pools;  // by their number in the stream
  DeviceLayout layout;            // of pools that are devices
  uint64_t size = 0;              // of the whole offset space
  bool has_phases = false, has_operations = false;
  std::vector<StreamOutput> outputs;
  size_t outputs_amid = 0;  // of these, before the last store, flush, fence or sync
  bool has_calls = false;   // on files: the trace is read through the media of its pools
  bool has_shrinks = false;
  uint64_t stores = 0;
  std::vector<StreamNote> notes;
  std::optional<StreamEnd> end;  // none: the program was killed
};

std::optional<StreamSurvey> survey_stream(const std::string& path, const DeviceLayout& layout, TraceError* error);
// Preconditions: `survey` is of the same file, and `writer` is not finished. Call stacks end at the first frame of the
// module `driver`, unless the name is empty: frames of the driver say nothing about the program. The acknowledgements
// `lines` make the operations of a program that has marked none.
std::optional<TraceError> convert_stream(const std::string& path, const StreamSurvey& survey, const std::string& driver,
                                         TraceWriter& writer, std::span<const Acknowledgement> lines = {});

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_CONVERTER_H_
