#include "replayer/media/files/file_view.h"

#include <algorithm>
#include <bit>

namespace powercut::files {
namespace {

// Whether an operation is on disk that brings the version. Without an order no operation brings any.
bool is_on_disk(bool bound, uint32_t at, const OnDisk& on_disk) {
  return bound && on_disk.prefix && at <= *on_disk.prefix;
}

}  // namespace

FileView::FileView(const Disk& disk, const Inode& inode, const OnDisk& on_disk)
    : inode_(&inode), sector_(disk.units().sector) {
  Replacement replaced;
  const Replace replace = disk.switches().replace;
  if (replace != Replace::kNothing) {
    replaced = inode.replaced;
    for (const auto& [operation, replacement] : inode.replacements) {
      const bool in_prefix = on_disk.prefix && operation < *on_disk.prefix;
      if (in_prefix || std::ranges::binary_search(on_disk.replacing, operation)) replaced.raise_to(replacement);
    }
    if (replace == Replace::kSize) replaced.sectors.clear();
  }
  find_sizes(on_disk, replaced);
  find_sectors(on_disk, replaced, disk.switches().overwrite == Overwrite::kCall);
  find_needs();
  for (const auto& [sector, legal] : legal_) interesting_.push_back(sector);
  for (const auto& [sector, sizes] : ending_in_) interesting_.push_back(sector);
  for (const auto& [sector, sizes] : ending_before_) interesting_.push_back(sector);
  std::ranges::sort(interesting_);
  interesting_.erase(std::ranges::unique(interesting_).begin(), interesting_.end());
}

void FileView::find_sizes(const OnDisk& on_disk, const Replacement& replaced) {
  first_size_ = std::max(inode_->size_floor, replaced.size);
  for (uint32_t number = inode_->newest_size(); number > first_size_; --number) {
    const SizeVersion& version = inode_->size_at(number);
    if (is_on_disk(version.bound, version.at, on_disk)) first_size_ = number;
  }
  last_size_ = inode_->newest_size();
  while (last_size_ > first_size_ && on_disk.prefix && inode_->size_at(last_size_).at > *on_disk.prefix) --last_size_;
  std::vector<uint64_t> sizes;
  for (uint32_t number = first_size_; number <= last_size_; ++number) {
    const uint64_t size = inode_->size_at(number).size;
    sizes.push_back(size);
    (size % sector_ == 0 ? ending_before_ : ending_in_)[size / sector_].push_back(number);
  }
  const size_t count = sizes.size();
  largest_.push_back(std::move(sizes));
  for (size_t span = 1; 2 * span <= count; span *= 2) {
    const std::vector<uint64_t>& half = largest_.back();
    std::vector<uint64_t> both;
    for (size_t k = 0; k + span < half.size(); ++k) both.push_back(std::max(half[k], half[k + span]));
    largest_.push_back(std::move(both));
  }
}

uint64_t FileView::largest(uint32_t from, uint32_t to) const {
  const uint32_t level = std::bit_width(to - from + 1) - 1;
  const std::vector<uint64_t>& spans = largest_[level];
  return std::max(spans[from - first_size_], spans[to - first_size_ + 1 - (1U << level)]);
}

void FileView::find_sectors(const OnDisk& on_disk, const Replacement& replaced, bool whole_calls) {
  if (whole_calls) on_ = inode_->sure_calls;
  for (const uint64_t number : inode_->open) {
    const Sector& sector = inode_->sectors.at(number);
    Legal legal{sector.floor, sector.newest()};
    if (const auto found = replaced.sectors.find(number); found != replaced.sectors.end()) {
      legal.low = std::max(legal.low, found->second);
    }
    for (uint32_t version = sector.newest(); version > legal.low; --version) {
      if (is_on_disk(sector[version].bound, sector[version].at, on_disk)) legal.low = version;
    }
    for (uint32_t version = legal.low + 1; version <= legal.high; ++version) {
      if (sector[version].bound && on_disk.prefix) legal.high = version - 1;
    }
    legal_[number] = legal;
    if (!whole_calls) continue;
    for (uint32_t version = sector.first; version <= sector.newest(); ++version) {
      const uint32_t call = sector[version].call;
      if (call == 0) continue;
      if (version <= legal.low) on_.insert(call);
      if (version > legal.high) off_.insert(call);
      if (version > legal.low && version <= legal.high) {
        last_sector_[call] = std::max(last_sector_[call], number);
      }
    }
  }
  for (const uint32_t call : on_) off_.erase(call);
}

void FileView::find_needs() {
  uint32_t end = last_size_;  // of the chain
  for (uint32_t number = last_size_;; --number) {
    for (const Need& need : inode_->size_at(number).own) {
      const uint32_t from = std::max(number, first_size_);
      if (from <= end) excluded_[need.sector].push_back({need.least, from, end});
    }
    if (number == inode_->first_size) break;
    if (!inode_->size_at(number).chained) end = number - 1;
    if (end < first_size_) break;
  }
  for (const auto& [sector, excluded] : excluded_) needed_.push_back(sector);
  std::ranges::sort(needed_);
}

const FileView::Legal* FileView::legal(uint64_t sector) const {
  const auto found = legal_.find(sector);
  return found == legal_.end() ? nullptr : &found->second;
}

std::vector<uint64_t> FileView::open() const {
  std::vector<uint64_t> out;
  for (const auto& [sector, legal] : legal_) out.push_back(sector);
  std::ranges::sort(out);
  return out;
}

std::vector<std::pair<uint32_t, uint32_t>> FileView::excluded_by(uint64_t sector, uint32_t version) const {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  if (const auto found = excluded_.find(sector); found != excluded_.end()) {
    for (const Excluded& each : found->second) {
      if (version < each.least) out.emplace_back(each.from, each.to);
    }
  }
  return out;
}

uint64_t FileView::last_sector(uint32_t call) const {
  const auto found = last_sector_.find(call);
  return found == last_sector_.end() ? 0 : found->second;
}

const std::vector<uint32_t>& FileView::of(const absl::flat_hash_map<uint64_t, std::vector<uint32_t>>& map,
                                          uint64_t sector) {
  static const std::vector<uint32_t> none;
  const auto found = map.find(sector);
  return found == map.end() ? none : found->second;
}

}  // namespace powercut::files
