// The places of memory that several threads of a scheduled program use, and the uses that are therefore visible.
//
// A place is a word of memory; a store or flush of the pools also uses the place of its line. Uses of a place are
// visible if the schedule's file asks for the place. A place that races although the file did not ask for it is written
// to the file, and the driver begins again with that place.
//
// Private to the scheduler of programs.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_SHARED_PLACES_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_SHARED_PLACES_H_

#include <algorithm>
#include <cstdint>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/threads/place_uses.h"
#include "tracer/runtime/threads/schedule_file.h"

namespace powercut::runtime {

class SharedPlaces {
 public:
  explicit SharedPlaces(ScheduleFile* file) : file_(file) {
    visible_.assign(file->place, std::min<size_t>(file->places, kMostPlaces));
  }

  void set_pools(const powercut_window& pools) { pools_ = pools; }
  const powercut_window& pools() const { return pools_; }
  bool in_pool(uint64_t address) const { return address - pools_.base < pools_.span; }

  bool is_visible(uint64_t place) const { return visible_.holds(place); }
  bool is_visible(uint64_t address, uint64_t size, bool changes) const {
    return any_place(address, size, changes, [this](uint64_t place) { return visible_.holds(place); });
  }
  // Notes that `thread` uses these bytes now. Returns false if more places race than the file has room for.
  bool use(uint32_t thread, uint64_t address, uint64_t size, bool changes) {
    return !any_place(address, size, changes, [&](uint64_t place) { return !use(thread, place, changes); });
  }
  bool use(uint32_t thread, uint64_t place, bool changes) {
    if (visible_.holds(place)) {
      uses_.comes_behind(place, thread, changes);
      uses_.comes_before(place, thread, changes);
      return true;
    }
    return !uses_.note(place, thread, changes) || find(place);
  }
  // Notes that the uses of `place` have to be visible. Returns false as use() does.
  bool find(uint64_t place) {
    if (visible_.holds(place) || !found_.add(place)) return true;
    if (file_->found == kMostPlaces) return false;
    file_->found_place[file_->found++] = place;
    return true;
  }

  // A step of a stand-in looks at a lock, or changes the lock.
  void look_at_lock(uint32_t thread, uint64_t address, uint64_t size) {
    each_lock_word(address, size, [&](uint64_t place) { uses_.comes_behind(place, thread, true); });
  }
  void change_lock(uint32_t thread, uint64_t address, uint64_t size) {
    each_lock_word(address, size, [&](uint64_t place) { uses_.comes_before(place, thread, true); });
  }

  void created(uint32_t by, uint32_t thread) { uses_.created(by, thread); }
  void joined(uint32_t by, uint32_t thread) { uses_.joined(by, thread); }

 private:
  // The place of a lock's word, beside the place of other uses of the same word.
  static constexpr uint64_t kLockPlace = uint64_t{1} << 62;

  // Calls `each` with every place of these bytes. Returns whether one of the calls returned true.
  template <typename Each>
  bool any_place(uint64_t address, uint64_t size, bool changes, const Each& each) const {
    bool out = false;
    for (uint64_t word = address / 8; word <= (address + size - 1) / 8; ++word) out |= each(word);
    if (!changes || !in_pool(address)) return out;
    for (uint64_t line = address / 64; line <= (address + size - 1) / 64; ++line) out |= each(kLinePlace | line);
    return out;
  }
  template <typename Each>
  static void each_lock_word(uint64_t address, uint64_t size, const Each& each) {
    for (uint64_t word = address / 8; word <= (address + size - 1) / 8; ++word) each(kLockPlace | word);
  }

  ScheduleFile* const file_;
  powercut_window pools_{};
  PlaceSet visible_, found_;
  PlaceUses uses_;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_SHARED_PLACES_H_
