// Stand-ins for libc's mem* and str* functions, with the same signatures and results. Every byte that they read or
// write is announced first. Loads come before stores, since a load hook may fill in the bytes that are about to be
// copied.
//
// Functions that do not know how far they will read (strlen, strcmp) announce byte by byte: the next byte's address
// depends on the byte that the hook decided. Functions that C lets touch all n bytes (memcpy, memcmp) announce all n at
// once.
#include <alloca.h>
#include <strings.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tracer/runtime/hooks/call_site.h"

using powercut::runtime::announce_load;
using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::overlaps;
using powercut::runtime::Pieces;
using powercut::runtime::place_of;

namespace {

// Returns the length of the string, at most `limit`; announces each byte that is looked at.
size_t read_string(const char* text, size_t limit) {
  size_t length = 0;
  for (; length < limit; ++length) {
    if (*announce_load(text + length, 1) == '\0') break;
  }
  return length;
}

// Copies a string to `target` with its terminator.
char* copy_string(char* target, const char* source, size_t length, const CallSite& site) {
  const char* from = place_of(source);
  memcpy(announce_store(target, length + 1, POWERCUT_STORE_MEMCALL, from, site), from, length + 1);
  return target + length;
}

void announce_fill(void* target, int byte, size_t size, const CallSite& site, Pieces pieces) {
  if (!overlaps(__powercut_store_window, reinterpret_cast<uint64_t>(target), size)) return;
  // The pieces of one store end on line boundaries, so that no atom of the whole store is cut in two.
  constexpr size_t kPiece = 1024;
  char value[kPiece];
  memset(value, byte, size < kPiece ? size : kPiece);
  char* at = static_cast<char*>(target);
  while (size != 0) {
    const size_t to_boundary = kPiece - reinterpret_cast<uint64_t>(at) % kPiece;
    const size_t piece = size < to_boundary ? size : to_boundary;
    announce_store(at, piece, pieces.flags_of(at, piece), value, site);
    at += piece;
    size -= piece;
  }
}

int compare(unsigned char a, unsigned char b) { return static_cast<int>(a) - static_cast<int>(b); }

// Returns whether the string has no byte in the load window; at most `limit` bytes are looked at.
bool unwatched(const char* text, size_t limit) {
  const powercut_window& window = __powercut_load_window;
  const auto at = reinterpret_cast<uint64_t>(text);
  if (window.span == 0 || (at >= window.base && at - window.base >= window.span)) return true;
  if (at >= window.base) return false;
  const size_t before = window.base - at;
  return strnlen(place_of(text), limit < before ? limit : before) < before;
}

int compare_strings(const char* a, const char* b, size_t limit) {
  if (unwatched(a, limit) && unwatched(b, limit)) {
    return limit == SIZE_MAX ? strcmp(place_of(a), place_of(b)) : strncmp(place_of(a), place_of(b), limit);
  }
  for (size_t i = 0; i < limit; ++i) {
    const char* of_a = announce_load(a + i, 1);
    const char* of_b = announce_load(b + i, 1);
    const int order = compare(static_cast<unsigned char>(*of_a), static_cast<unsigned char>(*of_b));
    if (order != 0 || *of_a == '\0') return order;
  }
  return 0;
}

void* copy_bytes(void* target, const void* source, size_t size, const CallSite& site) {
  const void* from = announce_load(source, size);
  memmove(announce_store(target, size, POWERCUT_STORE_MEMCALL, from, site), from, size);
  return target;
}

// strncpy and stpncpy: `size` bytes are written whatever the source's length.
size_t copy_padded(char* target, const char* source, size_t size, const CallSite& site) {
  const size_t length = read_string(source, size);
  Pieces pieces(POWERCUT_STORE_MEMCALL);
  const char* from = place_of(source);
  memcpy(announce_store(target, length, pieces.flags_of(target, length), from, site), from, length);
  announce_fill(target + length, 0, size - length, site, pieces);
  memset(place_of(target) + length, 0, size - length);
  return length;
}

// Does what libc's fortified functions do when the destination is too small.
void check_room(size_t needed, size_t room) {
  if (needed > room) abort();
}

}  // namespace

extern "C" {

void* __powercut_memcpy(void* target, const void* source, size_t size) {
  return copy_bytes(target, source, size, call_site());
}

void* __powercut_memmove(void* target, const void* source, size_t size) {
  return copy_bytes(target, source, size, call_site());
}

void* __powercut_mempcpy(void* target, const void* source, size_t size) {
  return static_cast<char*>(copy_bytes(target, source, size, call_site())) + size;
}

void __powercut_bcopy(const void* source, void* target, size_t size) { copy_bytes(target, source, size, call_site()); }

void* __powercut_memset(void* target, int byte, size_t size) {
  announce_fill(target, byte, size, call_site(), Pieces(POWERCUT_STORE_MEMCALL));
  memset(place_of(target), byte, size);
  return target;
}

void __powercut_bzero(void* target, size_t size) {
  announce_fill(target, 0, size, call_site(), Pieces(POWERCUT_STORE_MEMCALL));
  memset(place_of(target), 0, size);
}

char* __powercut_strcpy(char* target, const char* source) {
  copy_string(target, source, read_string(source, SIZE_MAX), call_site());
  return target;
}

char* __powercut_stpcpy(char* target, const char* source) {
  return copy_string(target, source, read_string(source, SIZE_MAX), call_site());
}

char* __powercut_strncpy(char* target, const char* source, size_t size) {
  copy_padded(target, source, size, call_site());
  return target;
}

char* __powercut_stpncpy(char* target, const char* source, size_t size) {
  return target + copy_padded(target, source, size, call_site());
}

char* __powercut_strcat(char* target, const char* source) {
  char* end = target + read_string(target, SIZE_MAX);
  copy_string(end, source, read_string(source, SIZE_MAX), call_site());
  return target;
}

char* __powercut_strncat(char* target, const char* source, size_t size) {
  const CallSite site = call_site();
  char* end = target + read_string(target, SIZE_MAX);
  const size_t length = read_string(source, size);
  Pieces pieces(POWERCUT_STORE_MEMCALL);
  const char* from = place_of(source);
  memcpy(announce_store(end, length, pieces.flags_of(end, length), from, site), from, length);
  announce_fill(end + length, 0, 1, site, pieces);
  *place_of(end + length) = '\0';
  return target;
}

char* __powercut_strdup(const char* text) {
  read_string(text, SIZE_MAX);
  return strdup(place_of(text));
}

char* __powercut_strndup(const char* text, size_t limit) {
  read_string(text, limit);
  return strndup(place_of(text), limit);
}

int __powercut_memcmp(const void* a, const void* b, size_t size) {
  const void* of_a = announce_load(a, size);
  const void* of_b = announce_load(b, size);
  return memcmp(of_a, of_b, size);
}

int __powercut_bcmp(const void* a, const void* b, size_t size) { return __powercut_memcmp(a, b, size); }

void* __powercut_memchr(const void* bytes, int wanted, size_t size) {
  const unsigned char* at = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < size; ++i) {
    if (*announce_load(at + i, 1) == static_cast<unsigned char>(wanted)) return const_cast<unsigned char*>(at + i);
  }
  return nullptr;
}

size_t __powercut_strlen(const char* text) { return read_string(text, SIZE_MAX); }

size_t __powercut_strnlen(const char* text, size_t limit) { return read_string(text, limit); }

int __powercut_strcmp(const char* a, const char* b) { return compare_strings(a, b, SIZE_MAX); }

int __powercut_strncmp(const char* a, const char* b, size_t limit) { return compare_strings(a, b, limit); }

char* __powercut_strchr(const char* text, int wanted) {
  for (;; ++text) {
    const char letter = *announce_load(text, 1);
    if (letter == static_cast<char>(wanted)) return const_cast<char*>(text);
    if (letter == '\0') return nullptr;
  }
}

char* __powercut_strrchr(const char* text, int wanted) {
  read_string(text, SIZE_MAX);
  const char* there = place_of(text);
  const char* found = strrchr(there, wanted);
  return found == nullptr ? nullptr : const_cast<char*>(text + (found - there));
}

// Fortified forms (-D_FORTIFY_SOURCE): `room` is the size of the destination.
void* __powercut___memcpy_chk(void* target, const void* source, size_t size, size_t room) {
  check_room(size, room);
  return copy_bytes(target, source, size, call_site());
}

void* __powercut___memmove_chk(void* target, const void* source, size_t size, size_t room) {
  check_room(size, room);
  return copy_bytes(target, source, size, call_site());
}

void* __powercut___mempcpy_chk(void* target, const void* source, size_t size, size_t room) {
  check_room(size, room);
  return static_cast<char*>(copy_bytes(target, source, size, call_site())) + size;
}

void* __powercut___memset_chk(void* target, int byte, size_t size, size_t room) {
  check_room(size, room);
  announce_fill(target, byte, size, call_site(), Pieces(POWERCUT_STORE_MEMCALL));
  memset(place_of(target), byte, size);
  return target;
}

char* __powercut___strcpy_chk(char* target, const char* source, size_t room) {
  const size_t length = read_string(source, SIZE_MAX);
  check_room(length + 1, room);
  copy_string(target, source, length, call_site());
  return target;
}

char* __powercut___stpcpy_chk(char* target, const char* source, size_t room) {
  const size_t length = read_string(source, SIZE_MAX);
  check_room(length + 1, room);
  return copy_string(target, source, length, call_site());
}

char* __powercut___strncpy_chk(char* target, const char* source, size_t size, size_t room) {
  check_room(size, room);
  copy_padded(target, source, size, call_site());
  return target;
}

char* __powercut___strcat_chk(char* target, const char* source, size_t room) {
  const size_t before = read_string(target, SIZE_MAX);
  const size_t length = read_string(source, SIZE_MAX);
  check_room(before + length + 1, room);
  copy_string(target + before, source, length, call_site());
  return target;
}

}  // extern "C"
