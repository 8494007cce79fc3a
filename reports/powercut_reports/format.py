"""Numbers and foreign strings as people read them.

Counts of crash states arrive as decimal strings and may have thousands of digits, so nothing here turns
one into an `int`: Python refuses that conversion beyond 4,300 digits, and the leading digits suffice.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import NamedTuple

# Up to here the exact number is as easy to read as its magnitude.
_PLAIN_DIGITS = 7
#: Beyond so many digits a count is no longer printed in full.
_LINE_DIGITS = 60
_SENTENCE_DIGITS = 21


class Power(NamedTuple):
    """`mantissa` x 10^`exponent`, the mantissa with one decimal."""

    mantissa: str
    exponent: int


def digits(value: int | str | None) -> str | None:
    """The canonical decimal digits of a natural number, or None when `value` is not one."""
    text = str(value).strip() if value is not None and not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdigit()):
        return None
    return text.lstrip("0") or "0"


def grouped(value: int | str | None) -> str:
    """1234567 -> "1,234,567"; "unknown" for what is not a natural number."""
    text = digits(value)
    if text is None:
        return "unknown"
    head = len(text) % 3
    parts = [text[:head]] if head else []
    parts += [text[at : at + 3] for at in range(head, len(text), 3)]
    return ",".join(parts)


def power_of_ten(value: int | str | None) -> Power | None:
    """The magnitude of a number that is too long to take in; None for a short one."""
    text = digits(value)
    if text is None or len(text) <= _PLAIN_DIGITS:
        return None
    exponent = len(text) - 1
    tenths = (int(text[:3]) + 5) // 10
    if tenths == 100:  # 9.96 rounds to the next power
        tenths, exponent = 10, exponent + 1
    return Power(f"{tenths // 10}.{tenths % 10}", exponent)


def magnitude(value: int | str | None) -> str:
    """ "≈ 1.8 × 10^19", or an empty string for a short number."""
    power = power_of_ten(value)
    return f"≈ {power.mantissa} × 10^{power.exponent}" if power else ""


def count_with_magnitude(value: int | str | None) -> str:
    """The exact number and its magnitude; of a number that fills lines, the magnitude alone (JSON has it exactly)."""
    approximate = magnitude(value)
    if len(digits(value) or "") > _LINE_DIGITS:
        return approximate
    return f"{grouped(value)} ({approximate})" if approximate else grouped(value)


def count_in_a_sentence(value: int | str | None) -> str:
    """The exact number as long as a sentence can carry it, else its magnitude."""
    text = digits(value)
    return magnitude(text) if text is not None and len(text) > _SENTENCE_DIGITS else grouped(value)


def percent(covered: int | str | None, total: int | str | None) -> str:
    """The share covered. It never rounds to 100 % (or 0 %) what is not exactly all (or nothing)."""
    part, whole = digits(covered), digits(total)
    if part is None or whole is None or whole == "0":
        return "an unknown share"
    if part == whole:
        return "100 %"
    if part == "0":
        return "0 %"
    with localcontext() as context:
        # Room for a share that is one state short of a number of any length.
        context.prec = 12
        context.Emax, context.Emin = 10**9, -(10**9)
        share = Decimal(part) * 100 / Decimal(whole)
        if share < Decimal("0.01"):
            return "< 0.01 %"
        if share >= Decimal("99.99"):
            return "> 99.99 %"
        return f"{share:.2f}".rstrip("0").rstrip(".") + " %"


def seconds(value: float | None) -> str:
    if value is None:
        return "unknown"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def plural(count: int | str | None, one: str, many: str | None = None) -> str:
    return f"{grouped(count)} {one if digits(count) == '1' else many or one + 's'}"


def offset(value: int) -> str:
    return f"0x{value:x}"


def printable_lines(text: str) -> str:
    """`text` line by line, each as `printable` makes it."""
    return "\n".join(map(printable, text.split("\n")))


def printable(text: str) -> str:
    """`text` on one line, with what could steer a terminal or reorder the line spelled out.

    Messages, keys, paths and source lines come from the program under test and are not trusted.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c in "\t\n" else c.encode("unicode_escape").decode() for c in text)
