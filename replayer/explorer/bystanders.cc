#include "replayer/explorer/bystanders.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tracer/world/virtual_world.h"
#include "xxhash.h"

namespace powercut {
namespace {

std::vector<uint32_t> in_both(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::vector<uint32_t> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}
std::vector<uint32_t> in_either(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::vector<uint32_t> out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

// The answer of the first query behind one way of the intruder, and the contents of lines that remain possible then.
struct After {
  std::vector<Narrowed> left;
  Outcome outcome;
  std::string answer;
};

}  // namespace

// A bystander that is asked together with others.
struct Bystanders::Shared {
  uint32_t code;
  QueryId first, query;
  std::vector<After> after = {};
  absl::flat_hash_set<uint64_t> seen = {};  // digests of its answers
  bool good = true;
};

void Bystanders::forget() {
  firsts_ = {};
  first_reads_.clear();
  restless_.clear();
}

void Bystanders::note_first(uint32_t key, const Wake& left) {
  if (!left.empty()) restless_.insert(key);
  if (first_reads_.size() <= key) first_reads_.resize(views_->count().keys);
  views_->note_reads(&firsts_, {GroupKind::kKey, key}, &first_reads_[key]);
}

void Bystanders::intruded(std::shared_ptr<Wake> left, bool narrow, uint64_t runs) {
  intruder_runs_ = runs;
  new_wake_ = wake_ = left;
  if (!narrow) return;
  // On the contents on which the intruder was not asked, the intruder stores to the same bytes as before.
  auto all = std::make_shared<Wake>(*views_->wake(0));
  all->add(*left);
  wake_ = all;
}

std::vector<uint32_t> Bystanders::disturbed(const Wake& wake) const {
  const uint32_t count = views_->count().keys;
  std::vector<uint32_t> out;
  bool all = wake.globals;
  for (const auto& [line, mask] : wake.lines) {
    const ReadIndex::Readers* readers = firsts_.find(line);
    if (readers == nullptr || (readers->any & mask) == 0) continue;
    all = all || readers->everyone;
    for (const ReadIndex::Reader& reader : readers->groups) {
      if ((reader.mask() & mask) != 0 && group_of(reader.group).index < count) {
        out.push_back(group_of(reader.group).index);
      }
    }
  }
  for (uint32_t key : restless_) {
    if (key < count) out.push_back(key);
  }
  if (all) {
    out.clear();
    for (uint32_t key = 0; key < count; ++key) out.push_back(key);
  }
  sort_unique(&out);
  return out;
}

std::vector<uint32_t> Bystanders::keys(const std::vector<LeafViews::Hits>& hits, bool intruder_asked,
                                       const std::vector<uint32_t>& watched) {
  if (!intruder_asked) {
    // One of the views covers all that the intruder does here.
    const auto known = std::find_if(hits.begin(), hits.end(), [](const auto& hit) { return !hit.intruder; });
    wake_ = views_->wake(known == hits.end() ? 0 : static_cast<size_t>(known - hits.begin()));
  }
  const std::vector<uint32_t> all = disturbed(*wake_);
  std::vector<uint32_t> keys = all;
  for (size_t i = 0; i < hits.size(); ++i) {
    std::vector<uint32_t> here;
    if (hits[i].intruder) here = i == 0 && intruder_asked ? disturbed(*new_wake_) : all;
    keys = in_both(keys, in_either(here, in_both(all, hits[i].keys)));
  }
  return in_either(keys, in_both(all, watched));
}

// If a key's first query changes nothing, the intruder does the same with and without the query before it. Therefore
// the intruder is executed once. Behind each way of the intruder the first query of every key is asked, and each way of
// a first query narrows the lines. On the contents that remain, the first query is then asked without the intruder.
// Both answers belong to the same images.
//
// The shared execution is given up, and each bystander is asked alone, if the intruder has too many ways or asks the
// world for something.
std::vector<uint32_t> Bystanders::ask_together(std::vector<uint32_t>* keys, int depth,
                                               const std::function<bool(uint32_t code)>& drops) {
  std::vector<Shared> bystanders;
  for (uint32_t key : *keys) {
    if (restless_.contains(key)) continue;
    const uint32_t code = bystander_code(key);
    const QueryId first = subject_->members({GroupKind::kKey, key})[0];
    bystanders.push_back({.code = code, .first = first, .query = subject_->members(group_of(code))[0]});
  }
  if (intruder_runs_ > QuerySearch::kMergeAfter || bystanders.size() <= 1) return {};
  for (const Shared& bystander : bystanders) {
    if (drops(bystander.code)) runs_->drop_answers(bystander.query);
  }
  UndecidedMemory& memory = executor_->memory();
  const UndecidedMemory::Mark leaf = runs_->leaf();
  ResultBuffer& buffer = runs_->buffer();
  const QueryId intruder = subject_->members(kIntruderGroup)[0];
  QuerySearch search = runs_->new_search(), other = runs_->new_search();
  bool asks_the_world = false;

  const auto ask = [&](const Shared& bystander, absl::FunctionRef<void(Outcome*)> ended) {
    runs_->search(&other, bystander.first, [&](Outcome* outcome, const Decisions*) {
      asks_the_world = asks_the_world || std::exchange(virtual_world.used, 0) != 0;
      finish_answer(executor_, outcome, &buffer);
      ended(outcome);
      return true;
    });
  };
  // Judges the bystander's answer, which is in the buffer.
  const auto answered = [&](Shared* bystander, const Outcome& outcome) {
    const uint64_t digest = XXH3_64bits(buffer.view().data(), buffer.view().size());
    if (!bystander->seen.insert(digest).second) return;
    bystander->good = runs_->judge(depth, bystander->query, outcome) && bystander->good;
  };
  const auto undisturbed = [&](Shared* bystander) {
    buffer.clear();
    buffer.put(subject_->undisturbed().data(), subject_->undisturbed().size());
    answered(bystander, Outcome{});
  };
  const auto intruded = [&](Outcome* outcome, const Decisions*) {
    asks_the_world = asks_the_world || std::exchange(virtual_world.used, 0) != 0;
    if (asks_the_world) return false;
    for (Shared& bystander : bystanders) {
      bystander.after.clear();
      if (!outcome->returned()) {
        undisturbed(&bystander);
        continue;
      }
      executor_->reads().begin(leaf.arena);
      ask(bystander, [&](Outcome* after) {
        bystander.after.push_back({memory.narrowed(leaf.decided), std::move(*after), std::string(buffer.view())});
      });
      views_->note_reads(bystander.code);
    }
    memory.undo(leaf);
    for (Shared& bystander : bystanders) {
      executor_->reads().begin(leaf.arena);
      for (const After& after : bystander.after) {
        for (const Narrowed& line : after.left) memory.keep_only(line.set->line, line.alive);
        ask(bystander, [&](Outcome* before) {
          if (!before->returned()) return undisturbed(&bystander);
          const size_t size = buffer.view().size();
          if (!after.outcome.returned()) buffer.clear();
          buffer.put(after.answer.data(), after.answer.size());
          if (after.outcome.returned()) subject_->noticed(size, &buffer);
          answered(&bystander, after.outcome);
        });
        memory.undo(leaf);
      }
      views_->note_reads(bystander.code);
    }
    return !asks_the_world;
  };
  const bool complete = runs_->search(&search, intruder, intruded, QuerySearch::kMergeAfter);
  intruder_runs_ = search.runs();
  counts_->query_runs += search.runs() + other.runs();
  if (complete && !asks_the_world) {
    std::erase_if(*keys, [this](uint32_t key) { return !restless_.contains(key); });
  }
  std::vector<uint32_t> bad;
  for (const Shared& bystander : bystanders) {
    if (!bystander.good) bad.push_back(bystander.code);
  }
  return bad;
}

}  // namespace powercut
