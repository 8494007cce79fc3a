// A scheme behind the target ABI: from a C++ class to the table of C functions, once for all schemes.
//
// The class offers these functions, most of which scheme_table.h declares. Keys and values are pointers to
// `options().key_size` and `value_size` bytes:
//   using Options                            a value with members key_size and value_size
//   static powercut_status ParseOptions(const powercut_config&, Options*);
//   static void Traits(const Options&, powercut_traits*);     given: the strictest promise, copy_bound 1
//   static powercut_status Format(powercut_pool, const Options&);
//   static powercut_status Open(powercut_pool, const Options&, Table** out);
//   const Options& options() const;
//   powercut_status Insert(const uint8_t* key, const uint8_t* value);       the same for Update
//   powercut_status Erase(const uint8_t* key);
//   powercut_status Lookup(const uint8_t* key, uint8_t* value);             value: room for value_size bytes
//   powercut_status Maintain(const char* command);                          a name out of `commands`
//   void ForEachCopy(const uint8_t* key, Visit visit);                      visit(key, value), until it returns true
//   uint64_t regions();
//   void Walk(uint64_t region, Visit visit);                                the same
//   PoolAllocator& allocator();
//   bool Reaches(uint64_t offset);                                          does the table own the block there?
//   powercut_status Verify(uint64_t region, char* message, size_t size);
//
// A table of mixed sizes (ABI.md, "Sizes") takes and visits keys and values as `Bytes`. Lookup puts the value that it
// finds into a `ValueRoom`. The Options are SchemeOptions, and `kSizes` has the longest sizes of any run.
// A table of counters (ABI.md, "Counters") has Increment(key, delta) in the place of Insert and Update.
#ifndef POWERCUT_TARGETS_COMMON_SCHEME_TARGET_H_
#define POWERCUT_TARGETS_COMMON_SCHEME_TARGET_H_

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "powercut/target.h"
#include "targets/common/bytes.h"
#include "targets/common/options.h"
#include "targets/common/pool_allocator.h"
#include "targets/common/target_entry.h"

namespace powercut {

// For Verify(): writes the sentence and answers POWERCUT_CORRUPT.
[[gnu::format(printf, 3, 4)]] inline powercut_status Broken(char* message, size_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, size, format, arguments);
  va_end(arguments);
  return POWERCUT_CORRUPT;
}

// A scheme's description; the rest of powercut_target follows from the class.
struct SchemeDescription {
  const char* name;
  const char* const* options;
  const char* summary;
  const char* paper;
  const char* commands[4];  // null-terminated
};

template <typename Table>
class SchemeTarget {
 public:
  static constexpr powercut_target Entry(const SchemeDescription& about) {
    return {
        .abi = POWERCUT_TARGET_ABI,
        .name = about.name,
        .summary = about.summary,
        .paper = about.paper,
        .variants = kVariants,
        .options = about.options,
        .commands = about.commands,
        .traits = Traits,
        .format = Format,
        .open = Open,
        .insert = kCounts ? nullptr : Insert,
        .update = kCounts ? nullptr : Update,
        .erase = Erase,
        .lookup = Lookup,
        .maintain = Maintain,
        .copies = Copies,
        .regions = Regions,
        .walk = Walk,
        .blocks = Blocks,
        .owner = Owner,
        .verify = Verify,
        .close = Close,
        .increment = kCounts ? Increment : nullptr,
    };
  }

 private:
  using Options = typename Table::Options;
  static constexpr bool kCounts =
      requires(Table& table, const uint8_t* key, int64_t delta) { table.Increment(key, delta); };

  static Table* Of(powercut_table* table) { return reinterpret_cast<Table*>(table); }
  static constexpr bool kMixesSizes = requires(Table& table, Bytes key) { table.Erase(key); };

  // A key or value as the table takes it.
  static auto At(powercut_bytes bytes) {
    if constexpr (kMixesSizes)
      return ViewOf(bytes);
    else
      return static_cast<const uint8_t*>(bytes.data);
  }
  // Checked here, once: inside a table every key and value has a size that it was opened for.
  static bool IsKey(powercut_table* table, powercut_bytes key) {
    const Options& options = Of(table)->options();
    if constexpr (kMixesSizes) return options.TakesKey(key.size);
    return key.size == options.key_size;
  }
  // Returns the answer of an insert or update of an item that the table does not take; OK if it takes the item.
  static powercut_status CheckItem(powercut_table* table, powercut_bytes key, powercut_bytes value) {
    const Options& options = Of(table)->options();
    if constexpr (kMixesSizes) {
      if (key.size > options.key_size || value.size > options.value_size) return POWERCUT_TOO_LARGE;
      return options.Takes(key.size, value.size) ? POWERCUT_OK : POWERCUT_UNSUPPORTED;
    } else {
      return IsKey(table, key) && value.size == options.value_size ? POWERCUT_OK : POWERCUT_UNSUPPORTED;
    }
  }

  static powercut_status Traits(const powercut_config* config, powercut_traits* out) {
    Options options;
    const powercut_status status = Table::ParseOptions(*config, &options);
    if (status != POWERCUT_OK) return status;
    *out = powercut_traits{};
    out->copy_bound = 1;
    if constexpr (kMixesSizes) {
      out->mixed_sizes = 1;
      out->most_key_size = Table::kSizes.most_key;
      out->most_value_size = Table::kSizes.most_value;
    }
    Table::Traits(options, out);
    return POWERCUT_OK;
  }

  static powercut_status Format(powercut_pool pool, const powercut_config* config) {
    Options options;
    const powercut_status status = Table::ParseOptions(*config, &options);
    return status == POWERCUT_OK ? Table::Format(pool, options) : status;
  }

  static powercut_status Open(powercut_pool pool, const powercut_config* config, powercut_table** out) {
    Options options;
    const powercut_status status = Table::ParseOptions(*config, &options);
    return status == POWERCUT_OK ? Table::Open(pool, options, reinterpret_cast<Table**>(out)) : status;
  }

  template <typename Body>
  static powercut_status Write(powercut_table* table, powercut_bytes key, powercut_bytes value, const Body& body) {
    const powercut_status checked = CheckItem(table, key, value);
    return checked == POWERCUT_OK ? body() : checked;
  }

  static powercut_status Insert(powercut_table* table, powercut_bytes key, powercut_bytes value) {
    if constexpr (kCounts)
      return POWERCUT_UNSUPPORTED;
    else
      return Write(table, key, value, [&] { return Of(table)->Insert(At(key), At(value)); });
  }

  static powercut_status Increment(powercut_table* table, powercut_bytes key, int64_t delta) {
    if constexpr (kCounts)
      return IsKey(table, key) ? Of(table)->Increment(At(key), delta) : POWERCUT_UNSUPPORTED;
    else
      return POWERCUT_UNSUPPORTED;
  }

  static powercut_status Update(powercut_table* table, powercut_bytes key, powercut_bytes value) {
    if constexpr (kCounts)
      return POWERCUT_UNSUPPORTED;
    else
      return Write(table, key, value, [&] { return Of(table)->Update(At(key), At(value)); });
  }

  static powercut_status Erase(powercut_table* table, powercut_bytes key) {
    return IsKey(table, key) ? Of(table)->Erase(At(key)) : POWERCUT_NOT_FOUND;
  }

  static powercut_status Lookup(powercut_table* table, powercut_bytes key, void* value, size_t capacity, size_t* size) {
    if (!IsKey(table, key)) return POWERCUT_NOT_FOUND;
    if constexpr (kMixesSizes) {
      ValueRoom room(value, capacity, size);
      return Of(table)->Lookup(At(key), &room);
    } else {
      return LookupOfOneSize(table, key, value, capacity, size);
    }
  }

  static powercut_status LookupOfOneSize(powercut_table* table, powercut_bytes key, void* value, size_t capacity,
                                         size_t* size) {
    const size_t whole = Of(table)->options().value_size;
    uint8_t found[kMostValue];
    const powercut_status status = Of(table)->Lookup(At(key), found);
    if (status != POWERCUT_OK) return status;
    *size = whole;
    std::memcpy(value, found, capacity < whole ? capacity : whole);
    return POWERCUT_OK;
  }

  static powercut_status Maintain(powercut_table* table, const char* command) { return Of(table)->Maintain(command); }

  static auto Reporting(const Table& table, powercut_item_fn report, void* context) {
    if constexpr (kMixesSizes) {
      return [report, context](Bytes key, Bytes value) {
        return report(context, {key.data, key.size}, {value.data, value.size}) != 0;
      };
    } else {
      return [&table, report, context](const uint8_t* key, const uint8_t* value) {
        return report(context, {key, table.options().key_size}, {value, table.options().value_size}) != 0;
      };
    }
  }

  static powercut_status Copies(powercut_table* table, powercut_bytes key, powercut_item_fn report, void* context) {
    if (IsKey(table, key)) Of(table)->ForEachCopy(At(key), Reporting(*Of(table), report, context));
    return POWERCUT_OK;
  }

  static uint64_t Regions(powercut_table* table) { return Of(table)->regions(); }

  static powercut_status Walk(powercut_table* table, uint64_t region, powercut_item_fn report, void* context) {
    Of(table)->Walk(region, Reporting(*Of(table), report, context));
    return POWERCUT_OK;
  }

  static powercut_status Blocks(powercut_table* table, powercut_block_fn report, void* context) {
    bool stopped = false;
    const bool sound = Of(table)->allocator().ForEach([&](uint64_t offset, uint64_t size) {
      if (!stopped && report(context, offset, size) != 0) stopped = true;
    });
    return sound ? POWERCUT_OK : POWERCUT_CORRUPT;
  }

  static int Owner(powercut_table* table, uint64_t offset) { return Of(table)->Reaches(offset) ? 1 : 0; }

  static powercut_status Verify(powercut_table* table, uint64_t region, char* message, size_t size) {
    return Of(table)->Verify(region, message, size);
  }

  static void Close(powercut_table* table) { delete Of(table); }

 public:
  static constexpr size_t kMostValue = 1024;  // ParseOptions() refuses larger values
};

}  // namespace powercut

// The last line of a scheme's target.cc, in the scheme's namespace: describes its `Table` and defines the one symbol
// that its library exports. The commands of Maintain() come last.
#define POWERCUT_SCHEME_TARGET(name, option_lines, summary, paper, ...)                           \
  constexpr SchemeDescription kDescription = {name, option_lines, summary, paper, {__VA_ARGS__}}; \
  constexpr powercut_target kTarget = SchemeTarget<Table>::Entry(kDescription);                   \
  POWERCUT_TARGET_ENTRY(kTarget)

#endif  // POWERCUT_TARGETS_COMMON_SCHEME_TARGET_H_
