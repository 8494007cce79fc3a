// A scheme as a test sees it: a pool in ordinary memory, the target ABI, and a std::map that it must agree with.
#ifndef POWERCUT_TARGETS_COMMON_TEST_TABLE_H_
#define POWERCUT_TARGETS_COMMON_TEST_TABLE_H_

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "powercut/target.h"
#include "targets/common/config.h"

namespace powercut::test {

// Values of different ids share no byte pattern (scenarios/SCHEMA.md makes its keys the same way).
inline std::string Spread(uint64_t id, size_t size) {
  std::string out;
  for (uint64_t chunk = 0; out.size() < size; ++chunk) {
    uint64_t x = id + 0x9E3779B97F4A7C15 * chunk;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    out.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  out.resize(size);
  return out;
}

class TestTable {
 public:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // `least_value_size`: where values differ in size, of the shortest one; 0: all have one size.
  TestTable(const powercut_target* target, std::string variant, Settings settings, uint32_t key_size,
            uint32_t value_size, uint64_t pool_size, uint32_t least_value_size = 0)
      : target_(target), variant_(std::move(variant)), settings_(std::move(settings)) {
    for (const auto& [key, value] : settings_) options_.push_back({key.c_str(), value.c_str()});
    config_ = ConfigOf(variant_.c_str(), options_.data(), options_.size(), key_size, value_size, error_, sizeof error_);
    if (least_value_size != 0) config_.least_value_size = least_value_size;
    pool_.size = pool_size;
    void* at = mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap of the test pool failed");
    pool_.base = static_cast<uint8_t*>(at);
  }
  TestTable(const TestTable&) = delete;
  TestTable& operator=(const TestTable&) = delete;
  ~TestTable() {
    Close();
    for (powercut_table* table : lost_) target_->close(table);
    munmap(pool_.base, pool_.size);
  }

  powercut_status Format() { return target_->format(pool_, &config_); }
  powercut_status Open() { return target_->open(pool_, &config_, &table_); }
  void Close() {
    if (table_ != nullptr) target_->close(std::exchange(table_, nullptr));
  }
  // Reopens the table after a power cut at which every visible store was durable. Returns the status of open.
  powercut_status Cut() {
    if (table_ != nullptr) lost_.push_back(std::exchange(table_, nullptr));  // not closed: it must not tidy up
    return Open();
  }

  powercut_status Insert(uint64_t key, uint64_t value) {
    const std::string k = Key(key), v = Value(value);
    return target_->insert(table_, Bytes(k), Bytes(v));
  }
  powercut_status Update(uint64_t key, uint64_t value) {
    const std::string k = Key(key), v = Value(value);
    return target_->update(table_, Bytes(k), Bytes(v));
  }
  // For a table of counters: adds `delta` to the key's sum.
  powercut_status Increment(uint64_t key, int64_t delta) {
    const std::string k = Key(key);
    return target_->increment(table_, Bytes(k), delta);
  }
  // The count of the key; 0 when it is absent. Nothing where lookup fails.
  std::optional<int64_t> Sum(uint64_t key) {
    const std::string k = Key(key);
    int64_t sum = 0;
    size_t size = 0;
    const powercut_status status = target_->lookup(table_, Bytes(k), &sum, sizeof sum, &size);
    if (status == POWERCUT_NOT_FOUND) return 0;
    if (status != POWERCUT_OK || size != sizeof sum || sum == 0) return std::nullopt;
    return sum;
  }
  powercut_status Erase(uint64_t key) { return target_->erase(table_, Bytes(Key(key))); }
  // The value, or "" when the key is absent.
  std::string Lookup(uint64_t key) {
    char value[256];
    size_t size = 0;
    if (target_->lookup(table_, Bytes(Key(key)), value, sizeof value, &size) != POWERCUT_OK) return "";
    return {value, size};
  }
  powercut_status Maintain(const char* command) { return target_->maintain(table_, command); }

  std::string Key(uint64_t id) const { return Spread(id, config_.key_size); }
  std::string Value(uint64_t id) const { return Spread(id + (uint64_t{1} << 32), config_.value_size); }

  std::vector<std::string> Copies(uint64_t key) {
    std::vector<std::string> values;
    target_->copies(table_, Bytes(Key(key)), CollectValue, &values);
    return values;
  }
  // Every item of every region.
  std::multimap<std::string, std::string> Contents() {
    std::multimap<std::string, std::string> items;
    for (uint64_t region = 0; region < target_->regions(table_); ++region) {
      target_->walk(table_, region, CollectItem, &items);
    }
    return items;
  }
  // The first violated invariant, or "". `may_leak`: blocks that nothing reaches are none.
  std::string Damage(bool may_leak = false) {
    char message[256] = "";
    for (uint64_t region = 0; region < target_->regions(table_); ++region) {
      if (target_->verify(table_, region, message, sizeof message) != POWERCUT_OK) return message;
    }
    if (may_leak) return "";
    struct Blocks {
      TestTable* self;
      std::string damage;
    } blocks{this, ""};
    const powercut_status walked = target_->blocks(
        table_,
        [](void* context, uint64_t offset, uint64_t) {
          auto* blocks = static_cast<Blocks*>(context);
          if (blocks->self->target_->owner(blocks->self->table_, offset) == 0) {
            blocks->damage = "block at " + std::to_string(offset) + " is allocated and unreachable";
          }
          return 0;
        },
        &blocks);
    return walked == POWERCUT_OK ? blocks.damage : "the allocation table is damaged";
  }

  const char* error() const { return error_; }
  powercut_pool pool() const { return pool_; }
  powercut_table* handle() { return table_; }

 private:
  static powercut_bytes Bytes(const std::string& text) { return {text.data(), text.size()}; }
  static std::string Text(powercut_bytes bytes) { return {static_cast<const char*>(bytes.data), bytes.size}; }
  static int CollectValue(void* context, powercut_bytes, powercut_bytes value) {
    static_cast<std::vector<std::string>*>(context)->push_back(Text(value));
    return 0;
  }
  static int CollectItem(void* context, powercut_bytes key, powercut_bytes value) {
    static_cast<std::multimap<std::string, std::string>*>(context)->emplace(Text(key), Text(value));
    return 0;
  }

  const powercut_target* target_;
  std::string variant_;
  Settings settings_;
  std::vector<powercut_option> options_;
  char error_[256] = "";
  powercut_config config_{};
  powercut_pool pool_{};
  powercut_table* table_ = nullptr;
  std::vector<powercut_table*> lost_;  // handles of cut runs
};

}  // namespace powercut::test
#endif  // POWERCUT_TARGETS_COMMON_TEST_TABLE_H_
