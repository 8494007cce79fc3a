#include "tracer/pmemcheck/log.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace powercut::pmemcheck {

namespace {

constexpr std::string_view kStartWord = "START|";
constexpr char kNotALog[] =
    "Write the log with 'valgrind --tool=pmemcheck --log-stores=yes --log-file=FILE' and import that file.";

// Engine switches of the first versions of pmemcheck, and their pcommit, which today's hardware does without.
constexpr std::string_view kOldMarkers[] = {"FREORDER",         "PREORDER",        "FAULT_ONLY",
                                            "NO_REORDER_FAULT", "DEFAULT_REORDER", "COMMIT"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view trimmed(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r");
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

// Returns the digits of a hexadecimal number without 0x and leading zeros; nothing when the text is no such number.
std::optional<std::string_view> hex_digits(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return hex_digit(c) >= 0; })) {
    return std::nullopt;
  }
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  return text;
}

std::optional<uint64_t> number(std::string_view text) {
  const std::optional<std::string_view> digits = hex_digits(text);
  if (!digits || digits->size() > 16) return std::nullopt;
  uint64_t value = 0;
  for (char c : *digits) value = value << 4 | static_cast<uint64_t>(hex_digit(c));
  return value;
}

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t end; (end = text.find(';')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    fields.push_back(text.substr(0, end));
  }
  fields.push_back(text);
  return fields;
}

// Returns text of a log as a message shows it: short, and free of characters that a terminal would obey.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, 40));
  std::replace_if(out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return text.size() > 40 ? out + "..." : out;
}

}  // namespace

bool is_marker(std::string_view text) {
  if (std::find(std::begin(kOldMarkers), std::end(kOldMarkers), text) != std::end(kOldMarkers)) return true;
  const std::string_view name = text.substr(0, text.rfind('.'));
  return !name.empty() && (text.substr(name.size()) == ".BEGIN" || text.substr(name.size()) == ".END") &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != ';' && c != 0x7f; });
}

LogReader::LogReader(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

std::string LogReader::place(const Entry& entry) const {
  return absl::StrCat(name_, ":", entry.line, ":", entry.column);
}

bool LogReader::fail(const Entry& entry, std::string what, std::string next) {
  error_ = TraceError{std::move(what), place(entry), std::move(next)};
  return false;
}

void LogReader::advance() {
  if (bytes_[at_] == '\n') {
    ++line_;
    column_ = 0;
  }
  ++column_;
  ++at_;
}

bool LogReader::start() {
  const size_t begin = bytes_.find(kStartWord);
  if (begin == std::string_view::npos) {
    const bool cut = trimmed(bytes_.substr(0, bytes_.find_last_not_of('\n') + 1)).ends_with("START");
    error_ = TraceError{
        cut ? "the log was cut short: it ends right after START" : "this is no store log of pmemcheck: no START in it",
        name_, cut ? "Let the program end, then import its log again." : kNotALog};
    return false;
  }
  while (at_ < begin + kStartWord.size()) advance();
  return true;
}

// Returns the length of "==12==" at the current place, with the blank after it; 0 where there is none. Valgrind starts
// its messages so, in the middle of a line too, since the log's entries end with no line break.
size_t LogReader::message_prefix() const {
  const char mark = bytes_[at_];
  if ((mark != '=' && mark != '-' && mark != '*') || at_ + 1 >= bytes_.size() || bytes_[at_ + 1] != mark) return 0;
  size_t end = at_ + 2;
  while (end < bytes_.size() && end < at_ + 12 && is_digit(bytes_[end])) ++end;
  if (end == at_ + 2 || end + 1 >= bytes_.size() || bytes_[end] != mark || bytes_[end + 1] != mark) return 0;
  end += 2;
  return end - at_ + (end < bytes_.size() && bytes_[end] == ' ' ? 1 : 0);
}

// Gathers the entry up to the next '|'; `last` when the log ends without another '|'.
bool LogReader::read_text(Entry* out, bool* last) {
  text_.clear();
  out->line = line_;
  out->column = column_;
  for (; at_ < bytes_.size(); advance()) {
    if (size_t prefix = message_prefix(); prefix != 0) {
      while (prefix-- > 0) advance();
      // Behind the prefix goes either the log or a message of Valgrind, which lasts to the end of the line.
      if (at_ < bytes_.size() && bytes_[at_] != '|' && bytes_[at_] != ';') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') advance();
      }
      if (at_ == bytes_.size()) break;
    }
    const char c = bytes_[at_];
    if (c == '|') {
      advance();
      *last = false;
      return true;
    }
    if (c == '\n') {
      // Nothing follows STOP, and its line is over.
      if (trimmed(text_) == "STOP") break;
      continue;
    }
    if (text_.size() == kMaxEntry) {
      return fail(*out, absl::StrCat("an entry of more than ", kMaxEntry, " bytes ('", shown(text_), "')"),
                  "The log is damaged here: record it again.");
    }
    text_.push_back(c);
  }
  *last = true;
  return true;
}

bool LogReader::next(Entry* out) {
  if (error_ || stopped_) return false;
  if (!started_ && !(started_ = start())) return false;
  bool last = false;
  if (!read_text(out, &last)) return false;
  const std::string_view text = trimmed(text_);
  if (text == "STOP") {
    stopped_ = true;
    return false;
  }
  if (last) {
    return fail(*out,
                absl::StrCat("the log was cut short: no STOP after ", entries_,
                             entries_ == 1 ? " whole entry" : " whole entries"),
                "The program was probably killed; let it end, then import its log again.");
  }
  text_.resize(text.size());
  if (!parse(out)) return false;
  ++entries_;
  return true;
}

bool LogReader::parse(Entry* out) {
  const std::vector<std::string_view> fields = fields_of(text_);
  const std::string_view word = fields[0];
  out->text.clear();
  out->value.clear();
  out->stack.clear();
  out->address = out->size = out->offset = 0;
  if (word == "STORE") return parse_store(fields, out);
  if (word == "REGISTER_FILE") return parse_file(out);
  if (word == "FENCE" && fields.size() == 1) {
    out->kind = EntryKind::kFence;
    return true;
  }
  if (word == "FLUSH") {
    out->kind = EntryKind::kFlush;
    const std::optional<uint64_t> address = fields.size() == 3 ? number(fields[1]) : std::nullopt;
    const std::optional<uint64_t> size = fields.size() == 3 ? number(fields[2]) : std::nullopt;
    if (!address || !size) {
      return fail(*out, absl::StrCat("'", shown(text_), "' is not FLUSH;address;size"),
                  "The log is damaged here: record it again.");
    }
    out->address = *address;
    out->size = *size;
    return true;
  }
  if (is_marker(text_)) {
    if (text_.size() > 4096) {
      return fail(*out, "a marker of more than 4096 bytes", "Give VALGRIND_EMIT_LOG a shorter text.");
    }
    out->kind = EntryKind::kMarker;
    out->text = text_;
    return true;
  }
  if (text_.ends_with("START")) {
    return fail(*out, "a second START: the log holds more than one run",
                "Give each process a log of its own: --log-file=NAME.%p.");
  }
  return fail(*out, absl::StrCat("unknown entry '", shown(text_), "'"),
              "A log holds STORE, FLUSH, FENCE, REGISTER_FILE, and markers that end with .BEGIN or .END; send the "
              "program's own output elsewhere with --log-file.");
}

bool LogReader::parse_store(const std::vector<std::string_view>& fields, Entry* out) {
  out->kind = EntryKind::kStore;
  const bool whole = fields.size() >= 4;
  const std::optional<uint64_t> address = whole ? number(fields[1]) : std::nullopt;
  const std::optional<std::string_view> digits = whole ? hex_digits(fields[2]) : std::nullopt;
  const std::optional<uint64_t> size = whole ? number(fields[3]) : std::nullopt;
  if (!address || !digits || !size) {
    return fail(*out, absl::StrCat("'", shown(text_), "' is not STORE;address;value;size"),
                "The log is damaged here: record it again.");
  }
  if (*size == 0 || *size > kMaxStore || *address + (*size - 1) < *address) {
    return fail(*out, absl::StrCat("a store of 0x", absl::Hex(*size), " bytes at 0x", absl::Hex(*address)),
                absl::StrCat("A store has 1 to ", kMaxStore, " bytes: the log is damaged here, record it again."));
  }
  if (digits->size() > 2 * *size) {
    return fail(*out, absl::StrCat("the value ", shown(fields[2]), " does not fit into ", *size, " bytes"),
                "The log is damaged here: record it again.");
  }
  out->address = *address;
  out->size = *size;
  // The value is a number: its lowest byte lies at the lowest address.
  out->value.assign(*size, 0);
  for (size_t i = 0; i < digits->size(); ++i) {
    out->value[i / 2] |= static_cast<uint8_t>(hex_digit((*digits)[digits->size() - 1 - i]) << (i % 2 * 4));
  }
  out->stack.assign(fields.begin() + 4, fields.end());
  return true;
}

// The fields are read from the right: a path may hold semicolons.
bool LogReader::parse_file(Entry* out) {
  out->kind = EntryKind::kRegisterFile;
  std::string_view rest = text_;
  std::optional<uint64_t> numbers[3];  // offset, size, address
  for (std::optional<uint64_t>& value : numbers) {
    const size_t semicolon = rest.rfind(';');
    if (semicolon == std::string_view::npos) break;
    value = number(rest.substr(semicolon + 1));
    rest = rest.substr(0, semicolon);
  }
  const size_t path = rest.find(';');
  if (!numbers[0] || !numbers[1] || !numbers[2] || path == std::string_view::npos || path + 1 == rest.size()) {
    return fail(*out, absl::StrCat("'", shown(text_), "' is not REGISTER_FILE;path;address;size;offset"),
                "The log is damaged here: record it again.");
  }
  out->offset = *numbers[0];
  out->size = *numbers[1];
  out->address = *numbers[2];
  out->text = rest.substr(path + 1);
  return true;
}

}  // namespace powercut::pmemcheck
