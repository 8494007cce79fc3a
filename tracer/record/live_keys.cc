#include "tracer/record/live_keys.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace powercut {

Zipfian::Zipfian(double theta) : theta_(theta), alpha_(1 / (1 - theta)), second_(1 + std::pow(0.5, theta)) {}

void Zipfian::prepare(uint64_t n) {
  if (n == n_) return;
  while (n_ < n) zeta_ += 1 / std::pow(static_cast<double>(++n_), theta_);
  while (n_ > n) zeta_ -= 1 / std::pow(static_cast<double>(n_--), theta_);
  eta_ = (1 - std::pow(2 / static_cast<double>(n), 1 - theta_)) / (1 - second_ / zeta_);
}

uint64_t Zipfian::draw(uint64_t n, Random& random) {
  prepare(n);
  double u = random.real();
  double uz = u * zeta_;
  if (uz < 1 || n == 1) return 0;
  // From here on n > 2 whenever eta_ is used: for n = 2 the sum is second_, and uz < sum.
  if (uz < second_ || n == 2) return 1;
  double rank = static_cast<double>(n) * std::pow(eta_ * u - eta_ + 1, alpha_);
  return std::min(static_cast<uint64_t>(rank), n - 1);
}

void LiveKeys::insert(uint64_t key) {
  auto [found, added] = positions_.try_emplace(key, order_.size());
  if (added) order_.push_back(key);
}

void LiveKeys::erase(uint64_t key) {
  auto found = positions_.find(key);
  if (found == positions_.end()) return;
  order_[found->second] = kGap;
  positions_.erase(found);
  while (!order_.empty() && order_.back() == kGap) order_.pop_back();
  if (order_.size() > 2 * positions_.size()) compact();
}

void LiveKeys::compact() {
  std::erase(order_, kGap);
  for (uint64_t at = 0; at < order_.size(); ++at) positions_[order_[at]] = at;
}

uint64_t LiveKeys::draw(Distribution distribution, double theta, Random& random) {
  uint64_t n = order_.size();
  assert(size() > 0);
  if (distribution == Distribution::kUniform) {
    // At least half of the positions are live: two tries on average.
    while (true) {
      if (uint64_t key = order_[random.below(n)]; key != kGap) return key;
    }
  }
  if (zipfian_.theta() != theta) zipfian_ = Zipfian(theta);
  uint64_t rank = zipfian_.draw(n, random);
  if (distribution == Distribution::kLatest) {
    uint64_t at = n - 1 - rank;
    while (order_[at] == kGap) at = at == 0 ? n - 1 : at - 1;
    return order_[at];
  }
  uint64_t scrambled = mix(rank + 1);
  while (order_[scrambled % n] == kGap) scrambled = mix(scrambled + 1);
  return order_[scrambled % n];
}

}  // namespace powercut
