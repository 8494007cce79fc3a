// flags: -std=c++20
// crashes: clang-14
// A coroutine, whose frame lies on the heap. clang 14 crashes over it where pointers have no types.
#include <coroutine>
#include <exception>

#include "pool.h"

namespace {

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Task steps(char* pool) {
  *AT(int, 0) = 1;
  co_await std::suspend_always{};
  *AT(int, 4) = 2;
}

}  // namespace

void run(char* pool) {
  Task task = steps(pool);
  task.handle.resume();
  task.handle.resume();
  task.handle.destroy();
}
