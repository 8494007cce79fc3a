// The store buffer of one thread: what it has stored, flushed and fenced, and nobody else sees yet. x86-TSO (Sewell,
// Sarkar, Owens, Zappa Nardelli and Myreen, CACM 2010) with flushes and `sfence` in the buffer (PTSOsyn, Khyzha and
// Lahav, POPL 2021), which leave it in the order in which they came.
//
// Memory holds what all threads see. While the thread runs, its buffer lies over it, so that its loads find its own
// stores: `lay` before it goes on, `lift` when it stops.
//
// Left out: that a flush of one line passes stores of others, and a non-temporal store all of them (Raad et al., POPL
// 2020, order table). Both would only come earlier.
#ifndef POWERCUT_CHECKER_SCHEDULES_STORE_BUFFER_H_
#define POWERCUT_CHECKER_SCHEDULES_STORE_BUFFER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "tracer/format/kept_event.h"

namespace powercut {

class StoreBuffer {
 public:
  struct Entry {
    uint64_t address = 0;                    // in the program's addresses; of a fence 0
    uint64_t at = 0;                         // of a store: where the bytes are
    absl::InlinedVector<uint8_t, 16> value;  // of a store: what it makes them
    absl::InlinedVector<uint8_t, 16> under;  // while it lies over memory: what is there
    std::vector<KeptEvent> events;           // for the pool's lines
    bool visible = false;                    // others can tell when it leaves
  };

  bool empty() const { return entries_.empty(); }
  const Entry& first() const { return entries_.front(); }
  void pop() { entries_.erase(entries_.begin()); }
  // The thread that runs is about to store.
  void store(uint64_t address, uint64_t at, std::span<const uint8_t> value, bool visible);
  // A flush or a fence.
  void push(uint64_t address, bool visible);
  size_t size() const { return entries_.size(); }
  // To the last one.
  void add(const KeptEvent& event) { entries_.back().events.push_back(event); }
  void lay();
  void lift();
  uint64_t digest() const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_STORE_BUFFER_H_
