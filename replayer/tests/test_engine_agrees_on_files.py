"""The engine and the brute force of files give the same crash points, floors, trees and numbers of trees.

The engine counts by parts that do not depend on each other, and lists trees without them; the brute force enumerates
all choices. Both answers of the engine are compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from random import Random
from typing import Any

import pytest

from powercut.base import paths
from powercut.models import profiles
from powercut.models.switches import CHOICES, Switches
from replayer.media.files import disk, trees
from replayer.media.files.calls import Call
from replayer.media.files.engine import EngineTrees
from replayer.media.files.language import Reader
from replayer.media.files.litmus import load
from replayer.media.files.programs import generate
from replayer.media.files.reference import answer

PROGRAMS, LONG_PROGRAMS = 100, 100_000
ANY_PROFILES, LONG_ANY_PROFILES = 400, 100_000


@pytest.fixture(scope="module")
def engine_trees() -> Iterator[EngineTrees]:
    with EngineTrees(paths.engine()) as engine:
        yield engine


def difference(
    engine: EngineTrees, calls: list[Call], switches: Switches, *, sector: int = 1, page: int = 1
) -> str | None:
    """The first crash point at which the two differ, or None."""
    told = engine.crash_points(calls, switches, sector=sector, page=page)
    expected = answer(calls, switches, sector=sector, page=page)["crash_points"]
    # The engine lists each tree once: lists are compared, and not sets.
    for ours, theirs in zip(map(_sorted, told), map(_sorted, expected), strict=False):
        if ours != theirs:
            return f"{switches}\n  engine    {ours}\n  reference {theirs}"
    return None if len(told) == len(expected) else f"{len(told)} crash points, {len(expected)} in the reference"


def _sorted(point: dict[str, Any]) -> Any:
    floors = {name: sorted(value) if isinstance(value, list) else value for name, value in point["floors"].items()}
    # An entry that was made durable twice stands twice in the engine's list.
    floors["entries"] = sorted({tuple(entry) for entry in floors["entries"]})
    return json.loads(json.dumps(point | {"floors": floors, "trees": sorted(sorted(tree) for tree in point["trees"])}))


def any_switches(random: Random) -> Switches:
    """A profile that nobody has. `journal` needs one order, and no place in another; `overtakes` needs syncs."""
    order = random.choice(list(CHOICES["order"].values))
    chosen = {"order": order}
    for name, choice in CHOICES.items():
        values = [value for value in choice.values if value != "journal" or order == "one"]
        if order == "one" and "journal" in choice.values:
            values = ["journal", "file"] if "file" in choice.values else ["journal"]
        if name == "new_name" and order != "synced":
            values = ["waits"]
        if name != "order":
            chosen[name] = random.choice(values)
    return Switches(**chosen)


def check(engine: EngineTrees, switches: Switches, seed: int, title: str) -> None:
    """A program, its sectors whole or in halves: writes and sizes then end within sectors."""
    program = generate(Random(seed))
    sector = 1 + seed % 2
    told = difference(engine, list(program.calls), switches, sector=sector, page=program.page * sector)
    if told is not None:
        pytest.fail(f"seed {seed} under {title}, sectors of {sector}: {program}\n{told}")


@pytest.mark.parametrize("name", profiles.names())
def test_random_programs(engine_trees: EngineTrees, name: str) -> None:
    for seed in range(PROGRAMS):
        check(engine_trees, profiles.named(name).switches, seed, name)


@pytest.mark.long
@pytest.mark.parametrize("name", profiles.names())
def test_many_random_programs(engine_trees: EngineTrees, name: str) -> None:
    for seed in range(1_000_000, 1_000_000 + LONG_PROGRAMS):
        check(engine_trees, profiles.named(name).switches, seed, name)


def _any_profiles(engine: EngineTrees, seeds: range) -> None:
    for seed in seeds:
        check(engine, any_switches(Random(f"profile {seed}")), seed, "a profile that nobody has")


def test_random_programs_under_any_profile(engine_trees: EngineTrees) -> None:
    _any_profiles(engine_trees, range(ANY_PROFILES))


@pytest.mark.long
def test_many_random_programs_under_any_profile(engine_trees: EngineTrees) -> None:
    _any_profiles(engine_trees, range(2_000_000, 2_000_000 + LONG_ANY_PROFILES))


def test_any_profile_has_every_value() -> None:
    made = [any_switches(Random(f"profile {seed}")) for seed in range(ANY_PROFILES)]
    for field in fields(Switches):
        assert {getattr(each, field.name) for each in made} == set(CHOICES[field.name].values)


@pytest.mark.parametrize("name", profiles.names())
def test_litmus_programs(engine_trees: EngineTrees, name: str) -> None:
    for test in load():
        told = difference(engine_trees, test.calls, profiles.named(name).switches, page=test.page)
        assert told is None, f"{test.name} under {name}: {told}"


@pytest.mark.parametrize(
    ("module", "rule", "broken"),
    [
        (trees, "is_on_disk", lambda bound, at, chosen: False),
        (trees, "replacements", lambda disk, number, chosen: iter(())),
        (trees, "keeps_new_first", lambda disk, chosen: True),
        (trees, "legal_sizes", lambda disk, inode, number, chosen: list(range(inode.size_floor, len(inode.sizes)))),
        (disk.Disk, "_sync_first_name", lambda self, number: None),
        (disk.Disk, "_needs", lambda self, inode, before, offset, old, size: ()),
        (disk.Disk, "_size_for", lambda self, inode, end: len(inode.sizes) - 1),
    ],
)
def test_a_rule_that_differs_is_noticed(
    engine_trees: EngineTrees, module: object, rule: str, broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, rule, broken)
    with pytest.raises(pytest.fail.Exception, match="seed"):
        _any_profiles(engine_trees, range(ANY_PROFILES))


# -- numbers that nobody can enumerate ------------------------------------------------------------------------------


def states(engine: EngineTrees, lines: list[str], name: str, *, start: str = "", sector: int = 1) -> list[int | None]:
    """The number of trees at each crash point."""
    reader = Reader()
    calls = [*reader.start(start), *(reader.call(line) for line in lines)]
    switches = profiles.named(name).switches
    points = engine.crash_points(calls, switches, sector=sector, page=sector, listed=False)
    return [point["states"] and int(point["states"]) for point in points]


def test_files_that_do_not_depend_on_each_other_are_a_product(engine_trees: EngineTrees) -> None:
    """Each of 100 new files is missing, has 0 bytes, or a zero or its data: under posix by itself."""
    lines = [line for number in range(100) for line in (f"creat f{number}", f"append f{number} X")]
    assert states(engine_trees, lines, "posix") == [4**100]
    # In one order a prefix of the names is there; the last file before its size is late has 0 bytes.
    assert states(engine_trees, lines, "ext4") == [sum(3**count for count in range(101))]


def test_files_in_a_new_folder_are_there_with_it(engine_trees: EngineTrees) -> None:
    below = [line for number in range(50) for line in (f"creat d/f{number}", f"append d/f{number} X")]
    assert states(engine_trees, ["mkdir d", *below], "posix") == [1 + 4**50]
    deeper = [line.replace("d/", "d/e/") for line in below]
    assert states(engine_trees, ["mkdir d", "mkdir d/e", *deeper], "posix") == [1 + 1 + 4**50]
    both = ["mkdir d", "mkdir d/e", *below, *deeper]
    assert states(engine_trees, both, "posix") == [1 + 4**50 * (1 + 4**50)]


def test_a_file_in_a_new_folder_that_has_another_name(engine_trees: EngineTrees) -> None:
    """The file is there without the folder, and has its states then."""
    lines = ["append a SL", "link a d/a", "fsync d", "unlink d/a", "rmdir d"]
    # The name d/a is there or gone, or the folder is gone. The file has 7 states: its sizes are 1 to 3.
    assert states(engine_trees, lines, "posix", start="a=A d/") == [2 * 7, 3 * 7]


def test_a_large_file_is_counted_by_its_sectors(engine_trees: EngineTrees) -> None:
    start, over = f"a={'A' * 2000}", [f"pwrite a {place} X" for place in range(2000)]
    assert states(engine_trees, over, "ext4", start=start) == [2**2000]
    # Overwritten by one call, the sectors are old or new together where data are in the journal.
    assert states(engine_trees, [f"pwrite a 0 {'X' * 2000}"], "ext4-journal", start=start) == [2]
    # A size behind sector n shows n of zeroes or data.
    assert states(engine_trees, [f"append b {'X' * 500}"], "posix", start="b=-") == [2**501 - 1]


def test_renames_over_one_name_are_alternatives(engine_trees: EngineTrees) -> None:
    lines = [line for number in range(1000) for line in ("creat t", "append t X", "fsync t", "rename t a")]
    # fsync made each file and, in a journal, each rename before it durable.
    told = states(engine_trees, lines, "ext4", start="a=A")
    assert told[-1] == 2


def test_a_file_that_takes_too_long_is_not_known_at_any_crash_point(engine_trees: EngineTrees) -> None:
    """A number that was begun and given up is not kept for the next crash point, where the file is as it was."""
    lines = [f"append b {'X' * 250_000}", "fsync c", "creat d", "fsync d"]
    assert states(engine_trees, lines, "ext4", start="b=- c=C") == [None, None]


def test_a_count_that_takes_too_long_is_not_known(engine_trees: EngineTrees) -> None:
    start = " ".join(f"f{number}={'ABCDEFGHIJ'[number % 10] * (number // 10 + 1)}" for number in range(40))
    lines = [f"exchange f{number} f{number + 1}" for number in range(39)]
    assert states(engine_trees, lines, "posix", start=start) == [None]
    assert states(engine_trees, lines[:10], "posix", start=start) == [2**10]
    # In one order each prefix of the exchanges is a tree.
    assert states(engine_trees, lines, "ext4", start=start) == [40]
