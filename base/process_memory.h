// The memory of another process, as system calls name it: an address, and text that ends with a zero byte.
#ifndef POWERCUT_BASE_PROCESS_MEMORY_H_
#define POWERCUT_BASE_PROCESS_MEMORY_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace powercut {

// Returns how many bytes were read, or -1 with errno.
inline ssize_t read_memory(pid_t thread, uint64_t address, void* data, size_t size) {
  const iovec to = {data, size}, from = {reinterpret_cast<void*>(address), size};
  return process_vm_readv(thread, &to, 1, &from, 1, 0);
}

// Returns the text at the address, or nothing if there is none of a path's length. `read(address, data, size)` returns
// whether it has read all bytes; no reading crosses a page, behind which there may be nothing.
template <typename Read>
std::optional<std::string> text_at(uint64_t address, const Read& read) {
  constexpr uint64_t kPage = 4096;
  std::string out;
  while (address != 0 && out.size() < PATH_MAX) {
    char piece[kPage];
    const size_t size = kPage - address % kPage;
    if (!read(address, piece, size)) return std::nullopt;
    const size_t length = strnlen(piece, size);
    out.append(piece, length);
    if (length < size) return out;
    address += size;
  }
  return std::nullopt;
}

}  // namespace powercut
#endif  // POWERCUT_BASE_PROCESS_MEMORY_H_
