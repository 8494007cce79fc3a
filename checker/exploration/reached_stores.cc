#include "checker/exploration/reached_stores.h"

#include <charconv>
#include <map>
#include <string_view>
#include <tuple>

#include "tracer/runtime/store_functions.h"

namespace powercut {
namespace {

struct RegisteredFunction {
  std::string_view line;
  bool reached;
};

std::vector<RegisteredFunction> registered_functions() {
  std::vector<RegisteredFunction> all;
  powercut_store_functions(&all, [](void* self, const char* line, uint32_t size, int reached) {
    static_cast<std::vector<RegisteredFunction>*>(self)->push_back({{line, size}, reached != 0});
  });
  return all;
}

}  // namespace

std::vector<uint64_t> reached_stores() {
  const std::vector<RegisteredFunction> all = registered_functions();
  std::vector<uint64_t> words((all.size() + 63) / 64);
  for (size_t i = 0; i < all.size(); ++i) words[i / 64] |= uint64_t{all[i].reached} << (i % 64);
  return words;
}

void keep_reached_stores() { powercut_own_store_marks(); }

Json stores_never_reached(const std::vector<uint64_t>& others) {
  const std::vector<RegisteredFunction> all = registered_functions();
  // A function of a header is registered by each module that has compiled it, and a template once for each instance:
  // one that was reached stands for all. Without debug information the name is all there is.
  struct Place {
    std::string_view function;
    bool reached = false;
  };
  std::map<std::tuple<std::string_view, uint32_t, std::string_view>, Place> places;
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t name = all[i].line.find('\t'), number = all[i].line.rfind('\t');
    if (number == std::string_view::npos || number == name) continue;
    const std::string_view digits = all[i].line.substr(number + 1), function = all[i].line.substr(0, name);
    uint32_t line = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), line);
    const bool elsewhere = i / 64 < others.size() && (others[i / 64] >> (i % 64) & 1) != 0;
    const std::string_view file = all[i].line.substr(name + 1, number - name - 1);
    Place& place = places.try_emplace({file, line, line == 0 ? function : ""}, Place{function}).first->second;
    place.reached |= all[i].reached || elsewhere;
  }
  Json missing = Json::array();
  for (const auto& [where, place] : places) {
    if (place.reached) continue;
    missing.push_back({{"function", place.function}, {"file", std::get<0>(where)}, {"line", std::get<1>(where)}});
  }
  return missing;
}

}  // namespace powercut
