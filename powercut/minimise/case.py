"""A candidate of the minimiser: a plan whose every operation is spelled out.

`fill`, `until`, `mix` and ranges are gone (`concrete.py` has read their operations from the trace). An operation can
therefore be taken away without changing the others. Library, variant, known bug and seed, which no candidate changes,
stay in the plan that the finding came with. A case has only the parts that may shrink.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from powercut.engine.options import DEFAULT_SEARCH, RECORDED
from powercut.scenarios.clients import may_meet_present
from powercut.scenarios.sizes import Size, in_plan

#: A key id, "zeros" or "ones".
Key = int | str


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of the workload: `kind` is `insert`, `update`, `erase`, `lookup`, `increment` or `maintain`."""

    kind: str
    key: Key | None = None
    #: The command of a `maintain`.
    text: str = ""
    #: The number that an increment adds.
    by: int = 1
    #: Bytes of the value that is written, where values differ in size.
    value_size: int | None = None

    @property
    def spelling(self) -> str:
        """`insert(3)`, `maintain(expand)`, `increment(3, by -2)`."""
        by = f", by {self.by}" if self.by != 1 else ""
        size = f", {self.value_size} bytes" if self.value_size is not None else ""
        return f"{self.kind}({self.text if self.key is None else self.key}{by}{size})"

    def step(self) -> dict[str, Any]:
        """As a step of a plan or of a scenario file."""
        if self.key is None:
            return {"op": self.kind, "command": self.text}
        by = {"by": self.by} if self.by != 1 else {}
        size = {"value_size": self.value_size} if self.value_size is not None else {}
        return {"op": self.kind, "keys": [self.key], **by, **size}


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A phase of the workload; one without operations is left out of every plan."""

    name: str
    explore: bool
    cut_at: str | None
    #: Operations of all threads, one thread after the other, where there are threads.
    operations: tuple[Operation, ...]
    #: How many of the operations each thread has; empty where one thread does them all.
    threads: tuple[int, ...] = ()

    @property
    def programs(self) -> tuple[tuple[Operation, ...], ...]:
        """Returns the operations of each thread; none where there are no threads."""
        bounds = pairwise(accumulate(self.threads, initial=0))
        return tuple(self.operations[first:end] for first, end in bounds)

    def keeping(self, kept: Sequence[bool]) -> "Phase":
        """Returns the phase with those operations whose place in `kept` is true. A thread without operations is gone,
        and a single thread is no thread."""
        left = tuple(item for item, keep in zip(self.operations, kept, strict=True) if keep)
        bounds = pairwise(accumulate(self.threads, initial=0))
        threads = tuple(count for first, end in bounds if (count := sum(kept[first:end])))
        return replace(self, operations=left, threads=threads if len(threads) > 1 else ())


@dataclass(frozen=True, kw_only=True)
class Case:
    """The parts of a plan that may shrink."""

    phases: tuple[Phase, ...]
    #: Options of the target, sorted by name, without the known bug that is switched on.
    options: tuple[tuple[str, str], ...]
    pool_size: int
    key_size: Size
    value_size: Size
    #: Whether an insert of a thread may meet a present key: it may in the finding's own workload.
    meets: bool = False

    @property
    def race(self) -> Phase | None:
        """The phase with threads."""
        return next((phase for phase in self.phases if phase.threads), None)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Returns the operations of all phases, in order."""
        return tuple(operation for phase in self.phases for operation in phase.operations)

    def option(self, name: str) -> str | None:
        """The value that is set, or None."""
        return dict(self.options).get(name)

    def with_option(self, name: str, value: str | None) -> "Case":
        """Returns the case with one option set, or (None) left to its default."""
        options = {**dict(self.options), name: value}
        kept = sorted((key, text) for key, text in options.items() if text is not None)
        return replace(self, options=tuple(kept))

    def keeping(self, kept: Sequence[bool]) -> "Case":
        """Returns the case with those operations whose place in `kept` is true; phases without operations are gone."""
        phases: list[Phase] = []
        at = 0
        for phase in self.phases:
            left = phase.keeping(kept[at : at + len(phase.operations)])
            at += len(phase.operations)
            if left.operations:
                phases.append(left)
        return replace(self, phases=tuple(phases))

    def without(self, first: int, last: int) -> "Case":
        """Returns the case without the operations number `first` to `last` - 1."""
        return self.keeping([not first <= number < last for number in range(len(self.operations))])

    def mapped(self, operations: Sequence[Operation]) -> "Case":
        """Returns the case with other operations in the places of these."""
        phases: list[Phase] = []
        at = 0
        for phase in self.phases:
            phases.append(replace(phase, operations=tuple(operations[at : at + len(phase.operations)])))
            at += len(phase.operations)
        return replace(self, phases=tuple(phases))

    @property
    def is_explored(self) -> bool:
        """False where no crash would be looked for."""
        return any(phase.explore for phase in self.phases)


def runnable(case: Case) -> Case:
    """`case` without the operations that would act on an absent key, or insert a present one.

    The engine refuses such a workload, so taking an insert away takes what depends on it away as well. After a
    deliberate cut nobody but the table knows whether the key is there: such cases are left as they are. Threads may
    update and erase absent keys; inserts that may meet a present one go, unless the finding's own workload has such.
    """
    if any(phase.cut_at for phase in case.phases):
        return case
    live: set[Key] = set()
    kept: list[bool] = []
    # The effect of threads on a key depends on the schedule.
    unknown: set[Key] = set()
    for phase in case.phases:
        if phase.threads:
            kept += _kept_of_threads(phase, live, meets=case.meets)
            unknown |= {item.key for item in phase.operations if item.kind in ("insert", "erase") and item.key}
            continue
        for operation in phase.operations:
            kept.append(_may_run(operation, live, unknown, meets=case.meets))
            if kept[-1] and operation.kind in ("insert", "increment") and operation.key is not None:
                live.add(operation.key)
                unknown.discard(operation.key)
            elif kept[-1] and operation.kind == "erase" and operation.key is not None:
                live.discard(operation.key)
                unknown.discard(operation.key)
    # A single thread that is left is a phase of steps, which have stricter rules.
    return case if all(kept) else runnable(case.keeping(kept))


def _may_run(operation: Operation, live: set[Key], unknown: set[Key], *, meets: bool) -> bool:
    """Whether an operation finds its key as it needs it; `unknown` are keys that may be there or not."""
    key = operation.key
    if key is not None and operation.kind in ("update", "erase"):
        return key in live or key in unknown
    if operation.kind != "insert":
        return True
    return meets if key in unknown else key not in live


def _kept_of_threads(phase: Phase, live: set[Key], *, meets: bool) -> list[bool]:
    if meets:
        return [True] * len(phase.operations)
    kept: list[bool] = []
    before: list[list[tuple[str, Key]]] = []
    for program in phase.programs:
        before.append([])
        for operation in program:
            kept.append(True)
            if operation.key is None:
                continue
            before[-1].append((operation.kind, operation.key))
            if operation.kind == "insert" and may_meet_present(before, live):
                before[-1].pop()
                kept[-1] = False
    return kept


def repeatable(search: dict[str, Any]) -> dict[str, Any]:
    """A plan's search. The schedule of a recording will not come again, but the search of all schedules meets it."""
    return search | {"kind": DEFAULT_SEARCH, "schedules": 0} if search["kind"] == RECORDED else search


def plan_of(case: Case, template: dict[str, Any], *, toggle: str | None, bug_option: str) -> dict[str, Any]:
    """The plan that records `case`; library, variant and seed are those of `template`. Nothing is expected of marks."""
    options = dict(case.options)
    if toggle is not None:
        options[bug_option] = toggle
    # Without threads there are no schedules to search.
    kept = {name: value for name, value in template.items() if name != "search"}
    if case.race:
        kept["search"] = repeatable(template["search"])
    return {
        **kept,
        "target": {**template["target"], "options": options},
        "scenario": {
            "name": template["scenario"]["name"],
            "pool_size": case.pool_size,
            "key_size": in_plan(case.key_size),
            "value_size": in_plan(case.value_size),
            "expect_marks": [],
            "phases": [
                {
                    "name": phase.name,
                    "explore": phase.explore,
                    "cut_at": phase.cut_at,
                    **_work(phase),
                }
                for phase in case.phases
            ],
        },
    }


def _work(phase: Phase) -> dict[str, Any]:
    if phase.threads:
        return {"threads": [[operation.step() for operation in program] for program in phase.programs]}
    # A step of its own for each: a deliberate cut drops the rest of its step.
    return {"steps": [operation.step() for operation in phase.operations]}
