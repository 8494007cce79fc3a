"""Whether commands on a mounted image went wrong as a finding says."""

from __future__ import annotations

import pytest

from powercut.confirm.outcomes import SHOWN, Step, same, shortened
from powercut_records.finding import FindingRecord, OutputDifference, Query
from powercut_records.program import Program


def failing(step: str, found: str) -> FindingRecord:
    query = Query(kind="program", text=f"{step}: ./app check")
    return FindingRecord(query=query, expected=["exit status 0"], found=found)


def printing(*legal: str, ordered: bool = False) -> FindingRecord:
    return FindingRecord(
        query=Query(kind="program", text="dump: ./app dump"),
        expected=list(legal),
        difference=OutputDifference(),
        program=Program(ordered=ordered),
    )


def steps(*ends: int | None, output: str = "") -> list[Step]:
    names = ("recover", "check", "dump")
    return [Step(name=name, status=end, output=output) for name, end in zip(names, ends, strict=False)]


@pytest.mark.parametrize(
    ("step", "found", "ends", "answer"),
    [
        ("recover", "exit status 1", (1,), True),
        ("recover", "exit status 1", (2,), False),
        ("recover", "exit status 1", (0, 1), False),
        ("check", "exit status 1", (0, 1), True),
        ("check", "exit status 1", (1,), False),
        ("check", "exit status 1", (0, 0, 0), False),
        ("recover", "died of SIGSEGV", (-11,), True),
        ("recover", "died of SIGSEGV", (-6,), False),
        ("recover", "no end within the time limit", (None,), True),
        ("recover", "exit status 1", (None,), False),
    ],
)
def test_the_same_step_fails_in_the_same_way(step: str, found: str, ends: tuple[int | None, ...], answer: bool) -> None:
    assert same(failing(step, found), steps(*ends)) is answer


@pytest.mark.parametrize(
    ("legal", "printed", "ordered", "answer"),
    [
        (["a\nb\n"], "a\nb\n", False, False),
        (["a\nb"], "b\na\n", False, False),
        (["a\nb"], "b\na\n", True, True),
        (["a", "b"], "b\n", False, False),
        (["a", "b"], "c\n", False, True),
        (["a"], "", False, True),
        ([""], "", False, False),
    ],
)
def test_an_output_that_is_none_of_the_legal_ones(legal: list[str], printed: str, ordered: bool, answer: bool) -> None:
    assert same(printing(*legal, ordered=ordered), steps(0, 0, 0, output=printed)) is answer


def test_a_step_before_the_wrong_output_must_end_well() -> None:
    assert not same(printing("a"), steps(0, 1))
    assert not same(printing("a"), steps(0, 0, 1, output="c"))


def test_a_long_output_is_compared_by_what_findings_tell_of_it() -> None:
    text = "ü" * SHOWN
    told = shortened(text)
    assert told == "ü" * (SHOWN // 4) + " … " + "ü" * (SHOWN // 4)
    assert not same(printing(told), steps(0, 0, 0, output=text))
    assert same(printing(told), steps(0, 0, 0, output="x" + text))
