"""Scenario files: what is accepted, and that every mistake is named with its file and line."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.engine import events
from powercut.scenarios import plan, scenario, schema, toml_text
from powercut.scenarios.plan import option_text, option_values
from powercut.scenarios.sections import ENTRIES
from powercut.scenarios.steps import STEPS, MixStep
from powercut.scenarios.targets import Target

GOOD = """\
schema = 1
name = "x"
summary = "One line."
targets = ["level"]
expect_marks = ["update.logged"]

[config]
top = 4
hardened = true

[pool]
size = "2MiB"

[[phase]]
name = "warm-up"
explore = false
steps = [{ op = "insert", from = 1, to = 12 }]

[[phase]]
name = "update"
cut_at = "move.copied"
steps = [
  { op = "update", keys = [5, 9] },
  { op = "maintain", command = "expand" },
  { op = "fill", limit = 200 },
  { op = "until", mark = "move.top", limit = 200 },
  { op = "mix", operations = 100, read = 0.5, update = 0.5 },
]
"""


def load(folder: Path, text: str) -> scenario.Scenario:
    path = folder / "x.toml"
    path.write_text(text)
    return scenario.load(path)


def mistake(folder: Path, old: str, new: str) -> str:
    assert old in GOOD
    with pytest.raises(UsageError) as caught:
        load(folder, GOOD.replace(old, new))
    return str(caught.value)


def test_everything_that_the_schema_shows_is_read(tmp_path: Path) -> None:
    content = load(tmp_path, GOOD).content
    assert content.pool.size == 2 << 20
    assert (content.data.key_size, content.data.value_size) == (16, 15)
    assert content.phases[1].cut_at == "move.copied"
    mix = content.phases[1].steps[-1]
    assert isinstance(mix, MixStep)
    assert (mix.distribution, mix.theta) == ("zipfian", 0.99)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("summary =", "sumary =", 3, "unknown key 'sumary'. Did you mean 'summary'?"),
        ("size = ", "sizes = ", 12, "unknown key 'sizes' in 'pool'. Did you mean 'size'?"),
        ("cut_at", "cutat", 21, "unknown key 'cutat' in 'phase.1'. Did you mean 'cut_at'?"),
        ('limit = 200 },\n  { op = "until"', 'limt = 200 },\n  { op = "until"', 25, "Did you mean 'limit'?"),
        ("from = 1,", "form = 1,", 17, "unknown key 'form' in 'phase.0.steps.0'. Did you mean 'from'?"),
        ('op = "maintain"', 'op = "maintian"', 24, "unknown op 'maintian'; did you mean 'maintain'?"),
        ('"maintain", ', '"maintain", x = 1, ', 24, "unknown key 'x'"),
        ("read = 0.5", "read = 0.6", 27, "add up to 1.1, not 1"),
        ("to = 12", "to = 0", 17, "greater than or equal to 1"),
        ("from = 1, to = 12", "from = 5, to = 3", 17, "'to' (3) is below 'from' (5)"),
        ("from = 1, to = 12", "from = 5", 17, "'from' and 'to' go together"),
        ("keys = [5, 9]", "keys = [5], from = 1, to = 2", 23, "name the keys once"),
        ('["update.logged"]', '["update.logged", 7]', 5, "expect_marks.1: Input should be a valid string"),
        ("keys = [5, 9]", "keys = [5, 0]", 23, "0 is no key; write a number from 1 on, 'zeros' or 'ones'"),
        ("keys = [5, 9]", "keys = [true]", 23, "True is no key"),
        ("keys = [5, 9]", 'keys = [5, "zeroes"]', 23, "'zeroes' is no key; did you mean 'zeros'?"),
        ("keys = [5, 9]", 'keys = ["5"]', 23, "'5' is no key; write a number"),
        ('"2MiB"', '"2MB"', 12, "'2MB' is not a size"),
        ('"2MiB"', "5000", 11, "not a whole number of 4096-byte pages"),
        ("schema = 1", "schema = 7", 1, "scenario version 7, this build reads 1 to 6"),
        ("explore = false", "explore = 3", 16, "explore: "),
        ('name = "update"', 'name = "warm-up"', 1, "two phases have the same name"),
        ('name = "x"', 'name = "y"', 2, "named 'y', its file 'x'"),
        ('summary = "One line."\n', "", 1, "the key 'summary' is missing"),
        ("top = 4", "top = ", 8, "malformed TOML"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    said = mistake(tmp_path, old, new)
    assert message in said
    assert f"x.toml:{line}: " in said


SIZES = """\
schema = 6
summary = "Sizes."
targets = ["clevel"]
data = { key_size = [8, 64], value_size = [1, 400] }

[[phase]]
name = "operations"
steps = [{ op = "insert", keys = [1, 2] }, { op = "update", keys = [1], value_size = 3 }]
"""


def test_sizes_may_be_ranges(tmp_path: Path) -> None:
    content = load(tmp_path, SIZES).content
    assert content.data.sizes == ((8, 64), (1, 400))
    assert content.data.are_mixed
    written = toml_text.render(content)
    assert load(tmp_path, written).content == content


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema = 6", "schema = 5", "its items differ in size, which version 5 does not know; write schema = 6"),
        ("[8, 64]", "[7, 64]", "7 bytes; a size here has 8 to 4096"),
        ("[8, 64]", "[64, 8]", "the least size, 64, is above the most, 8"),
        ("[1, 400]", "[0, 400]", "0 bytes; a size here has 1 to 65536"),
        ("[1, 400]", "[1, 70000]", "70000 bytes; a size here has 1 to 65536"),
        (
            "value_size = 3",
            "value_size = 401",
            "of key 1 has a value of 401 bytes, and [data] value_size has 1 to 400 bytes",
        ),
        ('"update", keys = [1]', '"erase", keys = [1]', "'value_size' is of the value that an insert or update writes"),
        (
            '"update", keys = [1], value_size = 3',
            '"increment", keys = [1]',
            "a table of counters has values",
        ),
    ],
)
def test_mistakes_of_sizes(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SIZES
    with pytest.raises(UsageError) as caught:
        load(tmp_path, SIZES.replace(old, new))
    assert message in str(caught.value)


def test_a_scenario_without_a_name_has_its_files(tmp_path: Path) -> None:
    file = tmp_path / "token-first.toml"
    file.write_text("""schema = 1
summary = "x"
targets = ["level"]
phase = [{ name = "a", steps = [{ op = "insert", from = 1, to = 2 }] }]
known_bug = { class = "ordering", toggle = "t", expected = ["leak"], source = "x" }
""")
    item = scenario.load(file)
    assert (item.name, item.bug_id, item.bug.defect_class, item.bug.variant) == (
        "token-first", "level/token-first", "ordering", "hardened",
    )  # fmt: skip


def test_not_utf8_and_missing(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        scenario.load(tmp_path / "x.toml")
    with pytest.raises(UsageError, match="No such file"):
        scenario.load(tmp_path / "y.toml")


def test_plan_fills_in_defaults_and_spells_booleans_as_the_target_does(tmp_path: Path) -> None:
    description = events.TargetDescription(
        name="level", variants=["hardened"], options=["hardened=off|on: x", "top=4|...: y"]
    )
    target = Target(library=Path("/lib/x.so"), description=description)
    made = plan.build(target, variant="hardened", scenario=load(tmp_path, GOOD), seed=7, toggle="swap")
    assert made["target"]["options"] == {"top": "4", "hardened": "on", "bug": "swap"}
    assert made["seed"] == 7
    first, second = made["scenario"]["phases"]
    assert first == {
        "name": "warm-up", "explore": False, "cut_at": None, "steps": [{"op": "insert", "from": 1, "to": 12}],
    }  # fmt: skip
    assert second["steps"][0] == {"op": "update", "keys": [5, 9]}
    assert second["steps"][4]["distribution"] == "zipfian"


def test_plan_carries_the_names_of_keys(tmp_path: Path) -> None:
    target = Target(
        library=Path("/lib/x.so"), description=events.TargetDescription(name="level", variants=["hardened"], options=[])
    )
    given = load(tmp_path, GOOD.replace("keys = [5, 9]", 'keys = ["zeros", "ones", 5]'))
    made = plan.build(target, variant="hardened", scenario=given, seed=1)
    assert made["scenario"]["phases"][1]["steps"][0] == {"op": "update", "keys": ["zeros", "ones", 5]}


@pytest.mark.parametrize(
    ("allowed", "text"),
    [(["on", "off"], "on"), (["0", "1"], "1"), (["yes", "no"], "yes"), (["true"], "true"), ([], "true")],
)
def test_booleans(allowed: list[str], text: str) -> None:
    assert option_text(True, allowed) == text


def test_option_lines() -> None:
    description = events.TargetDescription(name="x", variants=["a"], options=["top=4|2|...: buckets: many", "strange"])
    assert option_values(description) == {"top": ["4", "2", "..."]}


#: Keys that lead to other scenarios of the file.
SECTIONS = {"variant", *ENTRIES}
#: Every key of the file.
WHOLE: dict[str, Any] = {
    "schema": 2,
    "name": "x",
    "summary": "One line.",
    "targets": ["level"],
    "core": True,
    "purpose": "judgement",
    "expect_marks": ["update.logged"],
    "config": {"top": 4, "hardened": True},
    "pool": {"size": "2MiB"},
    "data": {"key_size": 8, "value_size": 24},
    "phase": [
        {"name": "run", "cut_at": "move.copied", "steps": [{"op": "insert", "from": 1, "to": 2}]},
        {"name": "race", "threads": [[{"op": "insert", "keys": [3]}], [{"op": "lookup", "keys": [3]}]]},
    ],
    "known_bug": {
        "toggle": "a",
        "expected": ["lost-item"],
        "cause": {"kind": "order"},
        "source": "A paper.",
        "minimal": {"invariant": "lost-item", "before": 9, "after": 7, "case": "insert(1)"},
        "why_not_fewer": "It is full.",
    },
    "search": {"kind": "bounded", "preemptions": 2, "schedules": 9},
    "define": {"items_moved": {"marks": ["move.*"]}},
    "claim": [{"claim": "insert.stores <= 1", "cites": "3.1"}],
}


def test_a_scenario_is_written_with_all_its_keys() -> None:
    assert set(WHOLE) == set(schema.keys_at([])) - SECTIONS, "give the new key a value in WHOLE"
    content = schema.ScenarioFile.model_validate(WHOLE)
    text = toml_text.render(content)
    assert schema.ScenarioFile.model_validate(tomllib.loads(text)) == content, (
        f"toml_text.render leaves out a key:\n{text}"
    )


def test_a_variant_may_say_every_key_but_the_version() -> None:
    assert set(schema.keys_at(["variant"])) == set(schema.keys_at([])) - {"schema", *SECTIONS}, "add it to Variant"


@pytest.mark.parametrize(
    "table", [None, "pool", "data", "phase", "search", "known_bug", *(kind.__name__ for kind in STEPS.values())]
)
def test_the_document_has_every_key(table: str | None) -> None:
    example = (paths.scenario_dir() / "SCHEMA.md").read_text().partition("```toml\n")[2].partition("```")[0]
    for key in set(schema.keys_at([table] if table else [])) - SECTIONS:
        assert re.search(rf"(^|[\s{{])\[*{key}(\]| =)", example), (
            f"scenarios/SCHEMA.md: the first example lacks '{key}'"
        )
