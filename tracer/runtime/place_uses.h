// Which threads use a place (schedule_file.h), and whether two of them may do so at the same time: neither has been
// created or joined by the other in between. These two orders are the same in every schedule, so a use that they put
// before another one is before it in all.
//
// Private to the scheduler of programs. Memory comes from the kernel, so that the program's own heap stays as it is.
#ifndef POWERCUT_TRACER_RUNTIME_PLACE_USES_H_
#define POWERCUT_TRACER_RUNTIME_PLACE_USES_H_

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace powercut::runtime {

inline constexpr uint32_t kMostThreads = 15;

// A hash table of open addressing. `Entry` has a `place`, which is not 0 where there is one.
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
  // False: it was there.
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
  PlaceUses() { epoch_.fill(1); }

  // True: another thread may use the place at the same time, and one of the two changes it.
  bool note(uint64_t place, uint32_t thread, bool changes) {
    Entry& entry = table_.at(place);
    bool out = false;
    for (uint32_t other = 1; other <= kMostThreads; ++other) {
      if (other == thread) continue;
      const uint16_t last = changes ? entry.used[other] : entry.changed[other];
      out |= last > knows_[thread][other];
    }
    entry.used[thread] = epoch_[thread];
    if (changes) entry.changed[thread] = epoch_[thread];
    return out;
  }
  void created(uint32_t by, uint32_t thread) {
    knows_[thread] = knows_[by];
    knows_[thread][by] = epoch_[by]++;
  }
  void joined(uint32_t by, uint32_t thread) {
    for (uint32_t other = 1; other <= kMostThreads; ++other) {
      knows_[by][other] = std::max(knows_[by][other], knows_[thread][other]);
    }
    knows_[by][thread] = epoch_[thread];
  }

 private:
  // The epochs of each thread's last use and change; 0: none. What is known of an epoch holds of all before it.
  struct Entry {
    uint64_t place;
    std::array<uint16_t, kMostThreads + 1> used, changed;
  };
  PlaceTable<Entry> table_;
  std::array<uint16_t, kMostThreads + 1> epoch_{};
  // Up to which epoch of another thread all is before what this one does now.
  std::array<std::array<uint16_t, kMostThreads + 1>, kMostThreads + 1> knows_{};
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_PLACE_USES_H_
