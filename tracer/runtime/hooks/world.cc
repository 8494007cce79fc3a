// The answers of instructions about time and randomness, unless an engine answers otherwise
// (tracer/llvm/world_sources.cc).
#include "tracer/runtime/hooks.h"

extern "C" {

uint64_t (*powercut_world_cycles)(uint64_t real) = nullptr;
uint64_t (*powercut_world_random)(uint64_t real) = nullptr;

uint64_t __powercut_cycles(uint64_t real) {
  return powercut_world_cycles == nullptr ? real : powercut_world_cycles(real);
}
uint64_t __powercut_random(uint64_t real) {
  return powercut_world_random == nullptr ? real : powercut_world_random(real);
}

}  // extern "C"
