"""Where the chunks of a trace are explored: the one seam between a run and what carries it out.

`Here` is the default: the engine explores all chunks itself. Others (`powercut.machines`) have them explored before,
on as many machines as there are, and give the engine files that hold the results. The engine then walks the trace as
ever, finds each chunk finished, and adds up in the order of chunks: so a run's result cannot depend on who explored
what, and a chunk that nobody has finished is explored here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from powercut.engine import engine, events
from powercut.engine.options import ExploreOptions


@dataclass(frozen=True, kw_only=True)
class Exploring:
    """One trace to explore."""

    #: Name of the run, unique within its output folder.
    name: str
    trace: Path
    options: ExploreOptions
    engine_path: Path
    #: For files of this run that --resume goes on from; None: nothing is kept.
    folder: Path | None = None
    resume: bool = False
    interrupt: engine.Interrupt = field(default_factory=engine.Interrupt)
    progressed: Callable[[events.Progress], None] = lambda progress: None

    def words(self) -> list[str]:
        """The engine's command line, with one worker: several ranges run side by side."""
        return ["explore", "--trace", str(self.trace), *self.options.with_jobs(1).arguments()]

    def listed(self) -> events.Chunks:
        """The chunks of the trace. UsageError or HarnessError where it cannot be read."""
        arguments = [*self.words(), "--list-chunks"]
        event, _ = engine.single(self.engine_path, arguments, events.Chunks, interrupt=self.interrupt)
        assert isinstance(event, events.Chunks)
        return event


class Machines(Protocol):
    """Explores chunks somewhere. Called from several threads, one for each run."""

    def explored(self, exploring: Exploring) -> Sequence[Path]:
        """Files of finished chunks (checkpoints of the engine); engine.Interrupted when the user asked to stop."""
        ...


class Here:
    """Nobody explores ahead: the engine of the run does it all."""

    def explored(self, exploring: Exploring) -> Sequence[Path]:
        del exploring
        return ()
