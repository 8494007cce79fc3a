// Every segment of the table, in order of offset: volatile, built at open. It answers whether a block belongs to
// the table, and remembers which buckets close() has to write back. Threads change it under the lock of the memory.
#ifndef POWERCUT_TARGETS_DASH_SEGMENT_LIST_H_
#define POWERCUT_TARGETS_DASH_SEGMENT_LIST_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace powercut::dash {

class SegmentList {
 public:
  SegmentList() = default;
  SegmentList(const SegmentList&) = delete;
  SegmentList& operator=(const SegmentList&) = delete;
  ~SegmentList() { delete[] nodes_; }

  uint64_t size() const { return size_; }
  uint64_t offset(uint64_t index) const { return nodes_[index].offset; }

  // Makes room for one more, of a split that ends in Add() or Unreserve(). False: no memory.
  bool Reserve() {
    ++reserved_;
    if (size_ + reserved_ <= capacity_) return true;
    const uint64_t capacity = capacity_ == 0 ? 16 : 2 * capacity_;
    Node* nodes = new (std::nothrow) Node[capacity];
    if (nodes == nullptr) {
      --reserved_;
      return false;
    }
    std::copy(nodes_, nodes_ + size_, nodes);
    delete[] nodes_;
    nodes_ = nodes;
    capacity_ = capacity;
    return true;
  }
  void Unreserve() { --reserved_; }
  // Precondition: Reserve() has returned true.
  void Add(uint64_t offset) {
    Node* at = Find(offset);
    std::copy_backward(at, nodes_ + size_, nodes_ + size_ + 1);
    *at = Node{offset, {0, 0}};
    ++size_;
    --reserved_;
  }
  bool Has(uint64_t offset) const {
    const Node* at = Find(offset);
    return at != nodes_ + size_ && at->offset == offset;
  }

  void Touch(uint64_t offset, uint32_t bucket) { Find(offset)->touched[bucket >> 6] |= uint64_t{1} << (bucket & 63); }
  // The bucket's metadata was flushed.
  void Settle(uint64_t offset, uint32_t bucket) {
    Find(offset)->touched[bucket >> 6] &= ~(uint64_t{1} << (bucket & 63));
  }
  bool IsTouched(uint64_t index, uint32_t bucket) const {
    return (nodes_[index].touched[bucket >> 6] >> (bucket & 63) & 1) != 0;
  }

 private:
  struct Node {
    uint64_t offset = 0;
    uint64_t touched[2] = {0, 0};  // one bit a bucket
  };
  Node* Find(uint64_t offset) const {
    return std::lower_bound(nodes_, nodes_ + size_, offset,
                            [](const Node& node, uint64_t wanted) { return node.offset < wanted; });
  }

  Node* nodes_ = nullptr;
  uint64_t size_ = 0, capacity_ = 0, reserved_ = 0;
};

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_SEGMENT_LIST_H_
