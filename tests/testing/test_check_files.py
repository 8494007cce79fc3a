"""`powercut.check_files`: a crash test of Python functions that keep their data in a folder."""

import pickle
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest

import powercut
from powercut.base.errors import UsageError
from powercut.testing import folder_program
from powercut.testing.session import made_by
from tests.real_engine import require_engine
from tests.testing.settings_file import load, nothing, save, save_default, save_for_good, save_over


class Stored:
    """A value that another process cannot be given."""

    def __reduce__(self) -> str:
        raise TypeError("only here")


@pytest.fixture(autouse=True)
def session(tmp_path: Path) -> object:
    with made_by(lambda: powercut.Session(out=tmp_path / "out", jobs=2)):
        yield


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (None, []),
        ({"b": 2, "a": [1]}, ["'a': [1]", "'b': 2"]),
        ({"y", "x"}, ["'x'", "'y'"]),
        ([3, 1], ["3", "1"]),
        ("two\nlines", ["two", "lines"]),
        (7, ["7"]),
        (b"\0", ["b'\\x00'"]),
    ],
)
def test_what_recovery_returns_is_the_same_text_in_each_process(value: object, lines: list[str]) -> None:
    assert list(folder_program.lines(value)) == lines


def test_functions_that_another_process_cannot_call_are_refused() -> None:
    def inner(folder: Path) -> None:
        del folder

    for function in (inner, lambda folder: None):
        with pytest.raises(UsageError, match="cannot be called by another process"):
            powercut.check_files(function, recover=load)
    with pytest.raises(UsageError, match="the operations cannot be handed to another process"):
        powercut.check_files(save, [Stored()], recover=load)


def test_a_function_that_writes_nothing_was_not_judged() -> None:
    require_engine()
    with pytest.raises(UsageError, match="nothing was recorded"):
        powercut.check_files(nothing, recover=load)


def test_a_missing_sync_is_told_with_the_call_to_blame_and_the_sync_that_mends_it(tmp_path: Path) -> None:
    require_engine()
    with pytest.raises(powercut.InconsistentError) as raised:
        powercut.check_files(save, [{"colour": "blue"}], recover=load, fs="ext4")
    report = str(raised.value)
    assert 'rename("settings.tmp" -> "settings") (call 3) reached the disk' in report
    assert 'Add fsync of "settings.tmp" before the rename: tried' in report
    assert sorted(path.name for path in (tmp_path / "out" / "folders").glob("*/*")) == ["call", "operations.pickle"]


def test_the_twin_that_syncs_is_clean() -> None:
    require_engine()
    result = powercut.check_files(save_for_good, [{"colour": "blue"}], recover=load, fs="ext4", complete=True)
    (run,) = result.runs
    assert result.consistent and result.complete
    assert run.coverage.acknowledged is True
    assert run.scenario == "save_for_good"


def test_a_file_that_an_earlier_life_left_shows_in_the_second_one() -> None:
    require_engine()
    operations = ["a colour with a long name"]
    powercut.check_files(save_over, operations, setup=save_default, recover=load, fs="ext4")
    with pytest.raises(powercut.InconsistentError, match="in the second life"):
        powercut.check_files(
            save_over, operations, setup=save_default, recover=load, continuation=save_default, fs="ext4"
        )


def test_hypothesis_shrinks_the_operations_and_keeps_the_last_example_alone(tmp_path: Path) -> None:
    require_engine()

    # Phase.explain would run some fifty examples more, to tell which values do not matter.
    phases = [hypothesis.Phase.generate, hypothesis.Phase.shrink]

    @hypothesis.settings(max_examples=3, phases=phases, deadline=None, derandomize=True, database=None)
    @hypothesis.given(st.lists(st.integers(0, 9), min_size=1, max_size=2))
    def property_of(values: list[int]) -> None:
        powercut.check_files(save, values, recover=load, fs="ext4", name="drawn")

    with pytest.raises(powercut.InconsistentError):
        property_of()
    assert [path.name for path in (tmp_path / "out" / "runs").iterdir()] == ["drawn-nested0-files.json"]
    assert pickle.loads((tmp_path / "out" / "folders" / "drawn" / "operations.pickle").read_bytes()) == [0]
