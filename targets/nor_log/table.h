// A log of records in the sectors of NOR flash, as embedded key-value stores have it. README.md has the layout, and why
// `hardened` is safe.
#ifndef POWERCUT_TARGETS_NOR_LOG_TABLE_H_
#define POWERCUT_TARGETS_NOR_LOG_TABLE_H_

#include <cstring>
#include <vector>

#include "targets/common/planted_bugs.h"
#include "targets/nor_log/options.h"

namespace powercut {
class Drawing;
}

namespace powercut::nor_log {

constexpr uint32_t kNone = ~0u;

class Table {
 public:
  using Options = nor_log::Options;

  static powercut_status ParseOptions(const powercut_config& config, Options* out);  // target.cc
  static void Traits(const Options&, powercut_traits* out) { out->needs_zeroed_pool = 1; }
  static powercut_status Format(powercut_pool pool, const Options& options);             // recover.cc
  static powercut_status Open(powercut_pool pool, const Options& options, Table** out);  // recover.cc
  const Options& options() const { return options_; }

  powercut_status Insert(const uint8_t* key, const uint8_t* value) { return Append(key, value, kNone); }
  powercut_status Update(const uint8_t* key, const uint8_t* value);
  powercut_status Erase(const uint8_t* key);
  powercut_status Lookup(const uint8_t* key, uint8_t* value) const;
  powercut_status Maintain(const char*) { return POWERCUT_UNSUPPORTED; }

  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) const {
    const uint32_t slot = Find(key);
    if (slot != kNone) Show(slot, visit);
  }
  // A region is a sector.
  uint64_t regions() const { return options_.sectors; }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    for (uint32_t i = 0; i < slots_; ++i) {
      const uint32_t slot = static_cast<uint32_t>(region) * slots_ + i;
      if (states_[slot].kind == Kind::kLive && Show(slot, visit)) return;
    }
  }
  void Draw(Drawing* to) const;  // draw.cc
  // CORRUPT if a live record of the sector cannot be read, or is not the one that open has seen.
  powercut_status Verify(uint64_t region, char* message, size_t size) const;

  struct Blocks {
    template <typename Visit>
    bool ForEach(Visit) const {
      return true;
    }
  };
  Blocks allocator() const { return {}; }
  bool Reaches(uint64_t) const { return true; }

 private:
  static constexpr uint32_t kKey = 8, kMostValue = 64;
  // A record's header is its key, its sequence number and a checksum over the three parts. The header of a sector is a
  // magic number, its generation and a checksum; the line of use adds the sector that it takes the place of.
  struct Header {
    uint8_t key[kKey];
    uint32_t sequence, checksum;
  };
  static constexpr uint32_t kSectorHeader = 12, kUse = 16;

  enum class Kind : uint8_t { kFree, kUsed, kLive };
  struct State {
    Kind kind;
    uint32_t sequence;
    uint64_t key;
  };
  struct Use {
    uint32_t victim, generation;  // kNone: it takes nobody's place
  };

  Table(powercut_pool pool, const Options& options);

  bool Has(Bug bug) const {
    const bool reported = bug == Bug::kTornHeader || bug == Bug::kBlankHeader || bug == Bug::kProgramAgain;
    return options_.bug == bug || (reported && !options_.hardened);
  }
  uint32_t Up(uint32_t bytes) const { return (bytes + options_.unit - 1) / options_.unit * options_.unit; }
  // Places on the device.
  uint64_t SectorAt(uint32_t sector) const { return uint64_t{sector} * options_.sector; }
  uint64_t UseAt(uint32_t sector) const { return SectorAt(sector) + Up(kSectorHeader); }
  uint64_t SlotAt(uint32_t slot) const {
    return UseAt(slot / slots_) + Up(kUse) + uint64_t{slot % slots_} * slot_bytes_;
  }
  uint64_t WholeAt(uint32_t slot) const { return SlotAt(slot) + record_bytes_; }
  uint64_t DeadAt(uint32_t slot) const { return WholeAt(slot) + Up(1); }

  // Operations on the device; false, or CORRUPT, if it refuses them.
  bool Program(uint64_t at, const void* data, uint32_t size);
  bool SetStatus(uint64_t at);
  bool IsSet(uint64_t at) const { return !powercut_nor_is_blank(&device_, at, options_.unit); }
  bool IsDead(uint32_t slot) const;
  bool Equals(uint64_t at, uint32_t word) const { return powercut_nor_equals(&device_, at, &word, sizeof word) != 0; }
  bool ReadWord(uint64_t at, uint32_t* word) const {
    return powercut_nor_read(&device_, at, word, sizeof *word) == POWERCUT_NOR_OK;
  }

  // table.cc
  uint32_t Find(const uint8_t* key) const;
  uint32_t FindFree() const;
  bool Read(uint32_t slot, Header* header, uint8_t* value) const;
  bool Write(uint32_t slot, const uint8_t* key, const uint8_t* value, uint32_t sequence);
  bool Kill(uint32_t slot);
  powercut_status Append(const uint8_t* key, const uint8_t* value, uint32_t older);
  static uint32_t Checksum(const void* bytes, size_t size, uint32_t seed);
  template <typename Visit>
  bool Show(uint32_t slot, Visit visit) const {
    Header header;
    uint8_t value[kMostValue];
    return Read(slot, &header, value) && visit(header.key, value);
  }

  // recover.cc
  powercut_status Recover();
  bool ReadSector(uint32_t sector, uint32_t* generation) const;
  bool ReadUse(uint32_t sector, Use* use) const;
  bool IsErased(uint32_t sector, bool formatted) const;
  void ReadSlot(uint32_t slot);
  bool KillOlder();

  // collect.cc
  powercut_status Collect();
  bool Prepare(uint32_t sector, bool erased);
  bool Take(uint32_t sector, const Use& use);

  const Options options_;
  powercut_nor device_;
  uint32_t record_bytes_, slot_bytes_, slots_;  // of a sector
  std::vector<State> states_;                   // of all slots
  std::vector<uint32_t> generations_;           // of all sectors
  uint32_t spare_ = kNone, generation_ = 0, sequence_ = 0;
};

}  // namespace powercut::nor_log
#endif  // POWERCUT_TARGETS_NOR_LOG_TABLE_H_
