"""The functions that a C-like source file defines, each with its statements.

A function is what stands between the braces behind a statement such as `void Table::Update(Slot*slot)`: a name before
the first parenthesis, which is no keyword. Its name here is the last part of the one that a compiler gives it: the
source of a method need not spell its class.

Known inaccuracies: a constructor that initialises a member with braces is taken for its first pair of braces alone;
what a macro defines is not seen.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from powercut.symbols.statements import Statement, statements

_KEYWORDS = frozenset(("if", "for", "while", "switch", "catch", "do", "else", "return", "sizeof", "match", "loop"))
#: Prefixes of the name that have parentheses of their own; "func" is Go's, with the receiver of a method.
_PREFIX = re.compile(
    r"\b(?:__attribute__|alignas|__declspec|decltype|noexcept|func)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
_NAME = re.compile(r"(operator[^\w(]{1,3}|~?[A-Za-z_]\w*)\(")
_LAST = re.compile(r"operator[^\w(]{1,3}$|~?[A-Za-z_]\w*(?=\W*$)")


@dataclass(frozen=True)
class Function:
    """`lines` are the first and the last one of its text, from 1; `statements` those of its body, by their texts."""

    name: str
    lines: tuple[int, int]
    statements: tuple[str, ...]

    def has(self, text: str, ordinal: int) -> bool:
        """Whether it has more than `ordinal` statements with this text."""
        return self.statements.count(text) > ordinal


@lru_cache(maxsize=64)
def functions(text: str) -> tuple[Function, ...]:
    """The functions of a file's text, in the order in which they end."""
    read = statements(text)
    found: list[Function] = []
    open_ones: list[tuple[str, int]] = []  # per brace: the function that it begins (or ""), and where its text begins
    rest = list(reversed(read.found))
    for at, brace in read.braces:
        last: Statement | None = None  # of the statements between the brace before and this one
        while rest and rest[-1].begin < at:
            last = rest.pop()
        if brace == "{":
            begins = last is not None and ";" not in text[last.end : at]
            open_ones.append((_name(last.text), last.begin) if last and begins else ("", at))
        elif open_ones:
            name, begin = open_ones.pop()
            if name:
                body = tuple(one.text for one in read.found if begin < one.begin < at)
                found.append(Function(name, (bisect_right(read.lines, begin), bisect_right(read.lines, at)), body))
    return tuple(found)


def last_name(function: str) -> str:
    """Returns the last part of a compiler's name for a function, without parameters, as its definition spells it."""
    match = _LAST.search(function)
    return match[0] if match else function


def _name(header: str) -> str:
    """The name of the function that a statement before a brace begins; empty for any other statement."""
    match = _NAME.search(_PREFIX.sub("", header))
    return match[1] if match and match[1] not in _KEYWORDS else ""
