// Tests of what the explorer that remembers may leave out, on random schemes with obligations that come and go at crash
// points. The explorer must tell every bad answer that the eager one tells, although it asks only where something is
// new.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "replayer/explorer/explorer.h"
#include "replayer/explorer/test_scheme_draw.h"
#include "replayer/media/medium.h"

namespace powercut {
namespace {

using testing::Program;
using testing::scheme_global;
using testing::TraceStep;

constexpr uint32_t kKeys = 4, kRegions = 3, kKinds = kGroupKinds.size();
constexpr uint32_t kStrictest = 4;

// The obligation of one key at one crash point: `strict` of kStrictest answers are bad.
struct Obligation {
  uint8_t key = 0, strict = 0;
};
std::ostream& operator<<(std::ostream& out, const Obligation& o) {
  return out << "key " << int{o.key} << " strict " << int{o.strict};
}

struct Case {
  Program recovery;
  std::vector<Program> queries;
  Program intruder;
  bool intrudes = false;
  std::vector<TraceStep> trace;
  std::vector<Obligation> obligations;  // by crash point, over and over
  std::vector<uint8_t> forgets;         // crash points at which a chunk begins
  std::string model;
  AtomPolicy policy = AtomPolicy::kAny;
  int nested = 0;
  size_t trie_bytes = 0;
  uint64_t merge_after = 0;
  bool visible_only = false;
};

// A bad answer: to which query, which one, after one cut or more, under which version of the obligation.
struct Bad {
  QueryId query;
  std::string result;
  bool operator<(const Bad& b) const { return std::tie(query, result) < std::tie(b.query, b.result); }
};
using Versions = std::map<Bad, std::set<uint32_t>>;

QueryId query_of(Group group, uint32_t member) {
  return 1 + static_cast<uint32_t>(group.kind) + kKinds * (group.index + 16 * member);
}
GroupKind kind_of_group(QueryId query) { return static_cast<GroupKind>((query - 1) % kKinds); }
uint32_t index_of(QueryId query) { return static_cast<uint32_t>((query - 1) / kKinds % 16); }

// Keys, of which there are more and more; regions, whose number is what recovery left in its heap; the table.
class ObligedSubject final : public Subject {
 public:
  explicit ObligedSubject(const Case& c) : case_(c) {}

  void at_crash_point(size_t ordinal) {
    keys_ = std::min<uint32_t>(kKeys, 1 + static_cast<uint32_t>(ordinal / 3));
    if (case_.obligations.empty()) return;
    const Obligation& now = case_.obligations[ordinal % case_.obligations.size()];
    uint8_t& strict = strict_[now.key % kKeys];
    if (strict == now.strict) return;
    if (now.strict > strict) tightened_.insert(now.key % kKeys);
    strict = now.strict;
    strict_at_[now.key % kKeys].push_back(strict);
  }

  void recover(ResultBuffer* result) override {
    auto* heap = static_cast<uint64_t*>(calloc(testing::kHeapWords, 8));
    execute(case_.recovery, heap, result);
    const uint64_t said = testing::load_from(heap);
    opened_ = {reinterpret_cast<uint64_t>(heap), testing::load_from(heap + 1) % (kRegions + 1), (said & 1) == 0};
  }
  Opened opened() const override { return opened_; }
  void reopen(const Opened& opened) override { opened_ = opened; }
  GroupCounts groups() const override {
    return {keys_, static_cast<uint32_t>(opened_.regions), 1, case_.intrudes ? 1 + keys_ : 0};
  }
  std::span<const QueryId> members(Group group) override {
    members_ = {query_of(group, 0)};
    if (group.kind == GroupKind::kKey) members_.push_back(query_of(group, 1));
    return members_;
  }
  const std::vector<Group>& obliged() override {
    obliged_.clear();
    for (uint32_t key : tightened_) {
      if (key < keys_) obliged_.push_back({GroupKind::kKey, key});
      if (key < kRegions) obliged_.push_back({GroupKind::kRegion, key});
    }
    // Nobody can have asked about other groups.
    tightened_.clear();
    return obliged_;
  }
  bool wants_all() const override { return false; }
  void run(QueryId query, ResultBuffer* result) override {
    auto* heap = reinterpret_cast<uint64_t*>(opened_.table);
    const bool bystander = kind_of_group(query) == GroupKind::kIntrusion && index_of(query) > 0;
    const Program& program = bystander ? program_of(query_of({GroupKind::kKey, index_of(query) - 1}, 0))
                             : kind_of_group(query) == GroupKind::kIntrusion ? case_.intruder
                                                                             : program_of(query);
    execute(program, heap, result);
    if (!bystander) return;
    const size_t size = result->view().size();
    nobody_.clear();
    execute(case_.intruder, heap, &nobody_);
    result->set_phase(1);  // it looks again
    execute(program, heap, result);
    noticed(size, result);
  }
  void ended(QueryId query, const Outcome& outcome, ResultBuffer* result) override {
    if (kind_of_group(query) != GroupKind::kIntrusion || index_of(query) == 0 || result->phase() == 1)
      return put_failure(outcome, result);
    result->clear();
    result->put_byte('=');
  }
  std::string_view undisturbed() const override { return "="; }
  Judgement recovered(int depth, const Outcome&, std::string_view result) override {
    return judge(depth, kRecoveryQuery, result, 1, 0);
  }
  Judgement answered(int depth, QueryId query, std::string_view result) override {
    if (kind_of_group(query) == GroupKind::kIntrusion && result == "=") return Judgement::kGood;
    if (kind_of_group(query) >= GroupKind::kTable) return judge(depth, query, result, 2, 0);
    const uint32_t key = index_of(query);
    return judge(depth, query, result, strict_[key], static_cast<uint32_t>(strict_at_[key].size()));
  }
  void explained(int, QueryId, std::string_view, const Outcome*, const Image&) override {}

  // Bad answers after one power cut, and after a further cut inside recovery.
  Versions first, nested;
  // Returns whether the answer was bad in all these versions.
  bool bad_throughout(const Bad& bad, uint32_t from, uint32_t to) const {
    if (bad.query == kRecoveryQuery || kind_of_group(bad.query) >= GroupKind::kTable) return true;
    const std::vector<uint8_t>& strict = strict_at_[index_of(bad.query)];
    for (uint32_t version = from; version <= to; ++version) {
      if (!is_bad(bad.query, bad.result, version == 0 ? 0 : strict[version - 1])) return false;
    }
    return true;
  }

 private:
  static bool is_bad(QueryId query, std::string_view result, uint8_t strict) {
    return std::hash<std::string_view>()(result) % 61 * (query + 7) % 61 % kStrictest < strict;
  }
  Judgement judge(int depth, QueryId query, std::string_view result, uint8_t strict, uint32_t version) {
    if (!is_bad(query, result, strict)) return Judgement::kGood;
    (depth == 0 ? first : nested)[{query, std::string(result)}].insert(version);
    return Judgement::kBad;
  }

  const Program& program_of(QueryId query) const { return case_.queries[query % case_.queries.size()]; }

  const Case& case_;
  ResultBuffer nobody_{1 << 12};
  Opened opened_;
  uint32_t keys_ = 1;
  std::array<uint8_t, 16> strict_{};
  std::array<std::vector<uint8_t>, 16> strict_at_;
  std::set<uint32_t> tightened_;
  std::vector<QueryId> members_;
  std::vector<Group> obliged_;
};

struct ExploredCase {
  Versions first, nested;
  uint64_t query_runs = 0, crash_points = 0, met = 0;
};

template <typename Check>
ExploredCase explore(const Case& c, bool remember, const Check& check) {
  scheme_global = 0;
  const auto global = reinterpret_cast<uint64_t>(&scheme_global);
  Executor executor({.pool_size = testing::kSchemePool,
                     .policy = c.policy,
                     .persistency = persistency_of(c.model),
                     .step_budget = 1000,
                     .globals = {{global, global + 8}},
                     .own_code = {}});
  const auto strategy = make_strategy(c.visible_only ? "prefix" : "read-driven", {});
  const auto model = make_model(c.model, c.policy, testing::kSchemePool);
  Frontier frontier(executor.pool());
  ObligedSubject subject(c);
  const auto explorer = make_explorer(
      &executor, strategy.get(), &subject,
      {.nested = c.nested, .remember = remember, .merge_after = c.merge_after, .trie_bytes = c.trie_bytes});
  ExploredCase out;
  const auto visit = [&] {
    const std::vector<Frontier::Change>& changes = frontier.follow(model.get());
    subject.at_crash_point(out.crash_points);
    if (std::find(c.forgets.begin(), c.forgets.end(), out.crash_points) != c.forgets.end()) explorer->forget();
    explorer->crash_point(frontier, changes, out.crash_points++);
  };
  testing::for_each_crash_point(c.trace, model.get(), visit);
  check(subject);
  return {subject.first, subject.nested, explorer->counts().query_runs, out.crash_points, explorer->counts().met};
}

Case any_case() {
  Case c;
  c.recovery = *testing::any_recovery().as("recovery");
  c.queries = *rc::gen::container<std::vector<Program>>(7, testing::any_query()).as("queries");
  c.intruder = *rc::gen::oneOf(testing::any_recovery(), testing::any_query()).as("intruder");
  c.intrudes = *rc::gen::element(false, true, true);
  c.trace = *rc::gen::scale(3.0, rc::gen::container<std::vector<TraceStep>>(testing::any_step())).as("trace");
  c.obligations = *rc::gen::container<std::vector<Obligation>>(
                       rc::gen::map(rc::gen::pair(rc::gen::inRange<int>(0, kKeys), rc::gen::inRange<int>(0, 4)),
                                    [](const std::pair<int, int>& p) {
                                      return Obligation{static_cast<uint8_t>(p.first), static_cast<uint8_t>(p.second)};
                                    }))
                       .as("obligations");
  c.forgets = *rc::gen::container<std::vector<uint8_t>>(rc::gen::inRange<uint8_t>(1, 250)).as("forgets");
  c.model = *rc::gen::element<std::string>("adr", "adr", "adr", "eadr").as("model");
  c.policy = *rc::gen::element(AtomPolicy::kAny, AtomPolicy::kAny, AtomPolicy::kAscending);
  c.nested = *rc::gen::element(0, 1, 1, 2).as("nested");
  c.merge_after = *rc::gen::element<uint64_t>(0, 0, 2, QuerySearch::kNever).as("merge after");
  c.trie_bytes = *rc::gen::element<size_t>(256 << 20, 256 << 20, 4096, 0).as("trie bytes");
  c.visible_only = *rc::gen::element(false, false, false, false, true).as("visible only");
  if (*rc::gen::element(false, false, true)) std::erase_if(c.recovery, testing::stores);
  const size_t longest = c.nested == 2 ? 7 : 12;
  if (c.recovery.size() > longest) c.recovery.resize(longest);
  if (c.trace.size() > 120) c.trace.resize(120);
  testing::tame(&c.trace, c.model, c.policy, c.nested == 0 ? 200 : c.nested == 1 ? 40 : 12);
  c.trace.push_back({EventKind::kOpEnd});
  return c;
}

// Returns a bad answer of `wanted` that `got` lacks, as text; empty if there is none. An answer may stand in `got`
// under an earlier obligation if it has been bad ever since: nothing needs to be asked to know that.
std::string missing(const Versions& wanted, const Versions& got, const ObligedSubject& subject) {
  for (const auto& [bad, versions] : wanted) {
    const auto found = got.find(bad);
    for (uint32_t version : versions) {
      const bool there = found != got.end() && std::any_of(found->second.begin(), found->second.end(), [&](uint32_t v) {
                           return v <= version && subject.bad_throughout(bad, v, version);
                         });
      if (!there) return "query " + std::to_string(bad.query) + " version " + std::to_string(version);
    }
  }
  return "";
}

std::string not_real(const Versions& got, const Versions& real) {
  for (const auto& [bad, versions] : got) {
    const auto found = real.find(bad);
    if (found == real.end() ||
        !std::includes(found->second.begin(), found->second.end(), versions.begin(), versions.end())) {
      return "query " + std::to_string(bad.query);
    }
  }
  return "";
}

// Joins the bad answers of one cut and of nested cuts: an answer that is bad after one cut as well is told of one cut.
Versions together(const Versions& first, const Versions& nested) {
  Versions out = nested;
  for (const auto& [bad, versions] : first) out[bad].insert(versions.begin(), versions.end());
  return out;
}

RC_GTEST_PROP(RandomSchemes, NoBadAnswerIsPassedOver, ()) {
  const Case c = any_case();
  const ExploredCase eager = explore(c, false, [](const ObligedSubject&) {});
  const ExploredCase remembering = explore(c, true, [&](const ObligedSubject& subject) {
    RC_ASSERT(missing(eager.first, subject.first, subject) == "");
    RC_ASSERT(missing(eager.nested, together(subject.first, subject.nested), subject) == "");
  });
  RC_ASSERT(not_real(remembering.first, eager.first) == "");
  RC_ASSERT(not_real(remembering.nested, eager.nested) == "");
  RC_CLASSIFY(!eager.first.empty(), "bad");
  RC_CLASSIFY(eager.nested.size() > 1, "bad nested");
  const auto noticed = [](const auto& bad) {
    return kind_of_group(bad.first.query) == GroupKind::kIntrusion && index_of(bad.first.query) > 0;
  };
  RC_CLASSIFY(std::any_of(eager.first.begin(), eager.first.end(), noticed), "bystander notices");
  RC_CLASSIFY(remembering.met > 0, "recoveries meet");
  RC_CLASSIFY(eager.crash_points >= 30, "long");
  RC_CLASSIFY(remembering.query_runs * 2 < eager.query_runs, "saves half");
}

// Two queries of one group. The first is answered badly everywhere. The second is answered badly after two cuts, and at
// a later crash point after one cut. The finding of two cuts does not stand for the finding of one.
TEST(Remembering, WhatWasToldOfTwoCutsIsToldOfOneAsWell) {
  struct Counting final : Subject {
    void recover(ResultBuffer*) override {  // counts up in place
      const auto count = testing::load<uint64_t>(0);
      testing::store<uint64_t>(0, count + 1);
      testing::flush(0);
      testing::fence();
    }
    Opened opened() const override { return {1, 0, true}; }
    void reopen(const Opened&) override {}
    GroupCounts groups() const override { return {.keys = 1}; }
    std::span<const QueryId> members(Group) override { return ids; }
    const std::vector<Group>& obliged() override { return none; }
    bool wants_all() const override { return false; }
    void run(QueryId query, ResultBuffer* result) override {
      result->put_byte(query == 1 ? 0 : testing::load<uint8_t>(0));
    }
    Judgement recovered(int, const Outcome&, std::string_view) override { return Judgement::kGood; }
    Judgement answered(int depth, QueryId query, std::string_view result) override {
      if (query == 2 && result[0] != 2) return Judgement::kGood;
      told.insert({depth, query});
      return Judgement::kBad;
    }
    void explained(int, QueryId, std::string_view, const Outcome*, const Image&) override {}
    const std::vector<QueryId> ids = {1, 2};
    const std::vector<Group> none;
    std::set<std::pair<int, QueryId>> told;
  } subject;
  Executor executor({.pool_size = testing::kSchemePool, .step_budget = 1000, .globals = {}, .own_code = {}});
  const auto model = make_model("adr", AtomPolicy::kAny, testing::kSchemePool);
  Frontier frontier(executor.pool());
  const auto explorer = make_trie_explorer(&executor, &subject, {.nested = 1});
  explorer->crash_point(frontier, frontier.follow(model.get()), 0);
  EXPECT_EQ(subject.told, (std::set<std::pair<int, QueryId>>{{0, 1}, {1, 1}, {1, 2}}));
  std::array<uint8_t, 16> bytes{};
  model->apply(testing::event_of({.kind = EventKind::kStore, .word = 0, .value = 1, .size = 1}, 0, &bytes));
  model->apply(testing::event_of({.kind = EventKind::kCut}, 1, &bytes));
  explorer->crash_point(frontier, frontier.follow(model.get()), 1);
  EXPECT_TRUE(subject.told.contains({0, 2}));
}

// No table can be opened at the crash point at which the obligation is tightened.
TEST(Remembering, AnObligationWaitsForATableThatCanBeAsked) {
  struct Locked final : Subject {
    void recover(ResultBuffer*) override { usable = testing::load<uint64_t>(0) == 0; }
    Opened opened() const override { return {1, 0, usable}; }
    void reopen(const Opened&) override {}
    GroupCounts groups() const override { return {.keys = 1}; }
    std::span<const QueryId> members(Group) override { return ids; }
    const std::vector<Group>& obliged() override {
      std::swap(now, tightened);
      tightened.clear();
      return now;
    }
    bool wants_all() const override { return false; }
    void run(QueryId, ResultBuffer* result) override { result->put_byte(1); }
    Judgement recovered(int, const Outcome&, std::string_view) override { return Judgement::kGood; }
    Judgement answered(int, QueryId, std::string_view) override {
      ++asked;
      return Judgement::kGood;
    }
    void explained(int, QueryId, std::string_view, const Outcome*, const Image&) override {}
    bool usable = false;
    int asked = 0;
    std::vector<Group> tightened, now;
    const std::vector<QueryId> ids = {1};
  } subject;
  Executor executor({.pool_size = testing::kSchemePool, .step_budget = 1000, .globals = {}, .own_code = {}});
  const auto model = make_model("adr", AtomPolicy::kAny, testing::kSchemePool);
  Frontier frontier(executor.pool());
  const auto explorer = make_trie_explorer(&executor, &subject, {.nested = 0});
  uint64_t events = 0;
  std::array<uint8_t, 16> bytes{};
  const auto crash_with = [&](uint8_t value) {
    model->apply(
        testing::event_of({.kind = EventKind::kStore, .word = 0, .value = value, .size = 1}, events++, &bytes));
    model->apply(testing::event_of({.kind = EventKind::kCut}, events++, &bytes));
    explorer->crash_point(frontier, frontier.follow(model.get()), events);
  };
  crash_with(0);
  EXPECT_EQ(subject.asked, 1);
  subject.tightened = {{GroupKind::kKey, 0}};
  crash_with(1);
  crash_with(2);
  EXPECT_EQ(subject.asked, 1);
  crash_with(0);
  EXPECT_EQ(subject.asked, 2);
  crash_with(0);
  EXPECT_EQ(subject.asked, 2);
}

}  // namespace
}  // namespace powercut
