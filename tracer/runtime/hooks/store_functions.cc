#include "tracer/runtime/store_functions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/system_call.h"

namespace {

using powercut::system_call;

struct Module {
  std::string lines;
  const uint8_t* marks;
  uint32_t count;
};

struct Mapping {
  uint8_t* at;
  uint64_t size;
};

struct Registered {
  std::mutex mutex;
  std::vector<Module> modules;
  std::vector<Mapping> shared;  // memory that holds marks
  uint8_t* free = nullptr;      // shared bytes that no module has
  uint64_t left = 0;
};

// The table is made on first use, by whichever constructor is first, and never destroyed, as in registry.cc.
Registered& registered() {
  static Registered& instance = *new Registered;
  return instance;
}

// Makes the system call itself, as in contents.cc: the functions in front of the C library's are for the program's own
// memory.
uint8_t* mapped(uint64_t size, int flags, int fd) {
  const long at = system_call(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, flags, fd, 0);
  return at == -1 ? nullptr : reinterpret_cast<uint8_t*>(at);
}

uint8_t* shared_bytes(Registered& all, uint32_t count) {
  constexpr uint64_t kRoom = 64 * 1024;
  if (all.left < count) {
    all.left = std::max<uint64_t>(kRoom, count);
    all.free = mapped(all.left, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (all.free == nullptr) all.left = 0;
    if (all.free != nullptr) all.shared.push_back({all.free, all.left});
  }
  if (all.free == nullptr) return nullptr;
  uint8_t* bytes = all.free;
  all.free += count;
  all.left -= count;
  return bytes;
}

uint64_t digest(std::string_view text) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (const char character : text) hash = (hash ^ static_cast<uint8_t>(character)) * 0x100000001b3;
  return hash;
}

// Returns the bytes at the end of the module's file; null where the file cannot be made.
uint8_t* bytes_of_file(Registered& all, const char* folder, std::string_view lines, uint32_t count) {
  const std::string head = std::to_string(count) + "\n" + std::string(lines);
  char name[17];
  uint64_t rest = digest(head);
  for (int i = 15; i >= 0; --i, rest >>= 4) name[i] = "0123456789abcdef"[rest & 15];
  name[16] = 0;
  const std::string path = std::string(folder) + "/" + name;
  const long fd = system_call(SYS_open, path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd == -1) return nullptr;
  const uint64_t size = head.size() + count;
  uint8_t* file = nullptr;
  // Several processes may begin at once: all of them write the same bytes.
  if (system_call(SYS_ftruncate, fd, size) == 0 &&
      system_call(SYS_pwrite64, fd, head.data(), head.size(), 0) == static_cast<long>(head.size())) {
    file = mapped(size, MAP_SHARED, static_cast<int>(fd));
  }
  system_call(SYS_close, fd);
  if (file == nullptr) return nullptr;
  all.shared.push_back({file, size});
  return file + head.size();
}

}  // namespace

extern "C" {

void __powercut_store_functions(const char* lines, uint32_t count, uint8_t** marks) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  const char* folder = getenv("POWERCUT_REACHED");
  uint8_t* bytes = folder != nullptr ? bytes_of_file(all, folder, lines, count) : nullptr;
  if (bytes == nullptr) bytes = shared_bytes(all, count);
  if (bytes != nullptr) {
    for (uint32_t i = 0; i < count; ++i) bytes[i] |= (*marks)[i];
    *marks = bytes;
  }
  all.modules.push_back({lines, *marks, count});
}

void powercut_store_functions(void* self, void (*told)(void* self, const char* line, uint32_t size, int reached)) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const Module& module : all.modules) {
    std::string_view rest = module.lines;
    for (uint32_t i = 0; i < module.count; ++i) {
      const size_t end = rest.find('\n');
      told(self, rest.data(), static_cast<uint32_t>(end), module.marks[i]);
      rest.remove_prefix(end + 1);
    }
  }
}

void powercut_own_store_marks(void) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  for (const Mapping& mapping : all.shared) {
    const std::vector<uint8_t> marks(mapping.at, mapping.at + mapping.size);
    const long at = system_call(SYS_mmap, mapping.at, mapping.size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at != -1) std::copy(marks.begin(), marks.end(), mapping.at);
  }
  all.shared.clear();
}

}  // extern "C"
