// A stand-in for the corpora of the paper, which are not to be had: words drawn by a law of Zipf and Mandelbrot, and a
// RAM buffer that counts them until it is full.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_CORPUS_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_CORPUS_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "targets/common/hash.h"

namespace powercut::counting::fidelity {

// Ranks from 1, the k-th with a weight of (k + offset) ^ -exponent. Rejection-inversion: Hörmann, Derflinger,
// Rejection- inversion to generate variates from monotone discrete distributions, TOMACS 1996.
class Zipf {
 public:
  Zipf(double exponent, double offset, double ranks)
      : exponent_(exponent),
        offset_(offset),
        first_(Integral(1.5) - Weight(1)),
        last_(Integral(ranks + 0.5)),
        squeeze_(2 - Inverse(Integral(2.5) - Weight(2))) {}

  uint64_t Draw(std::mt19937_64* random) const {
    while (true) {
      const double u = last_ + (static_cast<double>((*random)() >> 11) * 0x1p-53) * (first_ - last_);
      const double x = Inverse(u), rank = std::max(1.0, std::floor(x + 0.5));
      if (rank - x <= squeeze_ || u >= Integral(rank + 0.5) - Weight(rank)) return static_cast<uint64_t>(rank);
    }
  }

 private:
  double Weight(double x) const { return std::pow(x + offset_, -exponent_); }
  double Integral(double x) const { return std::pow(x + offset_, 1 - exponent_) / (1 - exponent_); }
  double Inverse(double u) const { return std::pow((1 - exponent_) * u, 1 / (1 - exponent_)) - offset_; }

  double exponent_, offset_, first_, last_, squeeze_;
};

// The keys of a RAM buffer, and how many of them each slot has.
class Keys {
 public:
  Keys(uint64_t capacity, uint32_t slots)
      : capacity_(capacity), places_(std::bit_ceil(2 * capacity)), changes_(slots, 0) {}

  bool full() const { return size_ == capacity_; }
  bool empty() const { return size_ == 0; }
  const std::vector<uint32_t>& changes() const { return changes_; }

  bool Has(uint64_t key) const { return places_[Find(key)] == key; }
  void Add(uint64_t key) {
    places_[Find(key)] = key;
    ++changes_[Mix(~key) % changes_.size()];
    ++size_;
  }
  void Clear() {
    std::fill(places_.begin(), places_.end(), 0);
    std::fill(changes_.begin(), changes_.end(), 0);
    size_ = 0;
  }

 private:
  size_t Find(uint64_t key) const {
    size_t at = Mix(key) & (places_.size() - 1);
    while (places_[at] != 0 && places_[at] != key) at = (at + 1) & (places_.size() - 1);
    return at;
  }

  uint64_t capacity_, size_ = 0;
  std::vector<uint64_t> places_;
  std::vector<uint32_t> changes_;
};

}  // namespace powercut::counting::fidelity
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_CORPUS_H_
