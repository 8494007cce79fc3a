// A target whose inserts are small random programs on a few words that all threads share, with plain loads and stores:
// what a search over schedules may miss of them shows in what it leaves. Key and value are the seed; there is no map.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include "powercut/pmem.h"
#include "powercut/target.h"

struct powercut_table {};

namespace {

namespace pmem = powercut::pmem;

constexpr uint64_t kMagic = 0x5344524f57474e49;

struct Root {
  uint64_t magic;
  alignas(pmem::kLine) volatile uint64_t words[16];  // two lines
};

struct Table : powercut_table {
  Root* root;
  volatile uint64_t shared[2] = {0, 0};  // gone after a power cut
  volatile size_t word_size = sizeof(uint64_t);
};

Table* of(powercut_table* table) { return static_cast<Table*>(table); }

// The next number of a sequence (splitmix64).
uint64_t next(uint64_t* state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

volatile uint64_t* word(Table* table, uint64_t number) {
  return number % 4 < 2 ? &table->shared[number % 2] : &table->root->words[8 * (number % 2)];
}

// One to five steps. A step stores a word, loads a word, or stores a value made of earlier loads; or a function of libc
// clears the word, twice; or both lines are flushed, with a fence behind.
powercut_status insert(powercut_table* table, powercut_bytes key, powercut_bytes) {
  uint64_t state = 0, loaded = 0;
  std::memcpy(&state, key.data, sizeof state);
  const uint64_t steps = 1 + next(&state) % 5;
  for (uint64_t i = 0; i < steps; ++i) {
    const uint64_t what = next(&state) % 9;
    volatile uint64_t* at = word(of(table), next(&state));
    if (what < 2) {
      *at = 1 + next(&state) % 3;
    } else if (what < 5) {
      loaded = loaded * 4 + *at;
    } else if (what < 7) {
      *at = 4 + loaded;
    } else if (what < 8) {
      for (int twice = 0; twice < 2; ++twice) std::memset(const_cast<uint64_t*>(at), 0, of(table)->word_size);
    } else {
      pmem::persist(const_cast<uint64_t*>(&of(table)->root->words[0]), sizeof of(table)->root->words);
    }
  }
  return POWERCUT_OK;
}

powercut_status lookup(powercut_table* table, powercut_bytes, void* value, size_t capacity, size_t* size) {
  const uint64_t found[2] = {of(table)->root->words[0], of(table)->root->words[8]};
  *size = sizeof found;
  std::memcpy(value, found, capacity < *size ? capacity : *size);
  return POWERCUT_OK;
}

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  static const char* const variants[] = {"published", nullptr};
  static const char* const none[] = {nullptr};
  static const powercut_target target = [] {
    powercut_target t{};
    t.abi = POWERCUT_TARGET_ABI;
    t.name = "racing-words";
    t.summary = "Random programs on a few words";
    t.paper = "none";
    t.variants = variants;
    t.options = none;
    t.commands = none;
    t.traits = [](const powercut_config*, powercut_traits* out) {
      *out = {};
      out->copy_bound = 1;
      out->thread_safe = 1;
      out->checks_exists = 1;
      return POWERCUT_OK;
    };
    t.format = [](powercut_pool pool, const powercut_config*) {
      auto* root = reinterpret_cast<Root*>(pool.base);
      root->magic = kMagic;
      pmem::persist(root, sizeof *root);
      return POWERCUT_OK;
    };
    t.open = [](powercut_pool pool, const powercut_config*, powercut_table** out) {
      auto* root = reinterpret_cast<Root*>(pool.base);
      if (root->magic != kMagic) return POWERCUT_NOT_FORMATTED;
      auto* table = new (std::nothrow) Table;
      if (table == nullptr) return POWERCUT_FULL;
      table->root = root;
      *out = table;
      return POWERCUT_OK;
    };
    t.insert = insert;
    t.lookup = lookup;
    t.copies = [](powercut_table*, powercut_bytes, powercut_item_fn, void*) { return POWERCUT_OK; };
    t.close = [](powercut_table* table) { delete of(table); };
    return t;
  }();
  return abi == POWERCUT_TARGET_ABI ? &target : nullptr;
}
