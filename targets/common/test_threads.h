// Real threads on one table of a scheme: some order of the operations must explain all answers. Schedules and power
// cuts at the same time are powercut's job; this is the shipped build on the real machine.
#ifndef POWERCUT_TARGETS_COMMON_TEST_THREADS_H_
#define POWERCUT_TARGETS_COMMON_TEST_THREADS_H_

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "targets/common/config.h"
#include "targets/common/test_table.h"

namespace powercut::test {

// Commands for `maintain` beside the operations. After each `every` operations a thread gives the next command, and the
// threads take turns. OK and FULL are right answers.
struct Maintenance {
  std::vector<const char*> commands;
  uint64_t every = 50;
};

class TableThreads {
 public:
  static constexpr int kThreads = 4;
  // A value's id is key * kSerials + serial.
  static constexpr uint64_t kSerials = 1 << 20;

  // `background`: the table's own threads, or null.
  explicit TableThreads(TestTable* table, Maintenance maintenance = {}, const powercut_background* background = nullptr)
      : table_(*table), maintenance_(std::move(maintenance)), background_(background) {}

  // `work(i)` in a thread each, which begin at the same time.
  void Run(const std::function<void(int)>& work) { Run(kThreads, work); }
  void Run(int count, const std::function<void(int)>& work) {
    std::atomic<int> waiting = count;
    std::atomic<bool> is_over = false;
    std::vector<std::thread> clients, own;
    const uint32_t own_count = background_ == nullptr ? 0 : background_->threads(table_.handle());
    for (uint32_t number = 0; number < own_count; ++number) {
      own.emplace_back([&, number] {
        while (!is_over) {
          const powercut_status status = background_->work(table_.handle(), number);
          ASSERT_TRUE(status == POWERCUT_OK || status == POWERCUT_NOT_FOUND);
          if (status == POWERCUT_NOT_FOUND) std::this_thread::yield();
        }
      });
    }
    for (int i = 0; i < count; ++i) {
      clients.emplace_back([&, i] {
        --waiting;
        while (waiting != 0) std::this_thread::yield();
        work(i);
      });
    }
    for (std::thread& thread : clients) thread.join();
    is_over = true;
    for (std::thread& thread : own) thread.join();
  }

  // All threads insert all keys, in the same order.
  void OneOfManyInsertsOfAKeySucceeds(uint64_t keys) {
    std::vector<std::array<powercut_status, kThreads>> status(keys + 1);
    Run([&](int i) {
      for (uint64_t key = 1; key <= keys; ++key) status[key][i] = table_.Insert(key, 10 * key + i);
    });
    std::multimap<std::string, std::string> expected;
    for (uint64_t key = 1; key <= keys; ++key) {
      int winner = -1;
      for (int i = 0; i < kThreads; ++i) {
        if (status[key][i] == POWERCUT_EXISTS) continue;
        ASSERT_EQ(status[key][i], POWERCUT_OK);
        ASSERT_EQ(winner, -1) << "key " << key;
        winner = i;
      }
      ASSERT_NE(winner, -1);
      expected.emplace(table_.Key(key), table_.Value(10 * key + winner));
    }
    CheckTwice([&] { ASSERT_EQ(table_.Contents(), expected); });
  }

  // The threads share buckets, locks and resizes, but no key.
  void AThreadSeesItsOwnKeysAsIfItWereAlone(uint64_t operations) {
    std::array<std::map<uint64_t, uint64_t>, kThreads> models;
    std::array<std::string, kThreads> wrong;
    Run([&](int i) {
      std::mt19937_64 random(i);
      std::map<uint64_t, uint64_t>& model = models[i];
      for (uint64_t serial = 1; serial <= operations && wrong[i].empty(); ++serial) {
        const uint64_t key = 1 + i + kThreads * (random() % 12), value = serial * kThreads + i;
        const bool present = model.count(key) != 0;
        powercut_status status = POWERCUT_OK, expected = present ? POWERCUT_OK : POWERCUT_NOT_FOUND;
        const uint64_t dice = random() % 10;
        if (!Maintain(serial)) {
          wrong[i] = "maintain";
        } else if (dice < 4) {
          status = table_.Insert(key, value);
          expected = present ? POWERCUT_EXISTS : POWERCUT_OK;
          if (!present) model[key] = value;
        } else if (dice < 7) {
          status = table_.Update(key, value);
          if (present) model[key] = value;
        } else {
          status = table_.Erase(key);
          model.erase(key);
        }
        const auto found = model.find(key);
        const std::string now = found == model.end() ? "" : table_.Value(found->second);
        if (status != expected || table_.Lookup(key) != now) wrong[i] += "operation " + std::to_string(serial);
      }
    });
    for (const std::string& message : wrong) ASSERT_EQ(message, "");
    std::multimap<std::string, std::string> expected;
    for (const auto& model : models) {
      for (const auto& [key, value] : model) expected.emplace(table_.Key(key), table_.Value(value));
    }
    CheckTwice([&] { ASSERT_EQ(table_.Contents(), expected); });
  }

  // The threads share all keys. A key is there at the end if it was inserted once more than it was erased. The
  // neighbours fill the buckets: no thread writes the neighbours, but they may be moved.
  void InsertsAndErasesOfSharedKeysAlternate(uint64_t operations) {
    constexpr uint64_t kKeys = 5, kNeighbours = 12;
    for (uint64_t key = 0; key < kNeighbours; ++key) ASSERT_EQ(table_.Insert(100 + key, 1), POWERCUT_OK);
    std::array<std::array<int, kKeys>, kThreads> balance{};
    std::array<std::string, kThreads> wrong;
    std::map<std::string, uint64_t> key_of;  // of every value
    for (uint64_t key = 0; key < kKeys; ++key) {
      for (uint64_t serial = 0; serial < operations * kThreads; ++serial) {
        key_of[table_.Value(key * kSerials + serial)] = key;
      }
    }
    Run([&](int i) {
      std::mt19937_64 random(100 + i);
      for (uint64_t n = 0; n < operations && wrong[i].empty(); ++n) {
        const uint64_t key = random() % kKeys, value = key * kSerials + n * kThreads + i;
        powercut_status status = POWERCUT_OK;
        if (!Maintain(n + 1)) wrong[i] = "maintain";
        switch (random() % 4) {
          case 0:
            status = table_.Insert(1 + key, value);
            if (status == POWERCUT_OK) ++balance[i][key];
            if (status != POWERCUT_OK && status != POWERCUT_EXISTS) wrong[i] = "insert";
            break;
          case 1:
            status = table_.Update(1 + key, value);
            if (status != POWERCUT_OK && status != POWERCUT_NOT_FOUND) wrong[i] = "update";
            break;
          case 2:
            status = table_.Erase(1 + key);
            if (status == POWERCUT_OK) --balance[i][key];
            if (status != POWERCUT_OK && status != POWERCUT_NOT_FOUND) wrong[i] = "erase";
            break;
          default: {
            const std::string found = table_.Lookup(1 + key);
            const auto known = key_of.find(found);
            if (!found.empty() && (known == key_of.end() || known->second != key)) wrong[i] = "lookup";
            if (table_.Lookup(100 + random() % kNeighbours) != table_.Value(1)) wrong[i] = "lookup of a neighbour";
          }
        }
      }
    });
    for (const std::string& message : wrong) ASSERT_EQ(message, "");
    CheckTwice([&] {
      for (uint64_t key = 0; key < kKeys; ++key) {
        int sum = 0;
        for (const auto& of_thread : balance) sum += of_thread[key];
        ASSERT_TRUE(sum == 0 || sum == 1) << "key " << key << ": " << sum;
        const std::vector<std::string> copies = table_.Copies(1 + key);
        ASSERT_EQ(copies.size(), static_cast<size_t>(sum)) << "key " << key;
        if (sum == 1) ASSERT_EQ(key_of.at(copies[0]), key);
      }
    });
  }

  // Each thread inserts keys of its own, so the table grows under all threads. No lookup may miss a key while the key
  // is moved.
  void NoKeyIsMissedWhileTheTableGrows(uint64_t keys) {
    std::array<std::string, kThreads> wrong;
    Run([&](int i) {
      for (uint64_t n = 0; n < keys && wrong[i].empty(); ++n) {
        const uint64_t key = 1 + n * kThreads + i, early = 1 + n / 2 * kThreads + i;
        if (table_.Insert(key, key) != POWERCUT_OK) wrong[i] = "insert of key " + std::to_string(key);
        for (const uint64_t present : {key, early}) {
          if (table_.Lookup(present) != table_.Value(present)) wrong[i] = "lookup of key " + std::to_string(present);
        }
      }
    });
    for (const std::string& message : wrong) ASSERT_EQ(message, "");
    CheckTwice([&] { ASSERT_EQ(table_.Contents().size(), keys * kThreads); });
  }

  // Where recovery is lazy, no segment is recovered after a cut. The first threads that come to a segment recover the
  // segment, beside searches in it.
  void SegmentsAreRecoveredUnderTheirClients() {
    constexpr uint64_t kKeys = 200;
    for (uint64_t key = 1; key <= kKeys; ++key) ASSERT_EQ(table_.Insert(key, key), POWERCUT_OK);
    for (uint64_t round = 1; round <= 20; ++round) {
      ASSERT_EQ(table_.Cut(), POWERCUT_OK);
      std::array<std::string, kThreads> wrong;
      Run([&](int i) {
        for (uint64_t key = 1; key <= kKeys; ++key) {
          const std::string found = table_.Lookup(key);
          if (found != table_.Value(key + kKeys * (round - 1)) && found != table_.Value(key + kKeys * round)) {
            wrong[i] = "lookup of key " + std::to_string(key);
          }
          if (table_.Update(key, key + kKeys * round) != POWERCUT_OK) wrong[i] = "update of key " + std::to_string(key);
        }
      });
      for (const std::string& message : wrong) ASSERT_EQ(message, "");
      ASSERT_EQ(table_.Contents().size(), kKeys);
      ASSERT_EQ(table_.Damage(), "");
    }
  }

 private:
  bool Maintain(uint64_t serial) {
    if (maintenance_.commands.empty() || serial % maintenance_.every != 0) return true;
    const powercut_status status =
        table_.Maintain(maintenance_.commands[serial / maintenance_.every % maintenance_.commands.size()]);
    return status == POWERCUT_OK || status == POWERCUT_FULL;
  }

  // Runs the check on the present table, and again after a cut and the next open.
  void CheckTwice(const std::function<void()>& check) {
    for (int opening = 0; opening < 2; ++opening) {
      check();
      ASSERT_EQ(table_.Damage(), "");
      ASSERT_EQ(table_.Cut(), POWERCUT_OK);
    }
  }

  TestTable& table_;
  Maintenance maintenance_;
  const powercut_background* background_;
};

// A small table of `hardened`, open, and its threads. `Param` is what the scheme's tests vary.
template <typename Param>
class ThreadsTest : public ::testing::TestWithParam<Param> {
 protected:
  struct Sizes {
    uint32_t key = 8, value = 8;
    uint64_t pool = 1 << 20;
  };

  // `settings`: beside concurrency.
  explicit ThreadsTest(TestTable::Settings settings, Sizes sizes, Maintenance maintenance = {},
                       const powercut_background* background = nullptr)
      : table_(powercut_target_entry(POWERCUT_TARGET_ABI), "hardened", Concurrent(std::move(settings)), sizes.key,
               sizes.value, sizes.pool),
        threads_(&table_, std::move(maintenance), background) {}

  void SetUp() override {
    ASSERT_EQ(table_.Format(), POWERCUT_OK) << table_.error();
    ASSERT_EQ(table_.Open(), POWERCUT_OK);
  }

  TestTable table_;
  TableThreads threads_;

 private:
  static TestTable::Settings Concurrent(TestTable::Settings settings) {
    settings.emplace_back("concurrency", "concurrent");
    return settings;
  }
};

// Expects the traits of a variant on threads, and on an insert of a present key.
inline void ExpectTraits(const char* variant, bool concurrent, uint32_t key_size, uint32_t value_size, bool thread_safe,
                         bool checks_exists) {
  const powercut_option option = {"concurrency", "concurrent"};
  const powercut_config config = ConfigOf(variant, &option, concurrent ? 1u : 0u, key_size, value_size);
  powercut_traits traits;
  ASSERT_EQ(powercut_target_entry(POWERCUT_TARGET_ABI)->traits(&config, &traits), POWERCUT_OK);
  EXPECT_EQ(traits.thread_safe != 0, thread_safe) << variant;
  EXPECT_EQ(traits.checks_exists != 0, checks_exists) << variant;
}

}  // namespace powercut::test
// The tests that the threads of every scheme pass, with so many keys or turns.
#define POWERCUT_THREADS_TESTS(Suite, inserts, own_keys, shared_keys)                                       \
  TEST_P(Suite, OneOfManyInsertsOfAKeySucceeds) { threads_.OneOfManyInsertsOfAKeySucceeds(inserts); }       \
  TEST_P(Suite, AThreadSeesItsOwnKeys) { threads_.AThreadSeesItsOwnKeysAsIfItWereAlone(own_keys); }         \
  TEST_P(Suite, InsertsAndErasesAlternate) { threads_.InsertsAndErasesOfSharedKeysAlternate(shared_keys); } \
  static_assert(true)

#endif  // POWERCUT_TARGETS_COMMON_TEST_THREADS_H_
