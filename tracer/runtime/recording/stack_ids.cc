#include "tracer/runtime/recording/stack_ids.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/runtime/hooks.h"

namespace powercut {
namespace {

constexpr uint32_t kMaxFrames = 64;
constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio

using Addresses = std::span<const uint64_t>;

struct AddressesHash {
  using is_transparent = void;
  size_t operator()(Addresses addresses) const { return XXH3_64bits(addresses.data(), addresses.size_bytes()); }
};

struct AddressesEqual {
  using is_transparent = void;
  bool operator()(Addresses a, Addresses b) const { return std::ranges::equal(a, b); }
};

}  // namespace

struct StackIds::Impl {
  Define define;
  std::unordered_map<std::vector<uint64_t>, uint32_t, AddressesHash, AddressesEqual> ids;

  // The stack that was last met at a call site with this frame: almost always the present stack. Comparing the walk
  // with it is cheaper than storing, hashing and looking up, and as exact.
  struct Recent {
    const uint64_t* addresses = nullptr;  // addresses of a key of `ids`
    uint32_t count = 0, id = 0;
  };
  static constexpr size_t kRecent = 1024;
  std::array<Recent, kRecent> recent{};

  static size_t slot(const void* pc, const void* frame) {
    const uint64_t mixed = (reinterpret_cast<uint64_t>(pc) ^ reinterpret_cast<uint64_t>(frame) << 32) * kOdd;
    return mixed >> 54;
  }

  uint32_t look_up(const void* pc, const void* frame) {
    std::array<uint64_t, kMaxFrames> raw;
    const Addresses addresses(raw.data(), powercut_stack(pc, frame, raw.data(), kMaxFrames));
    auto known = ids.find(addresses);
    if (known == ids.end()) {
      known = ids.emplace(std::vector<uint64_t>(addresses.begin(), addresses.end()), define(addresses)).first;
    }
    recent[slot(pc, frame)] = {known->first.data(), static_cast<uint32_t>(known->first.size()), known->second};
    return known->second;
  }
};

StackIds::StackIds(Define define) : impl_(std::make_unique<Impl>()) { impl_->define = std::move(define); }

StackIds::~StackIds() = default;

uint32_t StackIds::find(const void* pc, const void* frame) {
  const Impl::Recent& recent = impl_->recent[Impl::slot(pc, frame)];
  if (powercut_stack_is(pc, frame, recent.addresses, recent.count, kMaxFrames) != 0) [[likely]]
    return recent.id;
  return impl_->look_up(pc, frame);
}

}  // namespace powercut
