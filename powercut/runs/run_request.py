"""The request for one run, the context that the runs of a command share, and the listener that hears of their
progress."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from powercut.engine import engine, events
from powercut.engine.options import ExploreOptions
from powercut.findings.failures import Failures
from powercut.findings.store import FindingStore
from powercut.program.program import Program
from powercut.runs.machines import Here, Machines
from powercut.scenarios.scenario import Scenario
from powercut.symbols.symbolize import Symbolizer
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord, Since

DEFAULT_TRACER = "llvm"


class Listener(Protocol):
    """Hears how the runs get on; called from several threads."""

    def started(self, order: int, name: str) -> None: ...
    def phase(self, order: int, name: str) -> None: ...
    def progressed(self, order: int, progress: events.Progress, found: int) -> None: ...
    def found(self, order: int, finding: FindingRecord) -> None: ...
    def ended(self, order: int) -> None: ...
    def announced(self, order: int, sentence: str) -> None: ...


class Silent:
    """A listener that says nothing."""

    def started(self, order: int, name: str) -> None:
        pass

    def phase(self, order: int, name: str) -> None:
        pass

    def progressed(self, order: int, progress: events.Progress, found: int) -> None:
        pass

    def found(self, order: int, finding: FindingRecord) -> None:
        pass

    def ended(self, order: int) -> None:
        pass

    def announced(self, order: int, sentence: str) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Request:
    """One run: `plan` or `program` is recorded and explored, or `trace`, with the recovery of `program`."""

    name: str  # for people: "level:hardened insert"
    #: For file names, unique within a command; of an explored trace, None: its names are in the trace.
    slug: str | None
    options: ExploreOptions
    plan: dict[str, Any] | None = None
    #: The scenario of the plan, if there is one: it may make claims of its own.
    scenario: Scenario | None = None
    program: Program | None = None
    trace: Path | None = None
    #: True if the user did not name this scenario: it is set aside when it does not fit the target (`applicability`).
    optional: bool = False
    #: Whether what is claimed of the target is checked as well.
    claims: bool = True
    #: The tracer that records `plan`: one of `TRACERS`.
    tracer: str = DEFAULT_TRACER
    #: Fields of the run record that are known beforehand.
    header: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Context:
    """The context that the runs of one command share."""

    engine_path: Path
    out: Path
    store: FindingStore
    symbolizer: Symbolizer
    interrupt: engine.Interrupt = field(default_factory=engine.Interrupt)
    listener: Listener = field(default_factory=Silent)
    #: Whether runs keep finished chunks on disk, and whether they begin with the chunks that an earlier command kept.
    checkpoints: bool = False
    resume: bool = False
    #: Where chunks are explored before the engine of the run adds up.
    machines: Machines = field(default_factory=Here)
    #: Adds to a run record before it is written; called from several threads.
    mark: Callable[[RunRecord], None] = lambda run: None
    #: Where earlier runs went wrong; None: neither replayed nor kept.
    failures: Failures | None = None
    #: Earlier verdicts, for --since; None: nothing is kept or taken.
    cache: "Cache | None" = None
    #: False: a recording is kept for --resume, but no finished chunks of the exploration.
    chunks: bool = True


class Cache(Protocol):
    """Keeps complete runs by their keys (`run_cache`); called from several threads."""

    def recall(self, request: Request) -> tuple[RunRecord | None, Since | None]: ...
    def settled(self, request: Request, run: RunRecord) -> None: ...
