// The map behind the target ABI. It has no allocator in the pool, and hence no blocks to tell of.
#include <cstring>
#include <string_view>

#include "targets/montage/table.h"

namespace powercut::montage {
namespace {

constexpr OptionTable<Options> kOptions({
    {"every=1|0|2|...: operations that change something, after which the clock moves on (0: only on command)",
     Number<&Options::every>(0)},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

constexpr const char* kVariants[] = {"published", "hardened", nullptr};  // the same: README.md
constexpr const char* kCommands[] = {"sync", "advance", nullptr};

Table* Of(powercut_table* table) { return reinterpret_cast<Table*>(table); }
const uint8_t* At(powercut_bytes bytes) { return static_cast<const uint8_t*>(bytes.data); }

powercut_status Traits(const powercut_config* config, powercut_traits* out) {
  Options options;
  const powercut_status status = Table::ParseOptions(*config, &options);
  if (status != POWERCUT_OK) return status;
  *out = powercut_traits{};
  out->copy_bound = 1;
  out->thread_safe = 1;
  out->buffered = 1;
  out->checks_exists = 1;
  out->needs_zeroed_pool = 1;
  out->notes = "what the last two epochs have written is lost, unless 'sync' comes after it (Wen et al., ICPP 2021, 3)";
  return POWERCUT_OK;
}

template <typename Call>
powercut_status WithOptions(const powercut_config* config, Call call) {
  Options options;
  const powercut_status status = Table::ParseOptions(*config, &options);
  return status == POWERCUT_OK ? call(options) : status;
}

bool Fits(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  return key.size == Of(table)->options().key_size && value.size == Of(table)->options().value_size;
}

powercut_status Lookup(powercut_table* table, powercut_bytes key, void* value, size_t capacity, size_t* size) {
  if (key.size != Of(table)->options().key_size) return POWERCUT_NOT_FOUND;
  uint8_t found[kMostValue];
  const powercut_status status = Of(table)->Lookup(At(key), found);
  if (status != POWERCUT_OK) return status;
  *size = Of(table)->options().value_size;
  std::memcpy(value, found, capacity < *size ? capacity : *size);
  return POWERCUT_OK;
}

// Those of `key` alone where it is not null.
powercut_status Report(powercut_table* table, const uint8_t* key, powercut_item_fn report, void* context) {
  const Options& options = Of(table)->options();
  Of(table)->ForEach([&](const Payload& payload) {
    if (key != nullptr && !Of(table)->IsKey(payload, key)) return false;
    return report(context, {payload.key, options.key_size}, {payload.value, options.value_size}) != 0;
  });
  return POWERCUT_OK;
}

constexpr powercut_target kTarget = {
    .abi = POWERCUT_TARGET_ABI,
    .name = "montage",
    .summary = "a map whose operations are buffered: payloads tagged with epochs, an index that open makes again",
    .paper =
        "Wen, Cai, Du, Jenkins, Valpey, Scott: A Fast, General System for Buffered Persistent Data Structures, "
        "ICPP 2021",
    .variants = kVariants,
    .options = kOptions.lines,
    .commands = kCommands,
    .traits = Traits,
    .format =
        [](powercut_pool pool, const powercut_config* config) {
          return WithOptions(config, [&](const Options& options) {
            if (pool.size < sizeof(Root)) return POWERCUT_BAD_CONFIG;
            Table::Format(pool, options);
            return POWERCUT_OK;
          });
        },
    .open =
        [](powercut_pool pool, const powercut_config* config, powercut_table** out) {
          return WithOptions(config, [&](const Options& options) {
            return Table::Open(pool, options, reinterpret_cast<Table**>(out));
          });
        },
    .insert =
        [](powercut_table* table, powercut_bytes key, powercut_bytes value) {
          return Fits(table, key, value) ? Of(table)->Insert(At(key), At(value)) : POWERCUT_UNSUPPORTED;
        },
    .update =
        [](powercut_table* table, powercut_bytes key, powercut_bytes value) {
          return Fits(table, key, value) ? Of(table)->Update(At(key), At(value)) : POWERCUT_UNSUPPORTED;
        },
    .erase =
        [](powercut_table* table, powercut_bytes key) {
          return key.size == Of(table)->options().key_size ? Of(table)->Erase(At(key)) : POWERCUT_NOT_FOUND;
        },
    .lookup = Lookup,
    .maintain =
        [](powercut_table* table, const char* command) {
          if (std::string_view(command) == "sync") {
            Of(table)->Sync();
          } else {
            Of(table)->Advance();
          }
          return POWERCUT_OK;
        },
    .copies =
        [](powercut_table* table, powercut_bytes key, powercut_item_fn report, void* context) {
          return key.size == Of(table)->options().key_size ? Report(table, At(key), report, context) : POWERCUT_OK;
        },
    .regions = [](powercut_table*) -> uint64_t { return 1; },
    .walk = [](powercut_table* table, uint64_t, powercut_item_fn report,
               void* context) { return Report(table, nullptr, report, context); },
    .blocks = nullptr,
    .owner = nullptr,
    .verify = [](powercut_table* table, uint64_t, char* message,
                 size_t size) { return Of(table)->Verify(message, size); },
    .close = [](powercut_table* table) { delete Of(table); },
};

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "montage", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size == 0 || config.key_size > kMostKey || config.value_size == 0 || config.value_size > kMostValue) {
    return BadConfig(config, "montage takes keys of 1 to %u bytes and values of 1 to %u bytes, not %u and %u", kMostKey,
                     kMostValue, config.key_size, config.value_size);
  }
  return POWERCUT_OK;
}

}  // namespace powercut::montage

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::montage::kTarget : nullptr;
}
