"""The statements of a C-like source file, without comments and white space: what an edit beside them does not change.

A statement is what stands between two of `;`, `{` and `}` outside parentheses (a `for` has its `;` inside), and outside
preprocessor lines. White space is dropped but between two words, so that a formatter that breaks or joins lines changes
nothing; comments are dropped altogether.

Known inaccuracies: what a macro makes is one statement where it is used; a `case` label is part of the statement behind
it; languages whose statements end with the line (Python, Go) come as larger pieces.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

#: Longer pieces (a table of constants) are cut: they say no more.
_LONGEST = 2000

_TOKEN = re.compile(
    r"""
      (?P<gap>\s+|\\\n|//(?:[^\n\\]|\\.|\\\n)*|/\*.*?(?:\*/|\Z))
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
    | (?P<text>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
    | (?P<char>'(?:[^'\\\n]|\\.[^'\n]{0,8})')
    | (?P<word>(?:\w|(?<=[0-9a-fA-F])'(?=[0-9a-fA-F]))+)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"[ \t]*\#(?:[^\n\\]|\\\n|\\.)*", re.DOTALL)
_OPEN, _CLOSE = "([", ")]"


@dataclass(frozen=True)
class Statement:
    """`begin` is the first character of it, `end` the one behind its last, as offsets into the file."""

    begin: int
    end: int
    text: str


@dataclass(frozen=True)
class Statements:
    """Returns the statements of one file, in order; `lines` are the offsets at which lines begin."""

    found: tuple[Statement, ...]
    lines: tuple[int, ...]
    #: The offset of each brace outside of comments, strings and directives, and which one it is.
    braces: tuple[tuple[int, str], ...] = ()

    def at(self, line: int, column: int = 0) -> Statement | None:
        """The one at a position (both from 1; column 0: unknown), else the first that has a part on the line."""
        if not 1 <= line <= len(self.lines):
            return None
        begin = self.lines[line - 1]
        end = self.lines[line] if line < len(self.lines) else begin + 1_000_000
        if column:
            spot = begin + column - 1
            exact = next((one for one in self.found if one.begin <= spot < one.end), None)
            if exact:
                return exact
        return next((one for one in self.found if one.begin < end and one.end > begin), None)

    def ordinal(self, statement: Statement, first_line: int) -> int:
        """How many statements with its text stand before it, from `first_line` on (its function's; 0: the file's)."""
        begin = self.lines[first_line - 1] if 1 <= first_line <= len(self.lines) else 0
        return sum(1 for one in self.found if begin <= one.begin < statement.begin and one.text == statement.text)


@lru_cache(maxsize=1024)
def length_of_function(text: str, line: int) -> int | None:
    """How many statements the function has that begins at `line` (from 1); None where no body is found."""
    lines = statements(text).lines
    if not 1 <= line <= len(lines):
        return None
    at, depth, parentheses, count = lines[line - 1], 0, 0, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None  # the last alternative takes any character
        at = match.end()
        if match.lastgroup != "sign":
            continue
        sign = match[0]
        parentheses += (sign in _OPEN) - (sign in _CLOSE)
        depth += (sign == "{") - (sign == "}")
        if sign == ";" and parentheses <= 0:
            if depth == 0:
                return None  # a declaration
            count += 1
        if sign == "}" and depth <= 0:
            return count
    return None


@lru_cache(maxsize=64)
def statements(text: str) -> Statements:
    """The statements of a file's text."""
    lines = (0, *(match.end() for match in re.finditer("\n", text)))
    braces: list[tuple[int, str]] = []
    found = tuple(_split(text, braces))
    return Statements(found=found, lines=lines, braces=tuple(braces))


def _split(text: str, braces: list[tuple[int, str]]) -> Iterator[Statement]:
    """The statements; each brace on the way is put into `braces`."""
    pieces: list[str] = []
    begin = end = depth = at = 0
    at_line_start = True
    while at < len(text):
        if at_line_start and (directive := _DIRECTIVE.match(text, at)):
            at = directive.end()
            at_line_start = False
            continue
        match = _TOKEN.match(text, at)
        assert match is not None  # the last alternative takes any character
        kind, token = match.lastgroup, match[0]
        at = match.end()
        if kind == "gap":
            at_line_start = at_line_start or "\n" in token
            continue
        at_line_start = False
        if kind == "sign" and (token in "{}" or (token == ";" and depth <= 0)):
            if token != ";":
                braces.append((match.start(), token))
            if pieces:
                yield _statement(begin, end, pieces)
            pieces, depth = [], 0
            continue
        if kind == "sign":
            depth += (token in _OPEN) - (token in _CLOSE)
        if not pieces:
            begin = match.start()
        pieces.append(token)
        end = at
    if pieces:
        yield _statement(begin, end, pieces)


def _statement(begin: int, end: int, pieces: list[str]) -> Statement:
    joined = ""
    for piece in pieces:
        words = joined and _is_word(joined[-1]) and _is_word(piece[0])
        joined += f" {piece}" if words else piece
    return Statement(begin, end, joined[:_LONGEST])


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
