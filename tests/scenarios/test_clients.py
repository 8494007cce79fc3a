"""The most general client: that the clients of a shape are all of them and each once, and what becomes of them."""

from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.scenarios import clients, targets
from powercut.scenarios.clients import Client, Program, Shape, may_meet_present
from powercut.scenarios.targets import Selection
from tests.conftest import House

KINDS = ("insert", "update", "erase", "lookup")
#: By the docstring of the module.
COUNTS = {
    (2, 1, (1, 2)): 36,
    (3, 1, (1, 2)): 120,
    (2, 2, (1, 2)): 2080,
    (3, 2, (1, 2)): 45760,
    (2, 1, (1,)): 10,
    (2, 2, (1,)): 136,
    (3, 2, (1,)): 816,
    (2, 3, (1,)): 2080,
}


def every_order(shape: Shape) -> Iterator[Client]:
    """All tuples of programs, without any symmetry."""
    programs = list(product(product(KINDS, shape.keys), repeat=shape.operations))
    return product(programs, repeat=shape.threads)


def class_of(client: Client, keys: tuple[int, ...]) -> frozenset[Client]:
    """All clients that are the same as `client`: threads in any order, keys that begin absent under any names."""
    same: set[Client] = set()
    for names in permutations(keys[1:]):
        to = {keys[0]: keys[0], **dict(zip(keys[1:], names, strict=True))}
        renamed = [tuple((kind, to[key]) for kind, key in program) for program in client]
        same |= set(permutations(renamed))
    return frozenset(same)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(threads=2, operations=1),
        Shape(threads=3, operations=1),
        Shape(threads=4, operations=1),
        Shape(threads=2, operations=2),
        Shape(threads=2, operations=2, keys=(1,)),
        Shape(threads=3, operations=2, keys=(1,)),
        Shape(threads=2, operations=1, keys=(1, 2, 3)),
        Shape(threads=3, operations=1, keys=(2, 5, 9)),
        Shape(threads=2, operations=1, keys=(1, 2, 3, 4)),
    ],
    ids=lambda shape: f"{shape} keys {len(shape.keys)}",
)
def test_every_class_has_one_client(shape: Shape) -> None:
    made = list(clients.clients(shape))
    classes = {class_of(client, shape.keys) for client in every_order(shape)}
    assert {class_of(client, shape.keys) for client in made} == classes
    assert len(made) == len(classes)


@pytest.mark.parametrize(("shape", "count"), COUNTS.items())
def test_counts_are_those_of_the_documentation(shape: tuple[int, int, tuple[int, ...]], count: int) -> None:
    threads, operations, keys = shape
    assert len(list(clients.clients(Shape(threads=threads, operations=operations, keys=keys)))) == count
    line = next(
        line
        for line in (clients.__doc__ or "").splitlines()
        if line.strip().startswith(f"keys {','.join(map(str, keys))} ")
    )
    assert f"{threads}x{operations} {count:,}" in line


def test_three_threads_are_no_multiset_twice() -> None:
    """3x2 by the canonical form: brute force over 262,144 tuples, each sorted."""
    shape = Shape(threads=3, operations=2)
    assert {tuple(sorted(client)) for client in every_order(shape)} == {
        tuple(sorted(client)) for client in clients.clients(shape)
    }


def interleavings(client: Client) -> Iterator[list[tuple[str, int]]]:
    """All orders that keep that of each thread."""
    if not any(client):
        yield []
    for number, program in enumerate(client):
        if program:
            rest = (*client[:number], program[1:], *client[number + 1 :])
            yield from ([program[0], *order] for order in interleavings(rest))


def breaks_the_rule(order: list[tuple[str, int]], present: frozenset[int]) -> bool:
    now = set(present)
    for kind, key in order:
        if kind == "insert":
            if key in now:
                return True
            now.add(key)
        elif kind == "erase":
            now.discard(key)
    return False


@pytest.mark.parametrize("shape", [Shape(threads=2, operations=2), Shape(threads=3, operations=2, keys=(1,))], ids=str)
@pytest.mark.parametrize("present", [frozenset[int](), frozenset({1})], ids=["empty", "one"])
def test_an_insert_may_meet_its_key_in_some_order(shape: Shape, present: frozenset[int]) -> None:
    answers = set()
    for client in clients.clients(shape):
        expected = any(breaks_the_rule(order, present) for order in interleavings(client))
        assert may_meet_present(client, present) == expected, client
        answers.add(expected)
    assert answers == {True, False}


@pytest.mark.parametrize(
    ("programs", "meets"),
    [
        ([[("insert", 1)], [("lookup", 1)]], True),
        ([[("insert", 2)], [("insert", 2)]], True),
        ([[("erase", 1), ("insert", 1)], [("update", 1)]], False),
        ([[("erase", 1)], [("insert", 1)]], True),
        ([[("insert", 2)], [("erase", 2)]], False),
        ([[("insert", 2), ("erase", 2)], [("erase", 2), ("update", 2)]], False),
    ],
)
def test_what_may_meet(programs: list[list[tuple[str, int]]], meets: bool) -> None:
    client: Client = tuple(tuple(program) for program in programs)
    assert may_meet_present(client, frozenset({1})) is meets


def test_names_are_readable_unique_and_stable() -> None:
    shape = Shape(threads=2, operations=2)
    program: Program = (("insert", 1), ("update", 2))
    assert clients.name_of((program, (("lookup", 1), ("erase", 2))), shape) == "client_2x2_i1u2_l1e2"
    names = [clients.name_of(client, shape) for client in clients.clients(shape)]
    assert len(set(names)) == len(names)
    assert names[0] == "client_2x2_i1i1_i1i1"


@pytest.mark.parametrize(
    ("client", "keys", "message"),
    [
        ("2", None, "'2' is no client. Write threads x operations, such as 2x2"),
        ("2x2x2", None, "'2x2x2' is no client"),
        ("1x2", None, "'1x2' is no client that can be run. Write 2 to 4 threads and 1 to 4 operations"),
        ("5x1", None, "'5x1' is no client that can be run"),
        ("2x0", None, "'2x0' is no client that can be run"),
        ("4x4", None, "clients of 4x4. Take fewer threads, operations or --keys"),
        ("2x2", "1,1", "'1,1' is no list of keys"),
        ("2x2", "a", "'a' is no list of keys"),
        ("2x2", "0,1", "is no list of keys in order"),
        ("2x1", "1,2,3,4,5", "is no list of keys in order"),
    ],
)
def test_wrong_shapes_are_told(client: str, keys: str | None, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        clients.parse_shape(client, keys)
    assert message in caught.value.paragraph()


def test_a_shape_is_what_its_words_say() -> None:
    for shape in (Shape(threads=2, operations=2), Shape(threads=3, operations=1, keys=(4, 7))):
        words = shape.words()
        assert clients.parse_shape(words[1], words[3] if len(words) > 2 else None) == shape
    assert clients.parse_shape("2x1", "9, 3").keys == (3, 9)


def selection(house: House, name: str) -> Selection:
    house.library(name)
    return Selection(target=targets.find(name), variant="published")


def test_a_client_is_a_scenario_like_any_other(house: House) -> None:
    made = clients.scenarios(
        selection(house, "threads-exists"), Shape(threads=2, operations=1), patterns=["client_2x1_i1_e2"]
    )
    (item,) = made.scenarios
    assert item.content.model_dump(by_alias=True, exclude_defaults=True) == {
        "schema": 3,
        "name": "client_2x1_i1_e2",
        "summary": "insert(1) | erase(2), with key 1 present.",
        "targets": ["threads-exists"],
        "config": {"concurrency": "concurrent"},
        "data": {"key_size": 8, "value_size": 8},
        "phase": [
            {"name": "set-up", "explore": False, "steps": [{"op": "insert", "keys": [1]}]},
            {"name": "clients", "threads": [[{"op": "insert", "keys": [1]}], [{"op": "erase", "keys": [2]}]]},
        ],
    }
    assert (made.left_out, made.of, made.sentence("x")) == (0, 36, "")


def test_clients_that_break_the_rule_of_insert_are_left_out(house: House) -> None:
    shape = Shape(threads=2, operations=1)
    made = clients.scenarios(selection(house, "threads"), shape)
    legal = [item for item in clients.clients(shape) if not may_meet_present(item, frozenset({1}))]
    assert [item.name for item in made.scenarios] == [clients.name_of(item, shape) for item in legal]
    assert made.left_out == 36 - len(legal) == 9
    assert made.sentence("threads:published") == (
        "9 of 36 clients are left out for threads:published: in some order an insert meets a present key, which this "
        "target does not check (traits.checks_exists)."
    )


def test_names_choose_among_the_clients(house: House) -> None:
    chosen = selection(house, "threads-exists")
    made = clients.scenarios(chosen, Shape(threads=2, operations=1), patterns=["client_2x1_l*", "*_i1_i1"])
    assert [item.name for item in made.scenarios] == [
        "client_2x1_i1_i1", "client_2x1_l1_l1", "client_2x1_l1_l2", "client_2x1_l2_l2",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="client_2x1_i1_i1"):
        clients.scenarios(chosen, Shape(threads=2, operations=1), patterns=["client_2x1_i1_i7"])


def test_other_options_may_be_given(house: House) -> None:
    (item, *_) = clients.scenarios(
        selection(house, "threads"), Shape(threads=2, operations=1), config={"top": 2, "auto_expand": False}
    ).scenarios
    assert item.content.config == {"concurrency": "concurrent", "top": "2", "auto_expand": "off"}


@pytest.mark.parametrize("config", [None, {"concurrency": "single"}])
def test_a_target_that_is_not_for_threads_is_an_error(house: House, config: dict[str, Any] | None) -> None:
    name = "level" if config is None else "threads"
    with pytest.raises(UsageError, match="does not say that threads may call it"):
        clients.scenarios(selection(house, name), Shape(threads=2, operations=1), config=config)


def test_more_than_a_command_can_run_are_an_error(house: House) -> None:
    with pytest.raises(UsageError, match="131,328 clients of 2x3 are more than the 50,000"):
        clients.scenarios(selection(house, "threads-exists"), Shape(threads=2, operations=3))


def test_no_file_is_read_or_written(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = selection(house, "threads")
    before = sorted(house.root.rglob("*"))
    (item, *_) = clients.scenarios(chosen, Shape(threads=2, operations=1)).scenarios
    assert item.path == Path(f"{item.name}.toml") and item.place == f"{item.name}.toml"
    assert sorted(house.root.rglob("*")) == before
