#include "checker/exploration/walks/least_choice.h"

#include "checker/findings/least_lines.h"

namespace powercut {
namespace {

// Most contents of a line that are tried for losing less.
constexpr uint32_t kTriedOfALine = 64;
// Most lines that are tried one by one for being decisive.
constexpr size_t kMostDecisive = 512;

}  // namespace

Choice LeastChoice::visible() const {
  Choice out;
  for (const LineSet* set : sets_) out.push_back(set->visible);
  return out;
}

Choice LeastChoice::find(const Choice& choice) const {
  Choice out = visible();
  if (shows_(out)) return out;
  out = fewest_lost(choice);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] != sets_[i]->visible) out[i] = last_content_of(out, i);
  }
  return out;
}

Choice LeastChoice::fewest_lost(Choice choice) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < choice.size(); ++i) {
      if (choice[i] == sets_[i]->visible) continue;
      Choice less = choice;
      less[i] = sets_[i]->visible;
      if (!shows_(less)) continue;
      choice = std::move(less);
      changed = true;
    }
  }
  return choice;
}

uint32_t LeastChoice::last_content_of(const Choice& choice, size_t line) const {
  const auto contents = static_cast<uint32_t>(sets_[line]->contents.size());
  return last_content(contents, [&](uint32_t first) {
    if (first <= choice[line]) return true;
    Choice less = choice;
    for (uint32_t tried = 0; tried < kTriedOfALine && contents - tried > first; ++tried) {
      less[line] = contents - 1 - tried;
      if (less[line] != sets_[line]->visible && shows_(less)) return true;
    }
    return false;
  });
}

std::vector<bool> LeastChoice::decided(const Choice& choice) const {
  std::vector<bool> lost;
  for (size_t i = 0; i < choice.size(); ++i) lost.push_back(choice[i] != sets_[i]->visible);
  const auto asked = [this](size_t line) { return sets_[line]->contents.size() > 1; };  // else it is definite
  return decided_lines(lost, kMostDecisive, asked, [&](size_t line) {
    Choice other = choice;
    other[line] = lost_content(*sets_[line]);
    return shows_(other);
  });
}

}  // namespace powercut
