"""`powercut.stateful`: drawn workloads are legal, and planted bugs shrink to a few operations."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

import powercut
from powercut import stateful
from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.testing import api
from powercut.testing.operations import KEY_OPERATIONS
from tests.conftest import House

pytestmark = pytest.mark.usefixtures("own_session")

DETERMINISTIC = hypothesis.settings(derandomize=True, max_examples=40, deadline=None, database=None)
#: A bug of Level hashing, and an invariant that it violates.
PLANTED = {
    "update_two_writes": "lost-item",
    "expand_capacity_first": "recovery-failed",
    "log_not_replayed": "structure",
}


def call_in(message: str) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of the `powercut.check(…)` that a message shows."""
    line = next(line for line in message.splitlines() if line.startswith("powercut.check("))
    expression = ast.parse(line, mode="eval").body
    assert isinstance(expression, ast.Call)
    named = {word.arg: ast.literal_eval(word.value) for word in expression.keywords if word.arg}
    return [ast.literal_eval(argument) for argument in expression.args], named


@given(
    st.lists(st.tuples(st.sampled_from([*KEY_OPERATIONS, "maintain"]), st.integers(1, 4))),
    st.sets(st.integers(1, 4)),
)
@hypothesis.settings(deadline=None)
def test_what_is_drawn_becomes_legal(drawn: list[tuple[str, Any]], live: set[int]) -> None:
    present = set(live)
    for name, key in stateful.legal(drawn, live=live):
        if name == "insert":
            assert key not in present
            present.add(key)
        elif name in ("update", "erase"):
            assert key in present
            present -= {key} if name == "erase" else set()


def test_the_empty_table_and_the_first_update() -> None:
    assert stateful.legal([("erase", 1), ("update", 1), ("insert", 1), ("erase", 1), ("erase", 1)]) == [
        ("insert", 1),
        ("update", 1),
        ("erase", 1),
    ]


def test_a_workload_prints_as_the_call_that_runs_it() -> None:
    workload = stateful.Workload(
        target="level:hardened",
        operations=(("insert", 1), ("maintain", "expand")),
        warmup=(("insert", 2, 3),),
        config=(("top", "2"),),
    )
    assert repr(workload) == (
        "powercut.check('level:hardened', [('insert', 1), ('maintain', 'expand')], warmup=[('insert', 2, 3)], "
        "config={'top': '2'})"
    )


@pytest.mark.slow
@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_shrink_to_the_smallest_crash(folder: Path, bug: str) -> None:
    with pytest.raises(powercut.InconsistentError) as failed:
        stateful.check_target("level:hardened", derandomize=True, config={"bug": bug})
    message = str(failed.value)
    (target, explored), named = call_in(message)
    assert len(explored) <= 5 and f"powercut: {PLANTED[bug]}" in message
    assert not getattr(failed.value, "__notes__", None)
    # The output shows the bug again, as a call and as a file.
    with pytest.raises(powercut.InconsistentError):
        powercut.check(target, explored, **named)
    (file,) = (folder / ".powercut" / "scenarios").glob("inline.toml")
    assert f"As a scenario file: .powercut/scenarios/{file.name}" in message
    # Only the last of all examples is kept.
    assert len(list((folder / ".powercut" / "runs").iterdir())) == 1


@pytest.mark.slow
def test_a_library_by_its_path_and_the_call_that_it_prints(folder: Path) -> None:
    """`check_target("./lib.so")` always raised, and the printed call dropped the sizes, and passed when pasted."""
    (folder / "lib-1.so").symlink_to(paths.library_dir() / "libpowercut-level.so")
    chosen: api.CheckOptions = {"key_size": 8, "value_size": 8, "nested": 0, "atoms": "byte", "pool": "256KiB"}
    with pytest.raises(powercut.InconsistentError) as failed:
        stateful.check_target(
            "./lib-1.so:hardened", derandomize=True, config={"bug": "update_two_writes"}, options=chosen
        )
    line = next(line for line in str(failed.value).splitlines() if line.startswith("powercut.check("))
    named = call_in(line)[1]
    assert {name: named[name] for name in chosen} == chosen
    with pytest.raises(powercut.InconsistentError, match="lost-item"):
        eval(line, {"powercut": powercut})


def test_a_call_names_every_option_that_is_not_the_usual_one() -> None:
    usual: api.CheckOptions = {"warmup": [], "config": {}, "nested": 1, "key_size": None, "complete": False}
    assert api.call("level", [("insert", 1)], **usual) == "powercut.check('level', [('insert', 1)])"
    other: api.CheckOptions = {"model": "eadr", "seed": 7, "cut_at": "move.copied", "complete": True}
    assert api.call("level", [("insert", 1)], **other) == (
        "powercut.check('level', [('insert', 1)], model='eadr', seed=7, cut_at='move.copied', complete=True)"
    )


@pytest.mark.slow
def test_the_same_seed_shrinks_to_the_same_example(folder: Path) -> None:
    shown = []
    for _ in range(2):
        with pytest.raises(powercut.InconsistentError) as failed:
            stateful.check_target("level:hardened", derandomize=True, config={"bug": "expand_capacity_first"})
        shown.append(call_in(str(failed.value)))
    assert shown[0] == shown[1]


@pytest.mark.slow
def test_a_sound_table_is_clean_in_every_configuration(folder: Path) -> None:
    stateful.check_target("level:hardened", derandomize=True, max_examples=30)
    assert not (folder / ".powercut" / "findings").exists()


@pytest.mark.slow
def test_parts_in_a_test_of_ones_own(folder: Path) -> None:
    @DETERMINISTIC
    @given(stateful.operations("level:hardened", max_operations=3, live=range(1, 4)))
    def judge(operations: list[Any]) -> None:
        warmup = [powercut.insert(range(1, 4))]
        powercut.check("level:hardened", operations, warmup=warmup, config={"bug": "update_unordered"}, nested=0)

    with pytest.raises(powercut.InconsistentError) as failed:
        judge()
    (_, explored), _ = call_in(str(failed.value))
    assert len(explored) <= 2


@pytest.mark.slow
def test_state_machine(folder: Path) -> None:
    class Machine(stateful.CrashMachine):
        target = "level:hardened"
        warmup = (1, 2)
        config = {"bug": "update_two_writes"}  # noqa: RUF012
        options: api.CheckOptions = {"nested": 0}  # noqa: RUF012

    with pytest.raises(powercut.InconsistentError) as failed:
        run_state_machine_as_test(Machine, settings=hypothesis.settings(DETERMINISTIC, stateful_step_count=8))
    (_, explored), named = call_in(str(failed.value))
    assert len(explored) <= 2 and named["warmup"] == [("insert", 1, 2)]


@pytest.mark.slow
def test_state_machine_of_a_sound_table(folder: Path) -> None:
    class Machine(stateful.CrashMachine):
        target = "cceh:hardened"
        options: api.CheckOptions = {"nested": 0}  # noqa: RUF012

    few = hypothesis.settings(DETERMINISTIC, max_examples=8, stateful_step_count=6)
    run_state_machine_as_test(Machine, settings=few)


def test_no_workload_that_fits(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"no workload that was drawn can be run .*layout 8x8 takes keys"):
        sizes: api.CheckOptions = {"key_size": 8, "value_size": 15}
        stateful.check_target("level:hardened", derandomize=True, vary=[], max_warmup=0, options=sizes)


def test_machine_without_a_target() -> None:
    with pytest.raises(UsageError, match="names no target"):
        stateful.CrashMachine()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kinds": ["insret"]}, "unknown kind of operation 'insret'. Did you mean 'insert'?"),
        ({"commands": ["expnd"]}, "unknown command of 'level' 'expnd'. Did you mean 'expand'?"),
        ({"kinds": [], "commands": []}, "no kinds and no commands"),
        ({"vary": ["tpo"]}, "unknown option of 'level' 'tpo'. Did you mean 'top'?"),
        ({"config": {"tpo": 1}}, "unknown option of 'level' 'tpo'"),
        ({"keys": 0}, "keys is 0"),
        ({"max_operations": 0}, "max_operations is 0"),
        ({"max_warmup": -1}, "max_warmup is -1"),
        ({"max_examples": 0}, "max_examples is 0"),
    ],
)
def test_bad_options(house: House, options: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        stateful.check_target("level", **options)
    assert said in str(refused.value)


@pytest.mark.slow
def test_sizes_cannot_be_drawn_for_a_target_of_one_size(folder: Path) -> None:
    """Without this refusal Hypothesis shrank the engine's refusal of each example."""
    with pytest.raises(UsageError, match=r"'linear' takes values of one size .* Leave value_size out"):
        stateful.check_target("linear:hardened", value_size=(1, 400))


def test_unknown_target(house: House) -> None:
    with pytest.raises(UsageError, match="Did you mean 'level'"):
        stateful.check_target("levle")
