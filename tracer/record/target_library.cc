#include "tracer/record/target_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "tracer/world/arena.h"
#include "tracer/world/virtual_world.h"

namespace powercut {

namespace {
constexpr const char* kEntry = "powercut_target_entry";
constexpr const char* kSizes = "powercut_target_sizes";
// A target of this version fills the beginning of each struct; the rest of the traits stays zero.
constexpr uint32_t kOldestAbi = 2;
constexpr uint32_t kCountersAbi = 4;
constexpr const char* kAbiNext = "targets/ABI.md shows what a target library exports.";
constexpr uint32_t kMostBytes = 65536;  // of a sector, or of a page with its spare area
// Of a list that lacks its end.
constexpr size_t kMostSizes = 64;

// Answers of a map that has no such operation.
powercut_status no_update(powercut_table*, powercut_bytes, powercut_bytes) { return POWERCUT_UNSUPPORTED; }
powercut_status no_erase(powercut_table*, powercut_bytes) { return POWERCUT_UNSUPPORTED; }
powercut_status no_increment(powercut_table*, powercut_bytes, int64_t) { return POWERCUT_UNSUPPORTED; }

int64_t delta_of(powercut_bytes value) {
  int64_t delta = 0;
  std::memcpy(&delta, value.data, std::min(value.size, sizeof delta));
  return delta;
}
}  // namespace

TargetConfig::TargetConfig(std::string variant, std::vector<std::pair<std::string, std::string>> options,
                           const DataSizes& sizes)
    : variant_(std::move(variant)), texts_(std::move(options)), sizes_(sizes) {
  for (const auto& [key, value] : texts_) options_.push_back({key.c_str(), value.c_str()});
  config_ = {.variant = variant_.c_str(),
             .options = options_.data(),
             .option_count = options_.size(),
             .key_size = static_cast<uint32_t>(sizes.key.most),
             .value_size = static_cast<uint32_t>(sizes.value.most),
             .error = error_,
             .error_size = sizeof error_,
             .least_key_size = static_cast<uint32_t>(sizes.key.least),
             .least_value_size = static_cast<uint32_t>(sizes.value.least)};
}

std::string TargetConfig::problem() const { return {error_, strnlen(error_, sizeof error_)}; }

Result<TargetLibrary> TargetLibrary::load(const std::string& path) {
  TargetLibrary library;
  library.path_ = path;
  if (access(path.c_str(), R_OK) != 0) {
    return usage_error(std::string("cannot read the target library: ") + std::strerror(errno), path,
                       "Run 'make build' for the targets that come with powercut, or name the right file.");
  }
  // With a slash the name is a path; without one dlopen would search the system's folders.
  char absolute[PATH_MAX];
  library.resolved_ = realpath(path.c_str(), absolute) != nullptr ? absolute : path;
  give_world_to_hooks();
  // Allocations of its constructors are its own, as its globals are.
  std::optional<LoadingTarget> loading(std::in_place);
  void* handle = dlopen(library.resolved_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return usage_error(std::string("cannot load the target library: ") + dlerror(), path,
                       "Build it with 'powercut c++ -shared -fPIC' and link everything that it needs.");
  }
  auto entry = reinterpret_cast<powercut_target_entry_fn>(dlsym(handle, kEntry));
  if (entry == nullptr) {
    return usage_error(std::string("the library does not export ") + kEntry + ": it is not a powercut target", path,
                       kAbiNext);
  }
  const powercut_target* offered = nullptr;
  for (uint32_t abi = POWERCUT_TARGET_ABI; offered == nullptr && abi >= kOldestAbi; --abi) offered = entry(abi);
  loading.reset();
  library.draw_ = reinterpret_cast<powercut_target_draw_fn>(dlsym(handle, "powercut_target_draw"));
  library.device_ = reinterpret_cast<powercut_target_device_fn>(dlsym(handle, "powercut_target_device"));
  const auto background = reinterpret_cast<powercut_target_background_fn>(dlsym(handle, "powercut_target_background"));
  if (background != nullptr) library.background_ = background();
  const std::string versions = std::to_string(kOldestAbi) + " to " + std::to_string(POWERCUT_TARGET_ABI);
  if (offered == nullptr) {
    return usage_error("the target serves no ABI version that this build speaks: " + versions, path,
                       "Build it again with this version's powercut/target.h.");
  }
  const powercut_target& target = *offered;
  if (target.abi < kOldestAbi || target.abi > POWERCUT_TARGET_ABI) {
    return usage_error("the target has ABI version " + std::to_string(target.abi) + ", this build speaks " + versions,
                       path, "Build it again with this version's powercut/target.h.");
  }
  if (target.name == nullptr || target.name[0] == '\0' || target.variants == nullptr || target.variants[0] == nullptr) {
    return usage_error("the target has no name or no variant", path, kAbiNext);
  }
  std::string missing;
  auto require = [&missing](bool present, const char* name) {
    if (!present) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  require(target.traits != nullptr, "traits");
  require(target.format != nullptr, "format");
  require(target.open != nullptr, "open");
  const bool counts = target.abi >= kCountersAbi && target.increment != nullptr;
  require(counts || target.insert != nullptr, "insert");
  require(target.lookup != nullptr, "lookup");
  require(target.copies != nullptr, "copies");
  require(target.close != nullptr, "close");
  if (!missing.empty()) {
    return usage_error(
        "the target lacks required functions: " + missing, path,
        "Add them; only update, erase, maintain and the inspection beside copies may be null, and insert of a "
        "table of counters.");
  }
  auto complete = std::make_shared<powercut_target>();
  // An older library has no more than the beginning.
  std::memcpy(complete.get(), &target,
              target.abi < kCountersAbi ? offsetof(powercut_target, increment) : sizeof target);
  if (complete->increment == nullptr) complete->increment = no_increment;
  if (complete->update == nullptr) complete->update = no_update;
  if (complete->erase == nullptr) complete->erase = no_erase;
  library.target_ = std::move(complete);
  if (auto declared = reinterpret_cast<powercut_target_sizes_fn>(dlsym(handle, kSizes)); declared != nullptr) {
    const powercut_sizes* sizes = declared();
    for (; sizes != nullptr && sizes->key_size != 0 && library.sizes_.size() < kMostSizes; ++sizes) {
      library.sizes_.push_back(*sizes);
    }
    if (library.sizes_.empty() || library.sizes_.size() == kMostSizes) {
      return usage_error(
          std::string(kSizes) + " declares " + (library.sizes_.empty() ? "no sizes" : "a list without end"), path,
          "End the list with {0, 0}, or do not export the function.");
    }
  }
  return library;
}

bool TargetLibrary::has(OpKind kind) const {
  switch (kind) {
    case OpKind::kInsert:
      return target_->insert != nullptr;
    case OpKind::kUpdate:
      return target_->update != no_update;
    case OpKind::kErase:
      return target_->erase != no_erase;
    case OpKind::kIncrement:
      return target_->increment != no_increment;
    case OpKind::kMaintain:
      return target_->maintain != nullptr;
    case OpKind::kFormat:
    case OpKind::kOpen:
    case OpKind::kLookup:
    case OpKind::kClose:
      break;  // required
  }
  return true;
}

std::optional<EngineError> TargetLibrary::refused_sizes(const powercut_traits& traits, const DataSizes& sizes) const {
  const auto refused = [this](const std::string& what, std::string needs) {
    EngineError error = usage_error(what, path_,
                                    "Set [data] key_size and value_size of the scenario to what the target takes; "
                                    "targets/ABI.md, \"Sizes\", says how a target tells its sizes.");
    error.needs = std::move(needs);
    return error;
  };
  if (sizes.are_mixed() && traits.mixed_sizes == 0) {
    return refused("the scenario has keys of " + sizes.key.text() + " bytes and values of " + sizes.value.text() +
                       " bytes, and the target takes one size of each (traits.mixed_sizes is 0)",
                   "keys and values of mixed sizes");
  }
  for (const auto& [what, most, limit] : {std::tuple{"keys", sizes.key.most, traits.most_key_size},
                                          {"values", sizes.value.most, traits.most_value_size}}) {
    if (limit == 0 || most <= limit) continue;
    const std::string asked = std::string(what) + " of " + std::to_string(most) + " bytes";
    return refused("the scenario has " + asked + ", and the target takes " + std::to_string(limit) + " at most", asked);
  }
  return std::nullopt;
}

std::vector<powercut_sizes> TargetLibrary::sizes_to_ask() const {
  if (!sizes_.empty()) return sizes_;
  return {{16, 15}, {8, 8}};
}

powercut_status TargetLibrary::ask_traits(TargetConfig& config, powercut_traits* out) const {
  config.clear_problem();
  const LoadingTarget loading;
  return target_->traits(config.get(), out);
}

// A target that refuses a range may refuse its ends, or any range at all. Only its traits for one size can tell.
std::optional<EngineError> TargetLibrary::refused_range(const TargetConfig& config) const {
  if (!config.sizes().are_mixed()) return std::nullopt;
  for (const auto& [key, value] : sizes_to_ask()) {
    TargetConfig one(config.get()->variant, config.options(), {{key, key}, {value, value}});
    powercut_traits traits{};
    if (ask_traits(one, &traits) == POWERCUT_OK) return refused_sizes(traits, config.sizes());
  }
  return std::nullopt;
}

Result<powercut_traits> TargetLibrary::configure(const std::string& expected_name, TargetConfig& config) const {
  if (!expected_name.empty() && expected_name != target_->name) {
    return usage_error("this is the target '" + std::string(target_->name) + "', not '" + expected_name + "'", path_,
                       "Name the library of the target that you mean.");
  }
  std::string known;
  bool found = false;
  for (const char* const* variant = target_->variants; *variant != nullptr; ++variant) {
    found = found || std::strcmp(*variant, config.get()->variant) == 0;
    known += (known.empty() ? "" : ", ") + std::string(*variant);
  }
  if (!found) {
    return usage_error("the target has no variant '" + std::string(config.get()->variant) + "'", path_,
                       "Take one of these: " + known + ".");
  }
  powercut_traits traits{};
  const powercut_status status = ask_traits(config, &traits);
  if (status != POWERCUT_OK) {
    if (auto error = refused_range(config)) return *error;
    // Names both sizes: a target says only that it refuses the pair, and not which size is at fault.
    const std::string sizes =
        "keys of " + config.sizes().key.text() + " bytes and values of " + config.sizes().value.text() + " bytes";
    const std::string sentence = config.problem();
    EngineError error =
        usage_error("the target refuses this configuration, with " + sizes + ": " +
                        (sentence.empty() ? std::string("traits answered ") + status_name(status) : sentence),
                    path_,
                    "Set [data] key_size and value_size of the scenario, or its [config], to what the target takes; "
                    "'powercut list targets' shows its options.");
    // The defaults have nothing but the sizes to refuse.
    if (config.get()->option_count == 0) error.needs = sizes;
    return error;
  }
  if (auto error = refused_sizes(traits, config.sizes())) return *error;
  if ((traits.counts != 0) != (target_->insert == nullptr) || (traits.counts != 0 && config.get()->value_size != 8) ||
      (traits.buffered == 2) != (traits.counts != 0 && traits.buffered != 0) || traits.buffered > 2) {
    return usage_error(
        "the target's traits and calls do not go together", path_,
        "A table of counters has the trait 'counts', values of 8 bytes, 'increment' and no 'insert', and is "
        "buffered 0 or 2; any other has 'insert', and is buffered 0 or 1.");
  }
  return traits;
}

Result<powercut_device> TargetLibrary::device(TargetConfig& config) const {
  powercut_device device{};
  if (device_ == nullptr) return device;
  std::optional<LoadingTarget> loading(std::in_place);
  const powercut_status status = device_(config.get(), &device);
  loading.reset();
  const bool known = device.medium == POWERCUT_BLOCK || device.medium == POWERCUT_FLASH ||
                     (device.medium == POWERCUT_NOR && device.unit != 0);
  const bool units = device.medium != POWERCUT_BLOCK || (device.unit != 0 && device.unit <= 8);
  if (status == POWERCUT_OK && known && units && device.bytes != 0 && device.bytes <= kMostBytes) return device;
  return usage_error(
      "powercut_target_device describes no device", path_,
      "It names a medium, and a sector, page or cell of 1 to 65536 bytes. A block device also has an atomic write "
      "unit of 1 to 8 sectors, and NOR flash a sector of one cell or more.");
}

powercut_status insert_into(const powercut_target& target, powercut_table* table, powercut_bytes key,
                            powercut_bytes value) {
  return target.insert != nullptr ? target.insert(table, key, value) : target.increment(table, key, delta_of(value));
}

powercut_status call_change(const powercut_target& target, powercut_table* table, OpKind kind, powercut_bytes key,
                            powercut_bytes value, const char* command) {
  switch (kind) {
    case OpKind::kInsert:
      return target.insert == nullptr ? POWERCUT_UNSUPPORTED : target.insert(table, key, value);
    case OpKind::kIncrement:
      return target.increment(table, key, delta_of(value));
    case OpKind::kUpdate:
      return target.update(table, key, value);
    case OpKind::kErase:
      return target.erase(table, key);
    case OpKind::kMaintain:
      return target.maintain == nullptr ? POWERCUT_UNSUPPORTED : target.maintain(table, command);
    case OpKind::kFormat:
    case OpKind::kOpen:
    case OpKind::kLookup:
    case OpKind::kClose:
      break;
  }
  return POWERCUT_UNSUPPORTED;  // no change
}

const char* status_name(powercut_status status) {
  switch (status) {
    case POWERCUT_OK:
      return "OK";
    case POWERCUT_NOT_FOUND:
      return "NOT_FOUND";
    case POWERCUT_FULL:
      return "FULL";
    case POWERCUT_NOT_FORMATTED:
      return "NOT_FORMATTED";
    case POWERCUT_CORRUPT:
      return "CORRUPT";
    case POWERCUT_UNSUPPORTED:
      return "UNSUPPORTED";
    case POWERCUT_BAD_CONFIG:
      return "BAD_CONFIG";
    case POWERCUT_EXISTS:
      return "EXISTS";
    case POWERCUT_TOO_LARGE:
      return "TOO_LARGE";
  }
  return "an unknown status";
}

Json traits_json(const powercut_traits& traits) {
  auto text = [](const char* value) { return value == nullptr ? Json() : Json(value); };
  return {{"copy_bound", traits.copy_bound},
          {"copies_may_differ", traits.copies_may_differ != 0},
          {"leak_bound", traits.leak_bound},
          {"thread_safe", traits.thread_safe != 0},
          {"buffered", traits.buffered != 0},
          {"checks_exists", traits.checks_exists != 0},
          {"copy_citation", text(traits.copy_citation)},
          {"leak_citation", text(traits.leak_citation)},
          {"notes", text(traits.notes)},
          {"detects_damage", traits.detects_damage != 0},
          {"needs_zeroed_pool", traits.needs_zeroed_pool != 0},
          {"read_uncommitted", traits.read_uncommitted != 0},
          {"read_citation", text(traits.read_citation)},
          {"counts", traits.counts != 0},
          {"mixed_sizes", traits.mixed_sizes != 0},
          {"most_key_size", traits.most_key_size},
          {"most_value_size", traits.most_value_size}};
}

}  // namespace powercut
