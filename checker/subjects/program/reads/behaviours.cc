#include "checker/subjects/program/reads/behaviours.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

namespace powercut {
namespace {

uint64_t word_in(const uint8_t* line, uint64_t word) {
  uint64_t out = 0;
  std::memcpy(&out, line + word % kWords * kWordSize, kWordSize);
  return out;
}

// Which set a word's line has; words come line by line mostly.
class SetOfWord {
 public:
  explicit SetOfWord(const LineSets& sets) : sets_(sets) {}
  std::optional<size_t> operator()(uint64_t word) {
    const uint64_t line = word / kWords;
    if (line != line_) {
      line_ = line;
      at_ = static_cast<size_t>(std::lower_bound(sets_.begin(), sets_.end(), line,
                                                 [](const LineSet* s, uint64_t wanted) { return s->line < wanted; }) -
                                sets_.begin());
    }
    if (at_ == sets_.size() || sets_[at_]->line != line) return std::nullopt;
    return at_;
  }

 private:
  const LineSets& sets_;
  uint64_t line_ = ~uint64_t{0};
  size_t at_ = 0;
};

}  // namespace

Box whole_box(const LineSets& sets) {
  Box out;
  for (const LineSet* set : sets) {
    out.emplace_back(set->contents.size());
    std::iota(out.back().begin(), out.back().end(), 0);
  }
  return out;
}

BigInt size_of(const Box& box) {
  BigInt out = 1;
  for (const std::vector<uint32_t>& contents : box) out *= contents.size();
  return out;
}

std::vector<ReadWord> words_of(const std::vector<WordBytes>& reads, const LineSets& sets, const uint8_t* pool,
                               const std::vector<uint32_t>& choice) {
  std::vector<ReadWord> out;
  out.reserve(reads.size());
  SetOfWord set_of(sets);
  for (const WordBytes& bytes : reads) {
    const auto set = set_of(bytes.word);
    const uint8_t* line =
        set ? sets[*set]->contents[choice[*set]].bytes.data() : pool + bytes.word / kWords * kLineSize;
    out.push_back({bytes, word_in(line, bytes.word) & widened(bytes.mask)});
  }
  return out;
}

// ---- runs are added --------------------------------------------------------------------------------

std::optional<uint32_t> Behaviours::add(const std::vector<ReadWord>& reads, uint32_t outcome) {
  if (words_ + reads.size() > kMostWords) return std::nullopt;
  std::vector<Read> packed;
  packed.reserve(reads.size());
  for (const ReadWord& read : reads) packed.push_back({read.bytes.word << 8 | read.bytes.mask, read.value});
  std::optional<uint32_t> run;
  for (Tree& tree : trees_) {
    if ((run = insert(&tree, packed, outcome, runs_))) break;
  }
  if (run && *run < runs_) return run;
  if (!run && trees_.size() == kMostTrees) return std::nullopt;
  words_ += packed.size();  // at most
  if (!run) trees_.emplace_back().push_back({.chain = std::move(packed), .outcome = outcome, .run = runs_});
  return runs_++;
}

std::optional<uint32_t> Behaviours::insert(Tree* tree, const std::vector<Read>& reads, uint32_t outcome, uint32_t run) {
  const auto leaf_from = [&](size_t at) {
    tree->push_back(
        {.chain = {reads.begin() + static_cast<std::ptrdiff_t>(at), reads.end()}, .outcome = outcome, .run = run});
    return static_cast<uint32_t>(tree->size() - 1);
  };
  size_t read = 0;
  for (uint32_t number = 0;;) {
    const std::vector<Read>& chain = (*tree)[number].chain;
    for (size_t i = 0; i < chain.size(); ++i, ++read) {
      if (read == reads.size() || reads[read].at != chain[i].at) return std::nullopt;
      if (reads[read].value == chain[i].value) continue;
      // Here the values lead to two runs: the rest of the known chain moves to a child, and the new run becomes another
      // child.
      const Read known = chain[i];
      Node behind = std::move((*tree)[number]);
      Node node{.chain = {behind.chain.begin(), behind.chain.begin() + static_cast<std::ptrdiff_t>(i)},
                .next = known.at};
      behind.chain.erase(behind.chain.begin(), behind.chain.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      tree->push_back(std::move(behind));
      node.children[known.value] = static_cast<uint32_t>(tree->size() - 1);
      node.children[reads[read].value] = leaf_from(read + 1);
      (*tree)[number] = std::move(node);
      return run;
    }
    const Node& node = (*tree)[number];
    if (node.leaf()) {
      if (read != reads.size() || node.outcome != outcome) return std::nullopt;
      return node.run;
    }
    if (read == reads.size() || reads[read].at != node.next) return std::nullopt;
    const uint64_t value = reads[read++].value;
    const auto child = node.children.find(value);
    if (child == node.children.end()) {
      const uint32_t leaf = leaf_from(read);  // the nodes may have moved
      (*tree)[number].children[value] = leaf;
      return run;
    }
    number = child->second;
  }
}

// ---- boxes go down -----------------------------------------------------------------------------------

class Behaviours::Walk {
 public:
  Walk(const Tree& tree, const LineSets& sets, const uint8_t* pool) : tree_(tree), sets_(sets), pool_(pool) {}

  // No more than `most` boxes are made; returns how many were.
  size_t run(Box whole, size_t most, std::vector<Answered>* answered, std::vector<Box>* rest) {
    rest_ = rest;
    open_.emplace_back(std::move(whole), 0);
    while (!open_.empty()) {
      auto [box, number] = std::move(open_.back());
      open_.pop_back();
      const Node& node = tree_[number];
      if (made_ >= most || !follow(node.chain, &box)) {
        rest_->push_back(std::move(box));
      } else if (node.leaf()) {
        answered->push_back({std::move(box), node.outcome, node.run});
        ++made_;
      } else {
        branch(node, std::move(box));
      }
    }
    return made_;
  }

 private:
  uint64_t value_in(size_t set, uint32_t content, uint64_t at) const {
    return word_in(sets_[set]->contents[content].bytes.data(), at >> 8) & widened(static_cast<uint8_t>(at));
  }
  uint64_t definite(uint64_t at) const {
    return word_in(pool_ + (at >> 8) / kWords * kLineSize, at >> 8) & widened(static_cast<uint8_t>(at));
  }

  // Keeps the part of the box that agrees with `chain`; the other parts go to the rest. False when no part agrees.
  bool follow(const std::vector<Read>& chain, Box* box) {
    SetOfWord set_of(sets_);
    for (const Read& read : chain) {
      const auto set = set_of(read.at >> 8);
      if (!set) {
        if (definite(read.at) != read.value) return false;
        continue;
      }
      std::vector<uint32_t> agree, other;
      for (const uint32_t content : (*box)[*set]) {
        (value_in(*set, content, read.at) == read.value ? agree : other).push_back(content);
      }
      if (agree.empty()) return false;
      if (other.empty()) continue;
      (*box)[*set] = std::move(other);
      rest_->push_back(*box);
      ++made_;
      (*box)[*set] = std::move(agree);
    }
    return true;
  }

  void branch(const Node& node, Box box) {
    const auto child_of = [&](uint64_t value) {
      const auto child = node.children.find(value);
      return child == node.children.end() ? nullptr : &child->second;
    };
    const auto set = SetOfWord(sets_)(node.next >> 8);
    if (!set) {
      const uint32_t* child = child_of(definite(node.next));
      if (child == nullptr) {
        rest_->push_back(std::move(box));
      } else {
        open_.emplace_back(std::move(box), *child);
      }
      return;
    }
    std::vector<std::pair<uint64_t, std::vector<uint32_t>>> by_value;
    for (const uint32_t content : box[*set]) {
      const uint64_t value = value_in(*set, content, node.next);
      auto group = std::ranges::find(by_value, value, &std::pair<uint64_t, std::vector<uint32_t>>::first);
      if (group == by_value.end()) group = by_value.insert(group, {value, {}});
      group->second.push_back(content);
    }
    std::vector<uint32_t> unknown;
    for (auto& [value, contents] : by_value) {
      if (const uint32_t* child = child_of(value)) {
        box[*set] = std::move(contents);
        open_.emplace_back(box, *child);
        ++made_;
      } else {
        unknown.insert(unknown.end(), contents.begin(), contents.end());
      }
    }
    if (unknown.empty()) return;
    std::ranges::sort(unknown);
    box[*set] = std::move(unknown);
    rest_->push_back(std::move(box));
  }

  const Tree& tree_;
  const LineSets& sets_;
  const uint8_t* pool_;
  std::vector<Box>* rest_ = nullptr;
  std::vector<std::pair<Box, uint32_t>> open_;  // and the node that it has come to
  size_t made_ = 0;
};

void Behaviours::cover(const LineSets& sets, const uint8_t* pool, Box box, std::vector<Answered>* answered,
                       std::vector<Box>* rest) const {
  std::vector<Box> open;
  open.push_back(std::move(box));
  size_t made = 0;
  // The next tree may know a box that one tree does not.
  for (const Tree& tree : trees_) {
    std::vector<Box> unknown;
    for (Box& one : open) {
      const size_t most = kMostBoxes - std::min(made, kMostBoxes);
      made += Walk(tree, sets, pool).run(std::move(one), most, answered, &unknown);
    }
    open = std::move(unknown);
  }
  rest->insert(rest->end(), std::make_move_iterator(open.begin()), std::make_move_iterator(open.end()));
}

}  // namespace powercut
