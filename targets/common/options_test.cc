#include "targets/common/options.h"

#include <gtest/gtest.h>

#include <string>

#include "targets/common/config.h"

namespace powercut {
namespace {

enum class Bug : uint8_t { kNone, kLogUnordered, kB2tLate, kCount };
enum class Update : uint8_t { kLogged, kInPlace, kCount };

struct Options {
  bool hardened;
  bool sweep;
  bool late;
  Update update;
  Bug bug;
  uint8_t slots;
  uint8_t size;
  uint8_t shards;
  uint8_t top_log2;
  uint8_t key_size;
  uint16_t value_size;
};

constexpr OptionTable<Options> kOptions({
    {"sweep=on|off: free what nobody reaches", Switch<&Options::sweep>()},
    {"movement=eager|late: when to move", Flag<&Options::late, "late">()},
    {"update=in_place|logged: how to update", Named<&Options::update>()},
    {"slots=8|4: slots of a bucket", Number<&Options::slots>()},
    {"size=4|2|...: of the table", Number<&Options::size>(2, 8)},
    {"shards=2|...: a power of two", PowerOfTwo<&Options::shards>(1, 64)},
    {"top=4|2|...: a power of two", Log2<&Options::top_log2>(2, uint64_t{1} << 28)},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

class OptionsTest : public testing::Test {
 protected:
  powercut_status Read(const char* key, const char* value, const char* variant = "") {
    const powercut_option option{key, value};
    return ReadOptions(ConfigOf(variant, &option, 1, 16, 300, error_, sizeof error_), "level", kOptions, &read_);
  }
  std::string Refusal(const char* key, const char* value, const char* variant = "") {
    return Read(key, value, variant) == POWERCUT_BAD_CONFIG ? error_ : "taken";
  }

  Options read_{};
  char error_[128] = "";
};

TEST_F(OptionsTest, NamesOfBugsAreThoseOfTheEnumerators) {
  EXPECT_STREQ(kOptions.lines[7], "bug=none|log_unordered|b2t_late: a planted bug");
  EXPECT_EQ(kOptions.lines[8], nullptr);
  EXPECT_STREQ(NameOf(Bug::kB2tLate), "b2t_late");
}

TEST_F(OptionsTest, TheFirstValueIsTheDefault) {
  ASSERT_EQ(ReadOptions(ConfigOf("", nullptr, 0, 16, 300), "level", kOptions, &read_), POWERCUT_OK);
  EXPECT_FALSE(read_.hardened);
  EXPECT_TRUE(read_.sweep);
  EXPECT_FALSE(read_.late);
  EXPECT_EQ(read_.update, Update::kInPlace);
  EXPECT_EQ(read_.bug, Bug::kNone);
  EXPECT_EQ(read_.slots, 8);
  EXPECT_EQ(read_.size, 4);
  EXPECT_EQ(read_.shards, 2);
  EXPECT_EQ(read_.top_log2, 2);
  EXPECT_EQ(read_.key_size, 16);
  EXPECT_EQ(read_.value_size, 300);
}

TEST_F(OptionsTest, AValueGoesToItsMember) {
  for (const char* off : {"off", "false"}) {
    EXPECT_EQ(Read("sweep", off), POWERCUT_OK);
    EXPECT_FALSE(read_.sweep);
  }
  EXPECT_EQ(Read("sweep", "true"), POWERCUT_OK);
  EXPECT_TRUE(read_.sweep);
  EXPECT_EQ(Read("movement", "late"), POWERCUT_OK);
  EXPECT_TRUE(read_.late);
  EXPECT_EQ(Read("update", "logged"), POWERCUT_OK);
  EXPECT_EQ(read_.update, Update::kLogged);
  EXPECT_EQ(Read("bug", "b2t_late"), POWERCUT_OK);
  EXPECT_EQ(read_.bug, Bug::kB2tLate);
  EXPECT_EQ(Read("slots", "4"), POWERCUT_OK);
  EXPECT_EQ(read_.slots, 4);
  EXPECT_EQ(Read("size", "8"), POWERCUT_OK);
  EXPECT_EQ(read_.size, 8);
  EXPECT_EQ(read_.slots, 8) << "its default";
  EXPECT_EQ(Read("shards", "64"), POWERCUT_OK);
  EXPECT_EQ(read_.shards, 64);
  EXPECT_EQ(Read("top", "268435456", "hardened"), POWERCUT_OK);
  EXPECT_EQ(read_.top_log2, 28);
  EXPECT_TRUE(read_.hardened);
}

TEST_F(OptionsTest, ErrorsNameTheKeyAndTheValue) {
  EXPECT_EQ(Refusal("shape", "round"),
            "option 'shape' is unknown; 'powercut list targets' shows the options of each target");
  EXPECT_EQ(Refusal("update", "blue"), "option update has no value 'blue'; 'powercut list targets' shows the values");
  EXPECT_EQ(Refusal("sweep", "1"), "option sweep has no value '1'; 'powercut list targets' shows the values");
  EXPECT_EQ(Refusal("slots", "04"), "option slots has no value '04'; 'powercut list targets' shows the values");
  EXPECT_EQ(Refusal("bug", "count"), "option bug has no value 'count'; 'powercut list targets' shows the values");
  for (const char* wrong : {"9", "1", "", "4x", "-2", "...", "18446744073709551620"}) {
    EXPECT_EQ(Refusal("size", wrong), "option size wants a number from 2 to 8, not '" + std::string(wrong) + "'");
  }
  EXPECT_EQ(Refusal("shards", "3"), "option shards wants a power of two, not 3");
  EXPECT_EQ(Refusal("top", "536870912"), "option top wants a number from 2 to 268435456, not '536870912'");
  EXPECT_EQ(Refusal("size", "8", "soft"), "level has no variant 'soft'; it has published and hardened");
}

}  // namespace
}  // namespace powercut
