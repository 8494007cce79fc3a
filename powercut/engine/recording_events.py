"""Events of commands that make a trace, or make something else of one: recording, converting, importing, exporting."""

from typing import Literal

from pydantic import Field

from powercut.engine.event_base import EngineEvent, Module, RawStack


class Recorded(EngineEvent):
    event: Literal["recorded"]
    trace: str
    events: int
    operations: int = 0
    bytes: int = 0
    marks: dict[str, int] = Field(default_factory=dict)
    marks_missing: list[str] = Field(default_factory=list)
    externals: list[str] = Field(default_factory=list)
    seconds: float = 0.0
    counters: dict[str, dict[str, float]] = Field(default_factory=dict)
    lines_read: dict[str, int] = Field(default_factory=dict)


class Driven(EngineEvent):
    event: Literal["driven"]
    marks: dict[str, int] = Field(default_factory=dict)


class StreamPool(EngineEvent):
    path: str
    offset: int
    size: int
    address: int = 0
    mapped: bool = False


class StreamNote(EngineEvent):
    kind: str
    text: str


class Converted(EngineEvent):
    event: Literal["converted"]
    trace: str
    events: int
    operations: int = 0
    bytes: int = 0
    stores: int = 0
    pools: list[StreamPool] = Field(default_factory=list)
    #: {"status": n} or {"signal": n}; None: the program was killed, and the stream stops where it was.
    exit: dict[str, int] | None = None
    notes: list[StreamNote] = Field(default_factory=list)
    #: Changes of the pools that the trace has no stores for.
    unseen: list[str] = Field(default_factory=list)
    #: Counts of acknowledging lines: all, those that left together with others, those behind all that was recorded.
    acknowledged: dict[str, int] = Field(default_factory=dict)
    counters: dict[str, dict[str, float]] = Field(default_factory=dict)
    seconds: float = 0.0


class Scheduled(EngineEvent):
    """A threaded program's run in many schedules."""

    event: Literal["scheduled"]
    trace: str
    #: Status of the first schedule; a negative one is a signal, as in `subprocess`.
    status: int
    #: Why the first schedule was ended from outside; empty: it was not.
    stalled: str = ""
    stdout: str = ""
    stderr: str = ""
    events: int = 0
    pools: list[StreamPool] = Field(default_factory=list)
    notes: list[StreamNote] = Field(default_factory=list)
    #: Files beside the pools that the first schedules have changed.
    other_files: list[str] = Field(default_factory=list)
    #: Folder in which the engine has worked.
    folder: str = ""
    seconds: float = 0.0


class LogPool(EngineEvent):
    """A pool file that a pmemcheck log registers."""

    path: str
    size: int
    address: int
    #: Whether an import was given its bytes from before the run.
    content_known: bool = False


class Imported(EngineEvent):
    event: Literal["imported"]
    trace: str
    events: int
    entries: int
    markers: int
    stores_outside: int
    flushes_outside: int
    unnamed_frames: int
    pools: list[LogPool]


class Exported(EngineEvent):
    event: Literal["exported"]
    log: str
    entries: int
    threads: int
    content_bytes: int
    pools: list[LogPool]


class StoreFrames(EngineEvent):
    event: Literal["store_frames"]
    modules: list[Module]
    frames: RawStack
