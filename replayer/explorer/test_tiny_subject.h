// A subject over the tiny machine of test_scheme.h. Recovery and queries are programs, and the subject notes each
// result that it is told. Tests of the explorer read from the subject which results there were, and for which image
// each was shown.
#ifndef POWERCUT_REPLAYER_EXPLORER_TEST_TINY_SUBJECT_H_
#define POWERCUT_REPLAYER_EXPLORER_TEST_TINY_SUBJECT_H_

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "replayer/executor/image.h"
#include "replayer/explorer/test_scheme.h"
#include "replayer/search/subject.h"

namespace powercut::testing {

struct Scheme {
  Program recovery;
  std::vector<Program> queries;
  Program intruder = {};
  bool intrudes = false;  // then the queries are about keys, and each has a bystander
};

// Queries from here on are the intruder, and the bystander of query q (from 1 on).
inline constexpr QueryId kIntruderQuery = 100;

// An image that the explorer showed, and the result that it must lead to.
struct Shown {
  int depth;
  QueryId query;
  std::string result;
  Image image;
};

class TinySubject final : public Subject {
 public:
  explicit TinySubject(const Scheme& scheme, bool wants_all = true, bool explain = true, bool regions = true)
      : scheme_(scheme), wants_all_(wants_all), explain_(explain), regions_(regions && !scheme.intrudes) {
    list(scheme.queries.size());
  }
  // Asks the first `count` queries from here on, each a group of its own.
  void list(size_t count) { count_ = count; }
  void recover(ResultBuffer* result) override {
    auto* heap = static_cast<uint64_t*>(calloc(kHeapWords, 8));
    opened_ = {reinterpret_cast<uint64_t>(heap), 0, true};
    execute(scheme_.recovery, heap, result);
  }
  Opened opened() const override { return opened_; }
  void reopen(const Opened& opened) override { opened_ = opened; }
  GroupCounts groups() const override {
    const auto count = static_cast<uint32_t>(count_);
    if (regions_) return {.regions = count};
    return {.keys = count, .intrusion = scheme_.intrudes ? 1 + count : 0};
  }
  std::span<const QueryId> members(Group group) override {
    member_ = group.kind == GroupKind::kIntrusion ? kIntruderQuery + group.index : group.index + 1;
    return {&member_, 1};
  }
  const std::vector<Group>& obliged() override { return obliged_; }
  bool wants_all() const override { return wants_all_; }
  void run(QueryId query, ResultBuffer* result) override {
    auto* heap = reinterpret_cast<uint64_t*>(opened_.table);
    const Program& program = query == kIntruderQuery  ? scheme_.intruder
                             : query > kIntruderQuery ? scheme_.queries[query - kIntruderQuery - 1]
                                                      : scheme_.queries[query - 1];
    execute(program, heap, result);
    if (query <= kIntruderQuery) return;
    const size_t size = result->view().size();
    nobody_.clear();
    execute(scheme_.intruder, heap, &nobody_);
    result->set_phase(1);  // the bystander looks again
    execute(program, heap, result);
    noticed(size, result);
  }
  void ended(QueryId query, const Outcome& outcome, ResultBuffer* result) override {
    if (query <= kIntruderQuery || result->phase() == 1) return put_failure(outcome, result);
    result->clear();
    result->put_byte('=');
  }
  std::string_view undisturbed() const override { return "="; }
  Judgement recovered(int depth, const Outcome&, std::string_view result) override {
    return note(depth, kRecoveryQuery, result);
  }
  Judgement answered(int depth, QueryId query, std::string_view result) override { return note(depth, query, result); }
  void explained(int depth, QueryId query, std::string_view result, const Outcome*, const Image& image) override {
    shown.push_back({depth, query, std::string(result), image});
  }

  std::set<std::string> results;
  std::vector<Shown> shown;

 private:
  Judgement note(int depth, QueryId query, std::string_view result) {
    // An undisturbed bystander's answer is not noted: a bystander is asked only where its answer may differ.
    if (query > kIntruderQuery && result == undisturbed()) return Judgement::kGood;
    std::string line = std::to_string(depth) + "/" + std::to_string(query) + "/";
    for (char byte : result) line += std::to_string(static_cast<uint8_t>(byte)) + ".";
    return results.insert(line).second && explain_ ? Judgement::kExplain : Judgement::kGood;
  }

  const Scheme& scheme_;
  const bool wants_all_;
  const bool explain_;  // ask for the image of everything that is new
  const bool regions_;  // queries are about regions, and not about keys
  size_t count_ = 0;
  ResultBuffer nobody_{1 << 12};
  Opened opened_;
  QueryId member_ = 0;
  std::vector<Group> obliged_;
};

}  // namespace powercut::testing
#endif  // POWERCUT_REPLAYER_EXPLORER_TEST_TINY_SUBJECT_H_
