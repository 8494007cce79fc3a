// The smallest target that is a map: an array of slots, each published by one byte. Its option `misbehave`
// makes it break in the ways that the engine must survive; ARRAY_MAP_ABI and ARRAY_MAP_LACKS_LOOKUP build
// the libraries that it must refuse, ARRAY_MAP_FORGETS one that does not do what was recorded.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "powercut/pmem.h"
#include "powercut/target.h"

#ifndef ARRAY_MAP_ABI
#define ARRAY_MAP_ABI POWERCUT_TARGET_ABI
#endif

struct powercut_table {};

namespace {

using powercut::pmem::atomic_store;
using powercut::pmem::fence;
using powercut::pmem::mark;
using powercut::pmem::nt_store;
using powercut::pmem::persist;

constexpr uint64_t kMagic = 0x70616D7961727261;

struct Slot {
  uint8_t used;
  uint8_t key[16], value[16];
};
struct Root {
  uint64_t magic, capacity;
  uint32_t key_size, value_size;
  alignas(64) Slot slots[1];
};

struct Table : powercut_table {
  Root* root;
  std::string misbehave;
};

const char* option(const powercut_config* config, const char* key, const char* otherwise) {
  for (size_t i = 0; i < config->option_count; ++i) {
    if (std::strcmp(config->options[i].key, key) == 0) return config->options[i].value;
  }
  return otherwise;
}

powercut_status traits(const powercut_config* config, powercut_traits* out) {
  for (size_t i = 0; i < config->option_count; ++i) {
    std::string key = config->options[i].key;
    if (key != "capacity" && key != "misbehave") {
      std::snprintf(config->error, config->error_size, "there is no option '%s'", key.c_str());
      return POWERCUT_BAD_CONFIG;
    }
  }
#ifdef ARRAY_MAP_SIZES
  // A library of fixed sizes; the same one may declare them.
  if (config->key_size != 8 || config->value_size != 24) {
    std::snprintf(config->error, config->error_size, "keys have 8 bytes, values 24");
    return POWERCUT_BAD_CONFIG;
  }
#endif
  *out = {};
  out->copy_bound = 1;
  out->notes = "a target for the engine's own tests";
  if (std::strcmp(option(config, "misbehave", ""), "short_values") == 0) out->most_value_size = 8;
  return POWERCUT_OK;
}

powercut_status format(powercut_pool pool, const powercut_config* config) {
  auto* root = reinterpret_cast<Root*>(pool.base);
  root->capacity = std::strtoull(option(config, "capacity", "64"), nullptr, 10);
  root->key_size = config->key_size;
  root->value_size = config->value_size;
  persist(root, sizeof *root);
  atomic_store(&root->magic, kMagic);
  persist(&root->magic, sizeof root->magic);
  return POWERCUT_OK;
}

// Breaks the process, not the execution: what no engine can catch from within. Only in images with a third item.
void break_process(const std::string& how, const Root& root) {
  if (std::getenv("ARRAY_MAP_PAUSES") != nullptr) pause();
  if (!how.starts_with("open_") || root.capacity < 3 || !root.slots[2].used) return;
  if (how == "open_exit") _exit(7);
  if (how == "open_kill") kill(getpid(), SIGKILL);
  if (how == "open_sleep") pause();
}

// A line far behind the slots, eight words of which each may hold any of `each` values before the fence: the last one
// is there from the time before. Nothing is loaded, so a query that comes here does not branch.
void many_contents(Root* root, uint64_t each) {
  auto* words = reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(root) + 32768);
  for (uint64_t round = 1; round <= each; ++round) {
    for (uint64_t w = 0; w < 8; ++w) nt_store(words + w, round);
    asm volatile("" ::: "memory");  // else the compiler keeps the last round alone
  }
  fence();
}

powercut_status open(powercut_pool pool, const powercut_config* config, powercut_table** out) {
  auto* root = reinterpret_cast<Root*>(pool.base);
  if (root->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  auto* table = new Table;
  table->root = root;
  table->misbehave = option(config, "misbehave", "");
  break_process(table->misbehave, *root);
  if (table->misbehave == "open_many") many_contents(root, 3);
  *out = table;
  return POWERCUT_OK;
}

Table& self(powercut_table* table) { return *static_cast<Table*>(table); }

Slot* find(Table& table, powercut_bytes key) {
  for (uint64_t i = 0; i < table.root->capacity; ++i) {
    Slot& slot = table.root->slots[i];
#ifdef ARRAY_MAP_FORGETS
    if (i == 1) continue;
#endif
    if (slot.used && std::memcmp(slot.key, key.data, key.size) == 0) return &slot;
  }
  return nullptr;
}

__attribute__((noinline)) void misbehave(const std::string& how) {
  if (how == "segv") *reinterpret_cast<volatile int*>(0x10) = 1;
  if (how == "abort") std::abort();
  if (how == "throw") throw std::runtime_error("no luck");
  if (how == "print") std::puts("{\"event\":\"end\",\"exit\":0}"), std::fflush(stdout);
  if (how == "hang") {
    for (volatile bool always = true; always;) {
    }
  }
}

powercut_status insert(powercut_table* handle, powercut_bytes key, powercut_bytes value) {
  Table& table = self(handle);
  if (table.misbehave == "too_large") return POWERCUT_TOO_LARGE;
  for (uint64_t i = 0; i < table.root->capacity; ++i) {
    Slot& slot = table.root->slots[i];
    if (slot.used) continue;
    std::memcpy(slot.key, key.data, key.size);
    std::memcpy(slot.value, value.data, value.size);
    // libc's code: it works, and its stores are in no trace.
    if (table.misbehave == "unseen") swab(value.data, slot.value, static_cast<ssize_t>(value.size));
    persist(&slot, sizeof slot);
    mark("slot.written");
    if (i == 2) misbehave(table.misbehave);
    if (table.misbehave == "many") many_contents(table.root, 5);
    atomic_store(&slot.used, uint8_t{1});
    persist(&slot.used, 1);
    mark("slot.published");
    return table.misbehave == "corrupt" ? POWERCUT_CORRUPT : POWERCUT_OK;
  }
  return POWERCUT_FULL;
}

int updates = 0;

powercut_status update(powercut_table* handle, powercut_bytes key, powercut_bytes value) {
  const std::string& how = self(handle).misbehave;
  if (how == "no_update" || (how == "no_second_update" && updates++ > 0)) return POWERCUT_UNSUPPORTED;
  Slot* slot = find(self(handle), key);
  if (slot == nullptr) return POWERCUT_NOT_FOUND;
  std::memcpy(slot->value, value.data, value.size);  // not atomic: this target is not crash-consistent
  persist(slot->value, value.size);
  return POWERCUT_OK;
}

powercut_status erase(powercut_table* handle, powercut_bytes key) {
  Slot* slot = find(self(handle), key);
  if (slot == nullptr) return POWERCUT_NOT_FOUND;
  atomic_store(&slot->used, uint8_t{0});
  persist(&slot->used, 1);
  return POWERCUT_OK;
}

[[maybe_unused]] powercut_status lookup(powercut_table* handle, powercut_bytes key, void* value, size_t capacity,
                                        size_t* size) {
  Table& table = self(handle);
  Slot* slot = find(table, key);
  if (slot == nullptr) return POWERCUT_NOT_FOUND;
  *size = table.root->value_size;
  std::memcpy(value, slot->value, *size < capacity ? *size : capacity);
  return POWERCUT_OK;
}

powercut_status maintain(powercut_table* handle, const char* command) {
  if (std::strcmp(command, "scrub") != 0) return POWERCUT_UNSUPPORTED;
  Root& root = *self(handle).root;
  for (uint64_t i = 0; i < root.capacity; ++i) {
    if (!root.slots[i].used) std::memset(&root.slots[i], 0, sizeof(Slot));
  }
  mark("scrubbed");
  persist(root.slots, root.capacity * sizeof(Slot));
  return POWERCUT_OK;
}

powercut_status copies(powercut_table* handle, powercut_bytes key, powercut_item_fn item, void* context) {
  Table& table = self(handle);
  Slot* slot = find(table, key);
  if (slot != nullptr) item(context, key, {slot->value, table.root->value_size});
  return POWERCUT_OK;
}

void close(powercut_table* table) { delete &self(table); }

const char* const kVariants[] = {"published", "hardened", nullptr};
const char* const kOptions[] = {"capacity=64: slots",
                                "misbehave=|segv|abort|throw|hang|corrupt|print: in the third insert; "
                                "no_update|no_second_update|too_large|short_values; open_exit|open_kill|open_sleep: "
                                "in an open that finds it; many|open_many: more contents of a line than "
                                "are kept, in an insert or in an open",
                                nullptr};
const char* const kCommands[] = {"scrub", nullptr};

const powercut_target kTarget = {.abi = ARRAY_MAP_ABI,
                                 .name = "array-map",
                                 .summary = "An array of slots for the engine's tests",
                                 .paper = nullptr,
                                 .variants = kVariants,
                                 .options = kOptions,
                                 .commands = kCommands,
                                 .traits = traits,
                                 .format = format,
                                 .open = open,
                                 .insert = insert,
                                 .update = update,
                                 .erase = erase,
#ifdef ARRAY_MAP_LACKS_LOOKUP
                                 .lookup = nullptr,
#else
                                 .lookup = lookup,
#endif
                                 .maintain = maintain,
                                 .copies = copies,
                                 .regions = nullptr,
                                 .walk = nullptr,
                                 .blocks = nullptr,
                                 .owner = nullptr,
                                 .verify = nullptr,
                                 .close = close,
                                 .increment = nullptr};

}  // namespace

#ifndef ARRAY_MAP_LACKS_ENTRY
extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
#ifdef ARRAY_MAP_REFUSES
  return abi == 99 ? &kTarget : nullptr;
#else
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
#endif
}
#else
extern "C" const void* some_other_symbol() { return &kTarget; }
#endif

#if defined ARRAY_MAP_SIZES && ARRAY_MAP_SIZES > 0
extern "C" const powercut_sizes* powercut_target_sizes(void) {
  static const powercut_sizes sizes[] = {{8, 24}, {0, 0}};
  return sizes;
}
#elif defined ARRAY_MAP_SIZES && ARRAY_MAP_SIZES < 0
extern "C" const powercut_sizes* powercut_target_sizes(void) { return nullptr; }
#endif
