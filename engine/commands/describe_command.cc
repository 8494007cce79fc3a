// `powercut-engine describe`: what a target library offers.
#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "base/event_stream.h"
#include "engine/commands.h"
#include "replayer/media/medium.h"
#include "tracer/format/trace_names.h"
#include "tracer/record/target_library.h"

namespace powercut {

namespace {

struct DescribeOptions {
  std::string library, variant;
  std::vector<std::string> options;                   // key=value
  uint32_t key_size = 0, value_size = 0;              // 0: whatever the target takes
  uint32_t least_key_size = 0, least_value_size = 0;  // 0: sizes are not mixed
};

void add_options(CommandLine& command, DescribeOptions& asked) {
  command.add_option("--library", asked.library, "Shared library of the target")->required();
  command.add_option("--variant", asked.variant, "Variant (default: the target's first)");
  command.add_option("--option", asked.options, "Option of the target, key=value; may be given again")
      ->allow_extra_args(false);
  command.add_option("--key-size", asked.key_size, "Bytes of a key (default: what the target takes)");
  command.add_option("--value-size", asked.value_size, "Bytes of a value (default: what the target takes)");
  command.add_option("--least-key-size", asked.least_key_size, "Bytes of the shortest key, where sizes are mixed");
  command.add_option("--least-value-size", asked.least_value_size,
                     "Bytes of the shortest value, where sizes are mixed");
}

Json list_of(const char* const* texts) {
  Json list = Json::array();
  for (; texts != nullptr && *texts != nullptr; ++texts) list.push_back(*texts);
  return list;
}

Json sizes_json(const std::vector<powercut_sizes>& sizes) {
  Json list = Json::array();
  for (const powercut_sizes& each : sizes) list.push_back({each.key_size, each.value_size});
  return list;
}

// The operations that the target does not leave out as a null pointer.
Json operations_json(const TargetLibrary& library) {
  Json list = Json::array();
  for (const OpKind kind :
       {OpKind::kInsert, OpKind::kUpdate, OpKind::kErase, OpKind::kLookup, OpKind::kIncrement, OpKind::kMaintain}) {
    if (library.has(kind)) list.push_back(name_of(kind));
  }
  return list;
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

Result<Json> describe(const DescribeOptions& asked) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const std::string& option : asked.options) {
    size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error("'" + option + "' is not an option", "--option", "Write --option key=value.");
    }
    options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  Result<TargetLibrary> library = TargetLibrary::load(asked.library);
  if (!library) return library.error();
  const powercut_target& target = library->target();
  const std::string variant = asked.variant.empty() ? target.variants[0] : asked.variant;
  std::optional<EngineError> refused;
  Json traits, device;
  for (const auto& [key_size, value_size] : library->sizes_to_ask()) {
    const auto range = [](uint32_t least, uint32_t wanted, uint32_t offered) {
      const uint32_t most = wanted != 0 ? wanted : offered;
      return SizeRange{least != 0 ? std::min(least, most) : most, most};
    };
    const DataSizes sizes{range(asked.least_key_size, asked.key_size, key_size),
                          range(asked.least_value_size, asked.value_size, value_size)};
    TargetConfig config(variant, options, sizes);
    Result<powercut_traits> answer = library->configure("", config);
    if (answer) {
      traits = traits_json(*answer);
      Result<powercut_device> pool = library->device(config);
      if (!pool) return pool.error();
      if (pool->medium != POWERCUT_MEMORY) {
        device = {{"medium", medium_of_kind(pool->medium)->name}, {"bytes", pool->bytes}, {"unit", pool->unit}};
      }
      break;
    }
    if (!refused) refused = answer.error();
  }
  // Sizes that we made up and the target does not take are no fault of its: a scenario will have the right ones.
  const bool guessed = asked.key_size == 0 && asked.value_size == 0 && library->sizes().empty();
  if (traits.is_null() && !(guessed && refused && !refused->needs.empty())) return *refused;
  return Json{{"event", "described"},
              {"target",
               {{"name", target.name},
                {"summary", text_of(target.summary)},
                {"paper", text_of(target.paper)},
                {"library", library->resolved_path()},
                {"variant", variant},
                {"variants", list_of(target.variants)},
                {"options", list_of(target.options)},
                {"commands", list_of(target.commands)},
                {"operations", operations_json(*library)},
                {"sizes", sizes_json(library->sizes())},
                {"device", device},
                {"traits", traits}}}};
}

int run_describe(const DescribeOptions& asked, EventStream& events) {
  events.hello("describe");
  return events.answer(describe(asked));
}

}  // namespace

void add_describe_command(CommandLine& app, int& exit_code) {
  add_command<DescribeOptions>(app, exit_code, "describe", "Load a target library and say what it offers.", add_options,
                               run_describe);
}

}  // namespace powercut
