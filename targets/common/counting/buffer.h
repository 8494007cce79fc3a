// The RAM buffer: an open hash table, a list of changes for each slot (2, 2.3, 2.5).
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_BUFFER_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_BUFFER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace powercut::counting {

// A change of a key's count: `delta` is added to the count, or, after an erase, `delta` is the whole count.
struct Change {
  uint64_t key;
  int64_t delta;
  bool erased;

  int64_t On(int64_t count) const { return erased ? delta : Sum(count, delta); }
  // Counts wrap around.
  static int64_t Sum(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};

class Buffer {
 public:
  Buffer(uint32_t slots, uint32_t capacity) : slots_(slots), capacity_(capacity) {}

  const std::vector<Change>& slot(uint32_t slot) const { return slots_[slot]; }
  uint64_t size() const { return size_; }
  bool full() const { return size_ >= capacity_; }

  // Null where there is none.
  const Change* Find(uint32_t slot, uint64_t key) const {
    const auto at = std::find_if(slots_[slot].begin(), slots_[slot].end(), IsOf{key});
    return at == slots_[slot].end() ? nullptr : &*at;
  }
  // "Entries with frequency value of 0 are not retained in the memory-resident table, and entries with negative
  // frequencies are allowed" (2.6).
  void Add(uint32_t slot, uint64_t key, int64_t delta) {
    std::vector<Change>& changes = slots_[slot];
    const auto at = std::find_if(changes.begin(), changes.end(), IsOf{key});
    if (at == changes.end()) {
      changes.push_back({key, delta, false});
      ++size_;
      return;
    }
    at->delta = Change::Sum(at->delta, delta);
    if (at->delta != 0 || at->erased) return;
    changes.erase(at);
    --size_;
  }
  void Erase(uint32_t slot, uint64_t key) {
    std::vector<Change>& changes = slots_[slot];
    const auto at = std::find_if(changes.begin(), changes.end(), IsOf{key});
    if (at == changes.end()) {
      changes.push_back({key, 0, true});
      ++size_;
    } else {
      *at = {key, 0, true};
    }
  }
  // The first `count` changes of a slot are elsewhere.
  void Drop(uint32_t slot, size_t count) {
    slots_[slot].erase(slots_[slot].begin(), slots_[slot].begin() + static_cast<std::ptrdiff_t>(count));
    size_ -= count;
  }

 private:
  struct IsOf {
    uint64_t key;
    bool operator()(const Change& change) const { return change.key == key; }
  };

  std::vector<std::vector<Change>> slots_;
  uint64_t size_ = 0, capacity_;
};

}  // namespace powercut::counting
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_BUFFER_H_
