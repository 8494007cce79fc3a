// A reader of trees that a test scripts: each answer decides the next question. The comparison with the brute force
// (reference.py) asks for every transcript that some legal tree leads to.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_SCRIPTED_READER_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_SCRIPTED_READER_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replayer/media/files/disk.h"

namespace powercut::files {

struct ScriptedReader {
  uint64_t seed = 0;
  uint32_t questions = 0;          // at most
  std::vector<std::string> paths;  // that it asks for; a folder comes before what is in it
};

// Returns the transcripts of all legal trees, by following every answer of a box of trees (tree_box.h). Each end's
// newest tree is asked once more, and "wrong" stands in the transcript if it answers otherwise. Nothing: too many
// steps.
std::optional<std::set<std::string>> transcripts(const Disk& disk, const ScriptedReader& reader, uint64_t most_effort);

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_SCRIPTED_READER_H_
