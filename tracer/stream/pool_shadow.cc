#include "tracer/stream/pool_shadow.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace powercut {
namespace {

// Calls `visit(pool's offset, part of the bytes)` for each page that [offset, offset + size) touches.
template <typename Bytes, typename Visit>
void by_pages(uint64_t offset, Bytes bytes, const Visit& visit) {
  while (!bytes.empty()) {
    const uint64_t left = PoolShadow::kPage - offset % PoolShadow::kPage;
    const size_t piece = std::min<uint64_t>(bytes.size(), left);
    visit(offset, bytes.first(piece));
    offset += piece;
    bytes = bytes.subspan(piece);
  }
}

}  // namespace

void PoolDifference::add(uint64_t offset) {
  if (bytes == 0 || offset != next_) ++places;
  if (bytes == 0) first = offset;
  if (places == 1) ++first_size;
  ++bytes;
  next_ = offset + 1;
}

std::string PoolDifference::text() const {
  if (bytes == 1) return "byte " + std::to_string(first);
  if (places == 1) return "bytes " + std::to_string(first) + " to " + std::to_string(first + first_size - 1);
  return std::to_string(bytes) + " bytes in " + std::to_string(places) + " places, the first at " +
         std::to_string(first) + ",";
}

const PoolShadow::Page& PoolShadow::at(uint32_t pool, uint64_t page) const {
  static const Page& zeros = *new Page{};
  if (pool >= pools_.size()) return zeros;
  const auto found = pools_[pool].find(page);
  return found == pools_[pool].end() ? zeros : *found->second;
}

void PoolShadow::store(uint32_t pool, uint64_t offset, std::span<const uint8_t> bytes) {
  if (pool >= pools_.size()) pools_.resize(pool + 1);
  by_pages(offset, bytes, [&](uint64_t at, std::span<const uint8_t> part) {
    std::unique_ptr<Page>& page = pools_[pool][at / kPage];
    if (page == nullptr) page = std::make_unique<Page>();
    std::memcpy(page->data() + at % kPage, part.data(), part.size());
  });
}

void PoolShadow::zero_from(uint32_t pool, uint64_t offset) {
  if (pool >= pools_.size()) return;
  std::erase_if(pools_[pool], [&](auto& entry) {
    const uint64_t begin = entry.first * kPage;
    if (begin + kPage <= offset) return false;
    if (begin >= offset) return true;
    std::memset(entry.second->data() + (offset - begin), 0, begin + kPage - offset);
    return false;
  });
}

bool PoolShadow::same(uint32_t pool, uint64_t offset, std::span<const uint8_t> actual) const {
  bool same = true;
  by_pages(offset, actual, [&](uint64_t from, std::span<const uint8_t> part) {
    same = same && std::memcmp(at(pool, from / kPage).data() + from % kPage, part.data(), part.size()) == 0;
  });
  return same;
}

void PoolShadow::compare(uint32_t pool, uint64_t offset, std::span<const uint8_t> actual, PoolDifference* difference) {
  by_pages(offset, actual, [&](uint64_t from, std::span<const uint8_t> part) {
    if (same(pool, from, part)) return;
    const uint8_t* expected = at(pool, from / kPage).data() + from % kPage;
    for (size_t i = 0; i < part.size(); ++i) {
      if (expected[i] != part[i]) difference->add(from + i);
    }
    store(pool, from, part);
  });
}

std::vector<uint64_t> PoolShadow::pages(uint32_t pool) const {
  std::vector<uint64_t> out;
  if (pool < pools_.size()) {
    for (const auto& [page, bytes] : pools_[pool]) out.push_back(page);
  }
  std::ranges::sort(out);
  return out;
}

FileComparison compare_file(const std::string& path, uint32_t pool, PoolShadow* shadow, PoolDifference* difference) {
  // O_NONBLOCK: a pipe would be waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? FileComparison::kGone : FileComparison::kUnreadable;
  struct stat status{};
  bool good = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const uint64_t size = good ? static_cast<uint64_t>(status.st_size) : 0;
  // Every page that has data or that a store reached; the rest is zeros on both sides.
  std::vector<uint64_t> pages = shadow->pages(pool);
  for (off_t at = 0; good && (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
    const off_t hole = lseek(fd, at, SEEK_HOLE);
    if (hole <= at) good = false;  // the file changes under us
    for (auto page = static_cast<off_t>(at / PoolShadow::kPage); page * off_t{PoolShadow::kPage} < hole; ++page) {
      pages.push_back(static_cast<uint64_t>(page));
    }
    at = hole;
  }
  std::ranges::sort(pages);
  pages.erase(std::ranges::unique(pages).begin(), pages.end());
  std::array<uint8_t, PoolShadow::kPage> bytes;
  for (const uint64_t page : pages) {
    const uint64_t offset = page * PoolShadow::kPage;
    if (!good || offset >= size) break;
    const size_t wanted = std::min<uint64_t>(PoolShadow::kPage, size - offset);
    const ssize_t got = pread(fd, bytes.data(), wanted, static_cast<off_t>(offset));
    good = got == static_cast<ssize_t>(wanted);
    if (good) shadow->compare(pool, offset, std::span(bytes).first(wanted), difference);
  }
  close(fd);
  return good ? FileComparison::kDone : FileComparison::kUnreadable;
}

}  // namespace powercut
