// Small schemes for tests. Recovery and queries are programs of a tiny machine over a few lines of the pool, two words
// of the heap and one global. Traces are short lists of stores, flushes and fences.
#ifndef POWERCUT_REPLAYER_EXPLORER_TEST_SCHEME_H_
#define POWERCUT_REPLAYER_EXPLORER_TEST_SCHEME_H_

#include <array>
#include <cstdlib>
#include <ostream>
#include <vector>

#include "replayer/executor/test_hooks.h"
#include "replayer/search/subject.h"
#include "tracer/format/trace.h"

namespace powercut::testing {

inline constexpr uint64_t kSchemeWords = 10;  // the first two words of five lines
inline constexpr uint64_t kSchemePool = 4096;

// Loads and stores of `size` bytes may begin anywhere: at `skew` 5 they lie across words, at 59 across lines.
inline uint64_t offset_of(uint64_t word, uint64_t skew = 0) {
  return word % kSchemeWords / 2 * kLineSize + word % 2 * 8 + skew;
}

enum class Op : uint8_t {
  kLoad,          // a = word b
  kLoadIndirect,  // a = word (register b)
  kStore,         // word b = register a
  kStoreConst,    // word b = c in each byte
  kStoreNt,       // the same, non-temporal
  kStorePieces,   // word b = c, and as a further piece of the same store word b + 1 + a
  kExchange,      // a = word b, word b = c, locked
  kFlush,         // word b's line
  kClflush,
  kFence,
  kSkip,       // passes over the next c instructions when register a ends in the bits b
  kEmit,       // register a becomes part of the result
  kHeapStore,  // heap word b = register a
  kHeapLoad,   // a = heap word b
  kGrow,       // allocates, and leaves register a there
  kGlobalStore,
  kGlobalLoad,
  kAbortIf,  // register a ends in 3
  kCount
};

struct Instruction {
  Op op{};
  uint8_t a = 0, b = 0, c = 0;
  uint8_t size = 8, skew = 0;
};
using Program = std::vector<Instruction>;

inline std::ostream& operator<<(std::ostream& out, const Instruction& i) {
  static const char* const names[] = {"load",  "load-indirect", "store",   "store-const", "store-nt", "pieces",
                                      "xchg",  "flush",         "clflush", "fence",       "skip",     "emit",
                                      "heap=", "=heap",         "grow",    "global=",     "=global",  "abort-if"};
  return out << names[static_cast<int>(i.op)] << ' ' << int{i.a} << ' ' << int{i.b} << ' ' << int{i.c} << " ("
             << int{i.size} << '+' << int{i.skew} << "); ";
}

inline bool stores(const Instruction& i) {
  return i.op == Op::kStore || i.op == Op::kStoreConst || i.op == Op::kStoreNt || i.op == Op::kStorePieces ||
         i.op == Op::kExchange;
}

inline constexpr size_t kRegisters = 3, kHeapWords = 3;
inline uint64_t scheme_global = 0;

inline uint64_t load_sized(uint64_t offset, uint8_t size) {
  return size == 1 ? load<uint8_t>(offset) : size == 4 ? load<uint32_t>(offset) : load<uint64_t>(offset);
}

inline void store_sized(uint64_t offset, uint8_t size, uint64_t value, uint32_t flags = 0) {
  if (size == 1) {
    store<uint8_t>(offset, static_cast<uint8_t>(value), flags);
  } else if (size == 4) {
    store<uint32_t>(offset, static_cast<uint32_t>(value), flags);
  } else {
    store<uint64_t>(offset, value, flags);
  }
}

// Puts `value` into each of 8 bytes, so that every byte of a word tells which store it comes from.
inline uint64_t in_each_byte(uint8_t value) { return value * 0x0101010101010101; }

inline void execute(const Program& program, uint64_t* heap, ResultBuffer* result) {
  std::array<uint64_t, kRegisters> r{};
  for (size_t at = 0; at < program.size(); ++at) {
    const Instruction& i = program[at];
    uint64_t& a = r[i.a % kRegisters];
    const uint64_t place = offset_of(i.b, i.skew);
    switch (i.op) {
      case Op::kLoad:
        a = load_sized(place, i.size);
        break;
      case Op::kLoadIndirect:
        a = load_sized(offset_of(r[i.b % kRegisters] % 256, i.skew), i.size);
        break;
      case Op::kStore:
        store_sized(place, i.size, a);
        break;
      case Op::kStoreConst:
        store_sized(place, i.size, in_each_byte(i.c));
        break;
      case Op::kStoreNt:
        store_sized(place, i.size, in_each_byte(i.c), POWERCUT_STORE_NT);
        break;
      case Op::kStorePieces:
        store_sized(place, i.size, in_each_byte(i.c));
        store_sized(offset_of(i.b + 1u + i.a % kRegisters, i.skew), i.size, in_each_byte(i.c),
                    POWERCUT_STORE_CONTINUES);
        break;
      case Op::kExchange:
        a = exchange(offset_of(i.b), in_each_byte(i.c));
        break;
      case Op::kFlush:
        flush(place);
        break;
      case Op::kClflush:
        flush(place, POWERCUT_CLFLUSH);
        break;
      case Op::kFence:
        fence();
        break;
      case Op::kSkip:
        if ((a & 3) == i.b % 4u) at += i.c;
        break;
      case Op::kEmit:
        result->put(&a, a < 256 ? 1 : 8);
        break;
      case Op::kHeapStore:
        store_to(heap + i.b % kHeapWords, a);
        break;
      case Op::kHeapLoad:
        a = load_from(heap + i.b % kHeapWords);
        break;
      case Op::kGrow: {
        auto* more = static_cast<uint64_t*>(calloc(1 + (a & 1), 8));
        store_to(more, a);
        break;
      }
      case Op::kGlobalStore:
        store_to(&scheme_global, a);
        break;
      case Op::kGlobalLoad:
        a = load_from(&scheme_global);
        break;
      case Op::kAbortIf:
        if ((a & 3) == 3) std::abort();
        break;
      case Op::kCount:
        break;
    }
    step();
  }
}

struct TraceStep {
  EventKind kind{};
  uint8_t word = 0, value = 0, code = 0;
  uint8_t size = 8, skew = 0;
  uint8_t thread = 0, flags = 0;
};

inline std::ostream& operator<<(std::ostream& out, const TraceStep& s) {
  return out << int(s.kind) << ' ' << int{s.word} << '+' << int{s.skew} << '=' << int{s.value} << " size "
             << int{s.size} << " code " << int{s.code} << " thread " << int{s.thread} << " flags " << int{s.flags}
             << "; ";
}

// Returns the step as an event; `bytes` holds the event's value and must outlive the event.
inline Event event_of(const TraceStep& step, uint64_t index, std::array<uint8_t, 16>* bytes) {
  bytes->fill(step.value);
  Event event;
  event.index = index;
  event.kind = step.kind;
  event.code = step.code;
  event.flags = step.flags;
  event.thread = step.thread;
  event.addr = offset_of(step.word, step.skew);
  event.value = {bytes->data(), step.size};
  event.size = step.size;
  return event;
}

}  // namespace powercut::testing
#endif  // POWERCUT_REPLAYER_EXPLORER_TEST_SCHEME_H_
