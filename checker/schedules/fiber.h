// A thread of the target as a fiber. A fiber knows where the thread stands, and the values that it has read since its
// state was last told apart. It also holds everything that must come back when the search returns to an earlier state.
// An image is a copy of the fiber and its live stack between two steps. States share images. The memory of an image
// that no state has is used for the next image.
#ifndef POWERCUT_CHECKER_SCHEDULES_FIBER_H_
#define POWERCUT_CHECKER_SCHEDULES_FIBER_H_

#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <deque>
#include <vector>

#include "checker/schedules/client_choices.h"
#include "checker/schedules/store_buffer.h"
#include "powercut/target.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/world/arena.h"

namespace powercut {

// The stacks lie below all memory that target code works on, so that the windows of the hooks leave the stacks out.
inline constexpr uint64_t kStackSize = uint64_t{256} << 10;
inline constexpr uint64_t kStacks = kLoadHeapBase - (uint64_t{1} << 30);
inline constexpr uint64_t kMostThreads = POWERCUT_MOST_THREADS;
inline constexpr uint64_t kEndOfStacks = kStacks + kMostThreads * 2 * kStackSize;
inline uint64_t stack_begin(uint32_t thread) { return kStacks + thread * 2 * kStackSize + kStackSize; }
inline uint64_t stack_end(uint32_t thread) { return stack_begin(thread) + kStackSize; }

struct Fiber {
  // The event that the thread stands before.
  enum class Next : uint8_t {
    kBegin,
    kEnd,
    kAccess,
    kStore,
    kFlush,
    kClflush,
    kFence,
    kTurn,
    kWork,
    kIdle,
    kJoin,
    kDone
  };
  struct Read {
    uint64_t word, value;
  };
  // A use of a place that is shared and does not race (shared_places.h), since the thread's last visible event.
  struct Use {
    uint64_t place;
    bool changes;
  };
  static constexpr uint64_t kToldByChain = 0, kBetweenCalls = 1;
  static constexpr size_t kMostReads = 4096;

  boost::context::detail::fcontext_t at = nullptr;
  Next next = Next::kBegin;
  uint64_t address = 0;
  uint64_t place = 0;     // in its code: a hash of its registers and stack; kBetweenCalls, or kToldByChain
  uint64_t chain = 0;     // of the values read since the operation began
  bool waiting = false;   // until another thread stores to a word of `reads`
  bool stored = false;    // since its last turn
  uint32_t accesses = 0;  // of shared places, since the thread last stored
  std::vector<Use> uses;
  uint64_t used = 0;  // their hash
  StoreBuffer buffer;
  bool awaits_empty = false;  // its next event comes once its buffer is empty
  uint64_t turn = 0, chain_at_turn = 0;
  std::vector<Read> reads;        // since its last turn
  std::vector<Read> batch_reads;  // of the target's own thread, since its batch began
  size_t operation = 0;
  uint8_t way = 0;                 // of its alternatives
  ClientChoices::Taken taken = 0;  // up to now
  powercut_status status = POWERCUT_OK;
  std::vector<uint8_t> answer;
  size_t answered = 0;
  Arena heap;
  bool says_when = false;       // it pauses where it waits, so other turns of its loops need not be heard
  uint64_t chain_at_step = 0;   // the chain before the thread looked at a lock
  std::vector<uint8_t> locals;  // thread-local variables, while the thread does not run

  void begin_uses() {
    uses.clear();
    used = 0;
  }
  // Whether each word of `reads` still holds its value.
  static bool reads_hold(const std::vector<Read>& reads);
  // Whether the thread waits for one of these bytes to change.
  bool waits_for(uint64_t address, uint64_t size) const;
  // A digest of everything that tells the thread in one state from itself in another, except the answers that its
  // operation may give.
  uint64_t digest() const;
};

class FiberImages {
 public:
  struct Image {
    Fiber fiber;
    std::vector<uint8_t> stack;
    uint64_t digest = 0;
    uint32_t users = 0;
  };
  // Held by a state that has the image.
  class Ref {
   public:
    Ref() = default;
    Ref(const Ref& other) : images_(other.images_), image_(other.image_) { take(); }
    Ref& operator=(const Ref& other) {
      if (image_ == other.image_) return *this;
      give();
      images_ = other.images_;
      image_ = other.image_;
      take();
      return *this;
    }
    ~Ref() { give(); }
    Image* operator->() const { return image_; }
    bool operator==(const Ref& other) const { return image_ == other.image_; }

   private:
    friend class FiberImages;
    Ref(FiberImages* images, Image* image) : images_(images), image_(image) { take(); }
    void take() {
      if (image_ != nullptr) ++image_->users;
    }
    void give() {
      if (image_ != nullptr && --image_->users == 0) images_->unused_.push_back(image_);
    }
    FiberImages* images_ = nullptr;
    Image* image_ = nullptr;
  };

  // Returns a copy of a thread; with `has_stack`, of its live stack as well.
  Ref capture(const Fiber& fiber, uint32_t thread, bool has_stack);

 private:
  std::deque<Image> all_;
  std::vector<Image*> unused_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_FIBER_H_
