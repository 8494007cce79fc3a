// The store buffer of one thread: its stores, flushes and fences that no other thread sees yet. The base is x86-TSO
// (Sewell, Sarkar, Owens, Zappa Nardelli and Myreen, CACM 2010). Flushes and `sfence` are in the buffer, too (PTSOsyn,
// Khyzha and Lahav, POPL 2021). All entries leave the buffer in the order in which they came.
//
// Memory holds the bytes that all threads see. While the thread runs, its buffer lies over memory, so that the thread's
// loads find its own stores: `lay` before the thread goes on, `lift` when it stops.
//
// Two cases are left out (Raad et al., POPL 2020, order table): a flush of one line may pass stores to other lines, and
// a non-temporal store may pass all stores. Both would only come earlier.
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
    absl::InlinedVector<uint8_t, 16> value;  // of a store: the bytes that it writes
    absl::InlinedVector<uint8_t, 16> under;  // while the entry lies over memory: the bytes beneath
    std::vector<KeptEvent> events;           // for the pool's lines
    bool visible = false;                    // other threads can tell when the entry leaves
  };

  bool empty() const { return entries_.empty(); }
  const Entry& first() const { return entries_.front(); }
  void pop() { entries_.erase(entries_.begin()); }
  // The thread that runs is about to store.
  void store(uint64_t address, uint64_t at, std::span<const uint8_t> value, bool visible);
  // Adds a flush or a fence.
  void push(uint64_t address, bool visible);
  size_t size() const { return entries_.size(); }
  // Adds the event to the last entry.
  void add(const KeptEvent& event) { entries_.back().events.push_back(event); }
  void lay();
  void lift();
  uint64_t digest() const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_STORE_BUFFER_H_
