"""The options of `powercut.check`: an object, and the keywords that a call may have instead of it.

Keywords stay, since they are what docs/pytest.md shows and what tests are read by. `CheckOptions` gives them their
types, and a test holds that both have the same names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypedDict

from powercut.engine import options
from powercut.scenarios.config import Config
from powercut.scenarios.sizes import Size
from powercut.testing.inline import Workload


class CheckOptions(TypedDict, total=False):
    """The options of `powercut.check`, as keywords."""

    warmup: Iterable[object]
    threads: Iterable[Iterable[object]]
    config: Config | None
    model: str
    strategy: str
    atoms: str
    nested: int | None
    seed: int
    budget: str | None
    step_budget: int | None
    search: str | None
    preemptions: int | Literal["none"] | None
    schedules: int | None
    visibility: str | None
    cut_at: str | None
    expect_marks: Sequence[str]
    pool: int | str | None
    key_size: Size | None
    value_size: Size | None
    complete: bool
    name: str | None


@dataclass(frozen=True, kw_only=True)
class Check:
    """The options of `powercut.check`, as an object: for several checks that share them."""

    #: Operations that come first and are not explored.
    warmup: Iterable[object] = ()
    #: Two to four lists of operations, which run at the same time after the warm-up. The target's option `concurrency`
    #: is set for them.
    threads: Iterable[Iterable[object]] = ()
    #: Options of the target; "bug" switches a planted bug on.
    config: Config | None = None
    model: str = options.DEFAULT_MODEL
    strategy: str = options.DEFAULT_STRATEGY
    atoms: str = options.DEFAULT_ATOMS
    #: Power cuts inside recovery; None: those of the session.
    nested: int | None = None
    seed: int = options.DEFAULT_SEED
    #: A time or a number of executions; None: that of the session.
    budget: str | None = None
    #: Loop turns and calls of one execution; None: that of the session.
    step_budget: int | None = None
    #: Which schedules of `threads` run; without these four, every schedule, sequentially consistent.
    search: str | None = None
    preemptions: int | Literal["none"] | None = None
    schedules: int | None = None
    visibility: str | None = None
    #: Cut the power when the explored operations first reach this mark, and go on after recovery.
    cut_at: str | None = None
    #: Marks that the explored operations must reach.
    expect_marks: Sequence[str] = ()
    #: Bytes, or a text such as "256KiB"; None: what scenario files have.
    pool: int | str | None = None
    #: Bytes of each key and of each value; two numbers are the least and the most, and each draws its own. None: what
    #: the target takes.
    key_size: Size | None = None
    value_size: Size | None = None
    #: Whether a verdict that covers only a part fails.
    complete: bool = False
    #: The name of the scenario file, which is left in `OUT/scenarios/`.
    name: str | None = None

    def workload(self, operations: Iterable[object]) -> Workload:
        """The workload on an empty table. Iterators are read here, since the workload is looked at more than once."""
        return Workload(
            operations=_listed(operations),
            warmup=_listed(self.warmup),
            threads=[_listed(thread) for thread in self.threads] if _is_list(self.threads) else self.threads,
            config=self.config,
            cut_at=self.cut_at,
            expect_marks=tuple(self.expect_marks),
            pool=self.pool,
            key_size=self.key_size,
            value_size=self.value_size,
        )

    def searched(self) -> options.Schedules:
        """Which schedules of threads run."""
        return options.Schedules(
            search=self.search, preemptions=self.preemptions, schedules=self.schedules, visibility=self.visibility
        )

    def words(self) -> list[str]:
        """The keywords of the call, as Python, for the options that are not the usual ones."""
        usual = {field.name: field.default for field in fields(self)} | {"nested": options.DEFAULT_NESTED}
        made = replace(self, nested=options.DEFAULT_NESTED if self.nested is None else self.nested)
        given = {name: (_plain(getattr(made, name)), _plain(default)) for name, default in usual.items()}
        return [f"{name}={value!r}" for name, (value, usual) in given.items() if value != usual]


def _is_list(threads: object) -> bool:
    return isinstance(threads, Iterable) and not isinstance(threads, str | Mapping)


def _listed(operations: Iterable[object]) -> Iterable[object]:
    """A list of what may be read once; what is no list of operations stays, to be refused."""
    return list(operations) if isinstance(operations, Iterator) else operations


def _plain(value: Any) -> Any:
    """Lists for tuples, also inside lists; None for an empty configuration."""
    if isinstance(value, Mapping):
        return dict(value) or None
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [list(item) if isinstance(item, Iterator) else item for item in value]
