"""Scenarios with threads: what a file may say, the plan that it becomes, and which schedules are chosen."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.engine import events
from powercut.engine.options import Schedules, parse_preemptions
from powercut.scenarios import plan, scenario, schema, toml_text
from powercut.scenarios.targets import Target

RACE = """\
schema = 2
summary = "One line."
targets = ["level"]

[[phase]]
name = "set-up"
explore = false
steps = [{ op = "insert", keys = [1] }]

[[phase]]
name = "race"
threads = [
  [{ op = "update", keys = [1] }, { op = "maintain", command = "expand" }],
  [{ op = "lookup", from = 1, to = 2 }],
]

[[phase]]
name = "after"
steps = [{ op = "lookup", keys = [1] }]
"""
ONE_THREAD = RACE.partition('\n[[phase]]\nname = "race"')[0].replace("explore = false\n", "")
SEARCH = '\n[search]\nkind = "bounded"\npreemptions = 2\n'
TARGET = Target(library=Path("/lib/x.so"), description=events.TargetDescription(name="level", variants=["hardened"]))


def load(folder: Path, text: str = RACE) -> scenario.Scenario:
    path = folder / "x.toml"
    path.write_text(text)
    return scenario.load(path)


def planned(item: scenario.Scenario, **chosen: Any) -> dict[str, Any]:
    return plan.build(TARGET, variant="hardened", scenario=item, seed=1, **chosen)


def test_a_phase_has_threads_in_the_place_of_steps(tmp_path: Path) -> None:
    content = load(tmp_path).content
    assert content.race is content.phases[1]
    assert [len(thread) for thread in content.phases[1].threads] == [2, 1]
    assert content.phases[1].steps == []
    assert load(tmp_path, ONE_THREAD).content.race is None


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("schema = 2", "schema = 1", 1, "phase 'race' has 'threads', which version 1 does not know; write schema = 2"),
        ("maintain", "maintian", 13, "step 2 of thread 1 of the phase 'race': unknown op 'maintian'; did you mean"),
        ('op = "maintain", command = "expand"', 'op = "fill", limit = 3', 13, "step 2 of thread 1 of the phase 'race': "
         "'fill' is no step of a thread; there are insert, update, erase, lookup, increment, maintain"),
        ("from = 1, to = 2", "form = 1, to = 2", 14, "unknown key 'form' in step 1 of thread 2 of the phase 'race'"),
        ("from = 1, to = 2", "from = 5, to = 2", 13, "step 1 of thread 2 of the phase 'race': 'to' (2) is below"),
        ("{ op = \"lookup\", from = 1, to = 2 }", "", 13, "thread 2 of the phase 'race': it has no steps"),
        ('  [{ op = "lookup", from = 1, to = 2 }],\n', "", 10, "the phase 'race' has 1 thread (one thread is a phase "
         "of 'steps'); write 2 to 4"),
        ("threads = [", 'threads = [ [{ op = "erase", keys = [1] }], [{ op = "erase", keys = [1] }], '
         '[{ op = "erase", keys = [1] }],', 10, "the phase 'race' has 5 threads; write 2 to 4"),
        ('name = "race"\n', 'name = "race"\nsteps = [{ op = "lookup", keys = [1] }]\n', 10, "'steps' and 'threads'"),
        ('name = "race"\n', 'name = "race"\ncut_at = "a.mark"\n', 10, "no deliberate cut ('cut_at') goes with"),
        ('name = "race"\n', 'name = "race"\nexplore = false\n', 10, "are always explored; leave out 'explore'"),
        ('steps = [{ op = "insert", keys = [1] }]\n', "", 5, "the phase 'set-up' has no 'steps' and no 'threads'"),
        ('steps = [{ op = "insert", keys = [1] }]', "steps = []", 5, "the phase 'set-up' has no 'steps' and no"),
        ('steps = [{ op = "lookup", keys = [1] }]', 'steps = [{ op = "fill", limit = 2 }]', 1, "the phase 'after' "
         "comes after the threads of 'race', where 'fill' would do something else after every schedule"),
        ('steps = [{ op = "lookup", keys = [1] }]', 'cut_at = "m"\nsteps = [{ op = "lookup", keys = [1] }]', 1, "the "
         "phase 'after' comes after the threads of 'race', where no deliberate cut"),
        ('steps = [{ op = "lookup", keys = [1] }]', 'threads = [[{ op = "lookup", keys = [1] }], '
         '[{ op = "lookup", keys = [1] }]]', 1, "the phase 'after' comes after the threads of 'race' and has threads"),
        ("preemptions = 2", "preemptons = 2", 23, "unknown key 'preemptons' in 'search'. Did you mean 'preemptions'?"),
        ("preemptions = 2", "preemptions = -1", 23, "preemptions: Input should be greater than or equal to 0"),
        ("preemptions = 2", "schedules = 0", 23, "schedules: Input should be greater than or equal to 1"),
        ('"bounded"', '"dfs"', 22, "search.kind: Input should be 'bounded', 'random', 'pct' or 'recorded'"),
        ('"bounded"', '"random"', 21, "'preemptions' is a bound of the search 'bounded', not of 'random'"),
    ],
)  # fmt: skip
def test_mistakes_name_file_phase_and_thread(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    text = RACE + SEARCH
    assert old in text
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text.replace(old, new, 1))
    assert message in str(caught.value)
    assert f"x.toml:{line}: " in str(caught.value)
    assert "\n" not in caught.value.paragraph()


def test_a_search_without_threads_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no phase has 'threads'"):
        load(tmp_path, ONE_THREAD + SEARCH)


def test_files_of_version_1_are_read_as_they_were(tmp_path: Path) -> None:
    first, second = load(tmp_path, ONE_THREAD.replace("schema = 2", "schema = 1")), load(tmp_path, ONE_THREAD)
    assert planned(first) == planned(second)
    assert "search" not in planned(first)
    assert set(planned(first)["scenario"]["phases"][0]) == {"name", "explore", "cut_at", "steps"}


def test_the_plan_has_threads_and_a_search(tmp_path: Path) -> None:
    made = planned(load(tmp_path), model="eadr")
    assert made["scenario"]["phases"][1] == {
        "name": "race",
        "explore": True,
        "cut_at": None,
        "threads": [
            [{"op": "update", "keys": [1]}, {"op": "maintain", "command": "expand"}],
            [{"op": "lookup", "from": 1, "to": 2}],
        ],
    }
    assert made["search"] == {"kind": "bounded", "preemptions": None, "schedules": 0, "model": "eadr"}


@pytest.mark.parametrize(
    ("own", "chosen", "kind", "preemptions", "schedules"),
    [
        ("", {}, "bounded", None, 0),
        (SEARCH, {}, "bounded", 2, 0),
        (SEARCH, {"preemptions": 0}, "bounded", 0, 0),
        (SEARCH, {"preemptions": "none"}, "bounded", None, 0),
        (SEARCH, {"schedules": 50}, "bounded", 2, 50),
        (SEARCH, {"search": "random"}, "random", None, 1000),
        (SEARCH, {"search": "pct", "schedules": 7}, "pct", None, 7),
        ('\n[search]\nkind = "pct"\nschedules = 9\n', {}, "pct", None, 9),
        ('\n[search]\nkind = "pct"\nschedules = 9\n', {"search": "bounded", "preemptions": 1}, "bounded", 1, 0),
        ('\n[search]\nkind = "pct"\nschedules = 9\n', {"search": "random"}, "random", None, 1000),
    ],
)
def test_the_command_line_goes_before_the_file(
    tmp_path: Path, own: str, chosen: dict[str, Any], kind: str, preemptions: int | None, schedules: int
) -> None:
    made = planned(load(tmp_path, RACE + own), schedules=Schedules(**chosen))
    assert made["search"] == {"kind": kind, "preemptions": preemptions, "schedules": schedules, "model": "adr"}


def test_preemptions_bound_one_kind_of_search(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="of the search 'bounded', not of 'pct'"):
        Schedules(search="pct", preemptions=2)
    sampled = load(tmp_path, RACE + '\n[search]\nkind = "pct"\n')
    with pytest.raises(UsageError, match="the scenario's is 'pct'"):
        planned(sampled, schedules=Schedules(preemptions=2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"search": "bound"}, "Did you mean 'bounded'?"),
        ({"preemptions": -1}, "-1 is no number of preemptions"),
        ({"preemptions": True}, "True is no number of preemptions"),
        ({"schedules": 0}, "0 is no number of schedules"),
        ({"schedules": 1.5}, "1.5 is no number of schedules"),
    ],
)
def test_wrong_choices_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Schedules(**given)
    assert message in caught.value.paragraph()


def test_preemptions_are_a_number_or_none() -> None:
    assert [parse_preemptions(text) for text in (None, "none", "0", "12")] == [None, "none", 0, 12]
    for text in ("", "-1", "two", "1.5", "9" * 5000):
        with pytest.raises(UsageError, match="is no number of preemptions"):
            parse_preemptions(text)


def test_the_words_of_a_choice_make_it_again() -> None:
    assert Schedules().words() == []
    assert Schedules(search="bounded", preemptions=0, schedules=3).words() == [
        "--search", "bounded", "--preemptions", "0", "--schedules", "3",
    ]  # fmt: skip


def test_threads_are_written_as_they_are_read(tmp_path: Path) -> None:
    content = load(tmp_path, RACE + SEARCH).content
    text = toml_text.render(content)
    assert schema.ScenarioFile.model_validate(tomllib.loads(text)) == content
    assert '  [{ op = "lookup", from = 1, to = 2 }],' in text


def test_a_variant_may_have_other_threads_and_another_search(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(
        RACE + SEARCH + '\n[[variant]]\nname = "other"\nsearch.preemptions = 3\n'
        'phase.race.threads = [[{ op = "erase", keys = [1] }], [{ op = "erase", keys = [1] }]]\n'
    )
    first, second = scenario.load_all(path)
    assert second.content.search == schema.Search(preemptions=3)
    assert first.content.race != second.content.race
    assert [item["op"] for thread in planned(second)["scenario"]["phases"][1]["threads"] for item in thread] == [
        "erase", "erase",
    ]  # fmt: skip
