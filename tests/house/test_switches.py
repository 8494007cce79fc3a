"""A switch over one of our kinds lists every kind: a `default:` would take a new one for something that it is not.

The compiler names each switch that lacks an enumerator (`-Wall -Werror`), but only where no `default:` stands. A switch
over characters, numbers of system calls (an enum without a name) or another project's enum may have one.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = ("*.cc", "*.h", "*.c")
#: Comments, texts and characters; a digit separator is no beginning of a character.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)
ENUM = re.compile(r"\benum\s+(class\s+)?\w+[^{;()]*\{([^}]*)\}")
LABEL = re.compile(r"\bcase\s+((?:\w+::)*\w+)\s*:")
DEFAULT = re.compile(r"\bdefault\s*:")


def code_of(text: str) -> str:
    """`text` with blanks in the place of comments, texts and characters."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def enumerators(code: str) -> set[str]:
    """As their labels begin and end: `::kStore` of an enum class, `kPowercutMap` of another one."""
    return {
        ("::" if found[1] else "") + name
        for found in ENUM.finditer(code)
        for item in found[2].split(",")
        if (name := item.partition("=")[0].strip())
    }


def is_ours(label: str, ours: set[str]) -> bool:
    scope, _, name = label.rpartition("::")
    # A group of event kinds (tracer/format/event_groups.h) stands for its kinds.
    if re.fullmatch(r"POWERCUT_[A-Z]+_EVENTS", name):
        return True
    return name in ours or (scope != "" and f"::{name}" in ours)


def end_of(code: str, begin: int, pair: str) -> int:
    """Where the bracket at `begin` is closed: the place behind it."""
    depth = 0
    for at in range(begin, len(code)):
        depth += (code[at] == pair[0]) - (code[at] == pair[1])
        if depth == 0:
            return at + 1
    raise AssertionError("a bracket is never closed")


def switches(code: str) -> Iterator[tuple[int, str]]:
    """The place of every switch, and what stands in its braces outside of the switches in it."""
    for found in re.finditer(r"\bswitch\s*\(", code):
        begin = code.index("{", end_of(code, found.end() - 1, "()"))
        body = code[begin + 1 : end_of(code, begin, "{}") - 1]
        while (inner := re.search(r"\bswitch\s*\(", body)) is not None:
            brace = body.index("{", end_of(body, inner.end() - 1, "()"))
            body = body[: inner.start()] + body[end_of(body, brace, "{}") :]
        yield found.start(), body


def defaults(code: str, ours: set[str]) -> list[int]:
    """Lines of the switches that have a `default:` beside one of `ours`."""
    return [
        code.count("\n", 0, at) + 1
        for at, body in switches(code)
        if DEFAULT.search(body) and any(is_ours(label, ours) for label in LABEL.findall(body))
    ]


def test_no_switch_over_our_kinds_has_a_default() -> None:
    listed = subprocess.run(["git", "ls-files", "-z", "--", *ENDINGS], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("git knows which files are ours")
    files = {name: code_of((ROOT / name).read_text(encoding="utf-8")) for name in listed.stdout.split("\0") if name}
    # A tracer acts on some kinds of calls: test_file_calls.py holds that it names every other kind with a reason.
    calls = enumerators(files["tracer/file_calls/file_calls.h"])
    assert "kPowercutReads" in calls
    ours = {name for code in files.values() for name in enumerators(code)} - calls
    found = [(name, body) for name, code in files.items() for _, body in switches(code)]
    assert {"::kStore", "::kOpBegin", "kPowercutMap"} <= ours
    assert len(found) > 100
    wrong = [f"{name}:{line}" for name, code in files.items() for line in defaults(code, ours)]
    assert not wrong, f"list the enumerators in the place of 'default:': {', '.join(wrong)}"


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("switch (kind) {\n  case Kind::kOne:\n    return 1;\n  default:\n    return 2;\n}", [1]),
        ("switch (kind) { case kThree: break; default: break; }", [1]),
        ("switch (kind) { case POWERCUT_TREE_EVENTS: break; default: break; }", [1]),
        ("switch (kind) { case Kind::kOne: break; /* default: */ }", []),
        ("switch (kind) { case Kind::kOne: break; case Kind::kTwo: break; }", []),
        ("\nswitch (letter) { case 'a': break; default: break; }", []),
        ("switch (number) { case kRead: break; default: break; }", []),
        ("switch (a) { case 1: switch (b) { case Kind::kOne: break; default: break; } }", [1]),
        ("switch (b) { case Kind::kOne: switch (a) { case 1: break; default: break; } }", []),
    ],
)
def test_a_default_is_found_where_it_stands(code: str, lines: list[int]) -> None:
    ours = enumerators("enum class Kind : uint8_t { kOne = 1, kTwo }; enum record { kThree }; enum { kRead = 3 };")
    assert ours == {"::kOne", "::kTwo", "kThree"}
    assert defaults(code_of(code), ours) == lines
