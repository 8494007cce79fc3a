// Runs the steps that it is given, a list for each thread: what a program of the reference does
// (replayer/reference/threads.py). `steps POOL LIST...`; a step is a letter, and its operands between colons.
#include <emmintrin.h>
#include <fcntl.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

extern "C" void __powercut_mark_begin(unsigned, const void*, unsigned long, const void*, unsigned long);
extern "C" void __powercut_mark_end(unsigned, const void*, unsigned long);

namespace {

struct Step {
  char what;
  uint64_t at, size;
  unsigned char data[16], expected[16];
};

char* pool;
std::mutex locks[2];

uint64_t bytes(const char* hex, unsigned char* to) {
  uint64_t size = 0;
  for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
    to[size++] = static_cast<unsigned char>(std::stoi(std::string(hex, 2), nullptr, 16));
  }
  return size;
}

std::vector<Step> parse(char* text) {
  std::vector<Step> out;
  char* rest = nullptr;
  for (char* word = strtok_r(text, ",", &rest); word != nullptr; word = strtok_r(nullptr, ",", &rest)) {
    Step step{};
    step.what = word[0];
    char* fields = nullptr;
    strtok_r(word, ":", &fields);
    if (const char* at = strtok_r(nullptr, ":", &fields)) step.at = std::stoul(at);
    if (const char* data = strtok_r(nullptr, ":", &fields)) step.size = bytes(data, step.data);
    if (const char* expected = strtok_r(nullptr, ":", &fields)) bytes(expected, step.expected);
    out.push_back(step);
  }
  return out;
}

template <typename T>
T value_of(const unsigned char* data) {
  T out;
  std::memcpy(&out, data, sizeof out);
  return out;
}

void store(const Step& step, const unsigned char* data) {
  char* to = pool + step.at;
  if (step.size == 4) __atomic_store_n(reinterpret_cast<uint32_t*>(to), value_of<uint32_t>(data), __ATOMIC_RELEASE);
  if (step.size == 8) __atomic_store_n(reinterpret_cast<uint64_t*>(to), value_of<uint64_t>(data), __ATOMIC_RELEASE);
  if (step.size == 16) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value_of<__m128i>(data));
}

__attribute__((target("clwb,clflushopt"))) void flush(char kind, char* line) {
  if (kind == 'w') _mm_clwb(line);
  if (kind == 'o') _mm_clflushopt(line);
  if (kind == 'f') _mm_clflush(line);
}

void run(const std::vector<Step>& steps) {
  unsigned char loaded[16] = {};
  for (const Step& step : steps) {
    char* at = pool + step.at;
    auto* word = reinterpret_cast<uint64_t*>(at);
    switch (step.what) {
      case 'S':
        store(step, step.data);
        break;
      case 'T':
        store(step, loaded);
        break;
      case 'N':
        if (step.size == 4) _mm_stream_si32(reinterpret_cast<int*>(at), value_of<int>(step.data));
        if (step.size == 8) _mm_stream_si64(reinterpret_cast<long long*>(at), value_of<long long>(step.data));
        if (step.size == 16) _mm_stream_si128(reinterpret_cast<__m128i*>(at), value_of<__m128i>(step.data));
        break;
      case 'L':
        if (step.size == 4) {
          const uint32_t value = __atomic_load_n(reinterpret_cast<uint32_t*>(at), __ATOMIC_ACQUIRE);
          std::memcpy(loaded, &value, sizeof value);
        } else {
          const uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
          std::memcpy(loaded, &value, sizeof value);
        }
        break;
      case 'R':
        __atomic_exchange_n(word, value_of<uint64_t>(step.data), __ATOMIC_SEQ_CST);
        break;
      case 'A':
        if (step.size == 1) __atomic_fetch_add(reinterpret_cast<unsigned char*>(at), step.data[0], __ATOMIC_SEQ_CST);
        if (step.size == 8) __atomic_fetch_add(word, value_of<uint64_t>(step.data), __ATOMIC_SEQ_CST);
        break;
      case 'C': {
        uint64_t expected = value_of<uint64_t>(step.expected);
        __atomic_compare_exchange_n(word, &expected, value_of<uint64_t>(step.data), false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        break;
      }
      case 'X':  // a locked instruction elsewhere
        __atomic_fetch_add(&loaded[15], 0, __ATOMIC_SEQ_CST);
        break;
      case 'w':
      case 'o':
      case 'f':
        flush(step.what, at);
        break;
      case 's':
        _mm_sfence();
        break;
      case 'm':
        _mm_mfence();
        break;
      case 'K':
        locks[step.at].lock();
        break;
      case 'U':
        locks[step.at].unlock();
        break;
      case 'B':
        __powercut_mark_begin(3, nullptr, 0, nullptr, 0);
        break;
      case 'E':
        __powercut_mark_end(0, nullptr, 0);
        break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int fd = open(argv[1], O_RDWR | O_CREAT, 0644);
  if (fd < 0 || ftruncate(fd, 4096) != 0) return 3;
  pool = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  std::vector<std::vector<Step>> lists;
  for (int i = 2; i < argc; ++i) lists.push_back(parse(argv[i]));
  std::vector<std::thread> threads;
  for (const std::vector<Step>& steps : lists) threads.emplace_back(run, std::cref(steps));
  for (std::thread& thread : threads) thread.join();
}
