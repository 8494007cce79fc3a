"""`python -m powercut.coverage`: how lines are counted, and that a scheme of the build can be measured."""

from typing import Any

import pytest

from powercut import coverage
from powercut.exit_codes import ExitCode


def segment(line: int, count: int, *, entry: bool = True, counted: bool = True, gap: bool = False) -> list[Any]:
    return [line, 1, count, counted, entry, gap]


def test_lines_of_a_file() -> None:
    # A function of lines 1 to 6, of which a block in lines 3 and 4 never ran; then nothing, then one that never ran.
    segments = [segment(1, 5), segment(3, 0), segment(5, 5, entry=False), segment(7, 0, counted=False), segment(9, 0)]
    lines = coverage._lines({"filename": "x/y.cc", "segments": segments})
    assert (lines.file, lines.missed) == ("y.cc", (3, 4, 9))


@pytest.mark.parametrize(("lines", "expected"), [([], ""), ([4], "4"), ([3, 4, 5, 9, 11, 12], "3-5 9 11-12")])
def test_spans(lines: list[int], expected: str) -> None:
    assert coverage.spans(lines) == expected


def test_bad_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert coverage.main(["levle"]) == ExitCode.USAGE
    assert "levle" in capsys.readouterr().err
