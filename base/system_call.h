// A system call of our own. While the runtime is loaded, the C library's `syscall` is the runtime's. It looks at the
// arguments that target code hands to the kernel (kernel_calls.cc). Functions such as getpid are the virtual world's.
#ifndef POWERCUT_BASE_SYSTEM_CALL_H_
#define POWERCUT_BASE_SYSTEM_CALL_H_

#include <cerrno>
#include <type_traits>

namespace powercut {
namespace internal {

template <typename T>
long word_of(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}

inline long system_call_of(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  register long sixth asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace internal

// As syscall(2): -1 and errno for an error.
template <typename... Arguments>
long system_call(long number, Arguments... arguments) {
  return internal::system_call_of(number, internal::word_of(arguments)...);
}

}  // namespace powercut
#endif  // POWERCUT_BASE_SYSTEM_CALL_H_
