"""`--ack`: lines of a recorded program's output that acknowledge the operations before them.

The program's output goes to two files. Before each event of the recording the tracer says how far these files have
grown (`tracer/stream/STREAM.md`). This tells which lines had left the program by then, whoever wrote them. A line that
leaves a buffer late acknowledges late.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.engine.supervise import OUTPUTS

#: Tracers that look at the output.
TRACERS = ("llvm", "valgrind")
#: Bytes of a line that are looked at.
MOST_LINE = 4096
#: Acknowledgements of a recording: each is an operation, after which the dump is run.
MOST = 100_000
_SHOWN = 3


def pattern(text: str) -> re.Pattern[str]:
    """Returns the expression of --ack, compiled. Raises UsageError for a text that is no expression."""
    try:
        compiled = re.compile(text)
    except re.error as error:
        raise UsageError(
            f"not a regular expression ({error})",
            where=f"--ack {text}",
            next_step="Write one as Python has them, such as --ack '^stored (.*)'.",
        ) from error
    if compiled.search(""):
        raise UsageError(
            "this matches an empty line, and so every line",
            where=f"--ack {text}",
            next_step="Write what the program prints when it has done something, such as --ack '^OK'.",
        )
    return compiled


def found(wanted: re.Pattern[str], output: Path) -> list[tuple[int, int, str]]:
    """The lines that match: the output (1, 2), the offset of the line's end there, and the acknowledged text.
    UsageError when no line matches."""
    lines = []
    for number, name in enumerate(OUTPUTS, 1):
        for end, line in _lines(output / name):
            if match := wanted.search(line):
                lines.append((number, end, (match[1] or "") if wanted.groups else line.strip()))
    where = f"--ack {wanted.pattern}"
    if not lines:
        raise UsageError(
            f"no line that the program printed matches this, so nothing would be acknowledged; {_printed(output)}",
            where=where,
            next_step="Correct the expression. It is looked for in each line of standard output and standard error.",
        )
    if len(lines) > MOST:
        raise UsageError(
            f"{len(lines):,} lines of the program's output match this, and {MOST:,} are the most",
            where=where,
            next_step="Give the recorded command less to do, or match only what acknowledges.",
        )
    return lines


def notes(acknowledged: dict[str, Any]) -> list[str]:
    """Yields notes on how the lines left the program. `acknowledged` is a field of the event `converted`."""
    lines, together, at_end = (acknowledged[name] for name in ("lines", "together", "at_end"))
    flush = "it holds its output back; let it flush after each answer (fflush, setvbuf, stdbuf -oL)"
    if at_end == lines > 1:
        return [f"all {lines:,} acknowledgements left the program at its end: {flush}"]
    if together:
        return [
            f"{together:,} of {lines:,} acknowledgements left the program together with others, and between these only "
            f"the exit status counts: {flush}"
        ]
    return []


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yields each line with the offset of its end; of a long line, only its beginning."""
    at, begun = 0, b""
    with file.open("rb") as data:
        while piece := data.readline(MOST_LINE):
            at += len(piece)
            begun = begun or piece
            if piece.endswith(b"\n"):
                yield at, begun.decode("utf-8", "replace").rstrip("\r\n")
                begun = b""
    if begun:
        yield at, begun.decode("utf-8", "replace")


def _printed(output: Path) -> str:
    shown = [line for name in OUTPUTS for _, (_, line) in zip(range(_SHOWN), _lines(output / name), strict=False)]
    shown = [line[:80] for line in shown if line.strip()]
    return f"it printed: {' | '.join(shown)}" if shown else "it printed nothing"
