// Stand-ins for the printf functions that write to memory. The text is made on the side first, so that its
// length is known when the store is announced.
//
// Known inaccuracy: with positional arguments (`%1$s`) and wide strings, the reads of the strings' bytes are not
// announced.
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tracer/runtime/hooks/call_site.h"

using powercut::runtime::announce_load;
using powercut::runtime::announce_store;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;

namespace {

// How an argument is passed, in the detail that taking the next argument needs.
enum class Passed { kInt, kLong, kDouble, kLongDouble, kString, kPointer, kNone };

struct Conversion {
  Passed passed = Passed::kNone;
  bool star_width = false, star_precision = false;
  int precision = -1;
};

int parse_digits(const char** at) {
  int number = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) number = number < 100000 ? number * 10 + (**at - '0') : number;
  return number;
}

// Parses one conversion behind its `%`; returns false when the conversion is of a kind that is not followed.
bool parse_conversion(const char** format, Conversion* out) {
  const char* at = *format;
  while (*at != '\0' && strchr("-+ #0'I", *at) != nullptr) ++at;
  if (*at == '*') {
    out->star_width = true;
    ++at;
  } else {
    parse_digits(&at);
    if (*at == '$') return false;
  }
  if (*at == '.') {
    ++at;
    if (*at == '*') {
      out->star_precision = true;
      ++at;
    } else {
      out->precision = parse_digits(&at);
    }
  }
  bool wide = false, long_double = false;
  for (; *at != '\0' && strchr("hljztLq", *at) != nullptr; ++at) {
    wide |= *at != 'h';
    long_double |= *at == 'L';
  }
  switch (*at) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
    case 'c':
      out->passed = wide ? Passed::kLong : Passed::kInt;
      break;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      out->passed = long_double ? Passed::kLongDouble : Passed::kDouble;
      break;
    case 's':
      out->passed = wide ? Passed::kPointer : Passed::kString;
      break;
    case 'p':
    case 'n':
    case 'S':
    case 'C':
      out->passed = Passed::kPointer;
      break;
    case '%':
    case 'm':
      break;
    default:
      return false;
  }
  *format = at + 1;
  return true;
}

void announce_strings(const char* format, va_list arguments) {
  va_list rest;
  va_copy(rest, arguments);
  while ((format = strchr(format, '%')) != nullptr) {
    ++format;
    Conversion conversion;
    if (!parse_conversion(&format, &conversion)) break;
    if (conversion.star_width) va_arg(rest, int);
    if (conversion.star_precision) conversion.precision = va_arg(rest, int);
    switch (conversion.passed) {
      case Passed::kInt:
        va_arg(rest, int);
        break;
      case Passed::kLong:
        va_arg(rest, long);
        break;
      case Passed::kDouble:
        va_arg(rest, double);
        break;
      case Passed::kLongDouble:
        va_arg(rest, long double);
        break;
      case Passed::kPointer:
        va_arg(rest, void*);
        break;
      case Passed::kNone:
        break;
      case Passed::kString: {
        const char* text = va_arg(rest, const char*);
        const size_t limit = conversion.precision >= 0 ? static_cast<size_t>(conversion.precision) : SIZE_MAX;
        for (size_t i = 0; text != nullptr && i < limit; ++i) {
          if (*announce_load(text + i, 1) == '\0') break;
        }
        break;
      }
    }
  }
  va_end(rest);
}

// `room`: bytes at `target`, of which the last is for the terminator; SIZE_MAX when the caller gave no size.
int format_to(char* target, size_t room, const char* format, va_list arguments, const CallSite& site) {
  announce_strings(format, arguments);
  char small[1024];
  char* text = small;
  va_list again;
  va_copy(again, arguments);
  const int length = vsnprintf(small, sizeof small, format, arguments);
  if (length >= static_cast<int>(sizeof small)) {
    text = static_cast<char*>(malloc(static_cast<size_t>(length) + 1));
    if (text == nullptr) abort();
    vsnprintf(text, static_cast<size_t>(length) + 1, format, again);
  }
  va_end(again);
  if (length >= 0 && room != 0) {
    const size_t wanted = static_cast<size_t>(length) + 1;
    const size_t size = wanted < room ? wanted : room;
    text[size - 1] = '\0';
    memcpy(announce_store(target, size, POWERCUT_STORE_MEMCALL, text, site), text, size);
  }
  if (text != small) free(text);
  return length;
}

}  // namespace

extern "C" {

int __powercut_vsnprintf(char* target, size_t room, const char* format, va_list arguments) {
  return format_to(target, room, format, arguments, call_site());
}

int __powercut_vsprintf(char* target, const char* format, va_list arguments) {
  return format_to(target, SIZE_MAX, format, arguments, call_site());
}

int __powercut_snprintf(char* target, size_t room, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = format_to(target, room, format, arguments, call_site());
  va_end(arguments);
  return length;
}

int __powercut_sprintf(char* target, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = format_to(target, SIZE_MAX, format, arguments, call_site());
  va_end(arguments);
  return length;
}

// Fortified forms. `space` is the size of the destination; longer text aborts there as it does in libc.
int __powercut___vsnprintf_chk(char* target, size_t room, int, size_t space, const char* format, va_list arguments) {
  if (room > space) abort();
  return format_to(target, room, format, arguments, call_site());
}

int __powercut___snprintf_chk(char* target, size_t room, int, size_t space, const char* format, ...) {
  if (room > space) abort();
  va_list arguments;
  va_start(arguments, format);
  const int length = format_to(target, room, format, arguments, call_site());
  va_end(arguments);
  return length;
}

int __powercut___vsprintf_chk(char* target, int, size_t space, const char* format, va_list arguments) {
  const int length = format_to(target, space, format, arguments, call_site());
  if (length >= 0 && static_cast<size_t>(length) >= space) abort();
  return length;
}

int __powercut___sprintf_chk(char* target, int, size_t space, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = format_to(target, space, format, arguments, call_site());
  va_end(arguments);
  if (length >= 0 && static_cast<size_t>(length) >= space) abort();
  return length;
}

}  // extern "C"
