// Each invariant: an answer that violates the invariant, and the nearest answer that does not.
#include "checker/oracle/invariants.h"

#include <gtest/gtest.h>

#include <cstring>

namespace powercut {
namespace {

// Key 0: inserted and updated ("old", then "new"); key 1: erased ("gone"); key 2: an insert is under way ("maybe").
History some_history() {
  History history;
  const auto apply = [&](EventKind kind, int code, std::string_view key, std::string_view value) {
    Event event;
    event.kind = kind;
    event.code = static_cast<uint8_t>(code);
    event.key = {reinterpret_cast<const uint8_t*>(key.data()), key.size()};
    event.value = {reinterpret_cast<const uint8_t*>(value.data()), value.size()};
    history.apply(event);
  };
  const auto run = [&](OpKind kind, std::string_view key, std::string_view value) {
    apply(EventKind::kOpBegin, static_cast<int>(kind), key, value);
    apply(EventKind::kOpEnd, POWERCUT_OK, "", "");
  };
  run(OpKind::kInsert, "a", "old");
  run(OpKind::kUpdate, "a", "new");
  run(OpKind::kInsert, "b", "gone");
  run(OpKind::kErase, "b", "");
  apply(EventKind::kOpBegin, static_cast<int>(OpKind::kInsert), "c", "maybe");
  return history;
}

std::string status(powercut_status value) { return {static_cast<char>(value)}; }

std::string item(std::string_view key, std::string_view value) {
  std::string out;
  for (std::string_view part : {key, value}) {
    const auto size = static_cast<uint32_t>(part.size());
    out.append(reinterpret_cast<const char*>(&size), 4);
    out.append(part);
  }
  return out;
}

std::string failure(Outcome::Kind kind, int signal = 0) {
  return {'!', static_cast<char>(kind), static_cast<char>(signal)};
}

class InvariantsTest : public ::testing::Test {
 protected:
  // The invariant that a result violates, "" for none.
  std::string judge(QueryKind kind, uint64_t argument, const std::string& result) const {
    const auto violation = judge_query(history_, traits_, query_id(kind, argument), result);
    if (violation) {
      EXPECT_FALSE(violation->message.empty());
      EXPECT_EQ(violation->message.back(), '.');
      EXPECT_FALSE(violation->expected.empty());
    }
    return violation ? violation->invariant : "";
  }
  std::string lookup(uint64_t key, const std::string& value) const {
    return judge(QueryKind::kLookup, key, status(POWERCUT_OK) + value);
  }
  std::string missing(uint64_t key) const { return judge(QueryKind::kLookup, key, status(POWERCUT_NOT_FOUND)); }
  std::string recovery(const std::string& result) const {
    const auto violation = judge_recovery(history_, parse_answer(QueryKind::kRecovery, result), "");
    return violation ? violation->invariant : "";
  }

  History history_ = some_history();
  powercut_traits traits_ = [] {
    powercut_traits traits{};
    traits.copy_bound = 1;
    return traits;
  }();
};

TEST_F(InvariantsTest, LostItem) {
  EXPECT_EQ(missing(0), "lost-item");
  EXPECT_EQ(missing(1), "");
  EXPECT_EQ(missing(2), "");
}

// An update is under way when another thread's lookup has answered its value.
TEST_F(InvariantsTest, UnpersistedReadUnlessTheTargetSaysThatReadsAreUncommitted) {
  const auto apply = [&](EventKind kind, uint32_t thread, int code, std::string_view value) {
    Event event;
    event.kind = kind;
    event.thread = thread;
    event.code = static_cast<uint8_t>(code);
    if (kind == EventKind::kOpBegin) event.key = {reinterpret_cast<const uint8_t*>("a"), 1};
    event.value = {reinterpret_cast<const uint8_t*>(value.data()), value.size()};
    history_.apply(event);
  };
  apply(EventKind::kOpBegin, 1, static_cast<int>(OpKind::kUpdate), "newer");
  EXPECT_EQ(lookup(0, "new"), "");
  apply(EventKind::kOpBegin, 2, static_cast<int>(OpKind::kLookup), "");
  apply(EventKind::kOpEnd, 2, POWERCUT_OK, "newer");
  EXPECT_EQ(lookup(0, "newer"), "");
  EXPECT_EQ(lookup(0, "new"), "unpersisted-read");
  EXPECT_EQ(missing(0), "lost-item");
  EXPECT_EQ(judge(QueryKind::kWalk, 0, item("a", "new") + status(POWERCUT_OK)), "unpersisted-read");
  traits_.read_uncommitted = 1;
  EXPECT_EQ(lookup(0, "new"), "");
  EXPECT_EQ(judge(QueryKind::kWalk, 0, item("a", "new") + status(POWERCUT_OK)), "");
  EXPECT_EQ(lookup(0, "old"), "stale-value");
  EXPECT_EQ(missing(0), "lost-item");
}

TEST_F(InvariantsTest, PhantomItem) {
  EXPECT_EQ(lookup(1, "gone"), "phantom-item");
  EXPECT_EQ(lookup(1, "never written"), "phantom-item");
  EXPECT_EQ(lookup(2, "maybe"), "");
  EXPECT_EQ(judge(QueryKind::kWalk, 0, item("a", "new") + status(POWERCUT_OK)), "");
  EXPECT_EQ(judge(QueryKind::kWalk, 0, item("nobody's", "x") + status(POWERCUT_OK)), "phantom-item");
  EXPECT_EQ(judge(QueryKind::kWalk, 0, item("a", "new") + item("b", "gone") + status(POWERCUT_OK)), "phantom-item");
}

// An empty slot taken for an item has the bytes of the key "zeros".
TEST_F(InvariantsTest, PhantomItemOfZerosUnlessThatKeyWasInserted) {
  const std::string zeros(8, '\0');
  const std::string walked = item(zeros, "x") + status(POWERCUT_OK);
  EXPECT_EQ(judge(QueryKind::kWalk, 0, walked), "phantom-item");
  Event event;
  event.kind = EventKind::kOpBegin;
  event.code = static_cast<uint8_t>(OpKind::kInsert);
  event.key = {reinterpret_cast<const uint8_t*>(zeros.data()), zeros.size()};
  event.value = {reinterpret_cast<const uint8_t*>("x"), 1};
  history_.apply(event);
  EXPECT_EQ(judge(QueryKind::kWalk, 0, walked), "");
  EXPECT_EQ(name_of(history_.keys().back()), "zeros");
}

TEST_F(InvariantsTest, StaleValue) {
  EXPECT_EQ(lookup(0, "old"), "stale-value");
  EXPECT_EQ(lookup(0, "new"), "");
}

TEST_F(InvariantsTest, TornValue) {
  EXPECT_EQ(lookup(0, "nld"), "torn-value");
  EXPECT_EQ(lookup(2, "mayXX"), "torn-value");
  EXPECT_EQ(judge(QueryKind::kCopies, 0, item("", "nld") + status(POWERCUT_OK)), "torn-value");
  EXPECT_EQ(judge(QueryKind::kWalk, 0, item("a", "nld") + status(POWERCUT_OK)), "torn-value");
}

TEST_F(InvariantsTest, DuplicateBound) {
  const std::string one = item("", "new"), other = item("", "old");
  EXPECT_EQ(judge(QueryKind::kCopies, 0, one + status(POWERCUT_OK)), "");
  EXPECT_EQ(judge(QueryKind::kCopies, 0, one + one + status(POWERCUT_OK)), "duplicate-bound");
  traits_.copy_bound = 2;
  EXPECT_EQ(judge(QueryKind::kCopies, 0, one + one + status(POWERCUT_OK)), "");
  EXPECT_EQ(judge(QueryKind::kCopies, 0, one + other + status(POWERCUT_OK)), "duplicate-bound");
  EXPECT_EQ(judge(QueryKind::kCopies, 0, one + one + one + status(POWERCUT_OK)), "duplicate-bound");
  traits_.copies_may_differ = 1;
  EXPECT_EQ(judge(QueryKind::kCopies, 0, one + other + status(POWERCUT_OK)), "");
}

TEST_F(InvariantsTest, Structure) {
  EXPECT_EQ(judge(QueryKind::kVerify, 0, status(POWERCUT_OK)), "");
  EXPECT_EQ(judge(QueryKind::kVerify, 0, status(POWERCUT_UNSUPPORTED)), "");
  EXPECT_EQ(judge(QueryKind::kVerify, 0, "two heads" + status(POWERCUT_CORRUPT)), "structure");
}

TEST_F(InvariantsTest, Leak) {
  const std::string block(16, '\1');
  EXPECT_EQ(judge(QueryKind::kBlocks, 0, status(POWERCUT_OK)), "");
  EXPECT_EQ(judge(QueryKind::kBlocks, 0, block + status(POWERCUT_OK)), "leak");
  traits_.leak_bound = 1;
  EXPECT_EQ(judge(QueryKind::kBlocks, 0, block + status(POWERCUT_OK)), "");
  EXPECT_EQ(judge(QueryKind::kBlocks, 0, block + block + status(POWERCUT_OK)), "leak");
}

TEST_F(InvariantsTest, Recovery) {
  EXPECT_EQ(recovery(status(POWERCUT_OK)), "");
  EXPECT_EQ(recovery(status(POWERCUT_CORRUPT)), "recovery-failed");
  EXPECT_EQ(recovery(failure(Outcome::Kind::kSignal, 11)), "recovery-failed");
  EXPECT_EQ(recovery(failure(Outcome::Kind::kAbort)), "recovery-failed");
  EXPECT_EQ(recovery(failure(Outcome::Kind::kException)), "recovery-failed");
  EXPECT_EQ(recovery(failure(Outcome::Kind::kSteps)), "recovery-hang");
  EXPECT_EQ(recovery(failure(Outcome::Kind::kWildStore)), "wild-store");
}

TEST_F(InvariantsTest, NotFormattedIsLegalUntilFormatWasAcknowledged) {
  EXPECT_EQ(recovery(status(POWERCUT_NOT_FORMATTED)), "");
  Event event;
  event.kind = EventKind::kOpBegin;
  event.code = static_cast<uint8_t>(OpKind::kFormat);
  history_.apply(event);
  EXPECT_EQ(recovery(status(POWERCUT_NOT_FORMATTED)), "");
  event.kind = EventKind::kOpEnd;
  event.code = POWERCUT_OK;
  history_.apply(event);
  EXPECT_EQ(recovery(status(POWERCUT_NOT_FORMATTED)), "recovery-failed");
}

TEST_F(InvariantsTest, Unusable) {
  EXPECT_EQ(judge(QueryKind::kLookup, 0, status(POWERCUT_CORRUPT)), "unusable");
  EXPECT_EQ(judge(QueryKind::kLookup, 0, failure(Outcome::Kind::kSignal, 11)), "unusable");
  EXPECT_EQ(judge(QueryKind::kProbe, 0, failure(Outcome::Kind::kSteps)), "unusable");
  for (const QueryKind kind : {QueryKind::kCopies, QueryKind::kWalk, QueryKind::kBlocks}) {
    EXPECT_EQ(judge(kind, 0, status(POWERCUT_CORRUPT)), "unusable") << name_of(kind);
    EXPECT_EQ(judge(kind, 0, status(POWERCUT_UNSUPPORTED)), "") << name_of(kind);
  }
  EXPECT_EQ(judge(QueryKind::kWalk, 0, failure(Outcome::Kind::kWildStore)), "wild-store");
}

// Steps of a probe: letter, status, which value came back (1: the first one written, 2: the second).
std::string steps(std::initializer_list<std::tuple<char, powercut_status, int>> all) {
  std::string out;
  for (const auto& [letter, answer, seen] : all) out += {letter, static_cast<char>(answer), static_cast<char>(seen)};
  return out;
}

TEST_F(InvariantsTest, AProbeGoesAsAsked) {
  constexpr auto ok = POWERCUT_OK, none = POWERCUT_NOT_FOUND, full = POWERCUT_FULL;
  const auto probe = [&](const std::string& result) { return judge(QueryKind::kProbe, 0, result); };
  EXPECT_EQ(probe(steps(
                {{'l', ok, 3}, {'u', ok, 0}, {'l', ok, 1}, {'e', ok, 0}, {'l', none, 0}, {'i', ok, 0}, {'l', ok, 2}})),
            "");
  EXPECT_EQ(probe(steps({{'l', none, 0}, {'e', none, 0}, {'l', none, 0}, {'i', full, 0}})), "");
  EXPECT_EQ(probe(steps({{'l', ok, 3}, {'u', full, 0}, {'l', ok, 3}, {'e', ok, 0}, {'l', none, 0}})), "");
  EXPECT_EQ(probe(steps({{'l', ok, 3}, {'u', ok, 0}, {'l', ok, 3}})), "unusable") << "the update is not seen";
  EXPECT_EQ(probe(steps({{'l', ok, 3}, {'u', none, 0}})), "unusable");
  EXPECT_EQ(probe(steps({{'l', ok, 3}, {'e', ok, 0}, {'l', ok, 3}})), "unusable") << "the erased key is there";
  EXPECT_EQ(probe(steps({{'l', none, 0}, {'e', ok, 0}})), "unusable") << "erased what is not there";
  EXPECT_EQ(probe(steps({{'l', none, 0}, {'e', none, 0}, {'l', none, 0}, {'i', ok, 0}, {'l', none, 0}})), "unusable");
  EXPECT_EQ(probe(steps({{'l', none, 0}, {'e', none, 0}, {'l', none, 0}, {'i', ok, 0}, {'l', ok, 1}})), "unusable");
}

// Steps of the insert probe: a letter, which new key, what was answered, whether a lookup saw the key's value.
std::string new_steps(const std::vector<std::tuple<char, int, powercut_status, int>>& all) {
  std::string out;
  for (const auto& [letter, key, answer, same] : all) {
    out += {letter, static_cast<char>(key), static_cast<char>(answer), static_cast<char>(same)};
  }
  return out;
}

TEST_F(InvariantsTest, AnInsertProbeGoesAsAsked) {
  constexpr auto ok = POWERCUT_OK, none = POWERCUT_NOT_FOUND, full = POWERCUT_FULL;
  const auto probe = [&](const std::string& result) { return judge(QueryKind::kInsertProbe, 0, result); };
  EXPECT_EQ(probe(new_steps({{'i', 0, ok, 0},
                             {'l', 0, ok, 1},
                             {'i', 1, full, 0},
                             {'l', 1, none, 0},
                             {'e', 0, ok, 0},
                             {'l', 0, none, 0}})),
            "");
  EXPECT_EQ(probe(new_steps({{'i', 0, ok, 0}, {'e', 0, POWERCUT_UNSUPPORTED, 0}, {'l', 0, ok, 1}})), "");
  EXPECT_EQ(probe(new_steps({{'i', 0, ok, 0}, {'l', 0, none, 0}})), "unusable");
  EXPECT_EQ(probe(new_steps({{'i', 0, ok, 0}, {'l', 0, ok, 0}})), "unusable") << "the value is another key's";
  EXPECT_EQ(probe(new_steps({{'i', 0, full, 0}, {'l', 0, ok, 1}})), "unusable") << "FULL changes nothing";
  EXPECT_EQ(probe(new_steps({{'i', 0, ok, 0}, {'e', 0, none, 0}})), "unusable");
  EXPECT_EQ(probe(new_steps({{'i', 0, POWERCUT_EXISTS, 0}})), "unusable") << "nobody has inserted it";
  EXPECT_EQ(probe(failure(Outcome::Kind::kAbort)), "unusable");
}

TEST_F(InvariantsTest, AProbeSaysWhatIsWrong) {
  constexpr auto ok = POWERCUT_OK, none = POWERCUT_NOT_FOUND, full = POWERCUT_FULL, corrupt = POWERCUT_CORRUPT;
  const auto said = [&](QueryKind kind, const std::string& result) {
    const auto violation = judge_query(history_, traits_, query_id(kind, 0), result);
    return violation ? violation->message : "";
  };
  const auto key = [&](std::initializer_list<std::tuple<char, powercut_status, int>> all) {
    const std::string message = said(QueryKind::kProbe, steps(all));
    EXPECT_EQ(message.substr(0, 8), "Key 0x61");
    return message.substr(8);
  };
  EXPECT_EQ(key({{'l', ok, 3}, {'e', ok, 0}, {'l', ok, 3}}), ", erased after recovery, is still there.");
  EXPECT_EQ(key({{'l', ok, 3}, {'u', ok, 0}, {'l', none, 0}}), ", updated after recovery, is gone.");
  EXPECT_EQ(key({{'l', ok, 3}, {'u', ok, 0}, {'l', ok, 3}}), ", updated after recovery, has another value.");
  EXPECT_EQ(key({{'l', none, 0}, {'i', ok, 0}, {'l', none, 0}}), ", inserted after recovery, is gone.");
  EXPECT_EQ(key({{'l', none, 0}, {'e', ok, 0}}), " is not found after recovery, and can be erased.");
  EXPECT_EQ(key({{'l', none, 0}, {'e', none, 0}, {'l', ok, 3}}), " is not found after recovery, and then it is.");
  EXPECT_EQ(key({{'l', ok, 3}, {'u', full, 0}, {'l', none, 0}}), " is found after recovery, and then gone.");
  EXPECT_EQ(key({{'l', ok, 3}, {'u', corrupt, 0}}), " cannot be updated after recovery (CORRUPT).");
  EXPECT_EQ(key({{'l', corrupt, 0}, {'e', ok, 0}}), " cannot be looked up after recovery (CORRUPT).");

  const auto new_key = [&](const std::vector<std::tuple<char, int, powercut_status, int>>& all) {
    return said(QueryKind::kInsertProbe, new_steps(all));
  };
  EXPECT_EQ(new_key({{'i', 1, ok, 0}, {'l', 1, none, 0}}), "New key 2, inserted after recovery, is gone.");
  EXPECT_EQ(new_key({{'i', 0, ok, 0}, {'e', 0, ok, 0}, {'l', 0, ok, 1}}),
            "New key 1, erased after recovery, is still there.");
  EXPECT_EQ(new_key({{'i', 0, full, 0}, {'l', 0, ok, 1}}),
            "New key 1 is found after recovery, and was never inserted.");
  EXPECT_EQ(new_key({{'i', 0, POWERCUT_EXISTS, 0}}), "New key 1 cannot be inserted after recovery (EXISTS).");
}

TEST_F(InvariantsTest, ABystanderNoticesNothing) {
  const auto noticed = [&](uint64_t key, const std::string& before, const std::string& after) {
    const auto size = static_cast<uint32_t>(before.size());
    return judge(QueryKind::kBystander, key,
                 before + after + std::string(reinterpret_cast<const char*>(&size), sizeof size));
  };
  const std::string none = status(POWERCUT_NOT_FOUND), ok = status(POWERCUT_OK);
  EXPECT_EQ(judge(QueryKind::kBystander, 0, "="), "");
  EXPECT_EQ(noticed(0, ok + "new", none), "lost-item");
  EXPECT_EQ(noticed(0, ok + "new", ok + "old"), "stale-value");
  EXPECT_EQ(noticed(0, ok + "new", ok + "ne"), "torn-value");
  EXPECT_EQ(noticed(0, ok + "new", status(POWERCUT_CORRUPT)), "unusable");
  EXPECT_EQ(noticed(1, none, ok + "gone"), "phantom-item");
  EXPECT_EQ(noticed(2, ok + "maybe", none), "lost-item") << "both are legal, but it was seen";
  EXPECT_EQ(noticed(0, none, ok + "new"), "") << "the lookup tells of it";
  EXPECT_EQ(judge(QueryKind::kBystander, 0, failure(Outcome::Kind::kSignal, 11)), "unusable");
}

TEST_F(InvariantsTest, QueriesAreNamed) {
  EXPECT_EQ(describe_query(history_, query_id(QueryKind::kBystander, 2)).substr(0, 10), "bystander(");
  EXPECT_EQ(describe_query(history_, query_id(QueryKind::kInsertProbe, 0)), "insert-probe");
  EXPECT_EQ(describe_query(history_, query_id(QueryKind::kWalk, 3)), "walk(region 3)");
  EXPECT_EQ(describe_query(history_, kRecoveryQuery), "recovery");
  EXPECT_EQ(legal_states(history_.keys()[2]).size(), 2u);
}

TEST(Queries, ItemsAreReadBackAsFarAsTheyAreWhole) {
  const std::string two = item("k", "v") + item("", "long value");
  const std::vector<Item> items = parse_items(two);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].key, "k");
  EXPECT_EQ(items[1].value, "long value");
  EXPECT_TRUE(parse_items("").empty());
}

TEST(Queries, AnIdHoldsKindAndArgument) {
  const QueryId id = query_id(QueryKind::kProbe, 77);
  EXPECT_EQ(kind_of(id), QueryKind::kProbe);
  EXPECT_EQ(argument_of(id), 77u);
  EXPECT_EQ(kind_of(kRecoveryQuery), QueryKind::kRecovery);
}

}  // namespace
}  // namespace powercut
