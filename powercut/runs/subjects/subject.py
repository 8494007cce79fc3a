"""A subject: it runs on the crash images of a run. Callers ask the subject, and never what kind of subject it is."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from powercut.claims.run import RunClaims
from powercut.engine import engine
from powercut.findings.checkpoints import Checkpoint
from powercut.program.program import Program
from powercut.runs.run_request import Context, Request
from powercut_records.finding import FindingRecord


@dataclass(frozen=True, kw_only=True)
class Exploring:
    """One exploration of a trace, for a subject."""

    request: Request
    trace: Path
    context: Context
    checkpoint: Checkpoint | None
    #: Number of the run, for the listener.
    order: int
    #: Name for files that the exploration leaves.
    name: str
    #: Seconds of the budget that are over.
    spent: float


@dataclass(frozen=True, kw_only=True)
class Replaying:
    """One replay of a finding, for a subject."""

    finding: FindingRecord
    #: File of the finding's record.
    file: Path
    context: Context
    #: File for the crash image; None: nobody asks for the image.
    image_out: Path | None
    watchdog: float | None
    step_budget: int | None


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The result of replaying a finding."""

    held: bool
    fresh_trace: bool
    finding: FindingRecord
    #: The invariant that the crash image violates now; after a change of the code it may be another one.
    invariant: str
    message: str
    #: Files that the image was written to.
    files: tuple[str, ...] = ()


class Subject(ABC):
    """Data and actions in which subjects differ."""

    #: Word for tables of rooms that have a part of their own for each subject.
    word: ClassVar[str]
    #: Whether exploring goes by chunks, which can be kept, shared out to machines, and given time in rounds.
    in_chunks: ClassVar[bool]
    #: Whether recording once more makes the same trace: then a run can be known again, and a finding be replayed.
    recorded_alike: ClassVar[bool]
    #: Strategy of all its explorations; None: the options choose one.
    strategy: ClassVar[str | None] = None
    #: Phase between recording and exploring, for people.
    first_phase: ClassVar[str] = ""
    #: Whether findings are explained within a budget of time that nobody has split.
    explained_in_budget: ClassVar[bool] = False
    #: Whether recovery runs in the engine: images are judged quickly, drawn, and edits of a trace reach recovery.
    in_engine: ClassVar[bool]
    #: Part of a search's time that one exploration of the search may take; None: all that is left.
    part_of_search: ClassVar[float | None] = None

    #: Program whose commands judge; None: the trace names the library that does.
    program: Program | None = None

    @abstractmethod
    def record(
        self, request: Request, trace: Path, made: RunClaims, *, context: Context, checkpoint: Checkpoint | None
    ) -> dict[str, Any]:
        """Records into `trace`, unless there is a run to go on with that has recorded the same trace."""

    @abstractmethod
    def explore(self, exploring: Exploring) -> Iterator[engine.StreamItem]:
        """Yields the events of an exploration."""

    @abstractmethod
    def judge(
        self, engine_path: Path, arguments: list[str], *, seconds: float | None, interrupt: engine.Interrupt | None
    ) -> Iterator[engine.StreamItem]:
        """Yields the answers about images that `arguments` name, within `seconds` where judging may take long."""

    @abstractmethod
    def reproduce(self, replaying: Replaying) -> Reproduction:
        """Replays a finding on its trace, or on another recording where that shows the same."""

    @abstractmethod
    def has_threads(self, finding: FindingRecord) -> bool:
        """Whether the finding is of one schedule in a tree of schedules."""

    @abstractmethod
    def to_explain(self, finding: FindingRecord, file: Path) -> FindingRecord:
        """The record of `file` as a search for its cause wants it. UsageError where there is nothing to search in."""

    @abstractmethod
    def refuse_shortening(self, finding: FindingRecord) -> None:
        """UsageError for a finding whose plan cannot be recorded again, smaller."""
