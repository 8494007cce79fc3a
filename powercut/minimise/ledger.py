"""Questions to the engine: every case once, and no more cases than the limits allow."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

#: A question, and its answer.
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Where a search ends, whether or not it could go on."""

    #: Cases recorded (and explored).
    considered: int | None = 3000
    #: Wall clock. A search that it ends is not repeatable, and says so.
    seconds: float | None = None
    #: Runs of recovery that exploring one candidate may take.
    executions: int = 20_000


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a search has come."""

    considered: int
    operations: int


class LimitReached(Exception):
    """The search stops here; its best case stands. The message names the limit."""


class Ledger(Generic[Asked, Answer]):
    """Answers to cases, for a search and its branches."""

    def __init__(
        self,
        examine: Callable[[Asked], Answer],
        *,
        limits: Limits | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        considered: int = 0,
    ) -> None:
        """`considered` counts what was asked before."""
        self.considered = considered
        #: Operations of the smallest case so far.
        self.operations = 0
        self._examine = examine
        self._limits = limits or Limits()
        self._on_progress = on_progress
        self._known: dict[Asked, Answer] = {}
        self._deadline = None if self._limits.seconds is None else time.monotonic() + self._limits.seconds

    def knows(self, case: Asked, seen: Answer) -> None:
        """This was asked before."""
        self._known[case] = seen

    def ask(self, case: Asked) -> Answer:
        """Returns the result of `case`. Raises LimitReached."""
        if case not in self._known:
            self._refuse_more()
            self._known[case] = self._examine(case)
            self.considered += 1
            self._on_progress(Progress(considered=self.considered, operations=self.operations))
        return self._known[case]

    def _refuse_more(self) -> None:
        if self._limits.considered is not None and self.considered >= self._limits.considered:
            raise LimitReached(f"the search ended after {self.considered} candidates, its limit")
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise LimitReached(f"the search ended after {self._limits.seconds:g} s, its limit")
