#include "checker/native/target_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

namespace powercut {

namespace {
constexpr const char* kEntry = "powercut_target_entry";
constexpr const char* kAbiNext = "targets/ABI.md shows what a target library exports.";
}  // namespace

TargetConfig::TargetConfig(std::string variant, std::vector<std::pair<std::string, std::string>> options,
                           uint32_t key_size, uint32_t value_size)
    : variant_(std::move(variant)), texts_(std::move(options)) {
  for (const auto& [key, value] : texts_) options_.push_back({key.c_str(), value.c_str()});
  config_ = {.variant = variant_.c_str(),
             .options = options_.data(),
             .option_count = options_.size(),
             .key_size = key_size,
             .value_size = value_size,
             .error = error_,
             .error_size = sizeof error_};
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
  library.target_ = entry(POWERCUT_TARGET_ABI);
  library.draw_ = reinterpret_cast<powercut_target_draw_fn>(dlsym(handle, "powercut_target_draw"));
  std::string version = std::to_string(POWERCUT_TARGET_ABI);
  if (library.target_ == nullptr) {
    return usage_error("the target does not serve ABI version " + version + ", the one of this build", path,
                       "Build it again with this version's powercut/target.h.");
  }
  const powercut_target& target = *library.target_;
  if (target.abi != POWERCUT_TARGET_ABI) {
    return usage_error("the target has ABI version " + std::to_string(target.abi) + ", this build speaks " + version,
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
  require(target.insert != nullptr, "insert");
  require(target.update != nullptr, "update");
  require(target.erase != nullptr, "erase");
  require(target.lookup != nullptr, "lookup");
  require(target.copies != nullptr, "copies");
  require(target.close != nullptr, "close");
  if (!missing.empty()) {
    return usage_error("the target lacks required functions: " + missing, path,
                       "Add them; a function that the scheme does not have answers POWERCUT_UNSUPPORTED.");
  }
  return library;
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
  config.clear_problem();
  powercut_status status = target_->traits(config.get(), &traits);
  if (status != POWERCUT_OK) {
    std::string sentence = config.problem();
    return usage_error(sentence.empty()
                           ? std::string("the target refuses this configuration (") + status_name(status) + ")"
                           : "the target refuses this configuration: " + sentence,
                       path_, "'powercut-engine describe --library " + path_ + "' lists its options.");
  }
  return traits;
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
          {"needs_zeroed_pool", traits.needs_zeroed_pool != 0}};
}

}  // namespace powercut
