#include "tracer/runtime/threads/tests/toy_scheduler.h"

#include <cerrno>
#include <cstring>
#include <ranges>
#include <utility>

namespace powercut {
namespace {

constexpr size_t kStack = 128 * 1024;
constexpr int kMostTurns = 5000;

// While an object lives, the running code is the scheduler's.
class Outside {
 public:
  explicit Outside(uint64_t* current) : current_(current), number_(std::exchange(*current, 0)) {}
  ~Outside() { *current_ = number_; }

 private:
  uint64_t* current_;
  uint64_t number_;
};

ToyScheduler* of(void* self) { return static_cast<ToyScheduler*>(self); }

}  // namespace

ToyScheduler::ToyScheduler(uint32_t seed) : random_(seed) {
  powercut_sink sink{};
  sink.self = this;
  sink.store = [](void* self, uint64_t at, uint64_t size, uint32_t, const void*, const void*, const void*) {
    of(self)->on_store(at, size);
  };
  sink.rmw_begin = [](void* self, uint64_t at, uint64_t size, const void*, const void*) {
    of(self)->yield();
    of(self)->on_store(at, size);
  };
  powercut_set_sink(&sink);
  __powercut_store_window = {0, ~uint64_t{0}};
  __powercut_scheduler = {
      .self = this,
      .pause = [](void* self, const uint64_t*) { of(self)->yield(); },
      .access =
          [](void* self, const void*, uint64_t, const void*, const void*) {
            ++of(self)->accesses_;
            of(self)->yield();
          },
      .wait =
          [](void* self, const void* at, uint64_t size, const void*, const void*) {
            Fiber& fiber = *of(self)->fibers_[of(self)->current_ - 1];
            fiber.begin = reinterpret_cast<uint64_t>(at);
            fiber.end = fiber.begin + size;
            of(self)->yield();
          },
      .create =
          [](void* self, uint64_t* out, void* (*body)(void*), void* argument) {
            const Outside outside(&of(self)->current_);
            *out = of(self)->add([body, argument] { return body(argument); });
            return 0;
          },
      .join =
          [](void* self, uint64_t thread, void** result) {
            if (thread == 0 || thread > of(self)->fibers_.size()) return ESRCH;
            of(self)->fibers_[of(self)->current_ - 1]->joins = thread;
            of(self)->yield();
            if (result != nullptr) *result = of(self)->fibers_[thread - 1]->result;
            return 0;
          },
      .detach = [](void*, uint64_t) { return 0; },
      .exit =
          [](void* self, void* result) {
            Fiber& fiber = *of(self)->fibers_[of(self)->current_ - 1];
            fiber.result = result;
            fiber.ended = true;
            of(self)->yield();
          },
      .current = [](void* self) { return of(self)->current_; },
      .of_system = 0,
      .time = nullptr,
  };
}

ToyScheduler::~ToyScheduler() {
  __powercut_scheduler = {};
  __powercut_store_window = {0, 0};
  powercut_set_sink(nullptr);
}

uint64_t ToyScheduler::add(std::function<void*()> body) {
  auto fiber = std::make_unique<Fiber>();
  fiber->stack = std::make_unique<char[]>(kStack);
  fiber->body = std::move(body);
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = kStack;
  fiber->context.uc_link = nullptr;
  const auto self = reinterpret_cast<uint64_t>(this);
  makecontext(&fiber->context, reinterpret_cast<void (*)()>(&ToyScheduler::enter), 2, static_cast<uint32_t>(self),
              static_cast<uint32_t>(self >> 32));
  fibers_.push_back(std::move(fiber));
  return fibers_.size();
}

void ToyScheduler::enter(uint32_t low, uint32_t high) {
  auto* self = reinterpret_cast<ToyScheduler*>(uint64_t{high} << 32 | low);
  Fiber& fiber = *self->fibers_[self->current_ - 1];
  fiber.result = fiber.body();
  fiber.ended = true;
  self->yield();
}

bool ToyScheduler::ready(const Fiber& fiber) const {
  return !fiber.ended && fiber.begin == fiber.end && (fiber.joins == 0 || fibers_[fiber.joins - 1]->ended);
}

void ToyScheduler::yield() {
  if (current_ != 0) swapcontext(&fibers_[current_ - 1]->context, &engine_);
}

void ToyScheduler::on_store(uint64_t address, uint64_t size) {
  if (current_ == 0) return;
  const Outside outside(&current_);
  const auto* bytes = reinterpret_cast<const uint8_t*>(address);
  changes_.push_back({address, {bytes, bytes + size}});
  for (const auto& fiber : fibers_) {
    if (fiber->begin < address + size && address < fiber->end) fiber->begin = fiber->end = 0;
  }
}

ToyScheduler::End ToyScheduler::run(const std::vector<std::function<void()>>& bodies) {
  for (const auto& body : bodies) {
    add([&body]() -> void* {
      body();
      return nullptr;
    });
  }
  for (int turn = 0; turn < kMostTurns; ++turn) {
    std::vector<uint64_t> able;
    bool all_ended = true;
    for (uint64_t number = 1; number <= fibers_.size(); ++number) {
      all_ended = all_ended && fibers_[number - 1]->ended;
      if (ready(*fibers_[number - 1])) able.push_back(number);
    }
    if (all_ended) return End::kAllDone;
    if (able.empty()) return End::kDeadlock;
    current_ = able[random_() % able.size()];
    Fiber& fiber = *fibers_[current_ - 1];
    fiber.joins = 0;
    swapcontext(&engine_, &fiber.context);
    current_ = 0;
  }
  return End::kEndless;
}

void ToyScheduler::undo() {
  for (const Change& change : std::views::reverse(changes_)) {
    std::memcpy(reinterpret_cast<void*>(change.address), change.old.data(), change.old.size());
  }
  changes_.clear();
}

}  // namespace powercut
