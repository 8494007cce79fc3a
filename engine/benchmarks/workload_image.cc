#include "engine/benchmarks/workload_image.h"

#include <fstream>

#include "tracer/record/pool.h"
#include "tracer/record/recording.h"
#include "tracer/record/target_library.h"

namespace powercut {

std::optional<EngineError> make_image(const Plan& plan, const std::string& path, const std::string& image,
                                      Progress& progress) {
  Result<Pool> pool = Pool::map(plan.scenario.pool_size, "scenario " + plan.scenario.name);
  if (!pool) return pool.error();
  Result<TargetLibrary> library = TargetLibrary::load(path);
  if (!library) return library.error();
  TargetConfig config(plan.target.variant, plan.target.options, plan.scenario.data);
  Result<powercut_traits> traits = library->configure(plan.target.name, config);
  if (!traits) return traits.error();
  Recording native(plan, *library, config, traits->checks_exists != 0, *pool, nullptr, progress);
  if (std::optional<EngineError> wrong = native.run()) return wrong;
  std::ofstream out(image, std::ios::binary);
  out.write(reinterpret_cast<const char*>(pool->base()), static_cast<std::streamsize>(pool->size()));
  out.close();
  if (!out) return usage_error("cannot write the image", image, "Free some space and try again.");
  return std::nullopt;
}

}  // namespace powercut
