// Reads the store log of pmemcheck (`--log-stores=yes`), entry by entry. README.md has the grammar and its sources.
//
//   START|REGISTER_FILE;/mnt/pool;0x5400000;0x1000;0x0|STORE;0x5400040;0x7;0x8;0x4011a6: main (a.c:9)|FENCE|STOP
//
// Valgrind's own messages ("==12== ...") before, between and after the entries are skipped, and lines may be wrapped
// anywhere. Any byte sequence is safe to read: a text that is no log ends in an error with line and column.
#ifndef POWERCUT_TRACER_PMEMCHECK_LOG_H_
#define POWERCUT_TRACER_PMEMCHECK_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/trace.h"

namespace powercut::pmemcheck {

// The largest size of an entry. No line of a log is held in memory whole; an entry is.
inline constexpr size_t kMaxEntry = 1u << 20;
// The largest size of a store. pmemcheck writes at most 8 bytes an entry; the trace format holds 4096.
inline constexpr uint64_t kMaxStore = 4096;

enum class EntryKind : uint8_t { kRegisterFile, kStore, kFlush, kFence, kMarker };

struct Entry {
  EntryKind kind{};
  uint64_t line = 0, column = 0;   // place of the entry's first byte, both from 1
  uint64_t address = 0, size = 0;  // range of the mapping, store or flush
  uint64_t offset = 0;             // offset of a mapping in its file
  std::string text;                // path of a file, name of a marker
  std::vector<uint8_t> value;      // bytes of a store, in the order of memory
  std::vector<std::string> stack;  // a store's fields after the size, innermost frame first
};

class LogReader {
 public:
  // `bytes` outlives the reader; `name` is the log's name in errors.
  LogReader(std::string_view bytes, std::string name);

  // Reads the next entry between START and STOP. Returns false at STOP or on an error (then error() is set).
  bool next(Entry* out);
  const std::optional<TraceError>& error() const { return error_; }
  // Returns "log:line:column" of an entry.
  std::string place(const Entry& entry) const;

 private:
  bool start();
  bool read_text(Entry* out, bool* last);
  size_t message_prefix() const;
  void advance();
  bool parse(Entry* out);
  bool parse_store(const std::vector<std::string_view>& fields, Entry* out);
  bool parse_file(Entry* out);
  bool fail(const Entry& entry, std::string what, std::string next);

  std::string_view bytes_;
  std::string name_;
  size_t at_ = 0;
  uint64_t line_ = 1, column_ = 1, entries_ = 0;
  bool started_ = false, stopped_ = false;
  std::string text_;  // text of the entry at hand, joined over line breaks
  std::optional<TraceError> error_;
};

// The mark of a wrapped marker. pmreorder refuses a log with any other marker than sections that nest. The export wraps
// any other marker in an empty section, "powercut:NAME.BEGIN|powercut:NAME.END", and the import unwraps it again.
inline constexpr std::string_view kWrappedMarker = "powercut:";

// Returns whether the text is an entry that a log may hold besides memory operations: a section ("NAME.BEGIN",
// "NAME.END") or a word of older versions of pmemcheck.
bool is_marker(std::string_view text);

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_LOG_H_
