"""The engine's event stream (reports/EVENTS.md) as typed, immutable values.

`parse` turns one line into one event. Unknown events become `Unknown`, and unknown fields are dropped
from the typed view: a newer engine of the same version stays readable. A line that is not JSON, or lacks a
field that this version promises, is a `ProtocolError`: a broken harness, never a finding.
"""

import json
from typing import Any, Literal, get_args

from pydantic import ValidationError

from powercut.base import paths
from powercut.base.errors import HarnessError
from powercut.engine.asking_events import (
    Audited,
    Described,
    Difference,
    Edited,
    FaultFinding,
    FaultResult,
    FaultTrace,
    Imaged,
    ImageRun,
    ImageViolation,
    Judged,
    Measured,
    MeasuredAt,
    RecoverySite,
    Reproduced,
    ScheduleWritten,
    TargetDescription,
    TargetDevice,
    Violation,
)
from powercut.engine.event_base import EngineEvent, Module, RawStack, Verdict
from powercut.engine.exploring_events import (
    ChunkFinished,
    Chunks,
    Coverage,
    CoveredOperations,
    Explored,
    FilesFinding,
    Finding,
    FindingOperation,
    FindingQuery,
    FindingStore,
    LoadedModule,
    Machine,
    PerformanceBug,
    Persisting,
    ProfileResult,
    Progress,
    Result,
    RunStarted,
    Schedules,
)
from powercut.engine.recording_events import (
    Converted,
    Driven,
    Exported,
    Imported,
    LogPool,
    Recorded,
    Scheduled,
    StoreFrames,
    StreamNote,
    StreamPool,
)

EVENTS_VERSION = 3

#: How modules begin that are no files: frames of a pmemcheck log, "pmemcheck:main (a.c:9)".
LOG_MODULE = "pmemcheck:"


class ProtocolError(HarnessError):
    """The engine wrote something that this version of the stream does not allow."""

    def __init__(self, what: str, line: str) -> None:
        shown = line if len(line) <= 120 else line[:117] + "..."
        super().__init__(
            f"{what}: {shown}",
            where="powercut-engine",
            next_step=f"Engine and CLI are probably of different builds. {paths.BUILD}",
        )


class Hello(EngineEvent):
    event: Literal["hello"]
    version: int
    engine: str = ""
    command: str = ""


class Modules(EngineEvent):
    event: Literal["modules"]
    modules: list[Module]


class TreePoint(EngineEvent):
    side: Literal["before", "during", "after"]
    call: int
    #: A decimal number; None where counting takes too long.
    trees: str | None


class Trees(EngineEvent):
    event: Literal["trees"]
    profile: str
    crash_points: list[TreePoint]


class EngineErrorEvent(EngineEvent):
    event: Literal["error"]
    kind: Literal["usage", "harness"]
    what: str
    where: str = ""
    next: str = ""
    #: The thing that the scenario needs and the target lacks, where nothing else is wrong.
    needs: str = ""


class End(EngineEvent):
    event: Literal["end"]
    exit: int = 0


class Unknown(EngineEvent):
    event: str


Known = (
    Hello
    | Modules
    | Recorded
    | Driven
    | Converted
    | Scheduled
    | Imaged
    | RunStarted
    | Progress
    | Finding
    | Persisting
    | PerformanceBug
    | Result
    | Chunks
    | ChunkFinished
    | Explored
    | Machine
    | EngineErrorEvent
    | End
    | Described
    | Reproduced
    | Edited
    | ScheduleWritten
    | Judged
    | RecoverySite
    | Difference
    | Audited
    | FaultFinding
    | FaultTrace
    | FaultResult
    | Imported
    | Exported
    | StoreFrames
    | Measured
    | Trees
)
Event = Known | Unknown

#: The class of each event, by the event's name.
_KINDS: dict[str, type[Known]] = {get_args(kind.model_fields["event"].annotation)[0]: kind for kind in get_args(Known)}


def parse(line: str) -> tuple[Event, dict[str, Any]]:
    """One line of the stream: the typed event and the object as it was written."""
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise ProtocolError("this line of the event stream is not JSON", line) from error
    if not isinstance(raw, dict) or not isinstance(raw.get("event"), str):
        raise ProtocolError("this line of the event stream has no 'event'", line)
    if (kind := _KINDS.get(raw["event"])) is None:
        return Unknown.model_validate(raw), raw
    try:
        event = kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ProtocolError(f"event '{raw['event']}' has a bad field '{place}' ({first['msg']})", line) from error
    if isinstance(event, Hello) and event.version != EVENTS_VERSION:
        raise ProtocolError(f"event stream version {event.version}, this build reads {EVENTS_VERSION}", line)
    return event, raw


__all__ = [
    "EVENTS_VERSION",
    "LOG_MODULE",
    "Audited",
    "ChunkFinished",
    "Chunks",
    "Converted",
    "Coverage",
    "CoveredOperations",
    "Described",
    "Difference",
    "Driven",
    "Edited",
    "End",
    "EngineErrorEvent",
    "Event",
    "Explored",
    "Exported",
    "FaultFinding",
    "FaultResult",
    "FaultTrace",
    "FilesFinding",
    "Finding",
    "FindingOperation",
    "FindingQuery",
    "FindingStore",
    "Hello",
    "ImageRun",
    "ImageViolation",
    "Imaged",
    "Imported",
    "Judged",
    "Known",
    "LoadedModule",
    "LogPool",
    "Machine",
    "Measured",
    "MeasuredAt",
    "Module",
    "Modules",
    "PerformanceBug",
    "Persisting",
    "ProfileResult",
    "Progress",
    "ProtocolError",
    "RawStack",
    "Recorded",
    "RecoverySite",
    "Reproduced",
    "Result",
    "RunStarted",
    "ScheduleWritten",
    "Scheduled",
    "Schedules",
    "StoreFrames",
    "StreamNote",
    "StreamPool",
    "TargetDescription",
    "TargetDevice",
    "Unknown",
    "Verdict",
    "Violation",
    "parse",
]
