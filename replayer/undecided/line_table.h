// The table of lines of the pool, with the data that executor, log and follower keep of each line. All data of a
// line lies in one entry: a query touches many lines, and each line is a miss of the cache.
#ifndef POWERCUT_REPLAYER_UNDECIDED_LINE_TABLE_H_
#define POWERCUT_REPLAYER_UNDECIDED_LINE_TABLE_H_

#include <sys/mman.h>

#include <cstdint>
#include <stdexcept>

namespace powercut {

// Zeroed memory that costs nothing until it is touched, for arrays as long as the pool or the heap.
template <typename T>
class LazyArray {
 public:
  explicit LazyArray(uint64_t count) : bytes_(count * sizeof(T)) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no address space for the executor's tables");
    at_ = static_cast<T*>(at);
  }
  ~LazyArray() { munmap(at_, bytes_); }
  LazyArray(const LazyArray&) = delete;
  LazyArray& operator=(const LazyArray&) = delete;
  T& operator[](uint64_t i) { return at_[i]; }
  const T& operator[](uint64_t i) const { return at_[i]; }
  // Asks the kernel for huge pages, since entries are looked up at random; only a hint.
  void use_huge_pages() { madvise(at_, bytes_, MADV_HUGEPAGE); }

 private:
  uint64_t bytes_;
  T* at_;
};

struct LineInfo {
  uint32_t slot;        // UndecidedMemory's: 1 + index of its entry, 0 = the content is definite
  uint32_t read_stamp;  // ReadLog's: the epoch that read_mask is of
  uint64_t read_mask;
  uint32_t seen_stamp;  // RecoveryFollower's: the path that seen_mask is of
  uint32_t ever_read;   // ReadLog's
  uint64_t seen_mask;   // bytes that this recovery has read or stored
};
using LineTable = LazyArray<LineInfo>;

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_LINE_TABLE_H_
