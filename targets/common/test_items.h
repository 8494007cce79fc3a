// A table whose keys and values have sizes of their own, beside a map that it must agree with. The power is cut at
// named places of the protocol, with all visible stores durable.
#ifndef POWERCUT_TARGETS_COMMON_TEST_ITEMS_H_
#define POWERCUT_TARGETS_COMMON_TEST_ITEMS_H_

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "targets/common/test_cuts.h"
#include "targets/common/test_table.h"

namespace powercut::test {

// The table behind the ABI, `hardened`, with items of any size.
class Items {
 public:
  static constexpr uint32_t kMostKey = 64, kMostValue = 400;

  explicit Items(std::vector<powercut_option> options) : options_(std::move(options)), memory_((1 << 20) + 4096) {
    config_ = ConfigOf("hardened", options_.data(), options_.size(), kMostKey, kMostValue);
    config_.least_key_size = 8;
    config_.least_value_size = 1;
    pool_.size = 1 << 20;
    pool_.base = memory_.data() + (4096 - reinterpret_cast<uintptr_t>(memory_.data()) % 4096);
  }
  ~Items() {
    for (powercut_table* table : opened_) target_->close(table);
  }

  powercut_status Format() { return target_->format(pool_, &config_); }
  powercut_status Open() {
    powercut_table* table = nullptr;
    const powercut_status status = target_->open(pool_, &config_, &table);
    if (status == POWERCUT_OK) opened_.push_back(table);
    return status;
  }
  const powercut_target& target() const { return *target_; }
  powercut_table* table() const { return opened_.back(); }

  std::string Lookup(const std::string& key) {
    char value[kMostValue];
    size_t size = 0;
    const powercut_status status = target_->lookup(table(), {key.data(), key.size()}, value, sizeof value, &size);
    return status == POWERCUT_OK ? std::string(value, size) : "";
  }
  std::string Damage() {
    char message[256] = "";
    for (uint64_t region = 0; region < target_->regions(table()); ++region) {
      if (target_->verify(table(), region, message, sizeof message) != POWERCUT_OK) return message;
    }
    uint64_t lost = 0;
    struct Context {
      Items* items;
      uint64_t* lost;
    } context{this, &lost};
    target_->blocks(
        table(),
        [](void* at, uint64_t offset, uint64_t) {
          const auto* context = static_cast<Context*>(at);
          if (context->items->target_->owner(context->items->table(), offset) == 0) ++*context->lost;
          return 0;
        },
        &context);
    return lost == 0 ? "" : std::to_string(lost) + " blocks are allocated and unreachable";
  }

 private:
  const powercut_target* target_ = powercut_target_entry(POWERCUT_TARGET_ABI);
  std::vector<powercut_option> options_;
  std::vector<uint8_t> memory_;
  powercut_config config_{};
  powercut_pool pool_{};
  std::vector<powercut_table*> opened_;
};

// Operations on so many keys. A third of them is cut somewhere, and half of the recoveries after a cut are cut again.
// An update gives its key a value of another size. `grow` and `shrink`: commands of maintain, or null.
inline void WhatWasAcknowledgedSurvives(Items* items, const char* grow = nullptr, const char* shrink = nullptr,
                                        uint64_t keys = 150) {
  ASSERT_EQ(items->Format(), POWERCUT_OK);
  ASSERT_EQ(items->Open(), POWERCUT_OK);
  std::map<std::string, std::string> model;
  std::mt19937_64 random(11);
  uint64_t cuts = 0;
  for (uint64_t serial = 1; serial <= 4000; ++serial) {
    const uint64_t id = 1 + random() % keys;
    const std::string key = Spread(id, 8 + id % (Items::kMostKey - 7));
    const std::string value = Spread(serial << 32, 1 + random() % Items::kMostValue);
    const powercut_bytes k{key.data(), key.size()}, v{value.data(), value.size()};
    const std::string before = model.contains(key) ? model[key] : "";
    const uint64_t dice = random() % 100;
    const int until_cut = random() % 3 == 0 ? static_cast<int>(random() % (dice < 96 ? 4 : 40)) : -1;
    std::string after = before;
    const powercut_target& target = items->target();
    const auto operate = [&] {
      if (dice >= 96 && grow != nullptr) {
        (void)target.maintain(items->table(), dice < 98 ? grow : shrink);
      } else if (before.empty()) {
        after = value;
        ASSERT_EQ(target.insert(items->table(), k, v), POWERCUT_OK);
      } else if (dice < 55) {
        after = value;
        ASSERT_EQ(target.update(items->table(), k, v), POWERCUT_OK);
      } else {
        after = "";
        ASSERT_EQ(target.erase(items->table(), k), POWERCUT_OK);
      }
    };
    const bool done = EndsUncut(until_cut, &random, 5, operate, [&] { ASSERT_EQ(items->Open(), POWERCUT_OK); });
    cuts += done ? 0 : 1;
    const std::string now = items->Lookup(key);
    ASSERT_TRUE(now == after || (!done && now == before)) << "operation " << serial;
    if (now.empty()) {
      model.erase(key);
    } else {
      model[key] = now;
    }
    if (serial % 50 != 0) continue;
    ASSERT_EQ(items->Damage(), "");
    for (const auto& [live, expected] : model) ASSERT_EQ(items->Lookup(live), expected);
  }
  EXPECT_GT(cuts, 200u);
}

}  // namespace powercut::test
#endif  // POWERCUT_TARGETS_COMMON_TEST_ITEMS_H_
