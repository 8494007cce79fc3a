#include "replayer/undecided/undecided_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>
#include <stdexcept>

#include "absl/container/btree_map.h"
#include "replayer/undecided/novelty.h"
#include "tracer/world/quiet_heap.h"
#include "xxhash.h"

namespace powercut {
namespace {

// Unused bytes between pool and heap.
constexpr uint64_t kGuard = 4096;

bool equal_under(const Content& a, const Content& b, const std::array<uint64_t, 8>& mask) {
  uint64_t difference = 0;
  for (size_t w = 0; w < 8; ++w) difference |= (load_word(&a.bytes[w * 8]) ^ load_word(&b.bytes[w * 8])) & mask[w];
  return difference == 0;
}

void* map_at(uint64_t address, uint64_t size) {
  void* at = mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("the pool's address range is taken in this process");
  return at;
}

bool is_word_of_errno(uint64_t word) { return word == (errno_range().begin & ~uint64_t{7}); }

std::array<uint64_t, 8> wide_mask(uint64_t mask) {
  std::array<uint64_t, 8> wide;
  for (size_t w = 0; w < 8; ++w) wide[w] = spread(static_cast<uint8_t>(mask >> (8 * w)));
  return wide;
}

// The bytes under a mask; the others are zero.
Content under(const uint8_t* bytes, const std::array<uint64_t, 8>& wide) {
  Content out;
  for (size_t w = 0; w < 8; ++w) {
    const uint64_t word = load_word(bytes + w * 8) & wide[w];
    std::memcpy(&out.bytes[w * 8], &word, 8);
  }
  return out;
}

}  // namespace

MemoryRange errno_range() {
  const auto at = reinterpret_cast<uint64_t>(&errno);
  return {at, at + sizeof errno};
}

void LineSet::compute_diff() {
  diff = 0;
  for (size_t i = 1; i < contents.size(); ++i) diff |= differing_bytes(contents[0], contents[i]);
}

UndecidedMemory::UndecidedMemory(const Options& options, LineTable* lines) : options_(options), lines_(lines) {
  if (!options_.pool_is_mapped) map_pool(options_.pool_size);
  pool_ = {kPoolBase, kPoolBase + options_.pool_size};
  bytes_ = {pool_.begin + kPoolShift, pool_.end + kPoolShift};
  heap_ = {pool_.end, pool_.end + kArenaSize};
  map_at(heap_.begin, kArenaSize);
  // The first page stays unused, so that a store just past the pool is seen as what it is.
  const uint64_t heap = heap_.begin + kGuard;
  arena = {heap, heap_.end, heap, heap};
}

UndecidedMemory::~UndecidedMemory() {
  if (!options_.pool_is_mapped) unmap_pool(options_.pool_size);
  munmap(reinterpret_cast<void*>(heap_.begin), kArenaSize);
  arena = {};
}

std::span<const uint8_t> UndecidedMemory::heap() const {
  return {reinterpret_cast<const uint8_t*>(arena.begin), arena.top - arena.begin};
}

// ---- the journal -----------------------------------------------------------------------------------

void UndecidedMemory::undo(const Mark& mark) {
  while (words_.size() > mark.words) {
    std::memcpy(reinterpret_cast<void*>(words_.back().address), &words_.back().old, 8);
    words_.pop_back();
  }
  while (decided_.size() > mark.decided) {
    undecided_[decided_.back().index] = decided_.back().old;
    decided_.pop_back();
  }
  alive_.resize(mark.alive);
  arena_drop_to(mark.arena);
}

void UndecidedMemory::keep_words(uint64_t address, uint64_t size) {
  const QuietHeap quiet;
  // A range lies in the pool as a whole or not at all.
  const auto begin = reinterpret_cast<uint64_t>(bytes_at(address));
  for (uint64_t word = begin & ~uint64_t{7}; word < begin + size; word += 8) {
    keep_word(word, load_word(reinterpret_cast<const uint8_t*>(word)));
  }
}

bool UndecidedMemory::has_kept(uint64_t address, size_t words) const {
  return std::any_of(words_.begin() + static_cast<ptrdiff_t>(words), words_.end(),
                     [address](const Word& kept) { return kept.address == address; });
}

bool UndecidedMemory::unchanged_since(size_t words, uint64_t except) const {
  absl::flat_hash_map<uint64_t, uint64_t> then;
  for (size_t i = words_.size(); i-- > words;) then[words_[i].address] = words_[i].old;
  then.erase(except);
  return std::all_of(then.begin(), then.end(), [](const auto& word) {
    return load_word(reinterpret_cast<const uint8_t*>(word.first)) == word.second;
  });
}

absl::flat_hash_map<uint64_t, uint64_t> UndecidedMemory::before(const Mark& mark) const {
  absl::flat_hash_map<uint64_t, uint64_t> out;
  for (size_t i = mark.words; i < words_.size(); ++i) out.try_emplace(words_[i].address, words_[i].old);
  return out;
}

std::vector<std::pair<uint64_t, uint64_t>> UndecidedMemory::changed_globals(const Mark& since) const {
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

void UndecidedMemory::other_words_since(const Mark& mark, absl::flat_hash_map<uint64_t, uint64_t>* words) const {
  for (size_t i = mark.words; i < words_.size(); ++i) {
    const uint64_t address = words_[i].address;
    if (bytes_.holds(address, 8) || is_word_of_errno(address)) continue;
    if (address - fresh_begin_ < heap_.end - fresh_begin_) continue;
    words->try_emplace(address, words_[i].old);
  }
}

UndecidedMemory::Changes UndecidedMemory::changes_since(const Mark& mark) const {
  Changes out;
  for (size_t i = mark.words; i < words_.size(); ++i) {
    const uint64_t address = words_[i].address;
    if (address - fresh_begin_ < heap_.end - fresh_begin_ || is_word_of_errno(address)) continue;
    uint8_t bytes = 0xff;
    if (bytes_.holds(address, 8)) {
      const uint64_t offset = address - bytes_.begin;
      if (const Undecided* u = entry(offset / kLineSize)) {
        bytes = static_cast<uint8_t>(u->written >> (offset % kLineSize));
        if (bytes == 0) continue;  // deciding alone has changed it
      }
    }
    out.words.push_back({address, load_word(reinterpret_cast<const uint8_t*>(address)) & spread(bytes), bytes});
  }
  std::sort(out.words.begin(), out.words.end());
  out.words.erase(std::unique(out.words.begin(), out.words.end()), out.words.end());  // stored to more than once
  out.fresh.assign(reinterpret_cast<const uint8_t*>(fresh_begin_), reinterpret_cast<const uint8_t*>(arena.top));
  out.high = arena.high;
  out.last = arena.last;
  return out;
}

void UndecidedMemory::do_again(const Changes& changes, const std::vector<Narrowed>& narrowed) {
  for (const Narrowed& line : narrowed) narrow(*entry(line.set->line), line.alive);
  for (const Changes::Word& word : changes.words) {
    const uint64_t offset = word.address - bytes_.begin;
    if (offset < options_.pool_size) hide(offset / kLineSize, uint64_t{word.bytes} << (offset % kLineSize));
    const uint64_t old = load_word(reinterpret_cast<const uint8_t*>(word.address)), wide = spread(word.bytes);
    set_word(word.address, (old & ~wide) | (word.value & wide));
  }
  std::copy(changes.fresh.begin(), changes.fresh.end(), reinterpret_cast<uint8_t*>(fresh_begin_));
  arena.top = fresh_begin_ + changes.fresh.size();
  arena.high = std::max(arena.high, changes.high);
  arena.last = changes.last;
}

void UndecidedMemory::begin_execution(uint64_t heap_shift) {
  if (heap_shift != 0) arena.top = arena.high = std::max(arena.top, arena.high) + heap_shift;
  arena_keep();
  fresh_begin_ = arena.top;
  keep_fresh(/*all=*/false);
}

void UndecidedMemory::keep_fresh(bool all) { fresh_ = all ? MemoryRange{} : MemoryRange{fresh_begin_, heap_.end}; }

// ---- the first cut -------------------------------------------------------------------------------

void UndecidedMemory::set_base(uint64_t line, const LineSet* set) {
  assert(levels_.empty() && decided_.empty());
  const uint32_t slot = (*lines_)[line].slot;
  if (set == nullptr) {
    if (slot == 0) return;
    // The last one takes its place.
    undecided_[slot - 1] = undecided_.back();
    (*lines_)[undecided_.back().line].slot = slot;
    (*lines_)[line].slot = 0;
    undecided_.pop_back();
    return;
  }
  const Undecided entry{set, kAllAlive, static_cast<uint32_t>(set->contents.size()), set->diff, 0, line};
  if (slot != 0) {
    undecided_[slot - 1] = entry;
    return;
  }
  undecided_.push_back(entry);
  (*lines_)[line].slot = static_cast<uint32_t>(undecided_.size());
}

void UndecidedMemory::clear_base() {
  assert(levels_.empty());
  for (const Undecided& u : undecided_) (*lines_)[u.line].slot = 0;
  undecided_.clear();
}

// ---- levels --------------------------------------------------------------------------------------

void UndecidedMemory::install(const LineSets& sets) {
  Level level{undecided_.size(), mark(), {}};
  for (const LineSet* entry : sets) {
    const LineSet& set = *entry;
    // A line that the level above left undecided is this level's now.
    if ((*lines_)[set.line].slot != 0 || set.contents.size() > 1) {
      level.old_slots.emplace_back(set.line, (*lines_)[set.line].slot);
      (*lines_)[set.line].slot = 0;
    }
    write_line(set.line, set.contents[0], ~uint64_t{0});
    if (set.contents.size() == 1) continue;
    undecided_.push_back({&set, kAllAlive, static_cast<uint32_t>(set.contents.size()), set.diff, 0, set.line});
    (*lines_)[set.line].slot = static_cast<uint32_t>(undecided_.size());
  }
  levels_.push_back(std::move(level));
}

void UndecidedMemory::uninstall() {
  Level& level = levels_.back();
  undo(level.mark);
  for (const auto& [line, slot] : level.old_slots) (*lines_)[line].slot = slot;
  undecided_.resize(level.first_undecided);
  levels_.pop_back();
}

// The medium after the second cut: what each line held at the first one (its alive bases, fixed but unknown),
// under what recovery's own stores may have left on it. A line that recovery has neither observed nor stored to is as
// it was.
std::vector<LineSet> UndecidedMemory::child(const Cut& cut) {
  std::vector<LineSet> out;
  const LineLog nothing;
  const auto add = [&](const LineSet& parent, std::span<const uint32_t> alive) {
    std::vector<Content> bases;
    for (uint32_t index : alive) bases.push_back(parent.contents[index]);
    const LineLog* log = cut.stores.find(parent.line);
    CandidateSet set = candidates(log == nullptr ? nothing : *log, bases, options_.policy, kNestedCandidateLimit);
    truncated_ = truncated_ || set.truncated;
    LineSet& line = out.emplace_back();
    line.line = parent.line;
    line.contents = std::move(set.contents);
    line.visible = set.visible;
    for (uint32_t base : set.base) line.base.push_back(alive[base]);
    line.compute_diff();
  };
  absl::flat_hash_set<uint64_t> done;
  for (const Narrowed& narrowed : cut.narrowed) {
    done.insert(narrowed.set->line);
    add(*narrowed.set, narrowed.alive);
    out.back().observed = true;
  }
  for (const auto& [number, log] : cut.stores.lines()) {
    if (done.contains(number)) continue;
    if (const auto known = alive_of(number)) {
      add(*known->set, known->alive);
      continue;
    }
    Content base;
    std::memcpy(base.bytes.data(), pool() + number * kLineSize, kLineSize);
    CandidateSet set = candidates(log, {&base, 1}, options_.policy, kNestedCandidateLimit);
    truncated_ = truncated_ || set.truncated;
    if (set.contents.size() == 1 && set.contents[0] == base) continue;
    LineSet& line = out.emplace_back();
    line.line = number;
    line.contents = std::move(set.contents);
    line.base.assign(line.contents.size(), 0);
    line.visible = set.visible;
    line.compute_diff();
  }
  return out;
}

// ---- target code reads and writes ----------------------------------------------------------------

// groups_: of each alive candidate, the number of its value; representatives_: a candidate of each value.
void UndecidedMemory::group_alive(const Undecided& u, uint64_t mask) {
  const std::vector<Content>& contents = u.set->contents;
  const std::array<uint64_t, 8> wide = wide_mask(mask);
  groups_.resize(u.alive_count);
  representatives_.clear();
  by_value_.clear();
  const bool large = u.alive_count > 64;
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    const uint32_t candidate = alive_at(u, i);
    const Content& content = contents[candidate];
    const auto same = [&](uint32_t g) { return equal_under(content, contents[representatives_[g]], wide); };
    uint32_t group = 0;
    if (!large) {
      while (group < representatives_.size() && !same(group)) ++group;
    } else {
      const Content masked = under(content.bytes.data(), wide);
      auto& bucket = by_value_[XXH3_64bits(masked.bytes.data(), kLineSize)];
      const auto found = std::find_if(bucket.begin(), bucket.end(), same);
      group = found == bucket.end() ? static_cast<uint32_t>(representatives_.size()) : *found;
      if (found == bucket.end()) bucket.push_back(group);
    }
    if (group == representatives_.size()) representatives_.push_back(candidate);
    groups_[i] = group;
  }
}

std::vector<std::vector<uint32_t>> UndecidedMemory::alive_by_value(uint64_t line, uint64_t mask) {
  const Undecided& u = *entry(line);
  group_alive(u, mask & u.diff);
  std::vector<std::vector<uint32_t>> out(representatives_.size());
  for (uint32_t i = 0; i < u.alive_count; ++i) out[groups_[i]].push_back(alive_at(u, i));
  return out;
}

void UndecidedMemory::decide(uint64_t line, uint64_t mask, Decisions* decisions) {
  const QuietHeap quiet;
  const uint32_t index = (*lines_)[line].slot - 1;
  Undecided& u = undecided_[index];
  group_alive(u, mask);
  if (representatives_.size() == 1) return;
  const uint32_t chosen = decisions->choose(static_cast<uint32_t>(representatives_.size()));
  decided_.push_back({index, u});
  const auto begin = static_cast<uint32_t>(alive_.size());
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    if (groups_[i] == chosen) alive_.push_back(alive_at(u, i));
  }
  show(&u, begin);
}

void UndecidedMemory::overwrite(uint64_t offset, uint64_t size) {
  for_each_line(offset, offset + size, [this](uint64_t line, uint64_t mask) { hide(line, mask); });
}

void UndecidedMemory::hide(uint64_t line, uint64_t mask) {
  const uint32_t slot = (*lines_)[line].slot;
  if (slot == 0) return;
  Undecided& u = undecided_[slot - 1];
  if ((mask & ~u.written) == 0) return;
  decided_.push_back({slot - 1, u});
  u.written |= mask;
  u.diff &= ~mask;
}

void UndecidedMemory::write_line(uint64_t line, const Content& content, uint64_t mask) {
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

// ---- following -----------------------------------------------------------------------------------

void UndecidedMemory::values(uint64_t word, uint8_t bytes, std::vector<uint64_t>* out) const {
  const Undecided& u = undecided_[(*lines_)[word / kLineSize].slot - 1];
  const uint64_t wide = spread(bytes);
  // Bytes that were stored over are the same in all of them, and not asked for.
  assert((u.written & uint64_t{bytes} << (word % kLineSize)) == 0);
  out->clear();
  by_word_.clear();
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    const uint64_t value = load_word(&u.set->contents[alive_at(u, i)].bytes[word % kLineSize]) & wide;
    if (u.alive_count <= 64) {
      if (std::find(out->begin(), out->end(), value) == out->end()) out->push_back(value);
    } else if (by_word_.insert(value).second) {
      out->push_back(value);
    }
  }
}

void UndecidedMemory::choose(uint64_t word, uint8_t bytes, uint64_t value) {
  const Undecided* u = entry(word / kLineSize);
  if (u == nullptr) return;
  const uint64_t wide = spread(bytes);
  std::vector<uint32_t> alive;
  for (uint32_t i = 0; i < u->alive_count; ++i) {
    const uint32_t index = alive_at(*u, i);
    if ((load_word(&u->set->contents[index].bytes[word % kLineSize]) & wide) == value) alive.push_back(index);
  }
  assert(!alive.empty());
  if (alive.size() != u->alive_count) narrow(*u, alive);
}

void UndecidedMemory::keep_only(uint64_t line, std::span<const uint32_t> keep) {
  const Undecided& u = *entry(line);
  Alive alive;
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    if (std::binary_search(keep.begin(), keep.end(), alive_at(u, i))) alive.push_back(alive_at(u, i));
  }
  assert(!alive.empty());
  narrow(u, alive);
}

void UndecidedMemory::narrow(const Undecided& entry, std::span<const uint32_t> alive) {
  const auto index = static_cast<uint32_t>(&entry - undecided_.data());
  decided_.push_back({index, entry});
  const auto begin = static_cast<uint32_t>(alive_.size());
  alive_.insert(alive_.end(), alive.begin(), alive.end());
  show(&undecided_[index], begin);
}

void UndecidedMemory::show(Undecided* entry, uint32_t alive_begin) {
  const std::vector<Content>& contents = entry->set->contents;
  entry->alive_begin = alive_begin;
  entry->alive_count = static_cast<uint32_t>(alive_.size()) - alive_begin;
  const Content& first = contents[alive_[alive_begin]];
  uint64_t diff = 0;
  for (uint32_t i = 1; i < entry->alive_count; ++i) diff |= differing_bytes(first, contents[alive_[alive_begin + i]]);
  entry->diff = diff & ~entry->written;
  write_line(entry->line, first, ~entry->written);
}

void UndecidedMemory::replay_store(uint64_t offset, std::span<const uint8_t> bytes) {
  keep_words(kPoolBase + offset, bytes.size());
  overwrite(offset, bytes.size());
  std::memcpy(pool() + offset, bytes.data(), bytes.size());
}

void UndecidedMemory::set_heap(std::span<const uint8_t> heap) {
  std::memcpy(reinterpret_cast<void*>(arena.begin), heap.data(), heap.size());
  arena.top = arena.begin + heap.size();
  arena.high = std::max(arena.high, arena.top);
}

void UndecidedMemory::set_word(uint64_t address, uint64_t value) {
  keep_word(address, load_word(reinterpret_cast<const uint8_t*>(address)));
  std::memcpy(reinterpret_cast<void*>(address), &value, 8);
}

// ---- what is decided -----------------------------------------------------------------------------

std::vector<Narrowed> UndecidedMemory::narrowed(size_t since_decided) const {
  std::vector<Narrowed> out;
  seen_.resize(std::max(seen_.size(), undecided_.size()));
  ++calls_;
  for (size_t i = since_decided; i < decided_.size(); ++i) {
    const uint32_t index = decided_[i].index;
    const Undecided& u = undecided_[index];
    // The state before the first of the line's entries tells whether any of them narrowed it.
    if (std::exchange(seen_[index], calls_) == calls_ || u.alive_count == decided_[i].old.alive_count) continue;
    Narrowed& line = out.emplace_back(Narrowed{u.set, {}});
    for (uint32_t k = 0; k < u.alive_count; ++k) line.alive.push_back(alive_at(u, k));
  }
  return out;
}

std::optional<Narrowed> UndecidedMemory::alive_of(uint64_t line) const {
  const Undecided* u = entry(line);
  if (u == nullptr) return std::nullopt;
  Narrowed out{u->set, {}};
  for (uint32_t k = 0; k < u->alive_count; ++k) out.alive.push_back(alive_at(*u, k));
  return out;
}

std::vector<Content> UndecidedMemory::contents(uint64_t line) const {
  Content here;
  std::memcpy(here.bytes.data(), pool() + line * kLineSize, kLineSize);
  const uint32_t slot = (*lines_)[line].slot;
  if (slot == 0 || undecided_[slot - 1].diff == 0) return {here};
  const Undecided& u = undecided_[slot - 1];
  std::vector<Content> out;
  absl::flat_hash_set<uint64_t> hashes;  // equality itself is decided on the bytes
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    Content content = u.set->contents[alive_at(u, i)];
    for (uint64_t left = u.written; left != 0; left &= left - 1) {
      content.bytes[std::countr_zero(left)] = here.bytes[std::countr_zero(left)];
    }
    // Candidates are distinct, so equal ones come from what was stored over them alone.
    const bool fresh = u.written == 0 || hashes.insert(XXH3_64bits(content.bytes.data(), kLineSize)).second ||
                       std::find(out.begin(), out.end(), content) == out.end();
    if (fresh) out.push_back(content);
  }
  return out;
}

Signature UndecidedMemory::signature(uint64_t line, uint64_t mask) const {
  std::array<uint64_t, 8> wide = wide_mask(mask);
  const Content here = under(pool() + line * kLineSize, wide);
  XXH128_hash_t hash = XXH3_128bits(here.bytes.data(), kLineSize);
  if (undecided(line, mask) == 0) return {hash.low64, hash.high64};
  // The distinct projections of the alive candidates, in their fixed order. Bytes that were overwritten are
  // in memory, and so in `here`.
  const Undecided& u = *entry(line);
  for (size_t w = 0; w < 8; ++w) wide[w] &= ~spread(static_cast<uint8_t>(u.written >> (8 * w)));
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> distinct;
  for (uint32_t i = 0; i < u.alive_count; ++i) {
    const Content projected = under(u.set->contents[alive_at(u, i)].bytes.data(), wide);
    const XXH128_hash_t own = XXH3_128bits(projected.bytes.data(), kLineSize);
    if (!distinct.insert({own.low64, own.high64}).second) continue;
    hash = XXH3_128bits_withSeed(&own, sizeof own, hash.low64 ^ std::rotl(hash.high64, 1));
  }
  return {hash.low64, hash.high64};
}

Signature UndecidedMemory::globals_signature() const {
  XXH128_hash_t hash{};
  for (const MemoryRange& range : options_.globals) {
    hash = XXH3_128bits_withSeed(reinterpret_cast<const void*>(range.begin), range.end - range.begin, hash.low64);
  }
  return {hash.low64, hash.high64};
}

uint64_t UndecidedMemory::digest() const {
  XXH64_hash_t hash = XXH3_64bits(pool(), options_.pool_size);
  for (const MemoryRange& range : options_.globals) {
    hash = XXH3_64bits_withSeed(reinterpret_cast<const void*>(range.begin), range.end - range.begin, hash);
  }
  return XXH3_64bits_withSeed(reinterpret_cast<const void*>(arena.begin), arena.top - arena.begin, hash);
}

std::vector<UndecidedMemory::Touched> UndecidedMemory::touched() const { return touched_since({}); }

std::vector<UndecidedMemory::Touched> UndecidedMemory::touched_since(const Mark& mark) const {
  absl::btree_map<uint64_t, Content> lines;
  const auto add = [&](uint64_t line) -> Content& {
    const auto [at, added] = lines.try_emplace(line);
    if (added) std::memcpy(at->second.bytes.data(), pool() + line * kLineSize, kLineSize);
    return at->second;
  };
  for (size_t i = words_.size(); i-- > mark.words;) {
    const Word& word = words_[i];
    if (!bytes_.holds(word.address, 8)) continue;
    const uint64_t offset = word.address - bytes_.begin;
    std::memcpy(&add(offset / kLineSize).bytes[offset % kLineSize], &word.old, 8);
  }
  for (size_t i = mark.decided; i < decided_.size(); ++i) add(undecided_[decided_[i].index].set->line);
  // A nested level may make a line definite with the very bytes that memory shows: nothing is written then.
  for (const Level& level : levels_) {
    if (level.mark.words < mark.words || level.mark.decided < mark.decided) continue;
    for (const auto& [line, slot] : level.old_slots) add(line);
  }
  std::vector<Touched> out;
  out.reserve(lines.size());
  for (const auto& [line, before] : lines) out.push_back({line, before});
  return out;
}

}  // namespace powercut
