// The content of the pools according to the recorded stores, to be compared with the pools themselves. A byte that
// differs was changed by something that nobody recorded. Pages that no store reached are zeros and cost nothing.
#ifndef POWERCUT_TRACER_STREAM_POOL_SHADOW_H_
#define POWERCUT_TRACER_STREAM_POOL_SHADOW_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace powercut {

// Bytes that differ: their number, the number of their places, and the first place.
struct PoolDifference {
  uint64_t bytes = 0, places = 0;
  uint64_t first = 0, first_size = 0;

  // Adds the byte at `offset`; calls come in ascending order.
  void add(uint64_t offset);
  // Returns "bytes 64 to 71", or "24 bytes in 3 places, the first at 64": offsets in the file.
  std::string text() const;

 private:
  uint64_t next_ = 0;
};

class PoolShadow {
 public:
  static constexpr uint64_t kPage = 4096;

  void store(uint32_t pool, uint64_t offset, std::span<const uint8_t> bytes);
  // The pool holds zeros from `offset` on.
  void zero_from(uint32_t pool, uint64_t offset);
  // Compares `actual` with the shadow's bytes at `offset`, and takes it over: a difference is told of once.
  void compare(uint32_t pool, uint64_t offset, std::span<const uint8_t> actual, PoolDifference* difference);
  // Whether the shadow has the same bytes at `offset`.
  bool same(uint32_t pool, uint64_t offset, std::span<const uint8_t> actual) const;
  // Returns the numbers of the pool's pages that a store reached, ascending.
  std::vector<uint64_t> pages(uint32_t pool) const;

 private:
  using Page = std::array<uint8_t, kPage>;
  // The pages of one pool, by number.
  using Pages = std::unordered_map<uint64_t, std::unique_ptr<Page>>;
  const Page& at(uint32_t pool, uint64_t page) const;

  std::vector<Pages> pools_;
};

enum class FileComparison {
  kDone,
  kGone,        // no such file
  kUnreadable,  // not a regular file, or not to be read to its end
};

// Compares the file with the shadow of `pool`, up to the file's end.
FileComparison compare_file(const std::string& path, uint32_t pool, PoolShadow* shadow, PoolDifference* difference);

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_POOL_SHADOW_H_
