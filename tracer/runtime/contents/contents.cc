// Room contents: the contents of devices, by name (powercut/contents.h). The table grows until it is told to forget: an
// execution that is undone, and a later execution, may use a name that was given. The table's memory comes from the
// kernel, since the present heap may be the target's, which is put back to an earlier state.
#include "powercut/contents.h"

#include <sys/syscall.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/system_call.h"
#include "tracer/format/content_name.h"
#include "tracer/runtime/content_listener.h"

namespace powercut::runtime {
namespace {

struct Entry {
  uint64_t name;  // 0: free
  const uint8_t* bytes;
  uint64_t size;
  bool kept;
};

// Memory for contents begins with the place of the chunk before it.
struct Chunk {
  Chunk* before;
  uint64_t size;
};

constexpr uint64_t kChunk = uint64_t{16} << 20;
constexpr uint64_t kFirstPlaces = 1 << 12;  // a power of two

struct Store {
  Entry* places = nullptr;
  uint64_t count = 0, room = 0;
  uint8_t* free = nullptr;
  uint64_t left = 0;
  bool keeps = true;             // true until powercut_keep_contents()
  Chunk* forgettable = nullptr;  // chunks with contents that were named since
  uint64_t since = 0;            // bytes of contents that were named since
  powercut_content_listener* listener = nullptr;
  void* self = nullptr;
};
constinit Store store;

[[noreturn]] void give_up(const char* sentence) {
  std::fprintf(stderr, "powercut: %s\n", sentence);
  std::abort();
}

// Makes the system call itself. The functions in front of the C library's, mmap and syscall alike, are for the
// program's own memory, and may end an execution.
void* from_kernel(uint64_t size) {
  constexpr int kProtection = 0x3, kPrivateAnonymous = 0x22;
  const long at = system_call(SYS_mmap, 0, size, kProtection, kPrivateAnonymous, -1, 0);
  if (at == -1) give_up("there is no memory left for what the device holds");
  return reinterpret_cast<void*>(at);
}

Entry* place_of(uint64_t name) {
  uint64_t at = name & (store.room - 1);
  while (store.places[at].name != 0 && store.places[at].name != name) at = (at + 1) & (store.room - 1);
  return &store.places[at];
}

// Moves the entries that are wanted to a table with `room` places.
template <typename Wanted>
void move_to(uint64_t room, const Wanted& wanted) {
  const Entry* const old = store.places;
  const uint64_t old_room = store.room;
  store.room = room;
  store.places = static_cast<Entry*>(from_kernel(store.room * sizeof(Entry)));
  store.count = 0;
  for (uint64_t i = 0; i < old_room; ++i) {
    if (old[i].name == 0 || !wanted(old[i])) continue;
    *place_of(old[i].name) = old[i];
    ++store.count;
  }
  if (old != nullptr) system_call(SYS_munmap, old, old_room * sizeof(Entry));
}

void make_room() {
  if (2 * (store.count + 1) <= store.room) return;
  move_to(store.room == 0 ? kFirstPlaces : 2 * store.room, [](const Entry&) { return true; });
}

uint8_t* room_for(uint64_t size) {
  if (size > store.left) {
    const uint64_t whole = sizeof(Chunk) + (size > kChunk ? size : kChunk);
    auto* const chunk = static_cast<Chunk*>(from_kernel(whole));
    *chunk = {store.keeps ? nullptr : store.forgettable, whole};
    if (!store.keeps) store.forgettable = chunk;
    store.left = whole - sizeof(Chunk);
    store.free = reinterpret_cast<uint8_t*>(chunk + 1);
  }
  if (!store.keeps) store.since += size;
  uint8_t* const at = store.free;
  store.free += size;
  store.left -= size;
  return at;
}

}  // namespace
}  // namespace powercut::runtime

extern "C" {

uint64_t powercut_content_name(const void* bytes, size_t size, const void* more, size_t more_size) {
  using namespace powercut::runtime;
  const auto* const first = static_cast<const uint8_t*>(bytes);
  const auto* const second = static_cast<const uint8_t*>(more);
  const uint64_t name = powercut::content_name({first, size}, {second, more_size});
  if (name == 0) return 0;
  make_room();
  Entry* const entry = place_of(name);
  if (entry->name == 0) {
    uint8_t* const at = room_for(size + more_size);
    std::memcpy(at, first, size);
    if (more_size != 0) std::memcpy(at + size, second, more_size);
    *entry = {name, at, size + more_size, store.keeps};
    ++store.count;
  } else if (entry->size != size + more_size || std::memcmp(entry->bytes, first, size) != 0 ||
             (more_size != 0 && std::memcmp(entry->bytes + size, second, more_size) != 0)) {
    give_up("two contents of the device have one name; nothing can be said of this run");
  }
  if (store.listener != nullptr) store.listener(store.self, name, entry->bytes, entry->size);
  return name;
}

const void* powercut_content(uint64_t name, size_t size) {
  using namespace powercut::runtime;
  if (name <= POWERCUT_NO_CONTENT || store.room == 0) return nullptr;
  const Entry* const entry = place_of(name);
  return entry->name != 0 && entry->size >= size ? entry->bytes : nullptr;
}

void powercut_keep_contents() {
  using namespace powercut::runtime;
  for (uint64_t i = 0; i < store.room; ++i) store.places[i].kept = true;
  store.keeps = false;
  store.forgettable = nullptr;
  store.since = 0;
  store.left = 0;  // later contents lie in chunks of their own
}

void powercut_forget_contents(size_t more_than) {
  using namespace powercut::runtime;
  if (store.since <= more_than) return;
  move_to(store.room, [](const Entry& entry) { return entry.kept; });
  while (store.forgettable != nullptr) {
    Chunk* const chunk = store.forgettable;
    store.forgettable = chunk->before;
    powercut::system_call(SYS_munmap, chunk, chunk->size);
  }
  store.since = 0;
  store.left = 0;
}

void powercut_hear_contents(powercut_content_listener* listener, void* self) {
  powercut::runtime::store.listener = listener;
  powercut::runtime::store.self = self;
}

}  // extern "C"
