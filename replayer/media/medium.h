// A medium: what the pool of a run is. Each medium has a folder here, which says by what rules a power cut leaves it
// (replayer/models/persistency.h), and a line in media.def. Everybody else asks the medium and never its name.
#ifndef POWERCUT_REPLAYER_MEDIA_MEDIUM_H_
#define POWERCUT_REPLAYER_MEDIA_MEDIUM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "replayer/models/model.h"
#include "replayer/models/persistency.h"

namespace powercut {

class ImageWriter;
class PoolCalls;
struct PoolFile;

struct Medium {
  std::string_view name;    // as records have it: "block"
  std::string_view called;  // as sentences have it: "a block device"
  uint32_t kind;            // as a target says it: powercut_medium (powercut/target.h)
  // The models of the medium; the first one is used where nobody names another.
  std::span<const Persistency* const> models;

  // The next four members are about programs, whose pools are files. A medium that no file is of leaves them out.

  // Returns true if the recording describes a file of this medium.
  bool (*takes)(const PoolFile& file) = nullptr;
  // Makes the object that turns calls on a file into events.
  std::unique_ptr<PoolCalls> (*calls)(const PoolFile& file) = nullptr;
  // Writes files of this medium in crash images.
  const ImageWriter* images = nullptr;
  // A sentence: what a verdict assumes of a file of this medium, beyond the assumptions of its model. May be empty.
  std::string_view of_files = {};

  const Persistency& own_model() const { return *models.front(); }
  // Returns the model of the medium that `asked` names. The name of the default of all media stands for the medium's
  // own model. Null: the medium has no such model.
  const Persistency* model_for(std::string_view asked) const;
  // "adr or eadr"
  std::string model_names() const;
};

// All media, in the order of the table. A run that names no medium has the first one.
std::span<const Medium* const> media();
// Returns null if no medium is of this kind.
const Medium* medium_of_kind(uint32_t kind);

// Returns the medium of a file of a program: the first medium that takes the file. Precondition: some medium takes it.
const Medium& medium_of_file(const PoolFile& file);

// Returns the rules of the model with this name; null if no medium has such a model.
const Persistency* persistency_of(std::string_view model);
// The rules of a run that names no model.
inline const Persistency& default_persistency() { return media().front()->own_model(); }
// "adr, eadr, block, flash"
std::string all_model_names();

// Returns null if no medium has a model of this name.
std::unique_ptr<Model> make_model(std::string_view model, AtomPolicy policy, uint64_t pool_size);

// For tests: a medium beside those of the table, which lives until the process ends.
void add_medium(const Medium& medium);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_MEDIUM_H_
