// A recovery by threads: each checks every other record, and one repairs what the power cut has left. `run POOL` writes
// records of two lines, the second of which is durable before the first (with -DBUG it need not be).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

namespace {

constexpr size_t kRecords = 12, kThreads = 2;

struct Record {
  alignas(64) std::atomic<uint64_t> published;
  alignas(64) std::array<uint64_t, 8> value;
};

void persist(const void* at) { __asm__ volatile("clflush (%0)\n\tmfence" : : "r"(at) : "memory"); }

int run(Record* records) {
  for (size_t i = 0; i < kRecords; ++i) {
    for (size_t word = 0; word < 8; ++word) records[i].value[word] = i + word;
#ifndef BUG
    persist(&records[i].value);
#endif
    records[i].published = 1;
    persist(&records[i].published);
  }
  return 0;
}

bool is_right(const Record& record, size_t number) {
  if (record.published == 0) return true;
  uint64_t sum = 0;
  for (const uint64_t word : record.value) sum += word;
  return sum == 8 * number + 28;
}

int check(const Record* records) {
  std::atomic<int> wrong = 0;
  std::array<std::thread, kThreads> threads;
  for (size_t first = 0; first < kThreads; ++first) {
    threads[first] = std::thread([&, first] {
      for (size_t i = first; i < kRecords; i += kThreads) wrong += is_right(records[i], i) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr size_t kSize = 4096;
  static_assert(kRecords * sizeof(Record) <= kSize);
  const int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, kSize) != 0) return 2;
  void* const pool = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pool == MAP_FAILED) return 2;
  auto* const records = static_cast<Record*>(pool);
  return std::strcmp(argv[1], "run") == 0 ? run(records) : check(records);
}
