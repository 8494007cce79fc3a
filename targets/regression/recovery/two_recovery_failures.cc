// Two bugs break the same invariant in two places: a node is not durable before it is named, and two counts that must
// be equal change one after the other. A flush mends the first, and no flush the second.
//
// class: causes
// bug: recovery-failed
// cut: needed
// operations: [("insert", 1), ("insert", 2)]
#include "targets/regression/pair.h"

namespace {

constexpr uint64_t kCheck = 0x5F43484543;

// Behind the slots: a node, and the second count, each in a line of its own.
struct alignas(pmem::kLine) Line {
  uint64_t word;
};

// Reads where nothing is mapped; of two widths, since two equal reads would be one instruction.
template <typename Word>
[[gnu::always_inline]] inline void fail() {
  (void)*reinterpret_cast<volatile Word*>(8);
}

struct Map final : regression::Slots {
  using Slots::Slots;
  Line* lines() { return reinterpret_cast<Line*>(slots + regression::kSlots); }
  uint64_t* named() { return &root->word[0]; }
  uint64_t* first_count() { return &root->word[1]; }
  uint64_t* second_count() { return BUG ? &lines()[regression::kSlots].word : first_count(); }

  powercut_status recover() override {
    const powercut_status status = Slots::recover();
    if (status != POWERCUT_OK) return status;
    if (*named() != 0 && lines()[*named() - 1].word != kCheck + *named()) fail<uint64_t>();
    if (*first_count() != *second_count()) fail<uint32_t>();
    return POWERCUT_OK;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const uint64_t next = *named() + 1;
    lines()[next - 1].word = kCheck + next;
    if (!BUG) pmem::persist(&lines()[next - 1], sizeof(Line));
    pmem::atomic_store(named(), next);
    pmem::persist(named(), sizeof next);
    pmem::atomic_store(first_count(), next);
    pmem::persist(first_count(), sizeof next);
    pmem::atomic_store(second_count(), next);
    pmem::persist(second_count(), sizeof next);
    return Slots::insert(key, value);
  }
};

}  // namespace

POWERCUT_PAIR(Map)
