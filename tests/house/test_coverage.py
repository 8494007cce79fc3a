"""`python -m tools.coverage`: how lines are counted, how schemes of a family are merged, and what is printed."""

from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from tools import coverage
from tools.coverage import Lines

TARGETS = paths.home() / "targets"


def segment(line: int, count: int, *, entry: bool = True, counted: bool = True, gap: bool = False) -> list[Any]:
    return [line, 1, count, counted, entry, gap]


def lines(path: str, *, reached: set[int], missed: set[int]) -> Lines:
    return Lines(path=TARGETS / path, counted=frozenset(reached | missed), missed=frozenset(missed))


def test_lines_of_a_file() -> None:
    # A function of lines 1 to 7, whose block from within line 3 to within line 5 never ran; then one that never ran.
    segments = [segment(1, 5), segment(3, 0), segment(5, 5, entry=False), segment(7, 0, counted=False), segment(9, 0)]
    found = coverage._lines({"filename": "x/y.cc", "segments": segments})
    assert found == Lines(path=Path("x/y.cc"), counted=frozenset({1, 2, 3, 4, 5, 6, 7, 9}), missed=frozenset({4, 5, 9}))


def test_the_same_lines_hold_code_whatever_ran() -> None:
    # llvm-cov leaves out a segment that would go on with the count of the one before it: here the one of line 5.
    ran = [segment(1, 5), segment(3, 0), segment(5, 5, entry=False), segment(7, 0, counted=False)]
    never = [segment(1, 0), segment(3, 0), segment(7, 0, counted=False)]
    counted = [coverage._lines({"filename": "y.cc", "segments": segments}).counted for segments in (ran, never)]
    assert counted[0] == counted[1]


def test_a_gap_holds_no_code() -> None:
    segments = [segment(1, 5), segment(2, 5, gap=True), segment(4, 0), segment(5, 0, counted=False)]
    assert coverage._lines({"filename": "y.cc", "segments": segments}).counted == {1, 2, 4, 5}


@pytest.mark.parametrize(("numbers", "expected"), [([], ""), ([4], "4"), ({12, 3, 4, 5, 9, 11}, "3-5 9 11-12")])
def test_spans(numbers: list[int], expected: str) -> None:
    assert coverage.spans(numbers) == expected


def test_a_shared_line_is_reached_when_a_member_reached_it() -> None:
    row = coverage.shared_row(
        "cuckoo",
        [
            lines("common/cuckoo/path.cc", reached={1, 2}, missed={3, 4}),
            lines("common/cuckoo/path.cc", reached={3}, missed={1, 2, 4}),
            lines("common/cuckoo/insert.cc", reached=set(), missed={7}),
            lines("bch/own.cc", reached={1}, missed=set()),
        ],
    )
    assert row.name == "common/cuckoo (bch, bcht, libcuckoo, stash)"
    assert [(item.path.name, item.counted, item.missed) for item in row.files] == [
        ("insert.cc", {7}, {7}),
        ("path.cc", {1, 2, 3, 4}, {4}),
    ]
    assert row.share == pytest.approx(3 / 5)


def measured(monkeypatch: pytest.MonkeyPatch, results: dict[str, tuple[Lines, ...]]) -> None:
    monkeypatch.setattr(coverage, "measure", results.__getitem__)
    monkeypatch.setattr(coverage.targets, "libraries", lambda: {name: Path() for name in results})


FAMILY = {
    name: (lines("common/cuckoo/path.cc", reached={number}, missed={1, 2, 3, 4} - {number}),)
    for number, name in enumerate(("bch", "bcht", "libcuckoo", "stash"), start=1)
}


def test_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    level = (lines("level/insert.cc", reached=set(range(1, 50)), missed={60, 61}),)
    measured(monkeypatch, {**FAMILY, "level": level})
    assert coverage.main([]) == ExitCode.CLEAN
    assert capsys.readouterr().out.splitlines() == [
        "bch          has no protocol of its own",
        "bcht         has no protocol of its own",
        "libcuckoo    has no protocol of its own",
        "stash        has no protocol of its own",
        "level         96.1% of the protocol's lines",
        "    insert.cc: 60-61",
        "common/cuckoo (bch, bcht, libcuckoo, stash) 100.0% of the protocol's lines",
    ]


def test_too_few(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    measured(monkeypatch, {**FAMILY, "level": (lines("level/insert.cc", reached={1}, missed={2}),)})
    assert coverage.main(["level"]) == ExitCode.FINDINGS
    assert "level         50.0% of the protocol's lines  TOO FEW" in capsys.readouterr().out


def test_a_family_is_not_judged_without_a_member(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(monkeypatch, FAMILY)
    assert coverage.main(["bch", "stash"]) == ExitCode.INCOMPLETE
    assert capsys.readouterr().out.splitlines()[-1] == (
        "common/cuckoo (bch, bcht, libcuckoo, stash) is judged with all its members; not measured: bcht, libcuckoo"
    )


def test_bad_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert coverage.main(["levle"]) == ExitCode.USAGE
    assert "levle" in capsys.readouterr().err
