// Every scheme as an ordinary map, against std::map, before any crash is simulated: random operations under random
// configurations, with reopens in between (a proper close, or what a power cut leaves when all was durable). A table of
// counters is a map of sums, of which zero is none.
//
// Nothing here knows a scheme. Libraries come from the folder of the plain builds; configurations come from the lines
// of powercut_target::options. Every value that a line lists may be drawn, `bug` apart. A configuration that the target
// refuses as BAD_CONFIG is drawn again.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "powercut/draw.h"
#include "targets/common/config.h"
#include "targets/common/test_table.h"

namespace powercut {
namespace {

using test::TestTable;
using Model = std::map<uint64_t, uint64_t>;

constexpr int kOperations = 2'000;  // of one run; RapidCheck makes a hundred of each kind: 4 * 10^5 for each scheme
constexpr uint64_t kKeys = 400;

struct Size {
  uint32_t key, value;
};
constexpr Size kSizes[] = {{8, 8}, {16, 15}, {16, 16}, {24, 40}};

struct Line {
  std::string key;
  std::vector<std::string> values;
};

// "key=a|b|...: what it does"
Line ParseLine(const std::string& text) {
  Line line;
  const size_t equals = text.find('='), colon = text.find(": ", equals);
  line.key = text.substr(0, equals);
  std::istringstream values(text.substr(equals + 1, colon - equals - 1));
  for (std::string value; std::getline(values, value, '|');) {
    if (value != "...") line.values.push_back(value);
  }
  return line;
}

std::vector<std::string> List(const char* const* items) {
  std::vector<std::string> out;
  for (; *items != nullptr; ++items) out.emplace_back(*items);
  return out;
}

class Conformance : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override {
    void* library = dlopen(GetParam().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto entry = reinterpret_cast<powercut_target_entry_fn>(dlsym(library, "powercut_target_entry"));
    ASSERT_NE(entry, nullptr);
    target_ = entry(POWERCUT_TARGET_ABI);
    draw_ = reinterpret_cast<powercut_target_draw_fn>(dlsym(library, "powercut_target_draw"));
    ASSERT_NE(target_, nullptr);
    variants_ = List(target_->variants);
    commands_ = List(target_->commands);
    for (const std::string& text : List(target_->options)) {
      Line line = ParseLine(text);
      if (line.key != "bug") lines_.push_back(std::move(line));
    }
  }

  struct Shape {
    std::string variant;
    TestTable::Settings settings;
    Size size;
    powercut_traits traits{};
  };

  template <typename Item>
  static Item OneOf(const std::vector<Item>& items, std::mt19937_64* random) {
    return items[(*random)() % items.size()];
  }

  // A configuration that the target takes; the default one where nothing else was found.
  Shape Draw(std::mt19937_64* random) const {
    for (int attempt = 0;; ++attempt) {
      Shape shape{OneOf(variants_, random), {}, kSizes[(*random)() % std::size(kSizes)], {}};
      for (const Line& line : lines_) {
        if ((*random)() % 2 == 0) shape.settings.emplace_back(line.key, OneOf(line.values, random));
      }
      if (attempt >= 100) shape = {variants_[0], {}, kSizes[attempt % std::size(kSizes)], {}};
      const powercut_status status = Ask(&shape);
      if (status == POWERCUT_OK) return shape;
      RC_ASSERT(status == POWERCUT_BAD_CONFIG);
      RC_ASSERT(attempt < 200);
    }
  }

  powercut_status Ask(Shape* shape) const {
    std::vector<powercut_option> options;
    for (const auto& [key, value] : shape->settings) options.push_back({key.c_str(), value.c_str()});
    char error[256] = "";
    const powercut_config config = ConfigOf(shape->variant.c_str(), options.data(), options.size(), shape->size.key,
                                            shape->size.value, error, sizeof error);
    const powercut_status status = target_->traits(&config, &shape->traits);
    RC_ASSERT((status == POWERCUT_BAD_CONFIG) == (*error != '\0'));
    return status;
  }

  void Run(uint64_t pool_size, std::mt19937_64* random) const {
    const Shape shape = Draw(random);
    std::ostringstream shown;
    shown << shape.variant << ' ' << shape.size.key << '/' << shape.size.value;
    for (const auto& [key, value] : shape.settings) shown << ' ' << key << '=' << value;
    RC_LOG(shown.str());
    TestTable table(target_, shape.variant, shape.settings, shape.size.key, shape.size.value, pool_size);
    const powercut_status formatted = table.Format();
    if (formatted == POWERCUT_FULL) return;
    RC_ASSERT(formatted == POWERCUT_OK);
    RC_ASSERT(table.Open() == POWERCUT_OK);
    Model model;
    uint64_t serial = 0;
    for (int i = 0; i < kOperations; ++i) {
      if (shape.traits.counts != 0) {
        CountingStep(&table, shape, &model, random);
      } else {
        Step(&table, shape, &model, &serial, random);
      }
    }
    const bool kept = Keep(&table, shape);
    if (kept) RC_ASSERT(table.Cut() == POWERCUT_OK);
    for (uint64_t key = 1; key <= kKeys; ++key) Compare(&table, shape, model, key);
    CompareContents(&table, shape, model);
    RC_ASSERT(table.Damage(FreesNoItem(shape)) == "");
  }

  // Whether `published` leaks without any power cut, since its authors' code frees no item that lies out of the table.
  bool FreesNoItem(const Shape& shape) const {
    const std::string name = target_->name;
    const char* key = name == "level_ptr" ? "port" : name.starts_with("dash") ? "items" : nullptr;
    if (key == nullptr || shape.variant != "published") return false;
    const std::string value = name == "level_ptr" ? "clevel" : "pointer";
    return std::ranges::find(shape.settings, std::pair<std::string, std::string>(key, value)) != shape.settings.end();
  }

  // A buffered target keeps what comes before a sync. Counters that are kept in memory alone may find no room.
  static bool Keep(TestTable* table, const Shape& shape) {
    if (shape.traits.buffered == 0) return true;
    const powercut_status status = table->Maintain("sync");
    RC_ASSERT(status == POWERCUT_OK || (status == POWERCUT_FULL && shape.traits.counts != 0));
    return status == POWERCUT_OK;
  }

  void Step(TestTable* table, const Shape& shape, Model* model, uint64_t* serial, std::mt19937_64* random) const {
    const uint64_t key = 1 + (*random)() % kKeys;
    const bool present = model->count(key) != 0;
    const uint64_t dice = (*random)() % 200;
    if (dice < 100) {
      if (present && shape.traits.checks_exists == 0) return;
      const powercut_status status = table->Insert(key, ++*serial);
      RC_ASSERT(status == POWERCUT_FULL || status == (present ? POWERCUT_EXISTS : POWERCUT_OK));
      if (status == POWERCUT_OK) (*model)[key] = *serial;
    } else if (dice < 140) {
      const powercut_status status = table->Update(key, ++*serial);
      if (status == POWERCUT_UNSUPPORTED) return;
      RC_ASSERT(status == (present ? POWERCUT_OK : POWERCUT_NOT_FOUND) || (present && status == POWERCUT_FULL));
      if (status == POWERCUT_OK) (*model)[key] = *serial;
    } else if (dice < 194) {
      const powercut_status status = table->Erase(key);
      if (status == POWERCUT_UNSUPPORTED) return;
      RC_ASSERT(status == (present ? POWERCUT_OK : POWERCUT_NOT_FOUND));
      model->erase(key);
    } else if (dice < 197) {
      Maintain(table, random);
    } else {
      Reopen(table, shape, random);
    }
    Compare(table, shape, *model, key);
  }

  void CountingStep(TestTable* table, const Shape& shape, Model* model, std::mt19937_64* random) const {
    const uint64_t key = 1 + (*random)() % kKeys;
    const bool present = model->count(key) != 0;
    const uint64_t dice = (*random)() % 200;
    if (dice < 150) {
      const int64_t delta = static_cast<int64_t>((*random)() % 7) - 2;
      const powercut_status status = table->Increment(key, delta);
      RC_ASSERT(status == POWERCUT_OK || status == POWERCUT_FULL);
      if (status == POWERCUT_OK) (*model)[key] += static_cast<uint64_t>(delta);
      if (const auto at = model->find(key); at != model->end() && at->second == 0) model->erase(at);
    } else if (dice < 190) {
      RC_ASSERT(table->Erase(key) == (present ? POWERCUT_OK : POWERCUT_NOT_FOUND));
      model->erase(key);
    } else if (dice < 195) {
      Maintain(table, random);
    } else {
      Reopen(table, shape, random);
    }
    Compare(table, shape, *model, key);
  }

  void Maintain(TestTable* table, std::mt19937_64* random) const {
    if (commands_.empty()) return;
    const powercut_status status = table->Maintain(OneOf(commands_, random).c_str());
    RC_ASSERT(status == POWERCUT_OK || status == POWERCUT_FULL || status == POWERCUT_UNSUPPORTED);
  }

  static void Reopen(TestTable* table, const Shape& shape, std::mt19937_64* random) {
    if (!Keep(table, shape)) return;
    if ((*random)() % 2 == 0) table->Close();
    RC_ASSERT(table->Cut() == POWERCUT_OK);
  }

  void Compare(TestTable* table, const Shape& shape, const Model& model, uint64_t key) const {
    const auto known = model.find(key);
    if (shape.traits.counts != 0) {
      const uint64_t sum = known == model.end() ? 0 : known->second;
      RC_ASSERT(table->Sum(key) == static_cast<int64_t>(sum));
      uint64_t parts = 0;
      for (const std::string& part : table->Copies(key)) parts += Number(part);
      RC_ASSERT(parts == sum);
      return;
    }
    const std::string expected = known == model.end() ? "" : table->Value(known->second);
    RC_ASSERT(table->Lookup(key) == expected);
    const std::vector<std::string> copies = table->Copies(key);
    RC_ASSERT(copies.size() <= shape.traits.copy_bound);
    RC_ASSERT(copies.empty() == (known == model.end()));
    if (shape.traits.copies_may_differ == 0) {
      for (const std::string& copy : copies) RC_ASSERT(copy == expected);
    }
  }

  static uint64_t Number(const std::string& bytes) {
    uint64_t number;
    RC_ASSERT(bytes.size() == sizeof number);
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }

  // For counters: compares the sums of the parts of all keys.
  static void CompareParts(TestTable* table, const Model& model, const std::multimap<std::string, std::string>& items) {
    std::map<std::string, uint64_t> sums;
    for (const auto& [key, part] : items) sums[key] += Number(part);
    std::erase_if(sums, [](const auto& sum) { return sum.second == 0; });
    RC_ASSERT(sums.size() == model.size());
    for (const auto& [key, sum] : model) RC_ASSERT(sums[table->Key(key)] == sum);
  }

  // Every item in one region; further copies of one are those that copies() reports.
  void CompareContents(TestTable* table, const Shape& shape, const Model& model) const {
    if (target_->regions == nullptr || target_->walk == nullptr) return;
    std::multimap<std::string, std::string> items = table->Contents();
    if (shape.traits.counts != 0) {
      CompareParts(table, model, items);
      CompareDrawing(table, items);
      return;
    }
    size_t copies = 0;
    for (const auto& [key, value] : model) {
      const size_t found = items.count(table->Key(key));
      RC_ASSERT(found >= 1 && found <= shape.traits.copy_bound);
      copies += found;
    }
    RC_ASSERT(items.size() == copies);
    CompareDrawing(table, items);
  }

  // The drawing shows the items that walk() reports, each in a slot of its own, all inside the pool or in RAM. Drawing
  // is optional; that every scheme of this repository does it is a test of tests/engine/test_drawing.py.
  void CompareDrawing(TestTable* table, const std::multimap<std::string, std::string>& items) const {
    if (draw_ == nullptr) return;
    Drawn drawn{table->pool(), {}, {}, 0};
    RC_ASSERT(draw_(table->handle(), Drawn::Add, &drawn) == POWERCUT_OK);
    RC_ASSERT(drawn.outside == 0);
    RC_ASSERT(std::is_permutation(drawn.items.begin(), drawn.items.end(), items.begin(), items.end()));
  }

  struct Drawn {
    powercut_pool pool;
    std::multimap<std::string, std::string> items;
    std::set<std::string> places;
    int outside;  // cells that lie outside the pool, or in the place of another one

    static int Add(void* context, const powercut_cell* cell) {
      auto* self = static_cast<Drawn*>(context);
      const auto at = static_cast<uint64_t>(static_cast<const uint8_t*>(cell->at) - self->pool.base);
      const bool word = cell->kind == POWERCUT_CELL_WORD;
      const std::string place = std::string(cell->group) + '/' + std::to_string(cell->bucket) + '/' +
                                (word ? cell->label : "#" + std::to_string(cell->slot));
      const bool in_ram = cell->at == nullptr && cell->size == 0;
      const bool fits = in_ram || (at < self->pool.size && cell->size <= self->pool.size - at);
      if (!fits || !self->places.insert(place).second) ++self->outside;
      if (word && *cell->text == '\0') ++self->outside;
      if (cell->kind == POWERCUT_CELL_ITEM) self->items.emplace(Text(cell->key), Text(cell->value));
      return 0;
    }
    static std::string Text(powercut_bytes bytes) { return {static_cast<const char*>(bytes.data), bytes.size}; }
  };

  const powercut_target* target_ = nullptr;
  powercut_target_draw_fn draw_ = nullptr;
  std::vector<std::string> variants_, commands_;
  std::vector<Line> lines_;
};

TEST_P(Conformance, AgreesWithAMap) {
  EXPECT_TRUE(rc::check("random operations", [this](uint64_t seed) {
    std::mt19937_64 random(seed);
    Run(8 << 20, &random);
  }));
}

TEST_P(Conformance, AgreesWithAMapInAPoolThatIsTooSmall) {
  EXPECT_TRUE(rc::check("random operations", [this](uint64_t seed) {
    std::mt19937_64 random(seed);
    Run((2 + random() % 14) * 4096, &random);
  }));
}

std::vector<std::filesystem::path> Libraries() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(POWERCUT_PLAIN_LIBRARIES)) {
    if (entry.path().filename().string().starts_with("libpowercut-")) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string SchemeOf(const testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.stem().string().substr(std::string("libpowercut-").size());
}

INSTANTIATE_TEST_SUITE_P(Schemes, Conformance, testing::ValuesIn(Libraries()), SchemeOf);

}  // namespace
}  // namespace powercut
