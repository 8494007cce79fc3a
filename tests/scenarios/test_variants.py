"""Variants of a scenario's file: what they are, and that every mistake has its line."""

from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.scenarios import scenario

FILE = """\
schema = 1
summary = "Four slots."
targets = ["level"]
core = true

[config]
top = 4
slots = 4

[[phase]]
name = "warm up"
explore = false
steps = [{ op = "insert", from = 1, to = 12 }]

[[phase]]
name = "run"
steps = [{ op = "update", from = 1, to = 3 }]
"""
#: Lines 19 to 25, and 27 on.
EIGHT = """
[[variant]]
name = "clean_eight"
summary = "Eight slots."
core = false
config.slots = 8
phase."warm up".steps = [{ op = "insert", from = 1, to = 24 }]
phase.run.cut_at = "move.copied"
"""
PAGE = """
[[variant]]
name = "clean_page"

[variant.pool]
size = "4KiB"

[variant.phase.run]
steps = [
  { op = "erase", from = 1, to = 3 },
]
"""


def write(folder: Path, text: str = FILE + EIGHT + PAGE, name: str = "clean") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_a_variant_is_the_scenario_that_a_file_of_its_own_would_hold(tmp_path: Path) -> None:
    plain, eight, page = scenario.load_all(write(tmp_path))
    assert plain.content == scenario.load(write(tmp_path, FILE)).content
    alone = FILE.replace("Four", "Eight").replace("core = true\n", "").replace("slots = 4", "slots = 8")
    alone = alone.replace("to = 12", "to = 24").replace('name = "run"\n', 'name = "run"\ncut_at = "move.copied"\n')
    assert eight.content == scenario.load(write(tmp_path, alone, "clean_eight")).content
    alone = FILE.replace("[config]", '[pool]\nsize = "4KiB"\n\n[config]').replace("update", "erase")
    assert page.content == scenario.load(write(tmp_path, alone, "clean_page")).content


def test_the_example_of_the_schema_is_one(tmp_path: Path) -> None:
    page = (paths.scenario_dir() / "SCHEMA.md").read_text().partition("## Variants")[2]
    churn, wide = scenario.load_all(write(tmp_path, page.partition("```toml\n")[2].partition("```")[0], "churn"))
    assert (churn.name, wide.name) == ("churn", "churn_slots_8")
    assert wide.content.config == {"top": 4, "slots": 8} and wide.content.expect_marks == []


def test_places_have_the_line_of_the_variant(tmp_path: Path) -> None:
    found = scenario.load_all(write(tmp_path))
    assert [item.place.rpartition("clean.toml:")[2] for item in found] == ["1", "19", "27"]
    (alone,) = scenario.load_all(write(tmp_path, FILE))
    assert alone.place.endswith("clean.toml")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("summary = \"Eight", "sumary = \"Eight", 21, "unknown key 'sumary' in 'variant.0'. Did you mean 'summary'?"),
        ("config.slots", "confg.slots", 23, "unknown key 'confg' in 'variant.0'. Did you mean 'config'?"),
        ("core = false", "schema = 1", 22, "unknown key 'schema' in 'variant.0'"),
        ("phase.run.cut_at", "phase.run.cutat", 25, "unknown key 'cutat' in 'phase.1'. Did you mean 'cut_at'?"),
        ("  { op = \"erase\", from", "  { op = \"erase\", form", 35, "unknown key 'form' in 'phase.1.steps.0'"),
        ("to = 24", "to = 0", 24, "greater than or equal to 1"),
        ('"4KiB"', '"4KB"', 31, "'4KB' is not a size"),
        ('core = false', 'core = 3', 22, "core: "),
        ('core = false', 'purpose = "measurement"', 19, "a measurement is no core scenario"),
        ('name = "clean_page"', 'summary = "no name"', 27, "the key 'name' is missing in 'variant.1'"),
        ('name = "clean_page"', 'name = "a/b"', 28, "variant.1.name: "),
        ('name = "clean_page"', 'name = "clean"', 28, "two scenarios of this file are named 'clean'"),
        ('name = "clean_page"', 'name = "clean_eight"', 28, "two scenarios of this file are named 'clean_eight'"),
        ("phase.run.cut_at", "phase.rum.cut_at", 25, "no phase 'rum' that a variant could change. Did you mean 'run'?"),
        ("phase.run.cut_at", "phase.close.cut_at", 25, "no phase 'close' that a variant could change. There are warm"),
        ("[variant.phase.run]", "[[variant.phase]]", 33, "variant.1.phase: Input should be a valid dictionary"),
        (EIGHT, '\n[[variant]]\nname = "same"\nsummary = "Other words."\n', 19, "the variant 'same' changes nothing"),
        (EIGHT, '\n[[variant]]\nname = "same"\nconfig.slots = 4\n', 19, "the variant 'same' changes nothing"),
        (EIGHT + PAGE, '\n[variant]\nname = "one"\n', 19, "variant: Input should be a valid list"),
        ("schema = 1\n", "schema = 1\nvarient = []\n", 2, "Did you mean 'variant'?"),
        ("schema = 1\n", 'schema = 1\nname = "other"\n', 2, "named 'other', its file 'clean'"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    text = FILE + EIGHT + PAGE
    assert old in text
    with pytest.raises(UsageError) as caught:
        scenario.load_all(write(tmp_path, text.replace(old, new, 1)))
    said = str(caught.value)
    assert message in said
    assert f"clean.toml:{line}: " in said
    assert "\n" not in said and caught.value.next_step


def test_a_mistake_of_the_file_is_not_looked_for_in_a_variant(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"clean\.toml:8: .*slots"):
        scenario.load_all(write(tmp_path, (FILE + EIGHT).replace("slots = 4", "slots = []")))
    before = EIGHT.lstrip() + "\n[pool]\nsizes = 7\n"
    with pytest.raises(UsageError, match=r"clean\.toml:15: unknown key 'sizes' in 'pool'"):
        scenario.load_all(write(tmp_path, FILE.replace("\n[config]", f"\n{before}\n[config]")))
