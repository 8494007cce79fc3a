// An SSD as a map: a key has a logical page, which holds the key and the value. README.md says what that judges.
#ifndef POWERCUT_TARGETS_SSD_TABLE_H_
#define POWERCUT_TARGETS_SSD_TABLE_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "powercut/target.h"
#include "targets/common/ftl/ssd.h"

namespace powercut {
class Drawing;
}

namespace powercut::ssd {

struct Options {
  uint32_t key_size, value_size;
  bool block_mapped;
  bool checkpoint;
  uint32_t page;     // bytes
  uint32_t pages;    // of a block
  uint32_t blocks;   // for data
  uint32_t logical;  // pages
  bool hardened;
  ftl::Bug bug;
};

class Table {
 public:
  using Options = ssd::Options;

  static powercut_status ParseOptions(const powercut_config& config, Options* out);  // target.cc
  static ftl::Ssd::Options DeviceOf(const Options& options);                         // target.cc
  static void Traits(const Options&, powercut_traits* out) { out->needs_zeroed_pool = 1; }
  static powercut_status Format(powercut_pool pool, const Options& options);
  // Writes nothing. NOT_FORMATTED, CORRUPT.
  static powercut_status Open(powercut_pool pool, const Options& options, Table** out);
  const Options& options() const { return options_; }

  powercut_status Insert(const uint8_t* key, const uint8_t* value);
  powercut_status Update(const uint8_t* key, const uint8_t* value);
  powercut_status Erase(const uint8_t* key);
  powercut_status Lookup(const uint8_t* key, uint8_t* value);
  powercut_status Maintain(const char*) { return POWERCUT_UNSUPPORTED; }

  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) {
    const uint32_t page = Find(key);
    if (page != ftl::kNone && ReadPage(page)) visit(page_.data(), page_.data() + kKey);
  }
  // A region is a logical page.
  uint64_t regions() const { return ssd_.logical(); }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) {
    const auto page = static_cast<uint32_t>(region);
    if (ssd_.Has(page) && ReadPage(page)) visit(page_.data(), page_.data() + kKey);
  }
  powercut_status Verify(uint64_t region, char* message, size_t size);  // verify.cc
  void Draw(Drawing* to);                                               // draw.cc

  // A block is an erase block that is not free.
  struct Blocks {
    const Table& table;
    template <typename Visit>
    bool ForEach(Visit visit) const {
      const ftl::Ssd& ssd = table.ssd_;
      for (uint32_t block = ssd.first_block(); block < ssd.nand().geometry().blocks; ++block) {
        if (ssd.IsUsed(block)) visit(table.OffsetOf(block), ftl::RawNand::kPlaceSize);
      }
      return true;
    }
  };
  Blocks allocator() const { return {*this}; }
  bool Reaches(uint64_t offset) const;  // verify.cc

 private:
  static constexpr uint32_t kKey = 8;

  Table(powercut_pool pool, const Options& options);

  // The logical page of a key; kNone.
  uint32_t Find(const uint8_t* key) const;
  bool ReadPage(uint32_t page) { return ssd_.Read(page, page_.data()) == ftl::Status::kOk; }
  powercut_status WritePage(uint32_t page, const uint8_t* key, const uint8_t* value);
  uint64_t OffsetOf(uint32_t block) const {
    return static_cast<uint64_t>(static_cast<const uint8_t*>(ssd_.nand().PlaceOfBlock(block)) - pool_.base);
  }

  const powercut_pool pool_;
  const Options options_;
  ftl::Ssd ssd_;
  std::vector<uint64_t> keys_;  // of logical pages that are there
  std::vector<uint8_t> page_;   // what was read last
};

}  // namespace powercut::ssd
#endif  // POWERCUT_TARGETS_SSD_TABLE_H_
