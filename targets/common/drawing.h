// How a scheme draws its table (powercut/draw.h): it names a group and a bucket, then its words and slots.
//
//   void Table::Draw(Drawing* to) {
//     to->Group("buckets");
//     for (uint64_t b = 0; b < buckets() && to->Wants(); ++b) {
//       to->Bucket(b);
//       to->Word("lock", &bucket->lock, sizeof bucket->lock, "%u", bucket->lock);
//       to->Item(0, slot, slot + key_size, slot, item_size);
//     }
//   }
//   POWERCUT_DRAWS(powercut::level::Table)
#ifndef POWERCUT_TARGETS_COMMON_DRAWING_H_
#define POWERCUT_TARGETS_COMMON_DRAWING_H_

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "powercut/draw.h"
#include "targets/common/bytes.h"

namespace powercut {

class Drawing {
 public:
  Drawing(uint32_t key_size, uint32_t value_size, powercut_cell_fn report, void* context)
      : key_size_(key_size), value_size_(value_size), report_(report), context_(context) {}

  // False once nobody listens any more: loops end there.
  bool Wants() const { return !stopped_; }

  // Begins a group (then a bucket of the group): all words and slots that follow belong to the group.
  [[gnu::format(printf, 2, 3)]] void Group(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(group_, sizeof group_, format, arguments);
    va_end(arguments);
    bucket_ = 0;
  }
  void Bucket(uint64_t bucket) { bucket_ = bucket; }

  void Item(uint32_t slot, const uint8_t* key, const uint8_t* value, const void* at, uint64_t size,
            const char* remark = nullptr) {
    Report(POWERCUT_CELL_ITEM, slot, nullptr, remark, at, size, {key, key_size_}, {value, value_size_});
  }
  void Item(uint32_t slot, Bytes key, Bytes value, const void* at, uint64_t size, const char* remark = nullptr) {
    Report(POWERCUT_CELL_ITEM, slot, nullptr, remark, at, size, {key.data, key.size}, {value.data, value.size});
  }
  void Empty(uint32_t slot, const void* at, uint64_t size, const char* remark = nullptr) {
    Report(POWERCUT_CELL_EMPTY, slot, nullptr, remark, at, size);
  }
  // An item that is there and does not count.
  void Dead(uint32_t slot, const uint8_t* key, const uint8_t* value, const void* at, uint64_t size,
            const char* remark) {
    Report(POWERCUT_CELL_EMPTY, slot, nullptr, remark, at, size, {key, key_size_}, {value, value_size_});
  }
  [[gnu::format(printf, 5, 6)]] void Word(const char* label, const void* at, uint64_t size, const char* format, ...) {
    char text[64];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Report(POWERCUT_CELL_WORD, 0, label, text, at, size);
  }
  // A word that holds the pool offset of something; 0 is none.
  void Pointer(const char* label, const uint64_t* word) {
    if (*word == 0) {
      Word(label, word, sizeof *word, "none");
    } else {
      Word(label, word, sizeof *word, "0x%llx", static_cast<unsigned long long>(*word));
    }
  }
  // The tokens of a bucket's slots, slot 0 first.
  void Tokens(const char* label, const void* at, uint64_t size, uint32_t tokens, uint32_t slots) {
    char text[33] = "";
    for (uint32_t slot = 0; slot < slots && slot < 32; ++slot) text[slot] = (tokens >> slot & 1) != 0 ? '1' : '0';
    Word(label, at, size, "%s", text);
  }

 private:
  void Report(powercut_cell_kind kind, uint32_t slot, const char* label, const char* text, const void* at,
              uint64_t size, powercut_bytes key = {}, powercut_bytes value = {}) {
    const powercut_cell cell = {.kind = kind,
                                .slot = slot,
                                .bucket = bucket_,
                                .group = group_,
                                .label = label,
                                .text = text,
                                .at = at,
                                .size = size,
                                .key = key,
                                .value = value};
    stopped_ = stopped_ || report_(context_, &cell) != 0;
  }

  const uint32_t key_size_, value_size_;
  const powercut_cell_fn report_;
  void* const context_;
  char group_[48] = "";
  uint64_t bucket_ = 0;
  bool stopped_ = false;
};

}  // namespace powercut

// Exports the drawing of a class that has `void Draw(Drawing*)` and `options()` with key_size and value_size.
#define POWERCUT_DRAWS(Table)                                                                                       \
  extern "C" powercut_status powercut_target_draw(powercut_table* handle, powercut_cell_fn report, void* context) { \
    auto* table = reinterpret_cast<Table*>(handle);                                                                 \
    powercut::Drawing drawing(table->options().key_size, table->options().value_size, report, context);             \
    table->Draw(&drawing);                                                                                          \
    return POWERCUT_OK;                                                                                             \
  }

#endif  // POWERCUT_TARGETS_COMMON_DRAWING_H_
