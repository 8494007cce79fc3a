"""Finds sentences that break the mechanical rules of prose: their first word, their length, their bare pronouns.

Input: the text of a C, C++, Python or Markdown file. Output: the faults of its comments, docstrings, messages or
paragraphs. `test_prose.py` demands that no file has a fault.

`python -m tests.house.prose FILE…` prints the faults of files; without a name, those of all files.

Known inaccuracies: a false alarm annoys everybody, so a doubtful sentence passes. Code in a comment, tables, headings
and block quotes are not read. A message that a program puts together from pieces is read piece by piece.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 25  # words of a sentence
#: A comment may have this share of bare pronouns; three are fine in the shortest comment.
PRONOUNS = 0.12
FEW_PRONOUNS = 3

_NATIVE = {".h", ".cc", ".c", ".cpp", ".hpp"}
#: History is not rewritten, and a page that a command prints is held where its sentences stand.
_LEFT_OUT = re.compile(r"^(CHANGELOG\.md|docs/cli\.md|scenarios/known_bugs/MINIMAL\.md)$|/(third_party|goldens?)/")
#: Folders whose strings people read.
_MESSAGES = re.compile(r"^(powercut|reports/powercut_reports)/")
_NATIVE_MESSAGES = re.compile(r"^(base|engine|checker|replayer|tracer)/(?!.*(_test|/test[^/]*)\.)")

_FIRST = re.compile(
    r"(Of|What|That|So|Those|The same|One of which"
    r"|One of (?:them|these|those)(?= [a-z]*s\b| (?:must|may|can|will)\b|[.,]))\b(?!-)"
)
_CODE = "Code"  # stands for code in a sentence, as one word
_WORD = re.compile(r"[A-Za-z0-9]")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|cf|vs|Fig|Figs|Sec|Sect|Alg|No|pp|p|al|resp|approx|ca|Eq|ch|Vol)\.$")
_FUNCTION_WORD = re.compile(
    "(?:of|that|which|who|is|was|are|were|be|has|have|had|do|does|did|for|in|on|at|to|and|or|but|nor|with|the|an?|it|its|by"
    "|as|from|may|can|must|will|would|could|should|not|than|when|where|if|after|before|so|then|there)"
)
_PREPOSITION = re.compile(
    "(?:of|in|on|at|to|by|as|from|with|for|after|before|behind|between|than|without|like|over|into|under|and|or)"
)


@dataclass(frozen=True)
class Fault:
    line: int
    reason: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.line}: {self.reason}: {self.sentence}"


# -- sentences -------------------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph; code in backticks, links and addresses are one word each."""
    text = re.sub(r"``[^`]+``|`[^`\n]+`", _CODE, " ".join(text.split()))
    text = re.sub(r"!?\[([^\]]*)\]\((?:[^()]|\([^()]*\))*\)", r"\1", text)
    text = re.sub(r"https?://\S+", _CODE, text).replace("*", "").replace("…", " ")
    found = []
    begin = 0
    for end in re.finditer(r"[.!?][\"')\]]*(?=\s+(?:\(\d\) )?[\"'(\[]*(?:[A-Z]|powercut\b|libpmem)|\s*$)", text):
        if not _ABBREVIATION.search(text[begin : end.start() + 1]):
            found.append(text[begin : end.end()].strip())
            begin = end.end()
    found.append(text[begin:].strip())
    return [sentence for sentence in found if _WORD.search(sentence)]


def words(text: str) -> list[str]:
    return [word for word in text.split() if _WORD.search(word)]


def pronouns(text: str) -> int:
    """How many words of a text stand for a noun that is not there; a doubtful word is none."""
    count = 0
    for sentence in sentences(text):
        tokens = re.findall(r"[A-Za-z][\w'-]*|[^\w\s]", sentence.lower())
        for index, token in enumerate(tokens):
            before = tokens[index - 1] if index else "."
            after = tokens[index + 1] if index + 1 < len(tokens) else "."
            ends = not after[0].isalpha()
            if token in ("it", "them", "they", "what"):
                count += 1
            elif token in ("one", "ones", "those", "these", "this", "such"):
                count += ends or _FUNCTION_WORD.fullmatch(after) is not None
            elif token == "that":
                count += ends or _PREPOSITION.fullmatch(before) is not None
    return count


def faults(paragraphs: list[tuple[int, str]]) -> Iterator[Fault]:
    """The faults of one comment: its paragraphs with their first lines."""
    whole = " ".join(text for _, text in paragraphs)
    for line, text in paragraphs:
        for sentence in sentences(text):
            first = _FIRST.match(sentence.lstrip("\"'([*_"))
            if first and not sentence.endswith("?"):
                yield Fault(line, f"begins with '{first[1]}'", sentence)
            longest = max(len(words(part)) for part in re.split(r"[;:·] ", sentence))
            if longest > LONGEST:
                yield Fault(line, f"{longest} words", sentence)
    number, of = pronouns(whole), len(words(whole))
    if number > FEW_PRONOUNS and number > PRONOUNS * of:
        yield Fault(paragraphs[0][0], f"{number} bare pronouns in {of} words", " ".join(whole.split()))


# -- what is read of a file ------------------------------------------------------------------------------


def _paragraphs(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Splits a comment at blank lines and items; drops tables, and drawings and code, which are indented."""
    found: list[tuple[int, str]] = []
    open_ = False
    base = min((len(text) - len(text.lstrip()) for _, text in lines if text.strip()), default=0)
    inside = False
    for line, text in lines:
        text = text[base:] if text.strip() else ""
        if re.match(r"\s*(```|~~~)", text):
            inside = not inside
            open_ = False
            continue
        item = re.match(r"\s*(?:[-*+•] |\d+[.)] |[A-Za-z]\) |:param |@\w+ |>>>)", text)
        drawn = text.lstrip().startswith("|") or re.search(r"\S {3,}\S", text)
        if inside or not text.strip() or drawn or (not open_ and text.startswith("    ")):
            open_ = False
        elif item:
            found.append((line, text[item.end() :]))
            open_ = True
        elif open_:
            found[-1] = (found[-1][0], f"{found[-1][1]} {text.strip()}")
        else:
            found.append((line, text.strip()))
            open_ = True
    return [
        (line, text) for line, text in found if not re.search(r"[;{}]\s*$|SPDX|Copyright|clang-format|NOLINT", text)
    ]


_TOKEN = re.compile(
    r'(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")|(?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+')|(?P<line>//(?:\\\n|[^\n])*)|(?P<block>/\*.*?\*/)|(?P<newline>\n)"
    r"|(?P<space>[ \t\\]+)|(?P<code>[A-Za-z_0-9]+|.)",
    re.DOTALL,
)


def native(text: str, *, messages: bool) -> Iterator[list[tuple[int, str]]]:
    """The comments of C and C++ as paragraphs; adjacent `//` lines are one comment. With `messages` also strings."""
    line = 1
    comment: list[tuple[int, str]] = []
    literal: tuple[int, str] | None = None
    code = False  # on this line

    def done() -> list[list[tuple[int, str]]]:
        nonlocal comment
        found, comment = _paragraphs(comment), []
        return [found] if found else []

    include = False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup if match.lastgroup != "mark" else "raw"
        token = match[0]
        if kind == "line":
            if comment and (code or comment[-1][0] != line - 1):
                yield from done()
            comment.append((line, re.sub(r"^//[/!]?<? ?", "", token)))
        elif kind == "block":
            yield from done()
            rows = [re.sub(r"^\s*\*+(?: |$)", "", row) for row in token[2:-2].lstrip("*").split("\n")]
            comment = [(line + index, row.strip() if not index else row) for index, row in enumerate(rows)]
            comment = [(number, re.sub(r"^ {1,3}(?! )", "", row)) for number, row in comment]
            yield from done()
        elif kind == "string" and messages and not include:
            piece = re.sub(r"\\.", " ", token[token.index('"') + 1 : -1])
            literal = (literal[0], literal[1] + piece) if literal else (line, piece)
        elif kind == "code":
            if not code:
                include = token == "#"
            if comment and comment[-1][0] < line:
                yield from done()
            code = True
            if literal:
                if _is_message(literal[1]):
                    yield [literal]
                literal = None
        line += token.count("\n")
        if kind == "newline":
            code = False
            include = False
    yield from done()


def _is_message(text: str) -> bool:
    plain = re.findall(r"(?<![\w<{/.-])[A-Za-z][a-z']*(?![\w>}/=(-])", text)
    return len(plain) >= 5 and len(plain) > 0.6 * len(text.split()) and "\n    " not in text


def python(text: str, *, messages: bool) -> Iterator[list[tuple[int, str]]]:
    """The comments and docstrings of Python, each as paragraphs. With `messages` also strings."""
    comment: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            alone = not token.line[:column].strip()
            if re.match(r"#!|# (type|noqa|pragma|mypy|ruff|-\*-|fmt|--)", token.string):
                continue
            if comment and not (alone and comment[-1][0] == line - 1):
                yield _paragraphs(comment)
                comment = []
            comment.append((line, re.sub(r"^#:? ?", "", token.string)))
    yield _paragraphs(comment)
    tree = ast.parse(text)
    docstrings: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.add(first.value)
                rows = first.value.value.split("\n")
                indent = min((len(row) - len(row.lstrip()) for row in rows[1:] if row.strip()), default=0)
                rows = [rows[0].lstrip(), *(row[indent:] for row in rows[1:])]
                yield _paragraphs([(first.lineno + index, row) for index, row in enumerate(rows)])
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree) if messages else ():
        if node in docstrings or node in parts:
            continue
        said = ""
        if isinstance(node, ast.JoinedStr):
            said = "".join(str(part.value) if isinstance(part, ast.Constant) else _CODE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said = node.value
        if _is_message(said):
            yield [(node.lineno, paragraph) for paragraph in re.split(r"\n\s*\n", said)]  # type: ignore[attr-defined]


def markdown(text: str) -> Iterator[list[tuple[int, str]]]:
    """The paragraphs and items of a page, each on its own; code, tables, headings and quotes are left out."""
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL)
    rows = [
        (number, "" if re.match(r"\s*(#|>|<|\[[^\]]+\]:|=+$|-{3,}$|!!!)", row) else row)
        for number, row in enumerate(text.split("\n"), 1)
    ]
    for paragraph in _paragraphs(rows):
        yield [paragraph]


def of_file(name: str, text: str) -> list[Fault]:
    suffix = Path(name).suffix
    if suffix in _NATIVE:
        found = native(text, messages=bool(_NATIVE_MESSAGES.match(name)))
    elif suffix == ".py":
        found = python(text, messages=bool(_MESSAGES.match(name)))
    else:
        found = markdown(text)
    return [fault for paragraphs in found if paragraphs for fault in faults(paragraphs)]


def files() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    names = [name for name in listing.stdout.split("\0") if Path(name).suffix in {*_NATIVE, ".py", ".md"}]
    return [name for name in names if not _LEFT_OUT.search(name) and (ROOT / name).is_file()]


# -- all files -------------------------------------------------------------------------------------------


def all_faults() -> dict[str, list[Fault]]:
    found = {name: of_file(name, (ROOT / name).read_text(encoding="utf-8")) for name in files()}
    return {name: list_ for name, list_ in found.items() if list_}


def main(arguments: list[str]) -> int:
    found = {name: of_file(name, (ROOT / name).read_text(encoding="utf-8")) for name in arguments}
    for name, list_ in (found if arguments else all_faults()).items():
        for fault in list_:
            print(f"{name}:{fault}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
