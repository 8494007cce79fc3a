#include "checker/schedules/fiber.h"

#include <algorithm>

#include "checker/schedules/word_journal.h"
#include "xxhash.h"

namespace powercut {

bool Fiber::reads_hold(const std::vector<Read>& reads) {
  return std::all_of(reads.begin(), reads.end(),
                     [](const Read& read) { return word_at(place_of_target(read.word)) == read.value; });
}

bool Fiber::waits_for(uint64_t begin, uint64_t size) const {
  if (!waiting) return false;
  return reads.size() >= kMostReads || std::any_of(reads.begin(), reads.end(), [&](const Read& read) {
           return read.word < begin + size && begin < read.word + 8;
         });
}

uint64_t Fiber::digest() const {
  const bool by_chain = place == kToldByChain;
  // Between operations, the last operation matters no more.
  const bool between = next == Next::kBegin || next == Next::kDone;
  const uint64_t words[] = {
      by_chain ? chain : place,
      used,
      buffer.digest(),
      heap.top,
      heap.last,
      XXH3_64bits(answer.data(), answer.size()),
      XXH3_64bits(locals.data(), locals.size()),
      address,
      uint64_t{operation} << 24 | (between ? 0 : uint64_t{way} << 16) | uint64_t(next) << 8 |
          uint64_t{awaits_empty} << 3 | uint64_t{by_chain} << 2 | uint64_t{waiting} << 1 | uint64_t{stored},
      next == Next::kEnd ? uint64_t(status) + 1 : 0,
  };
  return XXH3_64bits(words, sizeof words);
}

FiberImages::Ref FiberImages::capture(const Fiber& fiber, uint32_t thread, bool has_stack) {
  if (unused_.empty()) unused_.push_back(&all_.emplace_back());
  Image* image = unused_.back();
  unused_.pop_back();
  image->fiber = fiber;
  image->stack.clear();
  const auto begin = reinterpret_cast<uint64_t>(fiber.at);
  if (has_stack && begin >= stack_begin(thread) && begin < stack_end(thread)) {
    const auto* from = reinterpret_cast<const uint8_t*>(begin);
    image->stack.assign(from, from + (stack_end(thread) - begin));
  }
  image->digest = image->fiber.digest();
  return {this, image};
}

}  // namespace powercut
