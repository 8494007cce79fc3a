// Which groups of queries have read which bytes: from a line that changed to the groups that may answer otherwise.
#ifndef POWERCUT_REPLAYER_SEARCH_READ_INDEX_H_
#define POWERCUT_REPLAYER_SEARCH_READ_INDEX_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "replayer/search/subject.h"

namespace powercut {

// A group as one number, for tables.
inline constexpr uint32_t code_of(Group group) { return static_cast<uint32_t>(group.kind) << 30 | group.index; }
inline constexpr Group group_of(uint32_t code) { return {static_cast<GroupKind>(code >> 30), code & ((1u << 30) - 1)}; }
inline constexpr uint32_t kIntruderCode = code_of(kIntruderGroup);
inline constexpr uint32_t bystander_code(uint32_t key) { return code_of(bystander_group(key)); }

class ReadIndex {
 public:
  struct Reader {
    uint32_t group;
    uint32_t low, high;  // halves of the mask, so that an entry takes 12 bytes
    uint64_t mask() const { return uint64_t{high} << 32 | low; }
  };
  struct Readers {
    uint64_t any = 0;       // bytes that some group has read
    bool everyone = false;  // more groups than are listed: all of them count as readers of `any`
    std::vector<Reader> groups;
  };
  // The reads of one group; the caller keeps them with the group. Most groups read a few lines, and some the whole
  // table, nearly always in the same order. Therefore find() looks first at the line behind the last one.
  class Reads {
   public:
    // Returns the mask of the line's bytes that were read; null if none were.
    uint64_t* find(uint64_t line);
    void add(uint64_t line, uint64_t mask);

   private:
    static constexpr size_t kFew = 8;
    absl::InlinedVector<std::pair<uint64_t, uint64_t>, 6> lines_;      // line, mask
    std::unique_ptr<absl::flat_hash_map<uint64_t, uint32_t>> places_;  // line -> index, if there are many lines
    uint32_t next_ = 0;
  };

  void note(Group group, Reads* reads, uint64_t line, uint64_t mask);
  // Returns the readers of a line; null if no group has read the line.
  const Readers* find(uint64_t line) const;

 private:
  absl::flat_hash_map<uint64_t, Readers> lines_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SEARCH_READ_INDEX_H_
