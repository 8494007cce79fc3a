"""Entries of a file: each is the scenario that a file of its own would hold, and every mistake has its line."""

from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.scenarios import catalog, scenario
from tests.conftest import House

FILE = """\
schema = 5
targets = ["level"]
pool.size = "64KiB"

[begin.full]
config = { top = 8, slots = 4 }
phase.warm-up = { explore = false, steps = [{ op = "insert", from = 1, to = 28 }] }

[bug.token-first]
summary = "The token goes first."
like = "full"
phase."go on".steps = [{ op = "insert", from = 29, to = 29 }]
expect_marks = ["insert.top"]
class = "ordering"
source = "a paper"
expected = ["lost-item"]
site = "level/insert.cc: Set(token"
cause.kind = "order"
cause.second = "acknowledgement"
minimal = { invariant = "lost-item", before = 29, after = 7, case = "insert(1)" }
why_not_fewer = "A bucket has to be full."

[bug.threads_lock-kept]
summary = "Two threads."
like = "token-first"
config.slots = 8
toggle = "lock"
source = "another paper"
expected = [
  "deadlock",
  "livelock",
]

[bug.threads_lock-kept.phase.race]
threads = [
  [{ op = "insert", keys = [40] }],
  [{ op = "lookup", keys = [40] }],
]

[scenario.churn]
summary = "A mix."
core = true
phase.run.steps = [
  { op = "update", keys = [1] },
  { op = "mix", operations = 9, read = 1.0 },
]
"""
BUGS = FILE[: FILE.index("[scenario.")]
FIRST = """\
schema = 1
summary = "The token goes first."
targets = ["level"]
expect_marks = ["insert.top"]

[config]
top = 8
slots = 4

[pool]
size = "64KiB"

[[phase]]
name = "warm-up"
explore = false
steps = [{ op = "insert", from = 1, to = 28 }]

[[phase]]
name = "go on"
steps = [{ op = "insert", from = 29, to = 29 }]

"""
RACE = """
[[phase]]
name = "race"
threads = [[{ op = "insert", keys = [40] }], [{ op = "lookup", keys = [40] }]]
"""
BUG = """
[known_bug]
class = "ordering"
toggle = "token_first"
source = "a paper"
expected = ["lost-item"]
site = "level/insert.cc: Set(token"
cause = { kind = "order", second = "acknowledgement" }
minimal = { invariant = "lost-item", before = 29, after = 7, case = "insert(1)" }
why_not_fewer = "A bucket has to be full."
"""
OTHER_BUG = """
[known_bug]
toggle = "lock"
source = "another paper"
expected = ["deadlock", "livelock"]
"""


def write(folder: Path, text: str = FILE, name: str = "mine") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def alone(folder: Path, text: str, name: str) -> dict[str, object]:
    return scenario.load(write(folder, text, name)).content.model_dump(exclude={"schema_version"})


def test_an_entry_is_the_scenario_that_a_file_of_its_own_would_hold(tmp_path: Path) -> None:
    found = {
        item.name: item.content.model_dump(exclude={"schema_version"}) for item in scenario.load_all(write(tmp_path))
    }
    assert list(found) == ["churn", "token-first", "threads_lock-kept"]
    assert found["token-first"] == alone(tmp_path, FIRST + BUG, "token-first")
    other = (
        FIRST.replace("The token goes first.", "Two threads.")
        .replace("slots = 4", "slots = 8")
        .replace("= 1\n", "= 2\n", 1)
    )
    assert found["threads_lock-kept"] == alone(tmp_path, other + RACE + OTHER_BUG, "threads_lock-kept")
    assert found["churn"]["core"] and found["churn"]["known_bug"] is None and found["churn"]["config"] == {}


def test_the_example_of_the_schema_is_one(tmp_path: Path) -> None:
    page = (paths.scenario_dir() / "SCHEMA.md").read_text().partition("## Entries")[2]
    first, moved = scenario.load_all(write(tmp_path, page.partition("```toml\n")[2].partition("```")[0], "level"))
    assert (first.bug.toggle, moved.bug.toggle) == ("insert_unordered", "move_clear_first")
    assert moved.content.config == {"top": 8, "movement": "early"}
    assert moved.content.phases == first.content.phases and moved.bug.defect_class != first.bug.defect_class


def test_an_entry_has_the_names_of_a_file_in_a_folder(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    write(house.root / "scenarios" / "known_bugs", BUGS, name="level")
    write(house.root / "scenarios", FILE.replace(BUGS.partition("[bug.")[2], "").replace("[bug.", ""), name="level")
    catalog.forget()
    assert [item.bug_id for item in catalog.known_bugs()] == ["level/threads_lock-kept", "level/token-first"]
    names = [item.name for item in catalog.matching("known_bugs/level/token-first")]
    assert names == ["token-first"]
    for pattern in (
        "known_bugs/level/*",
        "known_bugs/level",
        "known_bugs/level.toml",
        "scenarios/known_bugs/level/*.toml",
    ):
        assert {item.name for item in catalog.matching(pattern)} >= {"token-first", "threads_lock-kept"}, pattern
    assert [item.name for item in catalog.matching("level/churn")] == ["churn"]
    (bug,) = catalog.matching("scenarios/known_bugs/level.toml:token-first")
    assert catalog.spelling(bug) == "known_bugs/level/token-first"
    assert main(["list", "known-bugs"]) == ExitCode.CLEAN
    assert "level/token-first" in capsys.readouterr().out
    assert bug.place == "scenarios/known_bugs/level.toml:9"


def test_an_entry_and_a_file_of_its_folder_cannot_share_a_name(house: House) -> None:
    write(house.root / "scenarios" / "known_bugs", BUGS, name="level")
    write(house.root / "scenarios" / "known_bugs" / "level", FIRST + BUG, "token-first")
    catalog.forget()
    with pytest.raises(UsageError, match="another scenario 'token-first' in this folder"):
        catalog.known_bugs()


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("class = \"ord", "clas = \"ord", 14, "bug 'token-first': unknown key 'clas'"),
        ("core = true", "toggle = \"x\"", 42, "scenario 'churn': unknown key 'toggle'"),
        ("pool.size", "pol.size", 3, "unknown key 'pol'. Did you mean 'pool'?"),
        ('"64KiB"', '"64KB"', 3, "scenario 'churn': pool.size: '64KB' is not a size"),
        ("to = 28", "to = 0", 7, "bug 'token-first': phase.0.steps.0.to: "),
        ("from = 29", "form = 29", 12, "bug 'token-first': unknown key 'form' in 'phase.1.steps.0'. Did you mean"),
        ("operations = 9", "operation = 9", 45, "scenario 'churn': unknown key 'operation' in 'phase.0.steps.1'"),
        ('"deadlock"', '"dedlock"', 29, "bug 'threads_lock-kept': known_bug.expected.0: "),
        ('cause.kind = "order"', 'cause.kind = "odd"', 18, "bug 'token-first': known_bug.cause.kind: "),
        ("after = 7", "afterwards = 7", 20, "bug 'token-first': unknown key 'afterwards' in 'known_bug.minimal'"),
        ('expected = ["lost-item"]\n', "", 9, "bug 'token-first': the key 'expected' is missing in 'known_bug'"),
        ('summary = "A mix."\n', "", 40, "scenario 'churn': the key 'summary' is missing"),
        ('[{ op = "lookup"', '[{ op = "fill"', 37, "bug 'threads_lock-kept': step 1 of thread 2 of the phase 'race'"),
        ('like = "full"', 'like = "fall"', 11, "bug 'token-first': the file has no entry and no beginning 'fall'. Did"),
        ('like = "full"', 'like = "threads_lock-kept"', 11, "bug 'token-first': 'like' leads back to 'token-first'"),
        ("[scenario.churn]", '[scenario."a/b"]', 40, "scenario 'a/b': "),
        ("schema = 5", "schema = 4", 1, "the file has entries, which version 4 does not know. Write schema = 5"),
        ("schema = 5\n", "", 1, "the key 'schema' is missing"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_entry_and_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in FILE
    with pytest.raises(UsageError) as caught:
        scenario.load_all(write(tmp_path, FILE.replace(old, new, 1)))
    said = str(caught.value)
    assert message in said
    assert f"mine.toml:{line}: " in said, said
    assert "\n" not in said and caught.value.next_step
