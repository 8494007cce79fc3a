#include "tracer/pmemcheck/pools.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace powercut::pmemcheck {

namespace {
constexpr size_t kMaxPools = 4096;
}  // namespace

std::optional<std::string> PoolTable::add(const Entry& entry) {
  if (entry.size == 0 || entry.size > kMaxAddress || entry.address > kMaxAddress || entry.offset > kMaxAddress) {
    return absl::StrCat("a mapping of 0x", absl::Hex(entry.size), " bytes at 0x", absl::Hex(entry.address),
                        " with the file's offset 0x", absl::Hex(entry.offset));
  }
  // Lines of the file must be lines of memory.
  if (entry.address % kLineSize != entry.offset % kLineSize || entry.address < entry.offset) {
    return absl::StrCat("a mapping at 0x", absl::Hex(entry.address), " with the file's offset 0x",
                        absl::Hex(entry.offset), ", which splits cache lines");
  }
  auto [found, fresh] = indexes_.try_emplace(entry.text, pools_.size());
  if (fresh) {
    if (pools_.size() == kMaxPools) return absl::StrCat("more than ", kMaxPools, " files");
    pools_.push_back({.path = entry.text});
  }
  PoolFile& pool = pools_[found->second];
  pool.size = std::max(pool.size, entry.offset + entry.size);
  // PMDK maps the header of a pool first, and then the whole pool elsewhere.
  uint64_t& largest = largest_[entry.text];
  if (entry.size >= largest) {
    largest = entry.size;
    pool.address = entry.address - entry.offset;
  }
  return std::nullopt;
}

bool PoolTable::grow(const std::string& path, uint64_t size) {
  auto found = indexes_.find(path);
  if (found == indexes_.end()) return false;
  PoolFile& pool = pools_[found->second];
  pool.size = std::max(pool.size, size);
  return true;
}

std::optional<std::string> PoolTable::place() {
  space_ = 0;
  for (PoolFile& pool : pools_) {
    pool.offset = space_;
    space_ += (pool.size + kPage - 1) / kPage * kPage;
    if (space_ > kMaxAddress) return "files of more than 2^57 bytes together";
  }
  return std::nullopt;
}

void AddressSpace::map(uint64_t address, uint64_t size, uint64_t target) {
  const uint64_t end = address + size;
  auto next = ranges_.lower_bound(address);
  if (next != ranges_.begin()) {
    auto before = std::prev(next);
    const Range old = before->second;
    if (old.end > address) {
      before->second.end = address;
      if (old.end > end) ranges_[end] = {old.end, old.target + (end - before->first)};
    }
  }
  while (next != ranges_.end() && next->first < end) {
    if (next->second.end > end) {
      ranges_[end] = {next->second.end, next->second.target + (end - next->first)};
    }
    next = ranges_.erase(next);
  }
  ranges_[address] = {end, target};
}

AddressSpace::Piece AddressSpace::piece(uint64_t address, uint64_t size) const {
  auto next = ranges_.upper_bound(address);
  if (next != ranges_.begin()) {
    auto [begin, range] = *std::prev(next);
    if (address < range.end) return {std::min(size, range.end - address), range.target + (address - begin)};
  }
  return {next == ranges_.end() ? size : std::min(size, next->first - address), std::nullopt};
}

}  // namespace powercut::pmemcheck
