#include "replayer/undecided/undecided_memory.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "tracer/world/quiet_heap.h"
#include "xxhash.h"

namespace powercut {

UndecidedMemory::Changes UndecidedMemory::changes_since(const Mark& mark) const {
  Changes out;
  for (size_t i = mark.words; i < words_.size(); ++i) {
    const uint64_t address = words_[i].address;
    if (is_passing(address)) continue;
    uint8_t bytes = 0xff;
    if (bytes_.holds(address, 8)) {
      const uint64_t offset = address - bytes_.begin;
      if (const UndecidedLines::Entry* entry = lines_.find(offset / kLineSize)) {
        bytes = static_cast<uint8_t>(entry->written >> (offset % kLineSize));
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
  for (const Narrowed& line : narrowed) show(lines_.keep(*lines_.find(line.set->line), line.alive));
  for (const Changes::Word& word : changes.words) {
    const uint64_t offset = word.address - bytes_.begin;
    if (offset < options_.pool_size) lines_.hide(offset / kLineSize, uint64_t{word.bytes} << (offset % kLineSize));
    const uint64_t old = load_word(reinterpret_cast<const uint8_t*>(word.address)), wide = spread(word.bytes);
    set_word(word.address, (old & ~wide) | (word.value & wide));
  }
  std::copy(changes.fresh.begin(), changes.fresh.end(), reinterpret_cast<uint8_t*>(fresh_begin_));
  arena.top = fresh_begin_ + changes.fresh.size();
  arena.high = std::max(arena.high, changes.high);
  arena.last = changes.last;
}

void UndecidedMemory::set_base(uint64_t line, const LineSet* set) {
  assert(levels_.empty());
  lines_.set_base(line, set);
}

void UndecidedMemory::clear_base() {
  assert(levels_.empty());
  lines_.clear_base();
}

// ---- levels --------------------------------------------------------------------------------------

void UndecidedMemory::install(const LineSets& sets) {
  Level level{lines_.size(), mark(), {}};
  for (const LineSet* set : sets) {
    // A line that the level above left undecided belongs to this level now.
    const uint32_t slot = lines_.slot_of(set->line);
    if (slot != 0 || set->contents.size() > 1) {
      level.old_slots.emplace_back(set->line, slot);
      lines_.set_slot(set->line, 0);
    }
    write_line(set->line, set->contents[0], ~uint64_t{0});
    if (set->contents.size() > 1) lines_.add(set);
  }
  levels_.push_back(std::move(level));
}

void UndecidedMemory::uninstall() {
  Level& level = levels_.back();
  undo(level.mark);
  for (const auto& [line, slot] : level.old_slots) lines_.set_slot(line, slot);
  lines_.drop_to(level.first_undecided);
  levels_.pop_back();
}

// The medium after the second cut. Each line has its content at the first cut: one of its alive bases, fixed but
// unknown. Over this content lies all that recovery's own stores may have left. A line that recovery has neither
// observed nor stored to is unchanged.
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

void UndecidedMemory::decide(uint64_t line, uint64_t mask, Decisions* decisions) {
  const QuietHeap quiet;
  const UndecidedLines::Entry& entry = *lines_.find(line);
  const uint32_t values = lines_.group(entry, mask);
  if (values > 1) show(lines_.keep_group(entry, decisions->choose(values)));
}

void UndecidedMemory::overwrite(uint64_t offset, uint64_t size) {
  for_each_line(offset, offset + size, [this](uint64_t line, uint64_t mask) { lines_.hide(line, mask); });
}

void UndecidedMemory::show(const UndecidedLines::Entry& entry) {
  write_line(entry.line, lines_.alive_content(entry, 0), ~entry.written);
}

// ---- following -----------------------------------------------------------------------------------

void UndecidedMemory::choose(uint64_t word, uint8_t bytes, uint64_t value) {
  const UndecidedLines::Entry* entry = lines_.find(word / kLineSize);
  if (entry == nullptr) return;
  const uint64_t wide = spread(bytes);
  std::vector<uint32_t> alive;
  for (uint32_t i = 0; i < entry->alive_count; ++i) {
    const uint32_t index = lines_.alive_at(*entry, i);
    if ((load_word(&entry->set->contents[index].bytes[word % kLineSize]) & wide) == value) alive.push_back(index);
  }
  assert(!alive.empty());
  if (alive.size() != entry->alive_count) show(lines_.keep(*entry, alive));
}

void UndecidedMemory::replay_store(uint64_t offset, std::span<const uint8_t> bytes) {
  keep_words(kPoolBase + offset, bytes.size());
  overwrite(offset, bytes.size());
  std::memcpy(pool() + offset, bytes.data(), bytes.size());
}

// ---- what is decided -----------------------------------------------------------------------------

std::optional<Narrowed> UndecidedMemory::alive_of(uint64_t line) const {
  const UndecidedLines::Entry* entry = lines_.find(line);
  if (entry == nullptr) return std::nullopt;
  return lines_.alive_of(*entry);
}

std::vector<Content> UndecidedMemory::contents(uint64_t line) const {
  Content here;
  std::memcpy(here.bytes.data(), pool() + line * kLineSize, kLineSize);
  const UndecidedLines::Entry* entry = lines_.find(line);
  if (entry == nullptr || entry->diff == 0) return {here};
  std::vector<Content> out;
  absl::flat_hash_set<uint64_t> hashes;  // equality itself is decided on the bytes
  for (uint32_t i = 0; i < entry->alive_count; ++i) {
    Content content = lines_.alive_content(*entry, i);
    for (uint64_t left = entry->written; left != 0; left &= left - 1) {
      content.bytes[std::countr_zero(left)] = here.bytes[std::countr_zero(left)];
    }
    // Candidates are distinct: contents can only be equal if stores were laid over them.
    const bool fresh = entry->written == 0 || hashes.insert(XXH3_64bits(content.bytes.data(), kLineSize)).second ||
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
  const UndecidedLines::Entry& entry = *lines_.find(line);
  for (size_t w = 0; w < 8; ++w) wide[w] &= ~spread(static_cast<uint8_t>(entry.written >> (8 * w)));
  absl::flat_hash_set<std::pair<uint64_t, uint64_t>> distinct;
  for (uint32_t i = 0; i < entry.alive_count; ++i) {
    const Content projected = under(lines_.alive_content(entry, i).bytes.data(), wide);
    const XXH128_hash_t own = XXH3_128bits(projected.bytes.data(), kLineSize);
    if (!distinct.insert({own.low64, own.high64}).second) continue;
    hash = XXH3_128bits_withSeed(&own, sizeof own, hash.low64 ^ std::rotl(hash.high64, 1));
  }
  return {hash.low64, hash.high64};
}

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
  lines_.for_each_decided(mark.decided, add);
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
