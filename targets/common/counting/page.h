// A page: a header, entries, and a tag for each entry. Zeroes are a page that was never written.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_PAGE_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_PAGE_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "targets/common/hash.h"

namespace powercut::counting {

enum class Kind : uint32_t {
  kNone = 0,
  kRoot = 0x746f6f72,
  kData = 0x61746164,
  kOverflow = 0x7265766f,
  kChange = 0x676e6863,
  kJournal = 0x6c6e726a
};

enum class Tag : uint8_t {
  kEmpty,
  kCount,
  kErased,  // in the change segment: what came before it does not count
  kPointer  // the last one of a data block: its key is a page of the overflow region
};

struct Entry {
  uint64_t key;
  int64_t count;
};

// `published` writes kind, entries and next alone.
struct PageHeader {
  uint64_t checksum;  // of all else
  Kind kind;
  uint32_t owner;       // data and overflow: the slot
  uint32_t index;       // data: in its block; overflow: in its chain
  uint32_t entries;     // change and overflow: how many, from the first
  uint64_t generation;  // data and overflow: of the block; change: the sequence number of the page
  uint64_t merged;      // data: records of change pages up to this one are in the block
  uint64_t next;        // overflow: the next page of the chain, plus 1; journal: the page that it is a copy of
};

// A view of bytes as a page; with `const uint8_t` the page is only read.
template <typename Byte>
class BasicPage {
  template <typename T>
  using Like = std::conditional_t<std::is_const_v<Byte>, const T, T>;

 public:
  static constexpr uint32_t Room(uint32_t bytes) {
    return static_cast<uint32_t>((bytes - sizeof(PageHeader)) / (sizeof(Entry) + sizeof(Tag)));
  }

  BasicPage(Byte* bytes, uint32_t size) : bytes_(bytes), size_(size) {}
  operator BasicPage<const uint8_t>() const { return {bytes_, size_}; }  // NOLINT(google-explicit-constructor)

  Like<PageHeader>& header() const { return *reinterpret_cast<Like<PageHeader>*>(bytes_); }
  static constexpr uint32_t OffsetOf(uint32_t entry) {
    return static_cast<uint32_t>(sizeof(PageHeader) + entry * sizeof(Entry));
  }
  Like<Entry>& entry(uint32_t i) const { return *reinterpret_cast<Like<Entry>*>(bytes_ + OffsetOf(i)); }
  Like<Tag>& tag(uint32_t i) const {
    return reinterpret_cast<Like<Tag>*>(bytes_ + sizeof(PageHeader) + Room(size_) * sizeof(Entry))[i];
  }
  Byte* bytes() const { return bytes_; }

  void Clear() const { std::memset(bytes_, 0, size_); }
  void Put(uint32_t i, Tag kind, uint64_t key, int64_t count) const {
    entry(i) = {key, count};
    tag(i) = kind;
  }
  void Seal() const { header().checksum = Checksum(); }
  bool IsZero() const { return bytes_[0] == 0 && std::memcmp(bytes_, bytes_ + 1, size_ - 1) == 0; }
  bool IsSealed(Kind kind) const { return header().kind == kind && header().checksum == Checksum(); }

 private:
  uint64_t Checksum() const {
    uint64_t sum = size_;
    for (uint32_t at = sizeof(uint64_t); at < size_; at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, bytes_ + at, sizeof word);
      sum = (sum ^ word) * 0x9fb21c651e98df25;
      sum ^= sum >> 35;
    }
    return Mix(sum);
  }

  Byte* bytes_;
  uint32_t size_;
};
using Page = BasicPage<uint8_t>;
using PageView = BasicPage<const uint8_t>;

}  // namespace powercut::counting
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_PAGE_H_
