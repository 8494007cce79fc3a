"""Hypothesis draws the operations: sequences that are legal for a map, and shrink to the smallest one that fails.

    def test_level():
        powercut.stateful.check_target("level:hardened")

    @given(powercut.stateful.operations("level:hardened"))
    def test_with_parts_of_my_own(operations):
        powercut.check("level:hardened", operations, warmup=[powercut.fill(40)])

    @given(powercut.stateful.threads("level:hardened", live=[1]))
    def test_at_the_same_time(threads):
        powercut.check("level:hardened", threads=threads, warmup=[powercut.insert(1)])

    class LevelMachine(powercut.stateful.CrashMachine):
        target = "level:hardened"

    TestLevel = LevelMachine.TestCase

Operations are drawn as if every one were legal, and then made legal. An insert of a present key updates it, an update
of an absent key inserts it, an erase of an absent key is left out. Whatever the shrinker takes away, the rest stays
legal, so that it gets small (Hypothesis, "internal shrinking"; MacIver & Donaldson, ECOOP 2020). In threads only
inserts are changed: an insert that may meet its key in some order is an update, where the target does not check that.

Known inaccuracy: while it shrinks, Hypothesis goes over to any other violation that is smaller.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from powercut.base.errors import UsageError, nearest
from powercut.scenarios.clients import for_threads, may_meet_present
from powercut.scenarios.config import Config, checked_config
from powercut.scenarios.plan import BUG_OPTION, option_values
from powercut.scenarios.schema import FEWEST_THREADS, MOST_THREADS
from powercut.scenarios.targets import Target
from powercut.testing import api
from powercut.testing.check_options import Check, CheckOptions
from powercut.testing.operations import KEY_OPERATIONS, Key, Operation

try:
    import hypothesis
    from hypothesis import strategies as st
    from hypothesis.database import DirectoryBasedExampleDatabase
    from hypothesis.errors import Unsatisfiable, UnsatisfiedAssumption
    from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
    from hypothesis.strategies import SearchStrategy
except ImportError as error:
    raise ImportError("powercut.stateful needs Hypothesis. Install it: pip install 'powercut[stateful]'") from error

MAX_OPERATIONS = 8
MAX_WARMUP = 24
KEYS = 12
MAX_EXAMPLES = 100
#: Workloads that the target may refuse before it takes one.
_REFUSED_AT_FIRST = 30
_OTHERS = "..."
_MAINTAIN = "maintain"
_T = TypeVar("_T")
#: A drawn operation: its name, and its key or command. The last part of a write is its size, if the size was drawn.
_Drawn = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One example of `workloads`. It prints as the call that runs it."""

    target: str
    operations: tuple[Operation, ...]
    warmup: tuple[Operation, ...] = ()
    config: tuple[tuple[str, str | bool | int | float], ...] = ()
    #: The least and the most bytes of a value, where the values differ in size.
    value_size: tuple[int, int] | None = None

    def check(self, **chosen: Any) -> api.Result:
        """`powercut.check` of it."""
        given: CheckOptions = {"warmup": self.warmup, "config": dict(self.config), "value_size": self.value_size}
        return api.check(self.target, self.operations, **{**given, **chosen})

    def __repr__(self) -> str:
        check = Check(warmup=self.warmup, config=dict(self.config), value_size=self.value_size)
        return api.call(self.target, self.operations, check)


def legal(drawn: Iterable[_Drawn], *, live: Iterable[Key] = ()) -> list[Operation]:
    """The operations that a drawn sequence comes to on a table that holds `live`."""
    present = set(live)
    made: list[Operation] = []
    for name, subject, *size in drawn:
        if name in ("insert", "update"):
            made.append(("update" if subject in present else "insert", subject, *size))
            present.add(subject)
        elif name != "erase" or subject in present:
            made.append((name, subject))
            present.discard(subject) if name == "erase" else None
    return made


def operations(
    target: str,
    *,
    max_operations: int = MAX_OPERATIONS,
    keys: int = KEYS,
    kinds: Sequence[str] = KEY_OPERATIONS,
    commands: Sequence[str] | None = None,
    live: Iterable[Key] = (),
    value_size: tuple[int, int] | None = None,
) -> SearchStrategy[list[Operation]]:
    """Sequences of one to `max_operations` operations on the keys 1 to `keys`.

    `kinds`: of insert, update, erase, lookup. `commands` for `maintain`: those of the target, unless others are named.
    `live`: the keys that a warm-up of yours has left. `value_size`: the least and the most bytes of a value; each write
    draws its own size, and `powercut.check` has to be given the same `value_size`.
    """
    drawn = _drawn(api.one_target(target).target, max_operations, keys, kinds, commands, value_size)
    present = tuple(live)
    return drawn.map(lambda sequence: legal(sequence, live=present)).filter(bool)


def threads(
    target: str,
    *,
    max_threads: int = FEWEST_THREADS,
    max_operations: int = 2,
    keys: int = 2,
    kinds: Sequence[str] = KEY_OPERATIONS,
    commands: Sequence[str] = (),
    live: Iterable[Key] = (),
    config: Config | None = None,
) -> SearchStrategy[list[list[Operation]]]:
    """Operations of two to `max_threads` threads at the same time: one to `max_operations` operations each.

    `kinds`, `commands` and `live` as in `operations`, but that no command is drawn unless it is named. `config` are the
    options that the target is checked with.
    """
    selection = api.one_target(target)
    _, known = for_threads(selection, checked_config(selection.target, config or {}, where="powercut.stateful"))
    present = None if known.traits.get("checks_exists") else frozenset(live)
    most = _number("max_threads", max_threads, least=FEWEST_THREADS)
    if most > MOST_THREADS:
        raise UsageError(
            f"max_threads is {most}", where="powercut.stateful", next_step=f"Give a number up to {MOST_THREADS}."
        )
    program = _drawn(selection.target, max_operations, keys, kinds, commands)
    drawn = st.lists(program, min_size=FEWEST_THREADS, max_size=most)
    offered = selection.target.description.operations or KEY_OPERATIONS
    instead = "update" if "update" in offered else "lookup"
    return drawn.map(lambda programs: _legal_threads(programs, present, instead))


def _legal_threads(
    programs: Iterable[Iterable[_Drawn]], present: frozenset[Key] | None, instead: str = "update"
) -> list[list[Operation]]:
    """The programs with the operation `instead` of inserts that may meet their keys.

    `present` is None where the target checks that.
    """
    made: list[list[tuple[str, Key]]] = []
    for program in programs:
        made.append([])
        for name, subject, *_ in program:
            made[-1].append((name, subject))
            if name == "insert" and present is not None and may_meet_present(made, present):
                made[-1][-1] = (instead, subject)
    return [[*program] for program in made]


def configurations(target: str, *, vary: Sequence[str] | None = None) -> SearchStrategy[dict[str, str]]:
    """Options of the target: its defaults, or up to two other values of those that it lists (never a planted bug)."""
    choices = _choices(api.one_target(target).target, vary)
    if not choices:
        return st.just({})
    return st.lists(st.sampled_from(choices), max_size=2, unique_by=lambda choice: choice[0]).map(dict)


@st.composite
def _workloads(
    draw: Any,
    target: str,
    drawn: SearchStrategy[list[_Drawn]],
    max_warmup: int,
    config: SearchStrategy[dict[str, Any]],
    value_size: tuple[int, int] | None,
) -> Workload:
    # In this order, so that Hypothesis shrinks the explored operations first.
    sequence = draw(drawn)
    warmup = range(1, draw(st.integers(0, max_warmup)) + 1)
    made = legal(sequence, live=warmup)
    hypothesis.assume(made)
    return Workload(
        target=target,
        operations=tuple(made),
        warmup=(("insert", *warmup),) if warmup else (),
        config=tuple(draw(config).items()),
        value_size=value_size,
    )


def workloads(
    target: str,
    *,
    max_operations: int = MAX_OPERATIONS,
    max_warmup: int = MAX_WARMUP,
    keys: int = KEYS,
    kinds: Sequence[str] = KEY_OPERATIONS,
    commands: Sequence[str] | None = None,
    config: Config | None = None,
    vary: Sequence[str] | None = None,
    value_size: tuple[int, int] | None = None,
) -> SearchStrategy[Workload]:
    """Operations as of `operations`, after a warm-up of up to `max_warmup` inserts, in configurations of the target.

    `config` are options that are fixed. `vary` names those that are drawn; without it, all that list their values.
    """
    described = api.one_target(target).target
    fixed = checked_config(described, config or {}, where="powercut.stateful")
    free = [name for name in (vary if vary is not None else option_values(described.description)) if name not in fixed]
    drawn = _drawn(described, max_operations, keys, kinds, commands, value_size)
    configured = configurations(target, vary=free).map(lambda chosen: {**fixed, **chosen})
    return _workloads(target, drawn, _number("max_warmup", max_warmup, least=0), configured, value_size)


def check_target(
    target: str,
    *,
    max_examples: int | None = None,
    derandomize: bool | None = None,
    settings: hypothesis.settings | None = None,
    max_operations: int = MAX_OPERATIONS,
    max_warmup: int = MAX_WARMUP,
    keys: int = KEYS,
    kinds: Sequence[str] = KEY_OPERATIONS,
    commands: Sequence[str] | None = None,
    config: Config | None = None,
    vary: Sequence[str] | None = None,
    value_size: tuple[int, int] | None = None,
    options: CheckOptions | None = None,
) -> None:
    """Judges workloads that Hypothesis draws; fails with the smallest one that a power cut breaks.

    `settings` of Hypothesis hold but for the deadline, which an exploration has not. `options` are those of
    `powercut.check`. The message has the call that shows the failure again, and the scenario file of it.
    """
    strategy = workloads(
        target,
        max_operations=max_operations,
        max_warmup=max_warmup,
        keys=keys,
        kinds=kinds,
        commands=commands,
        config=config,
        vary=vary,
        value_size=value_size,
    )
    chosen: CheckOptions = options or {}
    tally = {"refused": 0, "accepted": 0}

    def judge(workload: Workload) -> None:
        try:
            workload.check(**chosen)
        except UnsatisfiedAssumption as refusal:
            tally["refused"] += 1
            if not tally["accepted"] and tally["refused"] >= _REFUSED_AT_FIRST:
                raise _AllRefusedError(str(refusal.__context__)) from None
            raise
        tally["accepted"] += 1

    # Hypothesis keeps its examples under the name of the test.
    judge.__name__ = judge.__qualname__ = f"check_target_{re.sub(r'[^A-Za-z0-9_]', '_', target)}"
    run = _settings(settings, max_examples, derandomize)(hypothesis.given(strategy)(judge))
    try:
        run()
    except (api.InconsistentError, api.UnknownError) as failure:
        failure.__notes__ = []  # Hypothesis' own account: the message has the call already
        raise
    except (Unsatisfiable, _AllRefusedError) as error:
        raise UsageError(
            f"no workload that was drawn can be run ({error})",
            where=f"powercut.stateful: {target}",
            next_step="Give it another config, fewer keys or a smaller max_warmup.",
        ) from None


class _AllRefusedError(BaseException):
    """Ends a test at once: Hypothesis would go on drawing, and takes every Exception for a failure of the example."""


class CrashMachine(RuleBasedStateMachine):
    """A state machine that does operations and then judges all of them. Subclass it and name the target.

    Rules of a subclass may add operations of their own with `do`.
    """

    target: ClassVar[str] = ""
    #: Inserted before, and not explored.
    warmup: ClassVar[Sequence[Key]] = ()
    keys: ClassVar[int] = KEYS
    config: ClassVar[Mapping[str, str | bool | int | float]] = {}
    options: ClassVar[CheckOptions] = {}

    def __init__(self) -> None:
        super().__init__()
        if not self.target:
            raise UsageError(
                f"{type(self).__name__} names no target",
                where="powercut.stateful.CrashMachine",
                next_step='Subclass it, with target = "level:hardened".',
            )
        self.live: set[Key] = set(self.warmup)
        self.done: list[Operation] = []

    @cached_property
    def commands(self) -> list[str]:
        """Options of the target."""
        return list(api.one_target(self.target).target.description.commands)

    @property
    def absent(self) -> list[Key]:
        """Keys that may be inserted."""
        return [key for key in range(1, self.keys + 1) if key not in self.live]

    def do(self, *drawn: _Drawn) -> None:
        """Adds operations, made legal as in `legal`."""
        for operation in legal(drawn, live=self.live):
            self.done.append(operation)
            name, subject, *_ = operation
            if name == "insert":
                self.live.add(subject)
            elif name == "erase":
                self.live.discard(subject)

    @precondition(lambda self: bool(self.absent))
    @rule(key=st.runner().flatmap(lambda self: st.sampled_from(self.absent)))
    def insert(self, key: Key) -> None:
        self.do(("insert", key))

    @precondition(lambda self: bool(self.live))
    @rule(key=st.runner().flatmap(lambda self: st.sampled_from(sorted(self.live, key=str))))
    def update(self, key: Key) -> None:
        self.do(("update", key))

    @precondition(lambda self: bool(self.live))
    @rule(key=st.runner().flatmap(lambda self: st.sampled_from(sorted(self.live, key=str))))
    def erase(self, key: Key) -> None:
        self.do(("erase", key))

    @precondition(lambda self: bool(self.commands))
    @rule(command=st.runner().flatmap(lambda self: st.sampled_from(self.commands)))
    def maintain(self, command: str) -> None:
        self.do((_MAINTAIN, command))

    def teardown(self) -> None:
        if self.done:
            warmup: list[Operation] = [("insert", *self.warmup)] if self.warmup else []
            chosen: CheckOptions = {**self.options, "warmup": warmup, "config": self.config}
            api.check(self.target, self.done, **chosen)


def _settings(
    given: hypothesis.settings | None, max_examples: int | None, derandomize: bool | None
) -> hypothesis.settings:
    base = given or hypothesis.settings(max_examples=MAX_EXAMPLES)
    words: dict[str, Any] = {"deadline": None, "report_multiple_bugs": False, "print_blob": False}
    words["suppress_health_check"] = list(hypothesis.HealthCheck)  # an exploration is slow, and tables refuse much
    if max_examples is not None:
        words["max_examples"] = _number("max_examples", max_examples, least=1)
    if derandomize is not None:
        words["derandomize"] = derandomize
    if derandomize:
        words["database"] = None
    elif given is None and not base.derandomize:
        words["database"] = DirectoryBasedExampleDatabase(api.current().cache_folder / "hypothesis")
    return hypothesis.settings(base, **words)


def _drawn(
    target: Target,
    max_operations: int,
    keys: int,
    kinds: Sequence[str],
    commands: Sequence[str] | None,
    value_size: tuple[int, int] | None = None,
) -> SearchStrategy[list[_Drawn]]:
    known = target.description.commands
    _refuse_others("kind of operation", kinds, KEY_OPERATIONS)
    _refuse_others(f"command of '{target.name}'", commands or (), known)
    named = list(known if commands is None else commands)
    key = st.integers(1, _number("keys", keys, least=1))
    offered = target.description.operations or KEY_OPERATIONS
    kept = [kind for kind in KEY_OPERATIONS if kind in kinds and kind in offered]
    if value_size is not None and not (target.description.traits or {}).get("mixed_sizes"):
        raise UsageError(
            f"'{target.name}' takes values of one size (traits.mixed_sizes is 0), so none can be drawn",
            where="powercut.stateful: value_size",
            next_step="Leave value_size out; 'options' may give one size, as powercut.check takes it.",
        )
    shapes: list[SearchStrategy[Any]] = []
    for kind in kept:
        size = [_sizes(*value_size)] if value_size is not None and kind in ("insert", "update") else []
        shapes.append(st.tuples(st.just(kind), key, *size))
    shapes += [st.tuples(st.just(_MAINTAIN), st.just(command)) for command in named]
    if not shapes:
        raise UsageError("no kinds and no commands", where="powercut.stateful", next_step="Name some.")
    return st.lists(st.one_of(shapes), min_size=1, max_size=_number("max_operations", max_operations, least=1))


def _sizes(least: int, most: int) -> SearchStrategy[dict[str, int]]:
    """The last part of a write: the size of its value."""
    return st.integers(least, most).map(lambda size: {"value_size": size})


def _choices(target: Target, vary: Sequence[str] | None) -> list[tuple[str, str]]:
    """(option, value) for every listed value that is no default."""
    known = option_values(target.description)
    names = [name for name in known if name != BUG_OPTION] if vary is None else list(vary)
    _refuse_others(f"option of '{target.name}'", names, known)
    return [(name, value) for name in names if name != BUG_OPTION for value in known[name][1:] if value != _OTHERS]


def _refuse_others(kind: str, names: Sequence[str], known: Iterable[str]) -> None:
    choices = list(known)
    for name in names:
        if name not in choices:
            close = nearest(str(name), choices, limit=1)
            there = f"There are {', '.join(choices)}." if choices else "There is none."
            hint = f"Did you mean '{close[0]}'?" if close else there
            raise UsageError(f"unknown {kind} {name!r}", where="powercut.stateful", next_step=hint)


def _number(name: str, value: Any, *, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{name} is {value!r}", where="powercut.stateful", next_step=f"Give a number from {least} on.")
    return value
