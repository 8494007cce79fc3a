#include "checker/subjects/program/images/trace_pools.h"

#include <algorithm>
#include <filesystem>

#include "base/user_file.h"
#include "replayer/models/line_log.h"

namespace powercut {
namespace {

constexpr uint64_t kAlignment = 4096;
// More is not mapped by any program that we could also run: a damaged trace says so.
constexpr uint64_t kMostSpace = uint64_t{1} << 44;

uint64_t lines_up(uint64_t size) { return (size + kLineSize - 1) / kLineSize * kLineSize; }

bool number(const Json& object, const char* name, uint64_t* out) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_number_unsigned()) return false;
  *out = object[name].get<uint64_t>();
  return *out <= kMostSpace || std::string(name) == "address";
}

// Reads the device's layout into `window`. False where the pool's field `device` is no layout.
bool device(const Json& pool, PoolWindow* window) {
  if (!pool.contains("device")) return true;
  DeviceLayout& layout = window->device.emplace();
  if (!number(pool["device"], "sector_size", &layout.sector_size) || !number(pool["device"], "unit", &layout.unit)) {
    return false;
  }
  return layout.is_one();
}

// Reads the volatile parts into `window`. False where the pool's field `volatile` is no list of ranges.
bool volatile_parts(const Json& pool, PoolWindow* window) {
  const Json ranges = pool.value("volatile", Json::array());
  if (!ranges.is_array()) return false;
  for (const Json& range : ranges) {
    if (!range.is_array() || range.size() != 2 || !range[0].is_number_unsigned() || !range[1].is_number_unsigned()) {
      return false;
    }
    window->volatile_parts.emplace_back(range[0].get<uint64_t>(), std::min(range[1].get<uint64_t>(), window->size));
  }
  return true;
}

std::vector<OtherFile> other_files(const Json& program) {
  std::vector<OtherFile> out;
  for (const Json& file : program.is_object() ? program.value("other_files", Json::array()) : Json::array()) {
    if (!file.is_object() || !file.contains("path") || !file["path"].is_string()) continue;
    const Json named = file.value("named", Json(true));
    out.push_back({file["path"].get<std::string>(), !named.is_boolean() || named.get<bool>()});
  }
  return out;
}

std::vector<std::string> sentences(const Json& program, const char* name) {
  std::vector<std::string> out;
  for (const Json& sentence : program.is_object() ? program.value(name, Json::array()) : Json::array()) {
    if (sentence.is_string()) out.push_back(sentence.get<std::string>());
  }
  return out;
}

}  // namespace

bool TracePools::changed_by_calls() const {
  return std::ranges::any_of(windows, [](const PoolWindow& window) { return window.images().by_calls(); });
}

DeviceLayout TracePools::layout() const {
  const auto at = std::ranges::find_if(windows, [](const PoolWindow& window) { return window.device.has_value(); });
  return at == windows.end() ? DeviceLayout{} : *at->device;
}

const Medium& TracePools::medium() const {
  const Medium& usual = *media().front();
  for (const PoolWindow& window : windows) {
    if (const Medium& medium = medium_of_file(window.file()); &medium != &usual) return medium;
  }
  return usual;
}

Result<TracePools> pools_of_trace(const std::string& metadata, const std::string& trace, const std::string& pool_path) {
  const char* again = "Record it again with 'powercut record'.";
  const Json json = parse_json(metadata);
  if (!json.is_object()) return usage_error("its metadata are not a JSON object", trace, again);
  TracePools out;
  if (json.contains("program") && json["program"].is_object()) out.program = json["program"];
  out.unseen = sentences(out.program, "unseen");
  out.refused = sentences(out.program, "refused");
  out.other_files = other_files(out.program);
  const Json pools = out.program.is_object() ? out.program.value("pools", Json::array()) : Json::array();
  if (!pools.is_array()) return usage_error("its metadata: program.pools is not a list", trace, again);
  for (const Json& pool : pools) {
    PoolWindow window;
    if (!pool.is_object() || !pool.contains("path") || !pool["path"].is_string() ||
        !number(pool, "offset", &window.offset) || !number(pool, "size", &window.size) || window.size == 0 ||
        window.offset % kAlignment != 0 || !device(pool, &window) || !volatile_parts(pool, &window)) {
      return usage_error("its metadata: a pool of program.pools has no path, offset or size", trace, again);
    }
    window.path = pool["path"].get<std::string>();
    number(pool, "address", &window.address);
    out.windows.push_back(std::move(window));
  }
  if (out.windows.empty()) {
    PoolWindow window;
    const Json pool = json.value("pool", Json::object());
    if (!number(pool, "size", &window.size) || window.size == 0) {
      return usage_error("its program mapped no pool: there is nothing that recovery could be run on", trace,
                         "Check that the recorded program mapped the file that --pool names.");
    }
    if (pool_path.empty()) {
      return usage_error("it does not say which file its pool was", trace, "Name it with --pool-path FILE.");
    }
    window.path = std::filesystem::absolute(pool_path).lexically_normal().string();
    out.windows.push_back(std::move(window));
  }
  std::sort(out.windows.begin(), out.windows.end(),
            [](const PoolWindow& a, const PoolWindow& b) { return a.offset < b.offset; });
  for (const PoolWindow& window : out.windows) {
    if (window.offset < out.space) return usage_error("its metadata: two pools overlap", trace, again);
    out.space = window.offset + lines_up(window.space());
  }
  // Windows are page-aligned: stores may reach into the last page behind the end of a file.
  uint64_t whole = 0;
  if (number(json.value("pool", Json::object()), "size", &whole)) out.space = std::max(out.space, lines_up(whole));
  return out;
}

}  // namespace powercut
