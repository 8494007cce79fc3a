// Power cuts of both layers by brute force, without the engine: this program is the device's runtime. At every program
// and every erase the test makes the pools that a power cut may leave: the step was not begun, was interrupted, or was
// done. The test opens each pool and compares all pages and all counts of erases. Then the test goes on with such a
// pool, and cuts the power again.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "targets/common/enum_names.h"
#include "targets/common/ftl/block_mapped.h"
#include "targets/common/ftl/page_mapped.h"
#include "targets/common/ftl/raw_nand.h"

namespace powercut::ftl {
namespace {

struct Shape {
  uint32_t pages;  // of a block
  Settings settings;
};

struct Budget {
  double again;  // how often what a cut has left is opened and cut again
  int steps;     // of operations
};

class Cuttable {
 public:
  virtual ~Cuttable() = default;
  virtual void Force(const void* word) = 0;
};
Cuttable* current = nullptr;

// The contents of a logical page after each of the operations that a power cut may undo; 0: nothing.
using Past = std::vector<uint64_t>;

// One life of a device, cut wherever it programs or erases.
template <template <typename> typename Layer>
class Life : public Cuttable {
  using Ftl = Layer<RawNand>;

 public:
  Life(const Shape& shape, std::vector<Budget> budgets)
      : shape_(shape),
        geometry_(Ftl::GeometryOf(shape.settings, shape.pages, kPage)),
        budgets_(std::move(budgets)),
        bytes_((geometry_.pages() + geometry_.blocks) * POWERCUT_FLASH_LINE / sizeof(Line)),
        pasts_(shape.settings.logical, Past{0}) {}

  // Returns the first fault that was found, or "".
  std::string Live(uint64_t seed) {
    Start();
    if (ftl_->Format() != Status::kOk) return "cannot be formatted";
    return Go(seed);
  }
  std::string Resume(uint64_t seed, const Life& other, uint64_t line, const std::array<uint64_t, 2>& words) {
    bytes_ = other.before_;
    bytes_[line].words[0] = words[0];
    bytes_[line].words[1] = words[1];
    pasts_ = other.pasts_;
    failure_.clear();
    return Go(seed);
  }

  void Force(const void* word) override {
    if (quiet_) {
      failure_ = "open writes";
      return;
    }
    const auto line = static_cast<uint64_t>(static_cast<const Line*>(word) - bytes_.data());
    const Line was = before_[line], is = bytes_[line];
    const bool erase = line < geometry_.blocks;
    const std::array<std::array<uint64_t, 2>, 3> left = {{
        {was.words[0], was.words[1]},
        {erase ? was.words[0] | POWERCUT_FLASH_UNSTABLE : POWERCUT_NO_CONTENT, is.words[1]},
        {is.words[0], is.words[1]},
    }};
    for (size_t i = 0; i < left.size() && failure_.empty() && budgets_.size() > 1; ++i) {
      if (std::uniform_real_distribution<>()(random_) >= budgets_[0].again) continue;
      if (next_ == nullptr) next_ = std::make_unique<Life>(shape_, std::vector(budgets_.begin() + 1, budgets_.end()));
      Cuttable* const self = std::exchange(current, next_.get());
      const std::string wrong = next_->Resume(random_(), *this, line, left[i]);
      current = self;
      if (wrong.empty()) continue;
      static constexpr const char* kHow[] = {"before", "within", "after"};
      failure_ = std::string("cut ") + kHow[i] + (erase ? " an erase of block " : " a program of page ") +
                 std::to_string(erase ? line : line - geometry_.blocks) + " in " + doing_ + ": " + wrong;
    }
    before_[line] = is;
  }

 private:
  static constexpr uint32_t kPage = 64;
  struct alignas(POWERCUT_FLASH_LINE) Line {
    uint64_t words[POWERCUT_FLASH_LINE / sizeof(uint64_t)] = {};
  };

  void Start() {
    powercut_pool pool{};
    pool.base = reinterpret_cast<uint8_t*>(bytes_.data());
    pool.size = bytes_.size() * sizeof(Line);
    nand_.emplace(pool, geometry_);
    ftl_.emplace(&*nand_, shape_.settings);
  }

  // Opens the device and compares its contents with its past. The past is dropped then: only the present contents count
  // from now on. Returns the fault, or "".
  std::string Opened() {
    Start();
    doing_ = "open";
    quiet_ = true;
    const Status status = ftl_->Open();
    quiet_ = false;
    if (status != Status::kOk) return "open says " + std::to_string(static_cast<int>(status));
    for (uint32_t page = 0; page < pasts_.size(); ++page) {
      const std::optional<uint64_t> holds = Holds(page);
      if (!holds) return "page " + std::to_string(page) + " cannot be read";
      Past& past = pasts_[page];
      if (std::find(past.begin(), past.end(), *holds) == past.end()) {
        return "page " + std::to_string(page) + " holds " + std::to_string(*holds) + ", not " +
               std::to_string(past.front());
      }
      past = {*holds};
    }
    return Worn();
  }
  std::string Worn() {
    for (uint32_t block = 0; block < geometry_.blocks && shape_.settings.hardened; ++block) {
      if (ftl_->erases(block) == nand_->Erases(block)) continue;
      return "block " + std::to_string(block) + " was erased " + std::to_string(nand_->Erases(block)) + " times, not " +
             std::to_string(ftl_->erases(block));
    }
    return "";
  }
  std::optional<uint64_t> Holds(uint32_t page) {
    std::array<uint64_t, kPage / sizeof(uint64_t)> data{};
    const Status status = ftl_->Read(page, data.data());
    if (status == Status::kAbsent) return 0;
    if (status != Status::kOk) return std::nullopt;
    return data[0];
  }

  std::string Go(uint64_t seed) {
    random_.seed(seed);
    before_ = bytes_;
    Cuttable* const outer = std::exchange(current, this);
    failure_ = Opened();
    for (int step = 0; step < budgets_[0].steps && failure_.empty(); ++step) Step();
    if (failure_.empty()) {
      const std::string wrong = Opened();
      if (!wrong.empty()) failure_ = "opened again: " + wrong;
    }
    current = outer;
    return failure_;
  }

  void Step() {
    // Runs of pages that ascend, as the lazy layer likes them, and pages at random.
    page_ = random_() % 3 == 0 ? static_cast<uint32_t>(random_() % pasts_.size())
                               : (page_ + 1) % static_cast<uint32_t>(pasts_.size());
    Past& past = pasts_[page_];
    const bool trim = random_() % 5 == 0;
    std::array<uint64_t, kPage / sizeof(uint64_t)> data{};
    data.fill(random_() | 1);
    doing_ = (trim ? "a trim of page " : "a write of page ") + std::to_string(page_);
    past.push_back(trim ? 0 : data[0]);
    const Status status = trim ? ftl_->Trim(page_) : ftl_->Write(page_, data.data());
    if (!failure_.empty()) return;
    if (status == Status::kOk || (trim && status == Status::kAbsent && past.front() == 0)) {
      past = {past.back()};
    } else {
      failure_ = doing_ + " says " + std::to_string(static_cast<int>(status));
    }
    if (failure_.empty() && Holds(page_) != past.back()) failure_ = doing_ + " is not read again";
    if (failure_.empty()) failure_ = Worn();
  }

  const Shape shape_;
  const Geometry geometry_;
  const std::vector<Budget> budgets_;  // of this life, and of those after a cut
  std::vector<Line> bytes_;            // the pool
  std::vector<Line> before_;           // without the operation of the device that goes on
  std::vector<Past> pasts_;
  std::optional<RawNand> nand_;
  std::optional<Ftl> ftl_;
  std::unique_ptr<Life> next_;
  std::mt19937_64 random_;
  uint32_t page_ = 0;
  bool quiet_ = false;
  std::string doing_, failure_;
};

uint64_t Seeds(uint64_t few) {
  const char* const many = std::getenv("POWERCUT_CUT_SEEDS");
  return many == nullptr ? few : std::strtoull(many, nullptr, 10);
}

std::string Search(bool block_mapped, Settings settings, uint64_t seeds) {
  const std::vector<Budget> budgets = {{0.5, 60}, {0.02, 12}, {0.02, 12}, {0, 8}};
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const uint32_t pages : {4u, 5u}) {
      const Shape shape = {.pages = pages, .settings = settings};
      const std::string wrong =
          block_mapped ? Life<BlockMapped>(shape, budgets).Live(seed) : Life<PageMapped>(shape, budgets).Live(seed);
      if (wrong.empty()) continue;
      return wrong + " (" + std::to_string(pages) + " pages a block, seed " + std::to_string(seed) + ")";
    }
  }
  return "";
}

struct Kept {
  const char* name;
  bool block_mapped, checkpoint;
};
constexpr Kept kKept[] = {{"page, scan", false, false}, {"page, checkpoint", false, true}, {"block", true, false}};

Settings With(const Kept& kept, bool hardened, Bug bug) {
  return {.logical = 9, .blocks = 6, .hardened = hardened, .checkpoint = kept.checkpoint, .bug = bug};
}

TEST(Cuts, HardenedSurvives) {
  for (const Kept& kept : kKept)
    EXPECT_EQ(Search(kept.block_mapped, With(kept, true, Bug::kNone), Seeds(2)), "") << kept.name;
}

TEST(Cuts, PublishedDoesNot) {
  for (const Kept& kept : kKept) {
    if (kept.checkpoint) continue;
    const std::string wrong = Search(kept.block_mapped, With(kept, false, Bug::kNone), Seeds(2));
    std::printf("%s: %s\n", kept.name, wrong.c_str());
    EXPECT_NE(wrong, "") << kept.name;
  }
}

// Each bug, in the first of these that shows it.
TEST(Cuts, FindsEachBug) {
  for (uint32_t bug = 1; bug < static_cast<uint32_t>(Bug::kCount); ++bug) {
    std::string wrong;
    for (const Kept& kept : kKept) {
      if (wrong.empty()) wrong = Search(kept.block_mapped, With(kept, true, static_cast<Bug>(bug)), Seeds(3));
    }
    std::printf("%s: %s\n", NameOf(static_cast<Bug>(bug)), wrong.c_str());
    EXPECT_NE(wrong, "") << NameOf(static_cast<Bug>(bug));
  }
}

}  // namespace
}  // namespace powercut::ftl

extern "C" {
void powercut_device_flush() {}
void powercut_device_force(const void* word) {
  if (powercut::ftl::current != nullptr) powercut::ftl::current->Force(word);
}
}
