"""The language of claims: one comparison of one quantity with one number.

    claim      = average comparison number
    average    = "mean(" quantity ")" [ "/" "mean(" quantity ")" ]   over all operations
               | quantity [ "/" quantity ]                          of each operation
    quantity   = operation "." count | name | name ".bytes" | state
    comparison = "<=" | "<" | "==" | ">=" | ">"

`operation` is insert, update, erase, lookup, format, open, close, maintain, or the name of a maintenance command
(expand). `count` is one of `COUNTS` or a name that [define] defines; a name alone is counted in operations of every
kind. `state` is one of `STATES`, the most that any crash state showed. It is strict: whatever is not this is an error
that names the nearest right word.
"""

import operator
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from powercut.base.errors import nearest

#: The counts of one operation, in the engine's words (reports/EVENTS.md, `measure`).
COUNTS = {
    "stores": "stores to the pool",
    "nt_stores": "non-temporal ones among them",
    "store_bytes": "bytes stored",
    "flushes": "flushes of every kind",
    "fences": "fences of every kind, locked instructions among them",
    "sfences": "sfence and mfence alone",
    "lines": "distinct lines stored to",
    "blocks": "distinct 256-byte blocks stored to",
    "lines_read": "distinct lines loaded from that it had not stored to",
}
OPERATIONS = ("insert", "update", "erase", "lookup", "format", "open", "close", "maintain")
#: The most over all crash states.
STATES = {
    "duplicates": "valid copies of one key after recovery",
    "leaks": "allocated blocks that nothing reaches after recovery",
    "recovery.stores": "stores of one recovery",
    "recovery.flushes": "its flushes",
    "recovery.fences": "its fences",
    "recovery.lines_read": "distinct lines that it loads from",
}
ITEMS = "items"
BYTES = "bytes"
_RECOVERY = "recovery"
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
_NAME = r"[A-Za-z][A-Za-z0-9_-]*"
_TOKEN = re.compile(rf"\s*(?:(?P<name>{_NAME})|(?P<number>\d+(?:\.\d+)?)|(?P<sign><=|>=|==|[<>=/().-]))")


class ClaimError(ValueError):
    """Returns the fault in the text of a claim, without its place, and what may have been meant."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number of each operation (`state` is false), or of all crash states."""

    name: str  # a key of COUNTS or STATES, ITEMS, or a defined name
    operation: str = ""  # its kind, or a maintenance command; empty: every kind
    widest: bool = False  # the size of the widest store, not the number of stores
    state: bool = False

    def __str__(self) -> str:
        counted = f"{self.name}.{BYTES}" if self.widest else self.name
        return f"{self.operation}.{counted}" if self.operation else counted

    @property
    def is_command(self) -> bool:
        """True when `operation` is a maintenance command."""
        return bool(self.operation) and self.operation not in OPERATIONS


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A whole claim; `str` gives it in its canonical spelling."""

    quantity: Quantity
    per: Quantity | None = None
    mean: bool = False
    comparison: str
    number: float

    def holds(self, value: float) -> bool:
        """Whether a measured value is as claimed."""
        return COMPARISONS[self.comparison](value, self.number)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return (self.quantity,) if self.per is None else (self.quantity, self.per)

    def __str__(self) -> str:
        parts = [f"mean({item})" if self.mean and item.name != ITEMS else str(item) for item in self.quantities]
        return f"{' / '.join(parts)} {self.comparison} {format_number(self.number)}"


def format_number(value: float) -> str:
    """`3`, `0.34`: at most four digits behind the point, none that say nothing."""
    return f"{value:.4f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))


def parse(text: str, *, defined: Collection[str] = (), commands: Collection[str] | None = None) -> Expression:
    """The claim that `text` makes; ClaimError otherwise.

    `defined`: names of [define]. `commands`: the maintenance commands that the scheme knows; None: any name is one.
    """
    return _Parser(text, defined=defined, commands=commands).claim()


class _Parser:
    def __init__(self, text: str, *, defined: Collection[str], commands: Collection[str] | None) -> None:
        self._defined = defined
        self._commands = commands
        self._tokens: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise ClaimError(f"'{text[at:].strip()[0]}' means nothing in a claim")
            kind = str(match.lastgroup)
            self._tokens.append((kind, match[kind]))
            at = match.end()
        self._next = 0

    def claim(self) -> Expression:
        mean = self._is_mean()
        quantity = self._average(mean)
        per = None
        if self._take("/"):
            if mean and not self._is_mean():
                raise ClaimError("behind a mean, '/' needs another one: write mean(a) / mean(b)")
            if not mean and self._is_mean():
                raise ClaimError("before a mean, '/' needs another one: write mean(a) / mean(b)")
            per = self._average(mean)
        comparison = self._comparison()
        number = self._number()
        if self._next < len(self._tokens):
            raise ClaimError(f"nothing may follow the number, but '{self._tokens[self._next][1]}' does")
        self._refuse(quantity, per, mean=mean)
        return Expression(quantity=quantity, per=per, mean=mean, comparison=comparison, number=number)

    # ---- words -------------------------------------------------------------------------------------
    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        at = self._next + ahead
        return self._tokens[at] if at < len(self._tokens) else ("end", "")

    def _take(self, sign: str) -> bool:
        if self._peek() == ("sign", sign):
            self._next += 1
            return True
        return False

    def _expect(self, sign: str, where: str) -> None:
        if not self._take(sign):
            found = self._peek()[1]
            raise ClaimError(f"'{sign}' is missing {where}" + (f", where '{found}' stands" if found else ""))

    def _word(self, what: str) -> str:
        kind, text = self._peek()
        if kind != "name":
            raise ClaimError(f"{what} is missing" + (f", where '{text}' stands" if text else ""))
        self._next += 1
        return text

    # ---- parts -------------------------------------------------------------------------------------
    def _is_mean(self) -> bool:
        return self._peek() == ("name", "mean") and self._peek(1) == ("sign", "(")

    def _average(self, mean: bool) -> Quantity:
        if not mean:
            return self._quantity()
        self._next += 2
        quantity = self._quantity()
        self._expect(")", "behind the quantity")
        return quantity

    def _quantity(self) -> Quantity:
        first = self._word("a quantity")
        words = [first]
        while self._take("."):
            words.append(self._word(f"a word behind '{'.'.join(words)}.'"))
        name = ".".join(words)
        if name in STATES:
            return Quantity(name=name, state=True)
        if name == ITEMS:
            return Quantity(name=name)
        if first == _RECOVERY:
            raise self._unknown(f"'{name}' is nothing that is counted of recovery", name, STATES)
        if first in self._defined:
            return self._counted("", words)
        if len(words) == 1:
            raise self._unknown(f"unknown quantity '{name}'", name, [*STATES, *self._defined, ITEMS, *self._examples()])
        self._operation(first)
        return self._counted(first, words[1:])

    def _counted(self, operation: str, words: list[str]) -> Quantity:
        name, rest = words[0], words[1:]
        if name not in self._defined and name not in COUNTS:
            raise self._unknown(f"'{name}' is nothing that is counted", name, [*COUNTS, *self._defined])
        if not rest:
            return Quantity(name=name, operation=operation)
        if rest == [BYTES] and name in self._defined:
            return Quantity(name=name, operation=operation, widest=True)
        if rest == [BYTES]:
            raise ClaimError(f"'{name}.{BYTES}' is not counted; '.{BYTES}' goes with a name that [define] defines")
        raise ClaimError(f"'.{'.'.join(rest)}' may not follow '{name}'; only '.{BYTES}' may follow a defined name")

    def _operation(self, word: str) -> None:
        if word in OPERATIONS or self._commands is None or word in self._commands:
            return
        raise self._unknown(f"unknown operation '{word}'", word, [*OPERATIONS, *self._commands, _RECOVERY])

    def _examples(self) -> list[str]:
        return [f"insert.{name}" for name in COUNTS]

    def _unknown(self, what: str, word: str, choices: Collection[str]) -> ClaimError:
        close = nearest(word, choices, limit=2)
        hint = f"Did you mean {' or '.join(repr(name) for name in close)}?" if close else f"There are {_list(choices)}."
        return ClaimError(what, hint)

    def _comparison(self) -> str:
        kind, text = self._peek()
        if text == "=":
            raise ClaimError("'=' compares nothing; write '=='")
        if kind != "sign" or text not in COMPARISONS:
            stands = f", where '{text}' stands" if text else ""
            raise ClaimError(f"a comparison is missing ({', '.join(COMPARISONS)}){stands}")
        self._next += 1
        return text

    def _number(self) -> float:
        kind, text = self._peek()
        if kind != "number":
            raise ClaimError("a number is missing behind the comparison" + (f", where '{text}' stands" if text else ""))
        self._next += 1
        return float(text)

    def _refuse(self, quantity: Quantity, per: Quantity | None, *, mean: bool) -> None:
        if quantity.name == ITEMS:
            raise ClaimError(f"'{ITEMS}' can only be divided by: write quantity / {ITEMS}")
        if mean and any(item.state for item in (quantity, per) if item):
            raise ClaimError("a mean is over operations; crash states are not weighed, so write the quantity alone")
        if per is None:
            return
        if quantity.state or per.state:
            raise ClaimError("what crash states show cannot be divided; compare it with a number")
        if not mean and per.name != ITEMS and per.operation != quantity.operation:
            raise ClaimError(
                f"'{quantity}' and '{per}' are of different operations; divide their means: mean(a) / mean(b)"
            )


def _list(choices: Collection[str]) -> str:
    shown = list(dict.fromkeys(choices))
    return ", ".join(shown) if shown else "none"
