// Power cuts of a counting table by brute force, without the engine: this program is the device's runtime, and knows of
// each sector what was written to it since the last flush. At every write it makes pools that a power cut may leave,
// opens them, and asks for all counts; then it goes on with such a pool, and cuts the power once more. Linked with one
// scheme.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "powercut/block.h"
#include "targets/common/counting/table.h"
#include "targets/common/enum_names.h"
#include "targets/common/test_table.h"

extern "C" void powercut_hear_contents(void (*listener)(void*, uint64_t, const void*, size_t), void* self);

namespace powercut::counting {
namespace {

using test::TestTable;

constexpr uint64_t kKeys = 7;

// The contents that a power cut may leave in a pool: any version of each sector.
class Versions {
 public:
  explicit Versions(powercut_pool pool) : pool_(pool), of_(pool.size / POWERCUT_BLOCK_LINE) { Floor(); }

  void Observe() {
    for (size_t sector = 0; sector < of_.size(); ++sector) {
      if (of_[sector].back() != *Word(pool_, sector)) of_[sector].push_back(*Word(pool_, sector));
    }
  }
  void Floor() {
    for (size_t sector = 0; sector < of_.size(); ++sector) of_[sector] = {*Word(pool_, sector)};
  }
  void Force(const void* word) {
    const auto sector = static_cast<size_t>(static_cast<const uint8_t*>(word) - pool_.base) / POWERCUT_BLOCK_LINE;
    of_[sector] = {*Word(pool_, sector)};
  }
  bool Holds(const void* word) const {
    const auto* at = static_cast<const uint8_t*>(word);
    return at >= pool_.base && at < pool_.base + pool_.size;
  }

  // Calls visit(choice) with choices of a version for each sector: all of them, or, where there are more than `most`,
  // the oldest and the newest ones, those but for one sector, and some at random.
  void ForEachChoice(size_t most, std::mt19937_64* random,
                     const std::function<bool(const std::vector<size_t>&)>& visit) {
    std::vector<size_t> open;
    size_t count = 1;
    for (size_t sector = 0; sector < of_.size(); ++sector) {
      if (of_[sector].size() > 1) open.push_back(sector);
      count = std::min(most + 1, count * of_[sector].size());
    }
    std::vector<size_t> choice(of_.size(), 0);
    if (count <= most) {
      while (visit(choice)) {
        size_t i = 0;
        while (i < open.size() && ++choice[open[i]] == of_[open[i]].size()) choice[open[i++]] = 0;
        if (i == open.size()) return;
      }
      return;
    }
    std::vector<size_t> newest(of_.size());
    for (size_t sector = 0; sector < of_.size(); ++sector) newest[sector] = of_[sector].size() - 1;
    if (!visit(choice) || !visit(newest)) return;
    for (size_t i = 2; i < most; ++i) {
      if (i % 3 == 0) {
        choice = newest;
        const size_t sector = open[(*random)() % open.size()];
        choice[sector] = (*random)() % of_[sector].size();
      } else {
        for (const size_t sector : open) choice[sector] = (*random)() % of_[sector].size();
      }
      if (!visit(choice)) return;
    }
  }
  void Leave(const std::vector<size_t>& choice, powercut_pool out) const {
    for (size_t sector = 0; sector < of_.size(); ++sector) *Word(out, sector) = of_[sector][choice[sector]];
  }
  std::vector<uint64_t> Names(const std::vector<size_t>& choice) const {
    std::vector<uint64_t> names(of_.size());
    for (size_t sector = 0; sector < of_.size(); ++sector) names[sector] = of_[sector][choice[sector]];
    return names;
  }

 private:
  static uint64_t* Word(powercut_pool pool, size_t sector) {
    return reinterpret_cast<uint64_t*>(pool.base + sector * POWERCUT_BLOCK_LINE);
  }

  powercut_pool pool_;
  std::vector<std::vector<uint64_t>> of_;
};

// The counts of a key after each of its operations, and how many of these a power cut has to keep.
struct Past {
  std::vector<int64_t> counts;
  size_t kept = 0;

  bool Allows(int64_t count) const {
    return std::find(counts.begin() + static_cast<std::ptrdiff_t>(kept), counts.end(), count) != counts.end();
  }
};

struct Budget {
  size_t choices;  // at each write
  double again;    // how often what a cut has left is cut again
  int steps;       // of operations
};

class Run;
Run* current = nullptr;

// One life of a table, cut wherever it writes.
class Run {
 public:
  Run(const std::string& variant, const TestTable::Settings& settings, std::vector<Budget> budgets)
      : variant_(variant),
        settings_(settings),
        budgets_(std::move(budgets)),
        table_(powercut_target_entry(POWERCUT_TARGET_ABI), variant, settings, 8, 8, kPool),
        pasts_(kKeys + 1, Past{{0}, 0}) {}

  // Returns the first fault that was found, or "".
  std::string Live(uint64_t seed) {
    if (table_.Format() != POWERCUT_OK) return "cannot be formatted";
    return Go(seed);
  }
  // Lives on from a pool that a power cut has left. Returns the first fault that was found, or "".
  std::string Resume(uint64_t seed, const Versions& versions, const std::vector<size_t>& choice,
                     const std::vector<Past>& pasts) {
    versions.Leave(choice, table_.pool());
    pasts_ = pasts;
    failure_.clear();
    return Go(seed);
  }

  // A write is about to be made, or was made.
  void Event() {
    if (versions_ == nullptr || !failure_.empty()) return;
    versions_->Observe();
    if (budgets_.size() < 2 || std::uniform_real_distribution<>()(random_) >= budgets_[0].again) return;
    if (next_ == nullptr) {
      next_ = std::make_unique<Run>(variant_, settings_, std::vector(budgets_.begin() + 1, budgets_.end()));
    }
    Run* const self = std::exchange(current, next_.get());
    versions_->ForEachChoice(budgets_[0].choices, &random_, [&](const std::vector<size_t>& choice) {
      if (!seen_.insert(versions_->Names(choice)).second) return true;
      const std::string wrong = next_->Resume(random_(), *versions_, choice, pasts_);
      if (!wrong.empty()) failure_ = "cut in " + doing_ + ": " + wrong;
      return wrong.empty();
    });
    current = self;
  }
  void Flush() {
    Event();
    if (versions_ != nullptr) versions_->Floor();
  }
  void Force(const void* word) {
    Event();
    if (versions_ != nullptr && versions_->Holds(word)) versions_->Force(word);
  }

 private:
  static constexpr uint64_t kPool = 8192;

  // Opens the table and compares its contents with its past. The past is dropped then: only the present contents count
  // from now on. Returns the fault, or "".
  std::string Asked() {
    const std::string opened = Opened();
    if (!opened.empty()) return opened;
    for (uint64_t key = 1; key <= kKeys; ++key) {
      const std::optional<int64_t> sum = table_.Sum(key);
      if (!sum) return "a lookup of key " + std::to_string(key) + " fails";
      if (!pasts_[key].Allows(*sum)) return Wrong(key, *sum, pasts_[key]);
      pasts_[key] = {{*sum}, 0};
    }
    return "";
  }

  std::string Opened() {
    table_.Close();
    const powercut_status status = table_.Open();
    if (status != POWERCUT_OK) return "open says " + std::to_string(status);
    return table_.Damage();
  }

  static std::string Wrong(uint64_t key, int64_t sum, const Past& past) {
    std::string text = "key " + std::to_string(key) + " is " + std::to_string(sum) + ", not one of";
    for (size_t i = past.kept; i < past.counts.size(); ++i) text += " " + std::to_string(past.counts[i]);
    return text;
  }

  std::string Go(uint64_t seed) {
    random_.seed(seed);
    doing_ = "open";
    seen_.clear();
    Versions versions(table_.pool());
    versions_ = &versions;
    Run* const before = std::exchange(current, this);
    std::string wrong = Asked();
    if (failure_.empty()) failure_ = wrong;
    Changed();
    for (int step = 0; step < budgets_[0].steps && failure_.empty(); ++step) Step();
    if (failure_.empty()) Sync();
    current = before;
    versions_ = nullptr;
    if (!failure_.empty()) return failure_;
    // All that was written is there.
    wrong = Opened();
    for (uint64_t key = 1; key <= kKeys && wrong.empty(); ++key) {
      const std::optional<int64_t> sum = table_.Sum(key);
      if (!sum) wrong = "a lookup fails";
      if (wrong.empty() && !pasts_[key].Allows(*sum)) wrong = Wrong(key, *sum, pasts_[key]);
    }
    table_.Close();
    return wrong.empty() ? "" : "opened again: " + wrong;
  }

  void Sync() {
    std::vector<size_t> known;
    for (const Past& past : pasts_) known.push_back(past.counts.size() - 1);
    doing_ = "sync";
    if (table_.Maintain("sync") != POWERCUT_OK) return;
    for (uint64_t key = 1; key <= kKeys; ++key) pasts_[key].kept = known[key];
    Changed();
  }

  void Changed() { seen_.clear(); }

  void Step() {
    const uint64_t key = 1 + random_() % kKeys, dice = random_() % 100;
    Past& past = pasts_[key];
    const int64_t now = past.counts.back();
    if (dice < 86) {
      const bool erase = dice >= 74;
      const int64_t delta = dice < 54 ? 1 + static_cast<int64_t>(random_() % 2) : -1;
      doing_ = (erase ? "erase of " : "increment of ") + std::to_string(key);
      past.counts.push_back(erase ? 0 : now + delta);
      Changed();
      const powercut_status status = erase ? table_.Erase(key) : table_.Increment(key, delta);
      if (status != POWERCUT_OK) past.counts.pop_back();
      if (status != POWERCUT_OK && status != POWERCUT_FULL && status != POWERCUT_NOT_FOUND) {
        failure_ = doing_ + " says " + std::to_string(status);
      }
      if (status == POWERCUT_NOT_FOUND && now != 0) failure_ = doing_ + " finds nothing";
      if (kMember.scheme == Scheme::kUnbuffered) past.kept = past.counts.size() - 1;
    } else if (dice < 95) {
      doing_ = dice < 91 ? "stage" : "merge";
      table_.Maintain(doing_.c_str());
    } else {
      Sync();
    }
    const std::optional<int64_t> sum = table_.Sum(key);
    if (failure_.empty() && sum != past.counts.back()) {
      failure_ = "after " + doing_ + ": key " + std::to_string(key) + " is " + std::to_string(sum.value_or(-999)) +
                 ", not " + std::to_string(past.counts.back());
    }
  }

  const std::string variant_;
  const TestTable::Settings settings_;
  const std::vector<Budget> budgets_;  // of this life, and of those after a cut
  TestTable table_;
  std::vector<Past> pasts_;
  std::unique_ptr<Run> next_;
  Versions* versions_ = nullptr;
  std::set<std::vector<uint64_t>> seen_;  // pools that were opened since the pasts have changed
  std::mt19937_64 random_;
  std::string doing_, failure_;
};

TestTable::Settings With(TestTable::Settings settings, const char* bug) {
  const bool logs = kMember.scheme == Scheme::kSegmented || kMember.scheme == Scheme::kLinear;
  std::erase_if(settings, [&](const auto& option) {
    return (option.first == "change" && !logs) || (option.first == "buffer" && kMember.scheme == Scheme::kUnbuffered);
  });
  settings.emplace_back("bug", bug);
  return settings;
}

// Small tables: two entries a page, so that chains, full logs and merges come with seven keys.
const std::vector<TestTable::Settings>& Geometries() {
  static const std::vector<TestTable::Settings> geometries = {
      {{"blocks", "2"}, {"pages", "2"}, {"entries", "2"}, {"buffer", "2"}, {"overflow", "4"}},
      {{"blocks", "3"}, {"pages", "1"}, {"entries", "2"}, {"buffer", "3"}, {"overflow", "8"}, {"change", "100"}},
      {{"blocks", "2"}, {"pages", "2"}, {"entries", "4"}, {"buffer", "1"}, {"overflow", "2"}, {"change", "100"}},
      {{"blocks", "2"},
       {"pages", "2"},
       {"entries", "2"},
       {"buffer", "3"},
       {"page", "1024"},
       {"sectors", "2"},
       {"overflow", "2"}},
      {{"blocks", "4"}, {"pages", "2"}, {"entries", "2"}, {"buffer", "4"}, {"overflow", "2"}},
  };
  return geometries;
}

// Returns the first fault in one of these geometries, or "".
std::string Search(const char* variant, const char* bug, uint64_t seeds, size_t from = 0,
                   size_t to = Geometries().size()) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    for (size_t geometry = from; geometry < to; ++geometry) {
      Run run(variant, With(Geometries()[geometry], bug), {{24, 1, 30}, {6, 0.1, 8}, {1, 0, 8}});
      const std::string wrong = run.Live(seed);
      if (wrong.empty()) continue;
      return wrong + " (geometry " + std::to_string(geometry) + ", seed " + std::to_string(seed) + ")";
    }
  }
  return "";
}

uint64_t Seeds(uint64_t few) {
  const char* const many = std::getenv("POWERCUT_CUT_SEEDS");
  return many == nullptr ? few : std::strtoull(many, nullptr, 10);
}

class Cuts : public testing::Test {
 protected:
  void SetUp() override {
    powercut_hear_contents([](void*, uint64_t, const void*, size_t) { current != nullptr ? current->Event() : void(); },
                           nullptr);
  }
  void TearDown() override { powercut_hear_contents(nullptr, nullptr); }
};

TEST_F(Cuts, HardenedSurvives) { EXPECT_EQ(Search("hardened", "none", Seeds(8)), ""); }

// But for the table without a buffer, as long as a page is one sector.
TEST_F(Cuts, PublishedDoesNot) {
  for (size_t geometry = 0; geometry < Geometries().size(); ++geometry) {
    bool torn = false;
    for (const auto& [key, value] : Geometries()[geometry]) torn = torn || key == "sectors";
    const std::string wrong = Search("published", "none", Seeds(8), geometry, geometry + 1);
    std::printf("published: %s\n", wrong.c_str());
    EXPECT_EQ(wrong.empty(), kMember.scheme == Scheme::kUnbuffered && !torn) << "geometry " << geometry;
  }
}

TEST_F(Cuts, FindsEachBug) {
  const powercut_target* target = powercut_target_entry(POWERCUT_TARGET_ABI);
  std::string line;
  for (const char* const* option = target->options; *option != nullptr; ++option) {
    if (std::string(*option).starts_with("bug=")) line = *option;
  }
  std::string names = line.substr(4, line.find(':') - 4);
  for (size_t at = 0; at < names.size();) {
    const size_t end = std::min(names.find('|', at), names.size());
    const std::string bug = names.substr(at, end - at);
    at = end + 1;
    if (bug == "none") continue;
    const std::string wrong = Search("hardened", bug.c_str(), Seeds(40));
    std::printf("%s: %s\n", bug.c_str(), wrong.c_str());
    EXPECT_NE(wrong, "") << bug;
  }
}

}  // namespace
}  // namespace powercut::counting

extern "C" {
void powercut_device_flush() {
  if (powercut::counting::current != nullptr) powercut::counting::current->Flush();
}
void powercut_device_force(const void* word) {
  if (powercut::counting::current != nullptr) powercut::counting::current->Force(word);
}
}
