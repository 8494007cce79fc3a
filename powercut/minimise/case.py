"""A candidate of the minimiser: a plan whose every operation is spelled out.

`fill`, `until`, `mix` and ranges are gone (`concrete.py` has asked the trace what they did), so that an operation can
be taken away without changing what the others are. What no candidate changes (library, variant, known bug, seed)
stays in the plan that the finding came with; a case is only what may shrink.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

#: A key id, "zeros" or "ones".
Key = int | str


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of the workload: `kind` is `insert`, `update`, `erase`, `lookup` or `maintain`."""

    kind: str
    key: Key | None = None
    #: The command of a `maintain`.
    text: str = ""

    @property
    def spelling(self) -> str:
        """`insert(3)`, `maintain(expand)`."""
        return f"{self.kind}({self.text if self.key is None else self.key})"

    def step(self) -> dict[str, Any]:
        """As a step of a plan or of a scenario file."""
        return {"op": self.kind, "command": self.text} if self.key is None else {"op": self.kind, "keys": [self.key]}


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A phase of the workload; one without operations is left out of every plan."""

    name: str
    explore: bool
    cut_at: str | None
    operations: tuple[Operation, ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is recorded and explored, as far as it may shrink."""

    phases: tuple[Phase, ...]
    #: Options of the target, sorted by name, without the known bug that is switched on.
    options: tuple[tuple[str, str], ...]
    pool_size: int
    key_size: int
    value_size: int

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Those of all phases, in order."""
        return tuple(operation for phase in self.phases for operation in phase.operations)

    def option(self, name: str) -> str | None:
        """The value that is set, or None."""
        return dict(self.options).get(name)

    def with_option(self, name: str, value: str | None) -> "Case":
        """The same with one option set, or (None) left to its default."""
        options = {**dict(self.options), name: value}
        kept = sorted((key, text) for key, text in options.items() if text is not None)
        return replace(self, options=tuple(kept))

    def keeping(self, kept: Sequence[bool]) -> "Case":
        """The same with those operations whose place in `kept` is true; phases that have none left are gone."""
        phases: list[Phase] = []
        at = 0
        for phase in self.phases:
            marks = kept[at : at + len(phase.operations)]
            at += len(phase.operations)
            left = tuple(item for item, keep in zip(phase.operations, marks, strict=True) if keep)
            if left:
                phases.append(replace(phase, operations=left))
        return replace(self, phases=tuple(phases))

    def without(self, first: int, last: int) -> "Case":
        """The same without the operations number `first` to `last` - 1."""
        return self.keeping([not first <= number < last for number in range(len(self.operations))])

    def mapped(self, operations: Sequence[Operation]) -> "Case":
        """The same with other operations in the places of these."""
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
    deliberate cut nobody but the table knows whether the key is there: such cases are left as they are.
    """
    if any(phase.cut_at for phase in case.phases):
        return case
    live: set[Key] = set()
    kept: list[bool] = []
    for operation in case.operations:
        key = operation.key
        keep = True
        if key is not None and operation.kind in ("update", "erase"):
            keep = key in live
        elif operation.kind == "insert":
            assert key is not None
            keep = key not in live
        kept.append(keep)
        if keep and operation.kind == "insert" and key is not None:
            live.add(key)
        elif keep and operation.kind == "erase" and key is not None:
            live.discard(key)
    return case if all(kept) else case.keeping(kept)


def plan_of(case: Case, template: dict[str, Any], *, toggle: str | None, bug_option: str) -> dict[str, Any]:
    """The plan that records `case`; library, variant and seed are those of `template`. Nothing is expected of marks."""
    options = dict(case.options)
    if toggle is not None:
        options[bug_option] = toggle
    return {
        **template,
        "target": {**template["target"], "options": options},
        "scenario": {
            "name": template["scenario"]["name"],
            "pool_size": case.pool_size,
            "key_size": case.key_size,
            "value_size": case.value_size,
            "expect_marks": [],
            "phases": [
                {
                    "name": phase.name,
                    "explore": phase.explore,
                    "cut_at": phase.cut_at,
                    # A step of its own for each: a deliberate cut drops the rest of its step.
                    "steps": [operation.step() for operation in phase.operations],
                }
                for phase in case.phases
            ],
        },
    }
