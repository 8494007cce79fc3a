#include "checker/schedules/shared_places.h"

#include <algorithm>

#include "xxhash.h"

namespace powercut {
namespace {

// Uses of shared places in one step.
constexpr size_t kMostUses = 4096;

}  // namespace

bool SharedPlaces::is_visible(uint32_t thread, uint64_t address, uint64_t size, bool writes) {
  bool visible = false;
  for (uint64_t word = address / 8; word <= (address + size - 1) / 8; ++word) {
    visible |= is_visible(thread, word, writes);
  }
  if (!writes || !in_pool(address)) return visible;
  for (uint64_t line = line_place(address); line <= line_place(address + size - 1); ++line) {
    visible |= is_visible(thread, line, true);
  }
  return visible;
}

bool SharedPlaces::is_visible(uint32_t thread, uint64_t place, bool changes) {
  if (racing_.contains(place)) return true;
  if (shared_.contains(place)) return shows_shared_;
  Users& users = users_[place];
  const uint32_t own = 1u << thread;
  users.all |= own;
  if (changes) users.changing |= own;
  if (users.changing == 0 || (users.all & (users.all - 1)) == 0) return false;
  shared_.insert(place);
  more_ = true;
  return true;
}

bool SharedPlaces::use(uint32_t thread, std::vector<Fiber>* fibers, uint64_t address, uint64_t size, bool writes) {
  bool shared = false;
  for (uint64_t word = address / 8; word <= (address + size - 1) / 8; ++word) {
    shared |= use(thread, fibers, word, writes);
  }
  if (!writes || !in_pool(address)) return shared;
  for (uint64_t line = line_place(address); line <= line_place(address + size - 1); ++line) {
    use(thread, fibers, line, true);
  }
  return shared;
}

// A place races if another thread has used the place since that thread's last visible event, and one of the two uses
// changes it. Then the use is a visible event itself, and everything that the other thread did before came before this
// event. Returns false if the place is not shared.
bool SharedPlaces::use(uint32_t thread, std::vector<Fiber>* fibers, uint64_t place, bool changes) {
  if (!shared_.contains(place)) return false;
  Fiber& fiber = (*fibers)[thread];
  // A step that goes on for so long may be a loop that waits for others and stores: they have to have a turn.
  bool races = racing_.contains(place) || (!shows_shared_ && fiber.uses.size() >= kMostUses);
  for (uint32_t i = 0; !races && i < fibers->size(); ++i) {
    if (i == thread) continue;
    for (const Fiber::Use& other : (*fibers)[i].uses) {
      races |= other.place == place && (changes || other.changes);
    }
  }
  if (!races) {
    fiber.uses.push_back({place, changes});
    fiber.used = XXH3_64bits_withSeed(&place, sizeof place, fiber.used + changes);
    return true;
  }
  if (racing_.insert(place).second) {
    if (!shows_shared_) more_ = true;
    for (Fiber& other : *fibers) {
      const auto last = std::find_if(other.uses.rbegin(), other.uses.rend(),
                                     [place](const Fiber::Use& use) { return use.place == place; });
      other.uses.erase(other.uses.begin(), last.base());
    }
  }
  fiber.begin_uses();
  return true;
}

}  // namespace powercut
