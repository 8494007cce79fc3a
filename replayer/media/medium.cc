#include "replayer/media/medium.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "absl/strings/str_join.h"
#include "replayer/media/media.h"
#include "replayer/media/pool_calls.h"

namespace powercut {

namespace {

std::vector<const Medium*>& table() {
  static std::vector<const Medium*> table = {
#define MEDIUM(name) &name##_medium(),
#include "replayer/media/media.def"
#undef MEDIUM
  };
  return table;
}

void add_name(std::string* out, const Persistency* model) { out->append(model->name()); }

}  // namespace

std::span<const Medium* const> media() { return table(); }
void add_medium(const Medium& medium) { table().push_back(&medium); }

const Medium* medium_of_kind(uint32_t kind) {
  const auto at = std::ranges::find(table(), kind, &Medium::kind);
  return at == table().end() ? nullptr : *at;
}

const Medium& medium_of_file(const PoolFile& file) {
  const auto takes = [&file](const Medium* medium) { return medium->takes != nullptr && medium->takes(file); };
  const auto at = std::ranges::find_if(table(), takes);
  assert(at != table().end());
  return **at;
}

const Persistency* Medium::model_for(std::string_view asked) const {
  const auto at = std::ranges::find(models, asked, &Persistency::name);
  if (at != models.end()) return *at;
  return asked == default_persistency().name() ? &own_model() : nullptr;
}

std::string Medium::model_names() const { return absl::StrJoin(models, " or ", add_name); }

const Persistency* persistency_of(std::string_view model) {
  for (const Medium* medium : media()) {
    const auto at = std::ranges::find(medium->models, model, &Persistency::name);
    if (at != medium->models.end()) return *at;
  }
  return nullptr;
}

std::string all_model_names() {
  std::vector<const Persistency*> all;
  for (const Medium* medium : media()) all.insert(all.end(), medium->models.begin(), medium->models.end());
  return absl::StrJoin(all, ", ", add_name);
}

std::unique_ptr<Model> make_model(std::string_view model, AtomPolicy policy, uint64_t pool_size) {
  const Persistency* rules = persistency_of(model);
  return rules == nullptr ? nullptr : rules->model(policy, pool_size);
}

}  // namespace powercut
