"""`powercut.check`: operations written in Python, what is wrong with them, and the scenario file that is left."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tomllib
import typing
from pathlib import Path
from typing import Any

import pytest

import powercut
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.scenarios import catalog, scenario
from powercut.scenarios import toml_text as scenario_toml
from powercut.testing import api, operations
from powercut.testing.check_options import CheckOptions
from tests.conftest import House

pytestmark = pytest.mark.usefixtures("own_session")

# Operations.


def test_constructors_make_plain_tuples() -> None:
    assert powercut.insert(1) == ("insert", 1)
    assert powercut.update(1, "zeros") == ("update", 1, "zeros")
    assert powercut.erase(range(1, 4), [7]) == ("erase", 1, 2, 3, 7)
    assert powercut.lookup([1, 2]) == ("lookup", 1, 2)
    assert powercut.insert(1, 2, value_size=40) == ("insert", 1, 2, {"value_size": 40})
    assert powercut.update(1, value_size=40) == ("update", 1, {"value_size": 40})
    assert powercut.maintain("expand") == ("maintain", "expand")
    assert powercut.fill(200) == ("fill", 200)
    assert powercut.until("move.top", 200) == ("until", "move.top", 200)
    assert powercut.mix(10, read=0.5, update=0.5) == ("mix", 10, {"read": 0.5, "update": 0.5})


def test_operations_become_steps() -> None:
    made = operations.steps(
        [("insert", 1), ("insert", range(2, 4)), ("maintain", "expand"), ("fill", 9), ("mix", 4, {"read": 1.0})],
        where="here",
    )
    assert [step.model_dump(exclude_none=True)["op"] for step in made] == [
        "insert",
        "insert",
        "maintain",
        "fill",
        "mix",
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([("isnert", 1)], "operations[0]: unknown operation 'isnert'. Did you mean 'insert'?"),
        ([("insert", 1), ("delete", 1)], "operations[1]: unknown operation 'delete'."),
        ([("insert",)], "insert: no key was named"),
        ([("insert", 0)], "0 is no key"),
        ([("insert", True)], "True is no key"),
        ([("insert", "zeroes")], "did you mean 'zeros'?"),
        ([("insert", 1.5)], "1.5 is no key"),
        (["insert"], "'insert' is no operation"),
        ([()], "() is no operation"),
        ([7], "7 is no operation"),
        ("insert", "operations are a list"),
        (7, "operations are a list"),
        ([("maintain",)], "maintain: it takes command"),
        ([("maintain", "expnd")], "'level' has no command 'expnd'. Did you mean 'expand'?"),
        ([("fill", "many")], "fill: limit"),
        ([("until", "mark")], "until: it takes mark and limit"),
        ([("mix", 4, {"read": 0.5})], "add up to 0.5, not 1"),
        ([("mix", 4, {"reed": 1.0})], "mix: reed"),
        ([("mix",)], "mix: operations"),
        ([], "there are no operations"),
    ],
)
def test_bad_operations(house: House, given: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        powercut.check("level", given)
    assert said in str(refused.value)
    assert not (house.root / ".powercut").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"config": {"tpo": 2}}, "unknown option of 'level' 'tpo'. Did you mean 'top'?"),
        ({"config": {"top": 3}}, "'3' is no value of the option 'top'"),
        ({"config": {"top": None}}, "the option 'top' is None"),
        ({"config": ["top"]}, "config is a dictionary"),
        ({"warmup": [("insert", -1)]}, "powercut.check: warmup[0]: insert: -1 is no key"),
        ({"pool": "3 bytes"}, "'3 bytes' is not a size"),
        ({"pool": 5000}, "is not a whole number of 4096-byte pages"),
        ({"key_size": 2}, "data.key_size"),
        ({"model": "tso"}, "unknown model 'tso'"),
        ({"nested": -1}, "'nested' is -1"),
        ({"nested": "1"}, "'nested' is '1'"),
        ({"seed": 1.5}, "'seed' is 1.5"),
        ({"budget": "soon"}, "'soon' is not a budget"),
        ({"expect_marks": [7]}, "expect_marks.0"),
    ],
)
def test_bad_options(house: House, options: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        powercut.check("level", [powercut.insert(1)], **options)
    assert said in str(refused.value)


@pytest.mark.parametrize("target", ["levle", "level:hardend", "", None, "no/such.so"])
def test_bad_targets(house: House, target: Any) -> None:
    with pytest.raises(UsageError):
        powercut.check(target, [powercut.insert(1)])


def test_unknown_names_are_refused_by_python() -> None:
    with pytest.raises(TypeError, match="warm_up"):
        powercut.check("level", [powercut.insert(1)], warm_up=[])  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="instert"):
        powercut.instert(1)


# Judging, with canned answers.


def test_verdicts(house: House) -> None:
    result = powercut.check("level", [powercut.insert(1)], name="clean")
    assert result.consistent and result.complete
    with pytest.raises(powercut.InconsistentError, match="An acknowledged insert of key 17 is gone"):
        powercut.check("level", iter([powercut.insert(1)]), name="lost")
    assert not powercut.check("level", [powercut.insert(1)], name="sampled").complete
    with pytest.raises(powercut.UnknownError):
        powercut.check("level", [powercut.insert(1)], name="sampled", complete=True)
    with pytest.raises(powercut.UnknownError, match="the engine died"):
        powercut.check("level", [powercut.insert(1)], name="silent")


def test_the_keywords_are_the_fields_of_the_object() -> None:
    hints = typing.get_type_hints(CheckOptions)
    assert hints == typing.get_type_hints(powercut.Check)
    assert list(hints) == [field.name for field in dataclasses.fields(powercut.Check)]


def test_checks_share_options_as_an_object(house: House) -> None:
    """A keyword goes before the same field of the object; both give the run that keywords alone give."""
    shared = powercut.Check(model="eadr", seed=7, nested=0)
    given = powercut.check("level:hardened", [("insert", 1)], shared, seed=9, name="clean").runs[0]
    alone = powercut.check("level:hardened", [("insert", 1)], model="eadr", seed=9, nested=0, name="clean").runs[0]
    assert (given.model, given.seed, given.nested) == (alone.model, alone.seed, alone.nested) == ("eadr", 9, 0)
    with pytest.raises(TypeError, match="modle"):
        powercut.check("level:hardened", [("insert", 1)], modle="eadr")  # type: ignore[call-arg]


def test_a_call_says_what_is_not_usual() -> None:
    options = powercut.Check(warmup=(("insert", 1),), config={}, seed=9, threads=[[("update", 1)]], budget="5s")
    assert api.call("level", [], options) == (
        "powercut.check('level', warmup=[('insert', 1)], threads=[[('update', 1)]], seed=9, budget='5s')"
    )
    assert api.call("level", iter([("insert", 1)]), powercut.Check()) == "powercut.check('level', [('insert', 1)])"


def test_runs_with_other_options_have_files_of_their_own(house: House) -> None:
    for chosen in ({}, {"nested": 0}, {"seed": 3}, {"strategy": "prefix"}, {"atoms": "byte"}, {"budget": "20x"}):
        powercut.check("level", [powercut.insert(1)], name="clean", **chosen)  # type: ignore[arg-type]
    assert sorted(path.stem for path in (house.root / ".powercut" / "runs").iterdir()) == [
        "level-published-clean-20x-adr",
        "level-published-clean-adr",
        "level-published-clean-byte-adr",
        "level-published-clean-nested0-adr",
        "level-published-clean-prefix-adr",
        "level-published-clean-seed3-adr",
    ]


def test_hostile_names_stay_inside(house: House) -> None:
    powercut.check("level", [powercut.insert(1)], name="../../clean\n[x]")
    (file,) = (house.root / ".powercut" / "scenarios").iterdir()
    assert file.name == "clean_x.toml" and scenario.load(file).name == "clean_x"


def test_import_is_light() -> None:
    code = "import sys, powercut; print(sorted(m for m in sys.modules if 'powercut' in m or 'hypothesis' in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.strip()
    assert "'powercut'" in loaded and "powercut.testing.api" not in loaded and "hypothesis" not in loaded


# Scenario files.


def test_every_scenario_reads_back_as_it_was_written() -> None:
    for item in [*catalog.everything(), *catalog.known_bugs()]:
        text = scenario_toml.render(item.content, comment="two\nlines")
        assert text.startswith("# two\n# lines\n")
        assert type(item.content).model_validate(tomllib.loads(text)) == item.content, item.place


def test_texts_are_quoted() -> None:
    hostile = 'a "b" \\ \n\t\x7f\x01 é'
    assert tomllib.loads(f"x = {scenario_toml.toml_value(hostile)}") == {"x": hostile}


# Checks with the engine.


def test_a_check_is_a_scenario(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explored = [powercut.insert(1), powercut.update(1), powercut.erase(1), powercut.maintain("expand")]
    result = powercut.check("level:hardened", explored, warmup=[powercut.insert(2, 3)], config={"top": 2}, nested=1)
    (run,) = result.runs
    assert result.complete and int(run["crash_states"]) > 20
    assert run["recorded"]["operations"] > 6
    file = folder / ".powercut" / "scenarios" / "inline.toml"
    assert run["command"].startswith("powercut run level:hardened --scenario .powercut/scenarios/inline.toml")
    assert main(["run", "level:hardened", "--scenario", str(file), "--out", "again"]) == ExitCode.CLEAN


@pytest.mark.parametrize(("target", "config"), [("cceh:hardened", {}), ("level:hardened", {"layout": "8x8"})])
def test_keys_and_values_have_the_sizes_that_the_target_takes(folder: Path, target: str, config: Any) -> None:
    (run,) = powercut.check(target, [powercut.insert(1)], config=config).runs
    text = (folder / ".powercut" / "scenarios" / "inline.toml").read_text()
    assert "key_size = 8" in text and "value_size = 8" in text and run["verdict"] == "consistent"


def test_a_size_that_is_not_given_is_fitted_to_the_other(folder: Path) -> None:
    """Keys of 8 bytes went with the usual values of 15, which the target refuses."""
    (run,) = powercut.check("level:hardened", [powercut.insert(1)], key_size=8).runs
    text = (folder / ".powercut" / "scenarios" / "inline.toml").read_text()
    assert "key_size = 8" in text and "value_size = 8" in text and run["verdict"] == "consistent"


def test_a_planted_bug_is_found(folder: Path) -> None:
    with pytest.raises(powercut.InconsistentError) as failed:
        powercut.check(
            "level:hardened", [powercut.update(1)], warmup=[powercut.insert(1)], config={"bug": "update_two_writes"}
        )
    assert "ERROR: powercut: lost-item" in str(failed.value) and "update.cc" in str(failed.value)


@pytest.mark.parametrize(
    ("explored", "options", "said"),
    [
        ([powercut.update(1)], {}, "update of key 1, which is absent"),
        ([powercut.insert(1), powercut.insert(1)], {}, "insert of key 1, which is present"),
        ([powercut.insert(range(1, 99))], {"config": {"auto_expand": "off"}}, "answered FULL"),
        ([powercut.insert(1)], {"key_size": 8, "value_size": 15}, "keys"),
        ([powercut.insert(1)], {"cut_at": "no.such.mark"}, "never reaches the mark 'no.such.mark'"),
        ([powercut.insert(1)], {"expect_marks": ["no.such.mark"]}, "no.such.mark"),
    ],
)
def test_what_the_target_refuses(folder: Path, explored: Any, options: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        powercut.check("level:hardened", explored, **options)
    assert said in str(refused.value)
