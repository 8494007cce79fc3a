#include "checker/exploration/walks/choices.h"

#include <algorithm>
#include <random>
#include <set>

namespace powercut {
namespace {

bool holds(const std::vector<uint32_t>& contents, uint32_t content) {
  return std::binary_search(contents.begin(), contents.end(), content);
}

}  // namespace

std::vector<Choice> all_choices(const Box& box) {
  std::vector<Choice> out;
  std::vector<size_t> at(box.size());
  for (;;) {
    Choice& choice = out.emplace_back();
    for (size_t i = 0; i < box.size(); ++i) choice.push_back(box[i][at[i]]);
    size_t i = 0;
    while (i < box.size() && ++at[i] == box[i].size()) at[i++] = 0;
    if (i == box.size()) return out;
  }
}

Choice least_lost(const LineSets& sets, const Box& box) {
  Choice out;
  for (size_t i = 0; i < box.size(); ++i) {
    out.push_back(holds(box[i], sets[i]->visible) ? sets[i]->visible : box[i].back());
  }
  return out;
}

std::vector<Choice> sample_of(const Box& box, const LineSets& sets, uint64_t most, uint64_t seed) {
  std::set<Choice> seen;
  std::vector<Choice> out;
  const auto add = [&](const Choice& choice) {
    if (out.size() < most && seen.insert(choice).second) out.push_back(choice);
  };
  Choice floor;
  for (const std::vector<uint32_t>& contents : box) floor.push_back(contents.front());
  const Choice visible = least_lost(sets, box);
  add(floor);
  add(visible);
  for (size_t i = 0; i < box.size(); ++i) {
    Choice one = visible;
    one[i] = floor[i];
    add(one);
    one = floor;
    one[i] = visible[i];
    add(one);
  }
  std::mt19937_64 random(seed);
  const BigInt size = size_of(box);
  const uint64_t wanted = size < most ? static_cast<uint64_t>(size) : most;
  // A draw may repeat itself: in a box that is hardly larger than the sample, often.
  for (uint64_t draws = 0; out.size() < wanted && draws < 64 * wanted; ++draws) {
    Choice choice;
    for (const std::vector<uint32_t>& contents : box) choice.push_back(contents[random() % contents.size()]);
    add(choice);
  }
  return out;
}

}  // namespace powercut
