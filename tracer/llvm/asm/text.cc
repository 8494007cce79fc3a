#include "tracer/llvm/asm/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace powercut::pass {
namespace {

// `$(a$|b$)`, as clang writes GCC's `{a|b}`.
std::string choose_dialect(std::string_view text, bool intel) {
  std::string chosen;
  int side = -1;  // -1: outside; else the alternative that is being read
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view two = text.substr(i, 2);
    if (two == "$$") {
      if (side < 0 || side == (intel ? 1 : 0)) chosen += two;
      ++i;
    } else if (side < 0 && two == "$(") {
      side = 0;
      ++i;
    } else if (side >= 0 && two == "$|") {
      ++side;
      ++i;
    } else if (side >= 0 && two == "$)") {
      side = -1;
      ++i;
    } else if (side < 0 || side == (intel ? 1 : 0)) {
      chosen += text[i];
    }
  }
  return chosen;
}

std::string without_comments(std::string_view text) {
  std::string kept;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i + 2);
      if (end == std::string_view::npos) break;
      i = end + 1;
      kept += ' ';
    } else if (text[i] == '#' || text.substr(i, 2) == "//") {
      const size_t end = text.find('\n', i);
      if (end == std::string_view::npos) break;
      i = end;
      kept += '\n';
    } else {
      kept += static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
    }
  }
  return kept;
}

std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> operands;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view operand = trim(text.substr(start, i - start));
    if (!operand.empty()) operands.emplace_back(operand);
    start = i + 1;
  }
  return operands;
}

// Takes the first word off.
std::string_view take_word(std::string_view* text) {
  *text = trim(*text);
  size_t end = 0;
  while (end < text->size() && std::isspace(static_cast<unsigned char>((*text)[end])) == 0) ++end;
  const std::string_view word = text->substr(0, end);
  *text = trim(text->substr(end));
  return word;
}

bool is_prefix(std::string_view word) {
  static constexpr std::array<std::string_view, 11> kPrefixes = {
      "lock", "rep", "repe", "repz", "repne", "repnz", "data16", "rex64", "xacquire", "xrelease", "notrack"};
  return std::find(kPrefixes.begin(), kPrefixes.end(), word) != kPrefixes.end();
}

// Adds one statement to `current`; true when that completes an instruction.
bool add_statement(std::string_view statement, AsmInstruction* current) {
  while (true) {
    statement = trim(statement);
    const size_t colon = statement.find(':');
    // A label, but not the `:` of an operand (`${0:a}`, `%fs:0`): those have a blank or a sigil before.
    if (colon == std::string_view::npos ||
        statement.substr(0, colon).find_first_of(" \t${%(") != std::string_view::npos) {
      break;
    }
    current->label = true;
    statement = statement.substr(colon + 1);
  }
  std::string_view rest = statement;
  std::string_view word = take_word(&rest);
  while (is_prefix(word)) {
    current->prefixes.emplace_back(word);
    word = take_word(&rest);
  }
  if (word.empty()) return false;
  if (word == ".byte") {
    for (const std::string& operand : split_operands(rest)) {
      int64_t byte = 0;
      if (!parse_number(operand, &byte) || byte < -128 || byte > 255) {
        current->mnemonic = ".byte";  // not a number: cannot be decoded
        return true;
      }
      current->bytes.push_back(static_cast<uint8_t>(byte));
    }
    return false;
  }
  current->mnemonic = word;
  current->operands = split_operands(rest);
  return true;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool parse_number(std::string_view text, int64_t* number) {
  text = trim(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  *number = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  return true;
}

std::vector<AsmInstruction> split_asm(std::string_view text, bool intel) {
  const std::string clean = without_comments(choose_dialect(text, intel));
  std::vector<AsmInstruction> instructions;
  AsmInstruction current;
  for (size_t start = 0; start <= clean.size();) {
    const size_t end = std::min(clean.find_first_of(";\n", start), clean.size());
    if (add_statement(std::string_view(clean).substr(start, end - start), &current)) {
      instructions.push_back(std::exchange(current, {}));
    }
    start = end + 1;
  }
  if (!current.prefixes.empty() || !current.bytes.empty()) instructions.push_back(std::move(current));
  return instructions;
}

}  // namespace powercut::pass
