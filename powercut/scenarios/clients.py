"""The most general client: every small program of threads that a map's interface allows.

    2x2: two threads of two operations each

Each operation is an insert, update, erase or lookup of one of the keys; one that the target lacks is left out. Before
the threads begin, one of the keys (the lowest) is present and the others are absent. A power cut leaves operations
pending or not begun, so that clients of fewer operations a thread are among what these do.

Two clients that differ in the order of their threads alone are the same. Names of keys that begin alike (all but the
lowest) make no difference either. With T threads, N operations and K keys, (4K)^N programs of a thread exist, and T of
them form a multiset:

    keys 1,2    2x1 36   3x1 120   2x2 2,080   3x2 45,760   2x3 131,328
    keys 1      2x1 10   2x2 136   3x2 816     2x3 2,080

The target may demand that insert find the key absent (`traits.checks_exists` is 0). A client then breaks the target's
own rule if an insert may meet a present key. Each key is looked at alone: its operations take effect one after another,
in any order that keeps that of each thread. One order in which an insert meets its key present is enough to leave the
client out. Updates and erases of an absent key stay: they answer POWERCUT_NOT_FOUND.

All clients are run in a few scenarios: in each, the first operation of thread 1 is given, and all other operations are
a choice (`any`, scenarios/SCHEMA.md) of the threads, which are alike. Clients that begin alike have their common states
once (`checker/schedules/client_choices.h`), and several scenarios keep several cores busy. In these, keys that begin
alike are not renamed. A client that is chosen by its name is a scenario of its own.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import comb
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError, unknown_name
from powercut.scenarios import targets
from powercut.scenarios.plan import CONCURRENCY, option_text, option_values
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import CHOICE_SINCE, FEWEST_THREADS, MOST_THREADS, SIZES_SINCE, Data, ScenarioFile
from powercut.scenarios.sizes import Sizes, are_mixed
from powercut.scenarios.targets import Configured, Selection, Target

KINDS = ("insert", "update", "erase", "lookup")
DEFAULT_KEYS = (1, 2)
MOST_KEYS = 4
MOST_OPERATIONS = 4
#: Multisets of programs that are looked at, and scenarios that are made of them: what a computer can hold.
MOST_CLIENTS = 1_000_000
MOST_SCENARIOS = 50_000
SET_UP, CLIENTS = "set-up", "clients"
_WORD: Sizes = (8, 8)
_KEYS = "Write the numbers of 1 to 4 keys, such as 1,2."

#: A number, or the name of a key that has one.
Key = int | str
#: A kind and a key.
Operation = tuple[str, int]
#: Operations of one thread, in order.
Program = tuple[Operation, ...]
#: The programs of all threads.
Client = tuple[Program, ...]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How many threads, operations of each thread, and which keys."""

    threads: int
    operations: int
    keys: tuple[int, ...] = DEFAULT_KEYS

    def __post_init__(self) -> None:
        if not FEWEST_THREADS <= self.threads <= MOST_THREADS or not 1 <= self.operations <= MOST_OPERATIONS:
            raise UsageError(
                f"'{self.threads}x{self.operations}' is no client that can be run",
                where="--client",
                next_step=f"Write {FEWEST_THREADS} to {MOST_THREADS} threads and 1 to {MOST_OPERATIONS} operations of "
                "each, such as 2x2.",
            )
        if not 1 <= len(self.keys) <= MOST_KEYS or list(self.keys) != sorted(set(self.keys)) or self.keys[0] < 1:
            raise UsageError(
                f"{', '.join(map(str, self.keys)) or 'nothing'} is no list of keys in order", next_step=_KEYS
            )
        if self.multisets > MOST_CLIENTS:
            raise UsageError(
                f"there are up to {self.multisets:,} clients of {self}",
                where="--client",
                next_step="Take fewer threads, operations or --keys.",
            )

    def __str__(self) -> str:
        return f"{self.threads}x{self.operations}"

    @property
    def multisets(self) -> int:
        """Clients up to the order of their threads, before keys are renamed."""
        programs = (len(KINDS) * len(self.keys)) ** self.operations
        return comb(programs + self.threads - 1, self.threads)

    def words(self) -> list[str]:
        """Reads the clients of a command line."""
        keys = [] if self.keys == DEFAULT_KEYS else ["--keys", ",".join(map(str, self.keys))]
        return ["--client", str(self), *keys]


def parse_shape(client: str, keys: str | None = None) -> Shape:
    """`2x2`, and keys such as `1,2`."""
    size = re.fullmatch(r"([0-9]{1,3})x([0-9]{1,3})", client.strip())
    if size is None:
        raise UsageError(
            f"'{client}' is no client", where="--client", next_step="Write threads x operations, such as 2x2."
        )
    chosen: tuple[int, ...] = DEFAULT_KEYS
    if keys is not None:
        words = [word.strip() for word in keys.split(",")]
        if not all(re.fullmatch(r"[0-9]{1,9}", word) for word in words) or len(set(words)) < len(words):
            raise UsageError(f"'{keys}' is no list of keys", where="--keys", next_step=_KEYS)
        chosen = tuple(sorted(map(int, words)))
    return Shape(threads=int(size[1]), operations=int(size[2]), keys=chosen)


def clients(shape: Shape, kinds: Sequence[str] = KINDS) -> Iterator[Client]:
    """Every client of a shape once; of those that are the same, the first in this order."""
    operations = list(product(kinds, shape.keys))
    programs = [tuple(program) for program in product(operations, repeat=shape.operations)]
    place = {program: number for number, program in enumerate(programs)}
    alike = shape.keys[1:]
    renamings = [dict(zip(alike, others, strict=True)) for others in permutations(alike)][1:]
    renamed = [
        [place[tuple((kind, names.get(key, key)) for kind, key in program)] for program in programs]
        for names in renamings
    ]
    for numbers in combinations_with_replacement(range(len(programs)), shape.threads):
        if all(numbers <= tuple(sorted(image[number] for number in numbers)) for image in renamed):
            yield tuple(programs[number] for number in numbers)


def may_meet_present(client: Iterable[Iterable[tuple[str, Key]]], present: Collection[Key]) -> bool:
    """Whether an insert of `client` may find its key in the table, in some order; `present` are there before."""
    keys = {key for program in client for kind, key in program if kind == "insert"}
    return any(
        _may_meet(tuple(sorted(_of_key(program, key) for program in client)), key in present)
        for key in sorted(keys, key=str)
    )


def _of_key(program: Iterable[tuple[str, Key]], key: Key) -> str:
    """Returns a thread's effects on whether a key is there: its inserts and erases, by their first letters."""
    return "".join(kind[0] for kind, of in program if of == key and kind in ("insert", "erase"))


@cache
def _may_meet(threads: tuple[str, ...], present: bool) -> bool:
    for number, rest in enumerate(threads):
        if not rest:
            continue
        inserts = rest[0] == "i"
        if inserts and present:
            return True
        after = tuple(sorted((*threads[:number], rest[1:], *threads[number + 1 :])))
        if _may_meet(after, inserts):
            return True
    return False


def name_of(client: Client, shape: Shape) -> str:
    """`client_2x2_i1u2_l1e2`: what each thread does, by first letters and keys."""
    return "_".join([f"client_{shape}", *("".join(f"{kind[0]}{key}" for kind, key in program) for program in client)])


@dataclass(frozen=True, kw_only=True)
class Generated:
    """The scenarios of a shape for one target, and how many clients broke its rule for inserts."""

    scenarios: tuple[Scenario, ...]
    left_out: int
    of: int
    #: Kinds of operations that the target does not have.
    lacks: tuple[str, ...] = ()

    def sentence(self, target: str) -> str:
        """Why clients were left out, in a line; empty where none was."""
        said = []
        if self.lacks:
            said.append(f"Clients of {target} have no {' and no '.join(self.lacks)}: the target has none.")
        if self.left_out:
            said.append(
                f"{self.left_out:,} of {self.of:,} clients are left out for {target}: in some order an insert meets a "
                "present key, which this target does not check (traits.checks_exists)."
            )
        return " ".join(said)


def for_threads(
    selection: Selection, config: Mapping[str, Any], *, tried: tuple[Sizes, ...] = ()
) -> tuple[dict[str, str], Configured]:
    """The options with which threads may use a target at the same time, and what it says of itself then.

    `tried`: sizes of keys and values; without them, those that the target declares, and usual ones.

    Its option `concurrency` is "concurrent" unless `config` says otherwise. UsageError where it is not for threads.
    """
    target, (option, value) = selection.target, CONCURRENCY
    options = option_values(target.description)
    chosen = {**({option: value} if value in options.get(option, []) else {}), **config}
    texts = {key: option_text(given, options.get(key, [])) for key, given in chosen.items()}
    usual = Data()
    tried = tried or (*target.description.sizes, _WORD, usual.sizes)
    where = f"{target.name}:{selection.variant}"
    known = targets.configured(target.library, selection.variant, tuple(texts.items()), tried)
    if known is None:
        why = targets.refusal(target.library, selection.variant, tuple(texts.items()), tried[0])
        raise UsageError(
            f"this target takes none of the sizes of keys and values that were tried; {why}",
            where=where,
            next_step="Let it declare the sizes that it takes (powercut_target_sizes, targets/ABI.md), or correct its "
            "options.",
        )
    if not known.traits.get("thread_safe"):
        able = value in options.get(option, [])
        raise UsageError(
            "this target does not say that threads may call it at the same time (traits.thread_safe)",
            where=where,
            next_step=f"Give it the option '{option}' with the value '{value}'."
            if able
            else "Set the trait where threads may (targets/ABI.md), or take another target.",
        )
    return texts, known


def kinds_of(target: Target) -> tuple[str, ...]:
    """The kinds of operations of clients that the target has. UsageError where it has no insert."""
    offered = target.description.operations or KINDS
    if "insert" not in offered:
        raise UsageError(
            "clients begin with an insert, which a table of counters does not have",
            where=f"{target.name}: --client",
            next_step="Write a scenario whose 'threads' increment keys (scenarios/SCHEMA.md).",
        )
    return tuple(kind for kind in KINDS if kind in offered)


def _lacks(kinds: Collection[str]) -> tuple[str, ...]:
    return tuple(kind for kind in KINDS if kind not in kinds)


def groups(selection: Selection, shape: Shape, *, config: Mapping[str, Any] | None = None) -> Generated:
    """All clients of `shape` as scenarios for one target, one for each first operation of thread 1, most clients first.

    `config` as in `scenarios`.
    """
    chosen, known = for_threads(selection, config or {})
    checks, kinds = bool(known.traits.get("checks_exists")), kinds_of(selection.target)
    every, left_out = shape.multisets, 0
    if not checks:
        judged = [may_meet_present(item, frozenset(shape.keys[:1])) for item in clients(shape, kinds)]
        every, left_out = len(judged), sum(judged)
    operations = list(product(kinds, shape.keys))
    made = []
    for first, (kind, key) in enumerate(operations):
        if not checks and kind == "insert" and key == shape.keys[0]:
            continue
        every_one = [_operation(item) for item in operations]
        rest = [{"any": every_one}] * (shape.operations - 1)
        # The first thread's is the lowest of all first operations: the threads are alike.
        threads = [[_operation((kind, key)), *rest]]
        threads += [[{"any": every_one[first:]}, *rest]] * (shape.threads - 1)
        made.append(
            _scenario(
                f"clients_{shape}_{kind[0]}{key}",
                f"All clients of {shape} whose thread 1 begins with {kind}({key}), with key {shape.keys[0]} present.",
                {"threads": threads, "alike": True},
                shape,
                target=selection.target.name,
                config=chosen,
                sizes=known.sizes,
            )
        )
    return Generated(scenarios=tuple(made), left_out=left_out, of=every, lacks=_lacks(kinds))


def _operation(operation: Operation) -> dict[str, Any]:
    kind, key = operation
    return {"op": kind, "keys": [key]}


def scenarios(
    selection: Selection, shape: Shape, *, patterns: Sequence[str] = (), config: Mapping[str, Any] | None = None
) -> Generated:
    """The clients of `shape` as scenarios for one target, in a stable order; those whose names `patterns` select.

    `config` are options of the target, beside `concurrency`, which is "concurrent" where the target has it.
    """
    chosen, known = for_threads(selection, config or {})
    target, name = selection.target, f"{selection.target.name}:{selection.variant}"
    present = frozenset(shape.keys[:1])
    kinds = kinds_of(target)
    every = list(clients(shape, kinds))
    legal = [item for item in every if known.traits.get("checks_exists") or not may_meet_present(item, present)]
    named = {name_of(item, shape): item for item in legal}
    wanted = {
        called: item
        for called, item in named.items()
        if not patterns or any(fnmatchcase(called, pattern) for pattern in patterns)
    }
    if not wanted:
        if not legal:
            raise UsageError(f"no client of {shape} is left for {name}", where="--client", next_step="Take more keys.")
        raise unknown_name(f"client of {shape}", " ".join(patterns), named, list_command="powercut run --help-all")
    if len(wanted) > MOST_SCENARIOS:
        raise UsageError(
            f"{len(wanted):,} clients of {shape} are more than the {MOST_SCENARIOS:,} that one command runs",
            where="--client",
            next_step="Choose some by their names (--scenario 'client_2x3_i2u1*'), or take fewer keys or operations.",
        )
    made = tuple(
        scenario(item, shape, target=target.name, config=chosen, sizes=known.sizes) for item in wanted.values()
    )
    return Generated(scenarios=made, left_out=len(every) - len(legal), of=len(every), lacks=_lacks(kinds))


def scenario(client: Client, shape: Shape, *, target: str, config: Mapping[str, str], sizes: Sizes) -> Scenario:
    """One client as a scenario. There is no file of it: its name and the shape lead to it."""
    told = " | ".join(", ".join(f"{kind}({of})" for kind, of in program) for program in client)
    return _scenario(
        name_of(client, shape),
        f"{told}, with key {shape.keys[0]} present.",
        {"threads": [list(map(_operation, program)) for program in client]},
        shape,
        target=target,
        config=config,
        sizes=sizes,
    )


def _scenario(
    name: str,
    summary: str,
    at_once: Mapping[str, Any],
    shape: Shape,
    *,
    target: str,
    config: Mapping[str, str],
    sizes: Sizes,
) -> Scenario:
    content = {
        "schema": SIZES_SINCE if are_mixed(sizes) else CHOICE_SINCE,
        "name": name,
        "summary": summary,
        "targets": [target],
        "config": dict(config),
        "data": {"key_size": sizes[0], "value_size": sizes[1]},
        "phase": [
            {"name": SET_UP, "explore": False, "steps": [{"op": "insert", "keys": [shape.keys[0]]}]},
            {"name": CLIENTS, **at_once},
        ],
    }
    return Scenario(path=Path(f"{name}.toml"), content=ScenarioFile.model_validate(content))
