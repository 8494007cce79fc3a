// System calls that store to memory, in front of the C library's: what the kernel puts into a pool is recorded as a
// store of the caller's, in no order within it.
//
// Known inaccuracy: what the C library reads for itself (fread straight into a pool), and calls that are not here, are
// not seen; unseen_stores.h notices what they leave.
#include <dlfcn.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "tracer/runtime/call_site.h"
#include "tracer/runtime/pool_calls.h"

namespace {

using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;

// The next definition of `name`, looked up once. Constant-initialised: others' constructors may be first.
#define REAL(name)                                                                              \
  ([]() -> decltype(&::name) {                                                                  \
    static constinit decltype(&::name) cache = nullptr;                                         \
    if (cache == nullptr) cache = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name)); \
    return cache;                                                                               \
  }())

// `done` bytes are at `to` now.
ssize_t stored(void* to, ssize_t done, const CallSite& site) {
  if (done > 0 && powercut::runtime::watches_pools()) {
    announce_store(to, static_cast<uint64_t>(done), POWERCUT_STORE_MEMCALL, to, site);
  }
  return done;
}

ssize_t scattered(const iovec* parts, int count, ssize_t done, const CallSite& site) {
  ssize_t left = done;
  for (int i = 0; i < count && left > 0; ++i) {
    const ssize_t piece = std::min(left, static_cast<ssize_t>(parts[i].iov_len));
    stored(parts[i].iov_base, piece, site);
    left -= piece;
  }
  return done;
}

}  // namespace

extern "C" {

ssize_t read(int fd, void* to, size_t size) { return stored(to, REAL(read)(fd, to, size), call_site()); }

ssize_t pread(int fd, void* to, size_t size, off_t offset) {
  return stored(to, REAL(pread)(fd, to, size, offset), call_site());
}

ssize_t pread64(int fd, void* to, size_t size, off64_t offset) {
  return stored(to, REAL(pread64)(fd, to, size, offset), call_site());
}

ssize_t readv(int fd, const iovec* parts, int count) {
  return scattered(parts, count, REAL(readv)(fd, parts, count), call_site());
}

ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  return scattered(parts, count, REAL(preadv)(fd, parts, count, offset), call_site());
}

ssize_t preadv64(int fd, const iovec* parts, int count, off64_t offset) {
  return scattered(parts, count, REAL(preadv64)(fd, parts, count, offset), call_site());
}

ssize_t recv(int fd, void* to, size_t size, int flags) {
  return stored(to, REAL(recv)(fd, to, size, flags), call_site());
}

ssize_t getrandom(void* to, size_t size, unsigned flags) {
  return stored(to, REAL(getrandom)(to, size, flags), call_site());
}

}  // extern "C"
