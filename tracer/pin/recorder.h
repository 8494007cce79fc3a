// Turns a Pintool's observations of a program into records of a stream (tracer/stream/STREAM.md).
//
// Nothing here knows Pin: threads are small numbers that may be used again, call stacks are addresses, and memory is
// read through Host. Many threads may call all public functions at once.
//
// A store is announced before its instruction and recorded after the instruction, when the stored bytes are known. If
// no callback comes after the instruction, the next call of the same thread records the store.
#ifndef POWERCUT_TRACER_PIN_RECORDER_H_
#define POWERCUT_TRACER_PIN_RECORDER_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "tracer/pin/turn.h"
#include "tracer/stream/module_stacks.h"
#include "tracer/stream/pools.h"
#include "tracer/stream/stream_file.h"

namespace powercut {
namespace pin {

struct Host {
  // Copies from the program's memory; returns how many bytes could be read.
  size_t (*copy)(void* to, uint64_t from, size_t size);
  Pause pause;
};

// A call stack: return addresses, innermost first.
struct Frames {
  const uint64_t* addresses;
  uint32_t count;
};

struct Piece {
  uint64_t address;
  uint64_t size;
};

// Stores that leave parts of their memory operand alone: the following functions tell which bytes are stored.

// Adds an element; an element that follows the last one without a gap makes it longer. A masked store without gaps is
// thus one store of the trace, as the unmasked store is.
void add_element(std::vector<Piece>* pieces, uint64_t address, uint64_t size);

// Returns the bytes of a compressing store: `set` elements of `size` bytes each, from `address` on.
std::vector<Piece> compressed(uint64_t address, uint64_t set, uint64_t size);

// Returns the bytes that maskmovq and maskmovdqu store: the bytes at `address` whose byte of the mask has its highest
// bit set.
std::vector<Piece> selected_bytes(uint64_t address, const uint8_t* mask, uint32_t size);

struct Store {
  uint32_t flags = 0;         // powercut_stream_store
  bool compares = false;      // stores nothing if the comparison fails
  bool only_changes = false;  // the stored bytes are not known: the bytes that changed count as stored
  bool has_after = true;      // store_ends() will be called, unless the instruction faults
};

enum class Outcome : uint8_t { kStored, kFailed, kUnknown };

class Recorder {
 public:
  static constexpr uint32_t kMostThreads = 2048;  // Pin's own limit

  Recorder(const Host& host, uint32_t patience = 200000);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Opens the stream. Returns false with errno when the file cannot be written.
  bool open(const char* path);
  bool recording() const { return __atomic_load_n(&recording_, __ATOMIC_RELAXED); }

  // Returns whether an access may touch a pool. The bounds only ever widen: a thread that reads them while another
  // thread maps a pool misses no pool that was mapped before.
  bool near_pools(uint64_t address, uint64_t size) const {
    return recording() && address < __atomic_load_n(&high_, __ATOMIC_RELAXED) &&
           address + size > __atomic_load_n(&low_, __ATOMIC_RELAXED);
  }
  bool had_pools() const { return __atomic_load_n(&high_, __ATOMIC_RELAXED) != 0; }
  bool touches_pools(uint64_t address, uint64_t size);
  // Only the thread itself asks the next two functions.
  bool has_pending(uint32_t thread) const { return thread < kMostThreads && threads_[thread].pending; }
  // Returns whether the thread flushed or stored since its last fence: then a locked instruction matters wherever it
  // stores.
  bool is_unfenced(uint32_t thread) const { return thread < kMostThreads && threads_[thread].unfenced; }

  void store_begins(uint32_t thread, const Store& store, const Piece* pieces, size_t count, const Frames& frames);
  // Records the store that has begun; does nothing if none has.
  void store_ends(uint32_t thread, Outcome outcome);
  // A signal came instead of the end of the instruction: the instruction did not happen.
  void interrupted(uint32_t thread);

  void flush(uint32_t thread, uint32_t kind, uint64_t address, const Frames& frames);
  void fence(uint32_t thread, uint32_t kind, const Frames& frames);
  void load(uint32_t thread, uint64_t address, uint64_t size);

  void thread_starts(uint32_t thread);
  void thread_ends(uint32_t thread);
  void module_loaded(const std::string& path, uint64_t begin, uint64_t end, uint64_t bias);
  void module_unloaded(uint64_t begin, uint64_t end);

  void note(uint32_t kind, const char* text);
  // Hands all records to the kernel, since the process may end without another call.
  void write_out();
  // Called in a forked child, which shares the file with its parent: nothing is recorded any more. A child of vfork
  // shares the memory as well: its parent goes on with resume(), which has no effect in any other process.
  void abandon();
  void resume();
  // Writes powercut_stream_end. Later events are not recorded.
  void end(uint32_t how, uint32_t status);

  // An Entry holds the lock as well. A thread that waits for the lock must not be waited for: no call of Pin's while
  // the lock is held.
  SpinLock& lock() { return lock_; }
  powercut_stream* stream() { return file_.stream(); }  // only for the holder of the lock
  const StreamFile& file() const { return file_; }
  const Host& host() const { return host_; }

  // For records that have no function here: holds the locks, and says where the thread is.
  class Entry {
   public:
    Entry(Recorder& recorder, uint32_t thread, const Frames& frames);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    bool recording() const { return recorder_.recording(); }
    powercut_stream* stream() { return recorder_.file_.stream(); }
    const powercut_ranges& ranges() const { return *recorder_.ranges_; }
    powercut_site site() const { return site_; }
    void map(uint32_t pool, uint64_t address, uint64_t length, uint64_t offset);
    void unmap(uint64_t address, uint64_t length);
    // Records the part of a store by the kernel that lies in pools.
    void store(uint64_t address, uint64_t size, uint32_t flags);
    void load(uint64_t address, uint64_t size);

   private:
    Recorder& recorder_;
    const uint32_t thread_;
    powercut_site site_;
  };

 private:
  struct Thread {
    bool known = false, pending = false, unfenced = false;
    uint32_t number = 0;
    // The store that has begun:
    Store store;
    uint32_t stack = 0;
    std::vector<Piece> pieces;    // each wholly in one mapping
    std::vector<uint8_t> before;  // the pieces' bytes before a store that may leave some alone
    uint64_t string_end = 0;      // where the last round of a string instruction ended, if nothing came after it
    uint32_t string_stack = 0;
    bool continues = false;  // a piece of the store was written
  };

  Thread* settled(uint32_t thread);
  void take_turn(uint32_t thread);
  powercut_site site(Thread& thread, const Frames& frames);
  static bool continues_string(Thread* thread);
  void write_piece(Thread& thread, const Piece& piece, const uint8_t* before);
  void widen(uint64_t begin, uint64_t end);

  const Host host_;
  SpinLock lock_;  // guards all below but the bounds
  Turn turn_;
  StreamFile file_;
  ModuleStacks stacks_;
  const std::unique_ptr<powercut_ranges> ranges_;
  std::vector<Thread> threads_;  // by Pin's number; each element is its thread's own but for `known` and `number`
  uint32_t births_ = 0;
  bool recording_ = false, abandoned_ = false, said_order_ = false, said_threads_ = false;
  uint64_t low_ = UINT64_MAX, high_ = 0;
};

// Calls `visit` for each part of [address, address + size) that lies in one mapping.
template <typename Visit>
void each_mapped(const powercut_ranges& ranges, uint64_t address, uint64_t size, Visit visit) {
  const uint64_t end = address + size;
  for (powercut_range piece; powercut_ranges_next(&ranges, &address, end, &piece) != 0;) visit(piece);
}

}  // namespace pin
}  // namespace powercut
#endif  // POWERCUT_TRACER_PIN_RECORDER_H_
