"""Properties of the reference on random programs of calls: what holds whatever a profile says."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from powercut.models import profiles
from powercut.models.switches import Switches
from replayer.media.files import trees
from replayer.media.files.calls import Call, split_all
from replayer.media.files.disk import Disk
from replayer.media.files.language import SECTOR, text_of
from replayer.media.files.machine import Machine
from replayer.media.files.programs import Plain, Program, generate
from replayer.media.files.reference import TAKES_AWAY, answer, crash_points, trees_at_instants
from replayer.media.files.trees import Tree, legal_trees

NAMES = profiles.names()
QUICK, LONG = 60, 10_000
POSIX = profiles.named("posix").switches


def instants(program: Program, switches: Switches) -> list[frozenset[Tree]]:
    """The legal trees before each effect of a call, and behind the last one."""
    return list(trees_at_instants(split_all(program.calls), switches, sector=SECTOR, page=program.page))


def weakest(switches: Switches) -> Switches:
    """posix with the three switches that say which trees there are at all."""
    return replace(POSIX, rename=switches.rename, new_inode=switches.new_inode, stale=switches.stale)


def begin_of(program: Program) -> int:
    """How many calls make the tree at the start, which is durable."""
    return len(program.calls) - len(program.lines)


def check(program: Program, switches: Switches) -> None:
    found = instants(program, switches)
    effects = split_all(program.calls)
    start = begin_of(program)
    # A sync only takes trees away, where nothing overtakes; any other call only adds some.
    for effect, (before, after) in zip(effects[start:], list(pairwise(found))[start:], strict=True):
        if effect.op not in TAKES_AWAY:
            assert before <= after, effect
        elif switches.order != "synced" or effect.op == "sync-all":
            assert after <= before, effect
    # The tree that has everything is legal at every instant.
    plain = Plain()
    for call in program.calls:
        plain.apply(call)
    assert plain.text() in {text_of(tree) for tree in found[-1]}
    # The profile is no weaker than posix.
    for ours, theirs in zip(found[start:], instants(program, weakest(switches))[start:], strict=True):
        assert ours <= theirs
    check_crash_points(program, switches, found)


def check_crash_points(program: Program, switches: Switches, all_trees: list[frozenset[Tree]]) -> None:
    """Each instant's trees are those of a crash point with no more begun operations, and no fewer ended ones."""
    begun = [effect.op == "begin" for effect in split_all(program.calls)]
    ended = [effect.op == "end" for effect in split_all(program.calls)]
    place, numbers = 0, []  # of each call, the instants before, during and after
    for call in program.calls:
        count = len(split_all([call]))
        numbers.append({"before": place, "during": place + 1, "after": place + count})
        place += count
    points = [
        (numbers[point.index][point.side], point)
        for point in crash_points(program.calls, switches, sector=SECTOR, page=program.page)
    ]
    assert points[-1][0] == len(all_trees) - 1
    for number in range(begin_of(program), len(all_trees)):
        stricter = [(at, point) for at, point in points if sum(begun[:at]) <= sum(begun[:number])]
        here = [point for at, point in stricter if sum(ended[:at]) >= sum(ended[:number])]
        assert any(all_trees[number] <= point.trees for point in here), f"instant {number}"
    for at, point in points:
        assert point.trees == all_trees[at]


@pytest.mark.parametrize("name", NAMES)
def test_random_programs(name: str) -> None:
    _run(name, QUICK)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_many_random_programs(name: str) -> None:
    _run(name, LONG)


def _run(name: str, count: int) -> None:
    switches = profiles.named(name).switches
    for seed in range(count):
        program = generate(Random(seed))
        try:
            check(program, switches)
        except AssertionError as error:
            raise AssertionError(f"seed {seed} under {name}: {error}\n{program}") from error


def test_random_programs_have_every_call() -> None:
    seen = {
        (call.op, call.through, call.what, call.mode) for seed in range(400) for call in generate(Random(seed)).calls
    }
    assert {op for op, *_ in seen} == {
        *("inode", "entry", "create", "link", "unlink", "rename", "write", "size", "allocate"),
        *("sync", "sync-all", "begin", "end"),
    }
    assert {what for _, _, what, _ in seen} == {"file", "data", "range", "started"}
    assert {mode for *_, mode in seen} == {"extend", "keep", "punch", "zero"}


def _machine(name: str, seeds: range) -> None:
    """The machine's trees are exactly the legal ones, after every call."""
    switches = profiles.named(name).switches
    for seed in seeds:
        program = generate(Random(seed))
        machine = Machine(Disk(switches, sector=SECTOR, page=program.page))
        for effect in split_all(program.calls[: begin_of(program)]):
            machine.disk.apply(effect)
        for effect in split_all(program.calls[begin_of(program) :]):
            machine.apply(effect)
            assert machine.trees() == legal_trees(machine.disk), f"seed {seed} under {name}, {effect}\n{program}"


#: File systems in one order whose data have no order: the machine plays no other.
JOURNALS = ("ext4", "xfs", "ext4-noauto", "ext4-writeback")


@pytest.mark.parametrize("name", JOURNALS)
def test_a_machine_that_commits_at_random_leaves_the_legal_trees(name: str) -> None:
    _machine(name, range(1000, 1060))


@pytest.mark.long
@pytest.mark.parametrize("name", JOURNALS)
def test_a_machine_that_commits_at_random_leaves_the_legal_trees_of_many_programs(name: str) -> None:
    _machine(name, range(1000, 3000))


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("is_on_disk", lambda bound, at, chosen: False),
        ("replacements", lambda disk, number, chosen: iter(())),
        ("legal_sizes", lambda disk, inode, number, chosen: list(range(inode.size_floor, len(inode.sizes)))),
    ],
)
def test_the_machine_notices_a_rule_that_is_wrong(rule: str, broken: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, rule, broken)
    with pytest.raises(AssertionError, match="seed"):
        _machine("ext4", range(1170, 1200))


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_states_is_that_of_distinct_trees(name: str) -> None:
    switches = profiles.named(name).switches
    for seed in range(20):
        program = generate(Random(seed))
        told = answer(program.calls, switches, sector=SECTOR, page=program.page)
        for point in told["crash_points"]:
            assert int(point["states"]) == len({json.dumps(tree) for tree in point["trees"]}) == len(point["trees"])


def test_a_crash_point_that_is_left_out_is_missed() -> None:
    """The argument of crash points is no triviality: without the points before syncs trees get lost."""
    lost = 0
    for seed in range(60):
        program = generate(Random(seed))
        for before, after in pairwise(instants(program, POSIX)[begin_of(program) :]):
            lost += bool(before - after)
    assert lost > 10


def test_sectors_are_cut_within() -> None:
    """Sizes and writes need not end at a sector: a sector is old or new as a whole, and a size cuts its end."""
    calls = [
        Call("inode", 2, data=b"abcdefgh"),
        Call("entry", 2, folder=1, name="a"),
        Call("write", 2, offset=2, data=b"XYZW"),
        Call("size", 2, size=6),
    ]
    (point,) = crash_points(calls, POSIX, sector=4, page=8)
    found = {b"".join(sector for sector in tree[0][1][2] if isinstance(sector, bytes)) for tree in point.trees}
    first, second = (b"abcd", b"abXY"), (b"efgh", b"ZWgh", b"ZW\0\0")
    assert found == {one + two[:size] for one in first for two in second for size in (2, 4)}


@pytest.mark.parametrize("call", [Call("write", 2, data=b"x", through="data"), Call("rename", 0, 1, "a", 1, "b")])
def test_calls_survive_json(call: Call) -> None:
    assert Call.from_json(json.loads(json.dumps(call.to_json()))) == call
