// The pools of a stream as files, for readers of a trace that was just made of the stream.
#ifndef POWERCUT_REPLAYER_MEDIA_STREAM_FILES_H_
#define POWERCUT_REPLAYER_MEDIA_STREAM_FILES_H_

#include <memory>
#include <vector>

#include "replayer/media/pool_calls.h"
#include "tracer/stream/converter.h"

namespace powercut {

inline std::unique_ptr<FileCalls> file_calls_of(const StreamSurvey& survey) {
  std::vector<PoolFile> files;
  for (const StreamPool& pool : survey.pools) {
    if (pool.window == 0) continue;
    PoolFile& file = files.emplace_back(PoolFile{pool.offset, pool.window, pool.size});
    if (pool.device) file.device = survey.layout;
  }
  return make_file_calls(std::move(files), survey.has_phases);
}

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_STREAM_FILES_H_
