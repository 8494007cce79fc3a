#include "replayer/undecided/undecided_lines.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "replayer/undecided/novelty.h"
#include "xxhash.h"

namespace powercut {
namespace {

bool equal_under(const Content& a, const Content& b, const std::array<uint64_t, 8>& mask) {
  uint64_t difference = 0;
  for (size_t w = 0; w < 8; ++w) difference |= (load_word(&a.bytes[w * 8]) ^ load_word(&b.bytes[w * 8])) & mask[w];
  return difference == 0;
}

}  // namespace

std::array<uint64_t, 8> wide_mask(uint64_t mask) {
  std::array<uint64_t, 8> wide;
  for (size_t w = 0; w < 8; ++w) wide[w] = spread(static_cast<uint8_t>(mask >> (8 * w)));
  return wide;
}

Content under(const uint8_t* bytes, const std::array<uint64_t, 8>& wide) {
  Content out;
  for (size_t w = 0; w < 8; ++w) {
    const uint64_t word = load_word(bytes + w * 8) & wide[w];
    std::memcpy(&out.bytes[w * 8], &word, 8);
  }
  return out;
}

void LineSet::compute_diff() {
  diff = 0;
  for (size_t i = 1; i < contents.size(); ++i) diff |= differing_bytes(contents[0], contents[i]);
}

// ---- which lines are pending -----------------------------------------------------------------------

void UndecidedLines::add(const LineSet* set) {
  entries_.push_back(untouched(set));
  set_slot(set->line, static_cast<uint32_t>(entries_.size()));
}

void UndecidedLines::set_base(uint64_t line, const LineSet* set) {
  assert(decided_.empty());
  const uint32_t slot = slot_of(line);
  if (slot == 0) {
    if (set != nullptr) add(set);
    return;
  }
  if (set != nullptr) {
    entries_[slot - 1] = untouched(set);
    return;
  }
  // The last entry takes the place of the dropped one.
  entries_[slot - 1] = entries_.back();
  set_slot(entries_.back().line, slot);
  set_slot(line, 0);
  entries_.pop_back();
}

void UndecidedLines::clear_base() {
  for (const Entry& entry : entries_) set_slot(entry.line, 0);
  entries_.clear();
}

// ---- deciding --------------------------------------------------------------------------------------

void UndecidedLines::undo(const Mark& mark) {
  while (decided_.size() > mark.decided) {
    entries_[decided_.back().index] = decided_.back().old;
    decided_.pop_back();
  }
  alive_.resize(mark.alive);
}

// groups_: of each alive candidate, the number of its value; representatives_: a candidate of each value.
uint32_t UndecidedLines::group(const Entry& entry, uint64_t mask) {
  const std::vector<Content>& contents = entry.set->contents;
  const std::array<uint64_t, 8> wide = wide_mask(mask);
  groups_.resize(entry.alive_count);
  representatives_.clear();
  by_value_.clear();
  const bool large = entry.alive_count > 64;
  for (uint32_t i = 0; i < entry.alive_count; ++i) {
    const uint32_t candidate = alive_at(entry, i);
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
  return static_cast<uint32_t>(representatives_.size());
}

const UndecidedLines::Entry& UndecidedLines::keep_group(const Entry& entry, uint32_t group) {
  const uint32_t index = index_of(entry);
  decided_.push_back({index, entry});
  const auto begin = static_cast<uint32_t>(alive_.size());
  for (uint32_t i = 0; i < entry.alive_count; ++i) {
    if (groups_[i] == group) alive_.push_back(alive_at(entry, i));
  }
  return take_alive(index, begin);
}

const UndecidedLines::Entry& UndecidedLines::keep(const Entry& entry, std::span<const uint32_t> alive) {
  const uint32_t index = index_of(entry);
  decided_.push_back({index, entry});
  const auto begin = static_cast<uint32_t>(alive_.size());
  alive_.insert(alive_.end(), alive.begin(), alive.end());
  return take_alive(index, begin);
}

const UndecidedLines::Entry& UndecidedLines::keep_only(const Entry& entry, std::span<const uint32_t> keep) {
  Alive alive;
  for (uint32_t i = 0; i < entry.alive_count; ++i) {
    if (std::binary_search(keep.begin(), keep.end(), alive_at(entry, i))) alive.push_back(alive_at(entry, i));
  }
  assert(!alive.empty());
  return this->keep(entry, alive);
}

const UndecidedLines::Entry& UndecidedLines::take_alive(uint32_t index, uint32_t alive_begin) {
  Entry& entry = entries_[index];
  const std::vector<Content>& contents = entry.set->contents;
  entry.alive_begin = alive_begin;
  entry.alive_count = static_cast<uint32_t>(alive_.size()) - alive_begin;
  const Content& first = contents[alive_[alive_begin]];
  uint64_t diff = 0;
  for (uint32_t i = 1; i < entry.alive_count; ++i) diff |= differing_bytes(first, contents[alive_[alive_begin + i]]);
  entry.diff = diff & ~entry.written;
  return entry;
}

void UndecidedLines::hide(uint64_t line, uint64_t mask) {
  const uint32_t slot = slot_of(line);
  if (slot == 0) return;
  Entry& entry = entries_[slot - 1];
  if ((mask & ~entry.written) == 0) return;
  decided_.push_back({slot - 1, entry});
  entry.written |= mask;
  entry.diff &= ~mask;
}

// ---- what is alive ---------------------------------------------------------------------------------

Narrowed UndecidedLines::alive_of(const Entry& entry) const {
  Narrowed out{entry.set, {}};
  for (uint32_t i = 0; i < entry.alive_count; ++i) out.alive.push_back(alive_at(entry, i));
  return out;
}

std::vector<std::vector<uint32_t>> UndecidedLines::alive_by_value(const Entry& entry, uint64_t mask) {
  std::vector<std::vector<uint32_t>> out(group(entry, mask & entry.diff));
  for (uint32_t i = 0; i < entry.alive_count; ++i) out[groups_[i]].push_back(alive_at(entry, i));
  return out;
}

void UndecidedLines::values(uint64_t word, uint8_t bytes, std::vector<uint64_t>* out) const {
  const Entry& entry = *find(word / kLineSize);
  const uint64_t wide = spread(bytes);
  // Bytes that were stored over are the same in all of them, and not asked for.
  assert((entry.written & uint64_t{bytes} << (word % kLineSize)) == 0);
  out->clear();
  by_word_.clear();
  for (uint32_t i = 0; i < entry.alive_count; ++i) {
    const uint64_t value = load_word(&alive_content(entry, i).bytes[word % kLineSize]) & wide;
    if (entry.alive_count <= 64) {
      if (std::find(out->begin(), out->end(), value) == out->end()) out->push_back(value);
    } else if (by_word_.insert(value).second) {
      out->push_back(value);
    }
  }
}

std::vector<Narrowed> UndecidedLines::narrowed(size_t since_decided) const {
  std::vector<Narrowed> out;
  seen_.resize(std::max(seen_.size(), entries_.size()));
  ++calls_;
  for (size_t i = since_decided; i < decided_.size(); ++i) {
    const uint32_t index = decided_[i].index;
    const Entry& entry = entries_[index];
    // The state before the first of the line's entries tells whether any of them narrowed it.
    if (std::exchange(seen_[index], calls_) == calls_ || entry.alive_count == decided_[i].old.alive_count) continue;
    out.push_back(alive_of(entry));
  }
  return out;
}

}  // namespace powercut
