#include "tracer/llvm/asm/operand.h"

#include <array>
#include <vector>

#include "tracer/llvm/asm/text.h"

namespace powercut::pass {
namespace {

bool in_range(int number, std::span<const OperandKind> operands) {
  return number >= 0 && static_cast<size_t>(number) < operands.size();
}

bool is_register_name(std::string_view text) {
  return text.size() >= 2 && text.size() <= 5 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string_view::npos && text[0] >= 'a' &&
         text[0] <= 'z';
}

// A base or index: `$0`, `%rax`, `rax` (Intel).
bool parse_register(std::string_view text, std::span<const OperandKind> operands, int* operand, std::string* reg) {
  text = trim(text);
  if (const auto reference = parse_reference(text)) {
    if (!in_range(reference->number, operands)) return false;
    const OperandKind kind = operands[reference->number];
    if (kind != OperandKind::kRegister && kind != OperandKind::kAddress) return false;
    *operand = reference->number;
    return true;
  }
  if (text.starts_with('%')) text.remove_prefix(1);
  if (!is_register_name(text)) return false;
  *reg = text;
  return true;
}

// AT&T: displacement(base, index, scale).
std::optional<AsmAddress> parse_att(std::string_view text, std::span<const OperandKind> operands) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  AsmAddress address;
  const std::string_view before = trim(text.substr(0, open));
  if (!before.empty() && !parse_number(before, &address.displacement)) return std::nullopt;
  std::vector<std::string_view> parts;
  std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  while (true) {
    const size_t comma = inside.find(',');
    parts.push_back(trim(inside.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    inside.remove_prefix(comma + 1);
  }
  if (parts.size() > 3 || !parse_register(parts[0], operands, &address.operand, &address.reg)) return std::nullopt;
  std::string index_register;
  if (parts.size() > 1) {
    // Only operands can be an index: a register of the text's own was computed by the assembly itself.
    if (!parse_register(parts[1], operands, &address.index, &index_register) || !index_register.empty()) {
      return std::nullopt;
    }
  }
  if (parts.size() > 2 && !parse_number(parts[2], &address.scale)) return std::nullopt;
  return address;
}

// Intel: "qword ptr [base + displacement]".
std::optional<AsmAddress> parse_intel(std::string_view text, std::span<const OperandKind> operands) {
  const size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return std::nullopt;
  const std::string_view inside = trim(text.substr(open + 1, text.size() - open - 2));
  AsmAddress address;
  const size_t sign = inside.find_first_of("+-");
  if (!parse_register(inside.substr(0, sign), operands, &address.operand, &address.reg)) return std::nullopt;
  if (sign == std::string_view::npos) return address;
  std::string displacement(1, inside[sign]);
  displacement += trim(inside.substr(sign + 1));
  if (!parse_number(displacement, &address.displacement)) return std::nullopt;
  return address;
}

}  // namespace

std::optional<OperandReference> parse_reference(std::string_view text) {
  text = trim(text);
  if (!text.starts_with('$') || text.starts_with("$$")) return std::nullopt;
  text.remove_prefix(1);
  OperandReference reference;
  if (text.starts_with('{')) {
    if (!text.ends_with('}')) return std::nullopt;
    text = text.substr(1, text.size() - 2);
    if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
      if (colon + 2 != text.size()) return std::nullopt;
      reference.modifier = text[colon + 1];
      text = text.substr(0, colon);
    }
  }
  int64_t number = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9' || !parse_number(text, &number) || number > 255)
    return std::nullopt;
  reference.number = static_cast<int>(number);
  return reference;
}

bool names_memory(std::string_view text, std::span<const OperandKind> operands) {
  if (text.find_first_of("([") != std::string_view::npos) return true;
  for (size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    if (text.substr(at, 2) == "$$") {
      ++at;
      continue;
    }
    size_t end = at + 1;
    if (end < text.size() && text[end] == '{') {
      end = std::min(text.find('}', end), text.size() - 1) + 1;
    } else {
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    }
    const auto reference = parse_reference(text.substr(at, end - at));
    if (!reference || !in_range(reference->number, operands)) return true;
    const OperandKind kind = operands[reference->number];
    if (kind == OperandKind::kMemory || kind == OperandKind::kAddress) return true;
    if (kind == OperandKind::kRegister && reference->modifier == 'a') return true;
  }
  // A bare symbol or number is an absolute address in AT&T; `%` and `$` mark everything else.
  return false;
}

std::optional<AsmAddress> parse_address(std::string_view text, bool intel, std::span<const OperandKind> operands) {
  text = trim(text);
  if (intel) {
    if (const size_t ptr = text.find(" ptr "); ptr != std::string_view::npos) text = trim(text.substr(ptr + 5));
  }
  if (const auto reference = parse_reference(text)) {
    if (!in_range(reference->number, operands)) return std::nullopt;
    AsmAddress address;
    address.operand = reference->number;
    switch (operands[reference->number]) {
      case OperandKind::kMemory:
        address.memory = true;
        return address;
      case OperandKind::kAddress:
        return address;
      case OperandKind::kRegister:
        if (reference->modifier == 'a') return address;
        return std::nullopt;
      case OperandKind::kImmediate:
        return std::nullopt;
    }
  }
  return intel ? parse_intel(text, operands) : parse_att(text, operands);
}

std::optional<AsmValue> parse_value(std::string_view text, std::span<const OperandKind> operands) {
  text = trim(text);
  AsmValue value;
  if (const auto reference = parse_reference(text)) {
    if (!in_range(reference->number, operands)) return std::nullopt;
    const OperandKind kind = operands[reference->number];
    if (kind != OperandKind::kRegister && kind != OperandKind::kImmediate) return std::nullopt;
    // The high byte of a register, or a number printed in another way.
    if (reference->modifier != 0 && std::string_view("bwkqcxtg").find(reference->modifier) == std::string_view::npos) {
      return std::nullopt;
    }
    value.operand = reference->number;
    return value;
  }
  if (text.starts_with("$$")) {
    if (!parse_number(text.substr(2), &value.constant)) return std::nullopt;
    return value;
  }
  if (text.starts_with('%') && is_register_name(text.substr(1))) {
    value.reg = text.substr(1);
    return value;
  }
  // Intel writes numbers and registers bare.
  if (parse_number(text, &value.constant)) return value;
  if (is_register_name(text)) {
    value.reg = text;
    return value;
  }
  return std::nullopt;
}

}  // namespace powercut::pass
