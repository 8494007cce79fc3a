// Loads the program under test: a shared library that speaks targets/include/powercut/target.h.
#ifndef POWERCUT_TRACER_RECORD_TARGET_LIBRARY_H_
#define POWERCUT_TRACER_RECORD_TARGET_LIBRARY_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "powercut/draw.h"
#include "powercut/target.h"
#include "tracer/format/trace.h"
#include "tracer/record/plan.h"

namespace powercut {

// Owns the texts behind a powercut_config.
class TargetConfig {
 public:
  TargetConfig(std::string variant, std::vector<std::pair<std::string, std::string>> options, const DataSizes& sizes);
  TargetConfig(const TargetConfig&) = delete;
  TargetConfig& operator=(const TargetConfig&) = delete;

  const powercut_config* get() const { return &config_; }
  const DataSizes& sizes() const { return sizes_; }
  const std::vector<std::pair<std::string, std::string>>& options() const { return texts_; }
  // Returns the target's sentence about the configuration; empty if the target gave none.
  std::string problem() const;
  void clear_problem() { error_[0] = '\0'; }

 private:
  std::string variant_;
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<powercut_option> options_;
  DataSizes sizes_;
  char error_[512] = {};
  powercut_config config_{};
};

class TargetLibrary {
 public:
  // Opens `path` and checks the whole interface; every problem is a usage error. The library stays loaded until the
  // process ends, since nobody here knows its threads and destructors.
  static Result<TargetLibrary> load(const std::string& path);

  // The functions of the target. Only optional functions may be null: a map without update or erase answers
  // UNSUPPORTED.
  const powercut_target& target() const { return *target_; }
  // Whether the target offers operations of this kind. An offered operation may still answer UNSUPPORTED.
  bool has(OpKind kind) const;
  // The sizes that the target declares, its favourite first; empty where it declares none.
  const std::vector<powercut_sizes>& sizes() const { return sizes_; }
  // The sizes to try in turn where neither the caller nor the target names any: declared ones, else usual ones.
  std::vector<powercut_sizes> sizes_to_ask() const;
  const std::string& path() const { return path_; }
  // The function that draws a table for people (powercut/draw.h); null if the target has none.
  powercut_target_draw_fn draw() const { return draw_; }
  // The table's own threads; null if the target has none.
  const powercut_background* background() const { return background_; }
  // The absolute path of the loaded file.
  const std::string& resolved_path() const { return resolved_; }

  // Returns the device that the pool is; POWERCUT_MEMORY if the pool is no device.
  Result<powercut_device> device(TargetConfig& config) const;

  // Checks name and variant and asks the target for its traits, which also checks the configuration.
  Result<powercut_traits> configure(const std::string& expected_name, TargetConfig& config) const;

 private:
  TargetLibrary() = default;
  // Sizes of the scenario that the target does not take, as its traits say.
  powercut_status ask_traits(TargetConfig& config, powercut_traits* out) const;
  std::optional<EngineError> refused_range(const TargetConfig& config) const;
  std::optional<EngineError> refused_sizes(const powercut_traits& traits, const DataSizes& sizes) const;

  std::string path_, resolved_;
  std::shared_ptr<const powercut_target> target_;  // at one address, wherever the library is moved to
  std::vector<powercut_sizes> sizes_;
  powercut_target_draw_fn draw_ = nullptr;
  const powercut_background* background_ = nullptr;
  powercut_target_device_fn device_ = nullptr;
};

// Inserts a key. In a table of counters, increments the key by the value's number: an absent key then has this number.
powercut_status insert_into(const powercut_target& target, powercut_table* table, powercut_bytes key,
                            powercut_bytes value);

// [target] Calls the target's insert, update, erase or maintain, as `kind` says. `command` is for maintain.
powercut_status call_change(const powercut_target& target, powercut_table* table, OpKind kind, powercut_bytes key,
                            powercut_bytes value, const char* command);
// Returns "OK", "NOT_FOUND", ...
const char* status_name(powercut_status status);
Json traits_json(const powercut_traits& traits);

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_TARGET_LIBRARY_H_
