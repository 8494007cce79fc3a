// Changes of valid inputs: of their bytes, and of the JSON values in them. Equal seeds give equal mutants.
#ifndef POWERCUT_ENGINE_FUZZ_MUTATE_H_
#define POWERCUT_ENGINE_FUZZ_MUTATE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/event_stream.h"

namespace powercut::fuzz {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool once_in(uint64_t bound) { return below(bound) == 0; }
  // Numbers at which code breaks: the ends of types, powers of two and their neighbours, and any.
  uint64_t number();
  template <typename T>
  const T& of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::mt19937_64 random_;
};

// One to four changes: bits, bytes, numbers, cuts, copies, insertions.
void mutate_bytes(Draw* draw, std::string* bytes);
// One to three changes anywhere in the value: another type, another number, a field or item dropped, doubled or added.
void mutate_json(Draw* draw, Json* value);

}  // namespace powercut::fuzz
#endif  // POWERCUT_ENGINE_FUZZ_MUTATE_H_
