// What the stores of a recording say that the pools hold, to be compared with what they do hold: a byte that differs
// was changed by something that nobody recorded. Pages that no store reached are zeros and cost nothing.
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

// Bytes that differ: of how many places, and where the first of these lies.
struct PoolDifference {
  uint64_t bytes = 0, places = 0;
  uint64_t first = 0, first_size = 0;

  // One more byte at `offset`; calls come in ascending order.
  void add(uint64_t offset);
  // "bytes 64 to 71", "24 bytes in 3 places, the first at 64": of the file.
  std::string text() const;

 private:
  uint64_t next_ = 0;
};

class PoolShadow {
 public:
  static constexpr uint64_t kPage = 4096;

  void store(uint32_t pool, uint64_t offset, std::span<const uint8_t> bytes);
  // From `offset` on there are zeros.
  void zero_from(uint32_t pool, uint64_t offset);
  // Compares `actual` with what the shadow has at `offset`, and takes it over: what differs is told of once.
  void compare(uint32_t pool, uint64_t offset, std::span<const uint8_t> actual, PoolDifference* difference);
  // Whether the bytes are those of the shadow.
  bool same(uint32_t pool, uint64_t offset, std::span<const uint8_t> actual) const;
  // The pages of a pool that a store reached, ascending.
  std::vector<uint64_t> pages(uint32_t pool) const;

 private:
  using Page = std::array<uint8_t, kPage>;
  // Of pages by number, of one pool.
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
