// Finds which threads use a place (schedule_file.h), and whether two uses *race*: nothing that is visible orders one
// use before the other. An order comes from a thread's creation and joining, and from visible events that meet at a
// place: at a lock, or at a place whose uses are visible. Vector clocks tell the order, so a race shows whatever lies
// between the two uses in the schedule at hand (Musuvathi and Qadeer, PLDI 2007; Flanagan and Freund, PLDI 2009).
//
// Private to the scheduler of programs. Memory comes from the kernel, so that the program's own heap stays as it is.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_PLACE_USES_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_PLACE_USES_H_

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace powercut::runtime {

inline constexpr uint32_t kMostThreads = 15;

// A hash table of open addressing. `Entry` has a `place`, which is 0 in an empty slot.
template <typename Entry>
class PlaceTable {
 public:
  PlaceTable() = default;
  PlaceTable(const PlaceTable&) = delete;
  PlaceTable& operator=(const PlaceTable&) = delete;
  ~PlaceTable() { release(entries_, capacity_); }

  const Entry* find(uint64_t place) const {
    if (size_ == 0) return nullptr;
    const Entry& entry = entries_[slot_of(entries_, capacity_, place)];
    return entry.place == place ? &entry : nullptr;
  }
  Entry& at(uint64_t place) {
    if (2 * (size_ + 1) > capacity_) grow();
    Entry& entry = entries_[slot_of(entries_, capacity_, place)];
    if (entry.place == 0) {
      entry.place = place;
      ++size_;
    }
    return entry;
  }
  size_t size() const { return size_; }

 private:
  static size_t slot_of(const Entry* entries, size_t capacity, uint64_t place) {
    size_t slot = (place * 0x9e3779b97f4a7c15 >> 20) & (capacity - 1);
    while (entries[slot].place != 0 && entries[slot].place != place) slot = (slot + 1) & (capacity - 1);
    return slot;
  }
  static void release(Entry* entries, size_t capacity) {
    if (entries != nullptr) munmap(entries, capacity * sizeof(Entry));
  }
  void grow() {
    const size_t wider = std::max<size_t>(1024, 2 * capacity_);
    void* fresh = mmap(nullptr, wider * sizeof(Entry), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) __builtin_trap();
    auto* entries = static_cast<Entry*>(fresh);
    for (size_t i = 0; i < capacity_; ++i) {
      if (entries_[i].place != 0) entries[slot_of(entries, wider, entries_[i].place)] = entries_[i];
    }
    release(entries_, capacity_);
    entries_ = entries;
    capacity_ = wider;
  }

  Entry* entries_ = nullptr;
  size_t capacity_ = 0, size_ = 0;
};

class PlaceSet {
 public:
  void assign(const uint64_t* places, size_t count) {
    for (size_t i = 0; i < count; ++i) add(places[i]);
  }
  bool holds(uint64_t place) const { return table_.find(place) != nullptr; }
  // Adds the place. Returns false if the set had the place already.
  bool add(uint64_t place) {
    const size_t before = table_.size();
    table_.at(place);
    return table_.size() != before;
  }

 private:
  struct Entry {
    uint64_t place;
  };
  PlaceTable<Entry> table_;
};

class PlaceUses {
 public:
  PlaceUses() {
    for (uint32_t thread = 0; thread <= kMostThreads; ++thread) knows_[thread][thread] = 1;
  }

  // Notes a use that is not visible. Returns true if the use races with an earlier use by another thread, and one of
  // the two changes the place.
  bool note(uint64_t place, uint32_t thread, bool changes) {
    Entry& entry = uses_.at(place);
    bool out = false;
    for (uint32_t other = 1; other <= kMostThreads; ++other) {
      if (other == thread) continue;
      const uint32_t last = changes ? entry.used[other] : entry.changed[other];
      out |= last > knows_[thread][other];
    }
    entry.used[thread] = knows_[thread][thread];
    if (changes) entry.changed[thread] = knows_[thread][thread];
    return out;
  }

  // Orders a visible event of `thread` behind the earlier events at the place, except those that it may change places
  // with.
  void comes_behind(uint64_t place, uint32_t thread, bool changes) {
    const Entry* met = met_.find(place);
    if (met == nullptr) return;
    learn(thread, met->changed);
    if (changes) learn(thread, met->used);
  }
  // Orders later visible events at the place behind this event of `thread`.
  void comes_before(uint64_t place, uint32_t thread, bool changes) {
    Entry& met = met_.at(place);
    join(&met.used, knows_[thread]);
    if (changes) join(&met.changed, knows_[thread]);
    ++knows_[thread][thread];
  }

  void created(uint32_t by, uint32_t thread) {
    learn(thread, knows_[by]);
    ++knows_[by][by];
  }
  void joined(uint32_t by, uint32_t thread) { learn(by, knows_[thread]); }

 private:
  // By thread: an epoch of the thread. A statement about an epoch holds for all earlier epochs as well.
  using Clock = std::array<uint32_t, kMostThreads + 1>;
  // In `uses_`: the epochs of each thread's last use and last change, 0 for none. In `met_`: the clocks of the threads
  // whose visible events came to the place.
  struct Entry {
    uint64_t place;
    Clock used, changed;
  };
  static void join(Clock* to, const Clock& other) {
    for (uint32_t thread = 1; thread <= kMostThreads; ++thread) (*to)[thread] = std::max((*to)[thread], other[thread]);
  }
  void learn(uint32_t thread, const Clock& other) { join(&knows_[thread], other); }

  PlaceTable<Entry> uses_, met_;
  // By thread: up to which epoch of every other thread all is before the thread's present; its own entry is its present
  // epoch.
  std::array<Clock, kMostThreads + 1> knows_{};
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_PLACE_USES_H_
