#include "replayer/undecided/journaled_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "tracer/world/quiet_heap.h"
#include "xxhash.h"

namespace powercut {
namespace {

// Unused bytes between pool and heap.
constexpr uint64_t kGuard = 4096;

void* map_at(uint64_t address, uint64_t size) {
  void* at = mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("the pool's address range is taken in this process");
  return at;
}

bool is_word_of_errno(uint64_t word) { return word == (errno_range().begin & ~uint64_t{7}); }

}  // namespace

MemoryRange errno_range() {
  const auto at = reinterpret_cast<uint64_t>(&errno);
  return {at, at + sizeof errno};
}

JournaledMemory::JournaledMemory(const Options& options) : options_(options) {
  if (!options_.pool_is_mapped) map_pool(options_.pool_size);
  pool_ = {kPoolBase, kPoolBase + options_.pool_size};
  bytes_ = {pool_.begin + kPoolShift, pool_.end + kPoolShift};
  heap_ = {pool_.end, pool_.end + kArenaSize};
  map_at(heap_.begin, kArenaSize);
  // The first page stays unused, so that a store just past the pool is seen as a wild store.
  const uint64_t heap = heap_.begin + kGuard;
  arena = {heap, heap_.end, heap, heap};
}

JournaledMemory::~JournaledMemory() {
  if (!options_.pool_is_mapped) unmap_pool(options_.pool_size);
  munmap(reinterpret_cast<void*>(heap_.begin), kArenaSize);
  arena = {};
}

std::span<const uint8_t> JournaledMemory::heap() const {
  return {reinterpret_cast<const uint8_t*>(arena.begin), arena.top - arena.begin};
}

// ---- the journal -----------------------------------------------------------------------------------

void JournaledMemory::undo_words(const Mark& mark) {
  while (words_.size() > mark.words) {
    std::memcpy(reinterpret_cast<void*>(words_.back().address), &words_.back().old, 8);
    words_.pop_back();
  }
  arena_drop_to(mark.arena);
}

void JournaledMemory::keep_words(uint64_t address, uint64_t size) {
  const QuietHeap quiet;
  // A range lies in the pool as a whole or not at all.
  const auto begin = reinterpret_cast<uint64_t>(bytes_at(address));
  for (uint64_t word = begin & ~uint64_t{7}; word < begin + size; word += 8) {
    keep_word(word, load_word(reinterpret_cast<const uint8_t*>(word)));
  }
}

bool JournaledMemory::has_kept(uint64_t address, size_t words) const {
  return std::any_of(words_.begin() + static_cast<ptrdiff_t>(words), words_.end(),
                     [address](const Word& kept) { return kept.address == address; });
}

bool JournaledMemory::unchanged_since(size_t words, uint64_t except) const {
  absl::flat_hash_map<uint64_t, uint64_t> then;
  for (size_t i = words_.size(); i-- > words;) then[words_[i].address] = words_[i].old;
  then.erase(except);
  return std::all_of(then.begin(), then.end(), [](const auto& word) {
    return load_word(reinterpret_cast<const uint8_t*>(word.first)) == word.second;
  });
}

absl::flat_hash_map<uint64_t, uint64_t> JournaledMemory::before(const Mark& mark) const {
  absl::flat_hash_map<uint64_t, uint64_t> out;
  for (size_t i = mark.words; i < words_.size(); ++i) out.try_emplace(words_[i].address, words_[i].old);
  return out;
}

std::vector<std::pair<uint64_t, uint64_t>> JournaledMemory::changed_globals(const Mark& since) const {
  absl::flat_hash_map<uint64_t, uint64_t> now;
  for (size_t i = since.words; i < words_.size(); ++i) {
    const uint64_t address = words_[i].address;
    if (bytes_.holds(address, 8) || heap_.holds(address, 8)) continue;
    if (is_word_of_errno(address)) continue;
    now[address] = load_word(reinterpret_cast<const uint8_t*>(address));
  }
  std::vector<std::pair<uint64_t, uint64_t>> out(now.begin(), now.end());
  std::sort(out.begin(), out.end());
  return out;
}

void JournaledMemory::other_words_since(const Mark& mark, absl::flat_hash_map<uint64_t, uint64_t>* words) const {
  for (size_t i = mark.words; i < words_.size(); ++i) {
    const uint64_t address = words_[i].address;
    if (!bytes_.holds(address, 8) && !is_passing(address)) words->try_emplace(address, words_[i].old);
  }
}

bool JournaledMemory::is_passing(uint64_t address) const {
  return address - fresh_begin_ < heap_.end - fresh_begin_ || is_word_of_errno(address);
}

void JournaledMemory::write_line(uint64_t line, const Content& content, uint64_t mask) {
  uint8_t* at = pool() + line * kLineSize;
  for (size_t w = 0; w < 8; ++w) {
    const uint64_t bits = spread(static_cast<uint8_t>(mask >> (8 * w)));
    const uint64_t old = load_word(at + w * 8);
    const uint64_t next = (old & ~bits) | (load_word(&content.bytes[w * 8]) & bits);
    if (next == old) continue;
    keep_word(reinterpret_cast<uint64_t>(at) + w * 8, old);
    std::memcpy(at + w * 8, &next, 8);
  }
}

// ---- the heap of an execution ----------------------------------------------------------------------

void JournaledMemory::begin_execution(uint64_t heap_shift) {
  if (heap_shift != 0) arena.top = arena.high = std::max(arena.top, arena.high) + heap_shift;
  arena_keep();
  fresh_begin_ = arena.top;
  keep_fresh(/*all=*/false);
}

void JournaledMemory::keep_fresh(bool all) { fresh_ = all ? MemoryRange{} : MemoryRange{fresh_begin_, heap_.end}; }

void JournaledMemory::set_heap(std::span<const uint8_t> heap) {
  std::memcpy(reinterpret_cast<void*>(arena.begin), heap.data(), heap.size());
  arena.top = arena.begin + heap.size();
  arena.high = std::max(arena.high, arena.top);
}

void JournaledMemory::set_word(uint64_t address, uint64_t value) {
  keep_word(address, load_word(reinterpret_cast<const uint8_t*>(address)));
  std::memcpy(reinterpret_cast<void*>(address), &value, 8);
}

Signature JournaledMemory::globals_signature() const {
  XXH128_hash_t hash{};
  for (const MemoryRange& range : options_.globals) {
    hash = XXH3_128bits_withSeed(reinterpret_cast<const void*>(range.begin), range.end - range.begin, hash.low64);
  }
  return {hash.low64, hash.high64};
}

uint64_t JournaledMemory::digest() const {
  XXH64_hash_t hash = XXH3_64bits(pool(), options_.pool_size);
  for (const MemoryRange& range : options_.globals) {
    hash = XXH3_64bits_withSeed(reinterpret_cast<const void*>(range.begin), range.end - range.begin, hash);
  }
  return XXH3_64bits_withSeed(reinterpret_cast<const void*>(arena.begin), arena.top - arena.begin, hash);
}

}  // namespace powercut
