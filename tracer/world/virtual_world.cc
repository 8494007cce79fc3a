#include "tracer/world/virtual_world.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <string_view>

#include "base/system_call.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/world/arena.h"

// The runtime's stand-in (tracer/runtime/hooks/memory_calls.cc).
extern "C" void* __powercut_memcpy(void* target, const void* source, size_t size);

namespace powercut {

constinit VirtualWorld virtual_world;

namespace {

constexpr uint64_t kSecond = 1'000'000'000, kMicrosecond = 1'000;
constexpr uint64_t kBegin = 1'767'225'600;  // 2026-01-01 00:00:00 UTC
constexpr uint64_t kUptime = 10'000;        // seconds: what CLOCK_MONOTONIC begins with
constexpr uint64_t kCyclesPerNanosecond = 3;
constexpr int kProcess = 4242, kParent = 4241;
constexpr size_t kRandomFile = size_t{64} << 10;  // of /dev/urandom, as often as it is opened

bool given() { return arena_active || virtual_world.recording || target_is_loading(); }

// `world.state` is about to change because of this source.
void use(WorldSource source) {
  virtual_world.used |= source;
  if (virtual_world.changing != nullptr) virtual_world.changing(virtual_world.self);
}

uint64_t mix(uint64_t value) {
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27) * 0x94D049BB133111EB;
  return value ^ value >> 31;
}

// Time since the beginning of this world.
uint64_t passed() {
  WorldState& state = virtual_world.state;
  ++state.clock_readings;
  return state.clock_readings * (state.clock_readings + 1) / 2 * kMicrosecond + state.slept;
}

// Dates of other worlds are days to centuries later, and not at midnight.
uint64_t days_off() { return virtual_world.variant == 0 ? 0 : mix(virtual_world.variant) % (200 * 365 * 86'400ul); }

// Writes an answer. In the pool the answer is a store like those of mem* calls: the hooks make the store.
void give(void* out, const void* answer, size_t size) {
  const bool in_pool = reinterpret_cast<uint64_t>(out) - __powercut_alias.base < __powercut_alias.span;
  in_pool ? __powercut_memcpy(out, answer, size) : std::memcpy(out, answer, size);
}

void fill(void* out, size_t size) {
  auto* bytes = static_cast<uint8_t*>(out);
  for (size_t at = 0; at < size; at += 8) {
    const uint64_t word = world_random();
    give(bytes + at, &word, std::min<size_t>(8, size - at));
  }
}

void put(uint64_t nanoseconds, timespec* out) {
  const timespec time = {static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)};
  if (out != nullptr) give(out, &time, sizeof time);
}

void sleep_for(const timespec* time) {
  if (virtual_world.changing != nullptr) virtual_world.changing(virtual_world.self);
  virtual_world.state.slept += static_cast<uint64_t>(time->tv_sec) * kSecond + static_cast<uint64_t>(time->tv_nsec);
}

uint32_t next_rand() {
  if (virtual_world.changing != nullptr) virtual_world.changing(virtual_world.self);
  uint64_t& state = virtual_world.state.rand_state;
  state = state * 6364136223846793005 + 1442695040888963407;
  return static_cast<uint32_t>(state >> 33);
}

void seed_rand(uint64_t seed) {
  if (virtual_world.changing != nullptr) virtual_world.changing(virtual_world.self);
  virtual_world.state.rand_state = seed;
}

bool random_device(const char* path) {
  return path != nullptr && (std::string_view(path) == "/dev/urandom" || std::string_view(path) == "/dev/random");
}

// A file of this world's randomness, to be read in the place of the kernel's.
int random_file() {
  use(kWorldRandomness);
  const int file = static_cast<int>(system_call(SYS_memfd_create, "random", 0));
  if (file < 0) return file;
  std::array<uint8_t, 4096> block;
  for (size_t at = 0; at < kRandomFile; at += block.size()) {
    fill(block.data(), block.size());
    if (write(file, block.data(), block.size()) < 0) break;
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

// The function that an interposed one stands before.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void give_world_to_hooks() {
  powercut_world_cycles = [](uint64_t real) { return given() ? world_cycles() : real; };
  powercut_world_random = [](uint64_t real) { return given() ? world_random() : real; };
}

uint64_t world_nanoseconds() {
  use(kWorldClock);
  return (kBegin + days_off()) * kSecond + passed();
}

uint64_t world_cycles() {
  use(kWorldCycles);
  const uint64_t nanoseconds = kUptime * kSecond + days_off() % 100'000 * kSecond + passed();
  return nanoseconds * kCyclesPerNanosecond +
         mix(virtual_world.variant + 1) % 4096;  // its last digits are no round ones
}

// The first variants are the ones that code forgets: nothing but zeroes, and nothing but ones.
uint64_t world_random() {
  use(kWorldRandomness);
  const uint64_t n = ++virtual_world.state.drawn;
  if (virtual_world.variant == 1) return 0;
  if (virtual_world.variant == 2) return ~uint64_t{0};
  return mix(mix(virtual_world.variant + 1) + n);
}

std::string names_of_sources(uint32_t sources) {
  static constexpr std::array kNames = {"the clock", "randomness", "the time stamp counter", "the process id",
                                        "the processor's number"};
  std::string out;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if ((sources >> i & 1) != 0) out += (out.empty() ? "" : " and ") + std::string(kNames[i]);
  }
  return out;
}

MemoryRange world_state_range() {
  const auto begin = reinterpret_cast<uint64_t>(&virtual_world.state);
  return {begin, begin + sizeof(WorldState)};
}

}  // namespace powercut

using namespace powercut;

extern "C" {

// ---- time --------------------------------------------------------------------------------------------

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  static const auto real = next<int(clockid_t, timespec*)>("clock_gettime");
  if (!given()) return real(clock, out);
  const uint64_t now = world_nanoseconds();
  const bool date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  put(date ? now : now - (kBegin - kUptime) * kSecond, out);
  return 0;
}
int gettimeofday(timeval* out, void* zone) noexcept {
  static const auto real = next<int(timeval*, void*)>("gettimeofday");
  if (!given()) return real(out, zone);
  const uint64_t now = world_nanoseconds();
  const timeval answer = {static_cast<time_t>(now / kSecond), static_cast<long>(now % kSecond / 1000)};
  give(out, &answer, sizeof answer);
  return 0;
}
time_t time(time_t* out) noexcept {
  static const auto real = next<time_t(time_t*)>("time");
  if (!given()) return real(out);
  const auto now = static_cast<time_t>(world_nanoseconds() / kSecond);
  if (out != nullptr) give(out, &now, sizeof now);
  return now;
}
int timespec_get(timespec* out, int base) noexcept { return clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0; }
clock_t clock(void) noexcept {
  static const auto real = next<clock_t()>("clock");
  if (!given()) return real();
  return static_cast<clock_t>((world_nanoseconds() - kBegin * kSecond) / 1000);
}
int clock_nanosleep(clockid_t clock, int flags, const timespec* asked, timespec* left) {
  static const auto real = next<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  if (!given()) return real(clock, flags, asked, left);
  if (powercut_scheduled() != 0) return __powercut_pause();
  sleep_for(asked);  // until a moment: longer than was asked, which no code may rely on
  return 0;
}
int nanosleep(const timespec* asked, timespec* left) {
  static const auto real = next<int(const timespec*, timespec*)>("nanosleep");
  if (!given()) return real(asked, left);
  if (powercut_scheduled() != 0) return __powercut_pause();
  sleep_for(asked);
  return 0;
}
int usleep(useconds_t microseconds) {
  const timespec asked = {microseconds / 1'000'000, static_cast<long>(microseconds % 1'000'000) * 1000};
  return nanosleep(&asked, nullptr);
}
unsigned sleep(unsigned seconds) {
  timespec asked = {seconds, 0}, left{};
  return nanosleep(&asked, &left) == 0 ? 0 : static_cast<unsigned>(left.tv_sec);
}

// ---- randomness --------------------------------------------------------------------------------------

ssize_t getrandom(void* out, size_t size, unsigned flags) {
  if (!given()) return system_call(SYS_getrandom, out, size, flags);
  fill(out, size);
  return static_cast<ssize_t>(size);
}
int getentropy(void* out, size_t size) {
  if (size > 256) {
    errno = EIO;
    return -1;
  }
  return getrandom(out, size, 0) == static_cast<ssize_t>(size) ? 0 : -1;
}
void arc4random_buf(void* out, size_t size) noexcept {
  static const auto real = next<void(void*, size_t)>("arc4random_buf");
  given() ? fill(out, size) : real(out, size);
}
uint32_t arc4random(void) noexcept {
  uint32_t out;
  arc4random_buf(&out, sizeof out);
  return out;
}
uint32_t arc4random_uniform(uint32_t bound) noexcept { return bound < 2 ? 0 : arc4random() % bound; }

// std::random_device::_M_getval(): the C++ library asks the processor itself.
unsigned _ZNSt13random_device9_M_getvalEv(void* self) {
  static const auto real = next<unsigned(void*)>("_ZNSt13random_device9_M_getvalEv");
  return given() ? static_cast<unsigned>(world_random()) : real(self);
}

int open(const char* path, int flags, ...) {
  static const auto real = next<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  return given() && random_device(path) ? random_file() : real(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  static const auto real = next<int(const char*, int, ...)>("open64");
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  return given() && random_device(path) ? random_file() : real(path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  static const auto real = next<FILE*(const char*, const char*)>("fopen");
  return given() && random_device(path) ? fdopen(random_file(), mode) : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  static const auto real = next<FILE*(const char*, const char*)>("fopen64");
  return given() && random_device(path) ? fdopen(random_file(), mode) : real(path, mode);
}

// Numbers that follow from a seed: their state belongs to the C library, which no execution may change.
int rand(void) noexcept {
  static const auto real = next<int()>("rand");
  return given() ? static_cast<int>(next_rand()) : real();
}
long random(void) noexcept {
  static const auto real = next<long()>("random");
  return given() ? next_rand() : real();
}
void srand(unsigned seed) noexcept {
  static const auto real = next<void(unsigned)>("srand");
  given() ? seed_rand(seed) : real(seed);
}
void srandom(unsigned seed) noexcept {
  static const auto real = next<void(unsigned)>("srandom");
  given() ? seed_rand(seed) : real(seed);
}
long lrand48(void) noexcept {
  static const auto real = next<long()>("lrand48");
  return given() ? next_rand() : real();
}
double drand48(void) noexcept {
  static const auto real = next<double()>("drand48");
  return given() ? next_rand() / 2147483648.0 : real();
}
void srand48(long seed) noexcept {
  static const auto real = next<void(long)>("srand48");
  given() ? seed_rand(static_cast<uint64_t>(seed)) : real(seed);
}

// ---- who and where -----------------------------------------------------------------------------------

pid_t getpid(void) noexcept {
  if (!given()) return static_cast<pid_t>(system_call(SYS_getpid));
  use(kWorldProcess);
  return kProcess + 2 * static_cast<pid_t>(virtual_world.variant);
}
pid_t gettid(void) noexcept { return given() ? getpid() : static_cast<pid_t>(system_call(SYS_gettid)); }
pid_t getppid(void) noexcept {
  if (!given()) return static_cast<pid_t>(system_call(SYS_getppid));
  use(kWorldProcess);
  return kParent;
}
int kill(pid_t process, int signal) noexcept {
  const bool itself = given() && process == kProcess + 2 * static_cast<pid_t>(virtual_world.variant);
  if (itself) return raise(signal);
  return static_cast<int>(system_call(SYS_kill, process, signal));
}
int sched_getcpu(void) noexcept {
  static const auto real = next<int()>("sched_getcpu");
  if (!given()) return real();
  use(kWorldProcessor);
  return static_cast<int>(virtual_world.variant % 2);
}

// ---- what would outlive an execution -----------------------------------------------------------------

// Destructors of objects of target code: the process ends without them, and their objects are gone.
int __cxa_thread_atexit_impl(void (*function)(void*), void* object, void* library) {
  static const auto real = next<int(void (*)(void*), void*, void*)>("__cxa_thread_atexit_impl");
  return arena_active ? 0 : real(function, object, library);
}
int __cxa_atexit(void (*function)(void*), void* object, void* library) noexcept {
  static const auto real = next<int(void (*)(void*), void*, void*)>("__cxa_atexit");
  return arena_active ? 0 : real(function, object, library);
}

}  // extern "C"
