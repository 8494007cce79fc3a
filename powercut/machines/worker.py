"""The code in a worker of a cluster: one engine for each range of chunks, on a copy of the trace that is there once.

Only plain data goes back, and a failure is a sentence. An exception of ours would need powercut's classes to be
unpickled, and it would look to Dask as if the task were at fault.
"""

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from powercut.base import paths
from powercut.base.errors import PowercutError
from powercut.engine import engine, events
from powercut.machines.fitness import Facts, facts
from powercut.machines.ranges import Range


@dataclass(frozen=True, kw_only=True)
class Task:
    """A range of chunks to explore. The trace is known by its digest; its bytes are not here."""

    key: str
    chunks: Range
    digest: str
    #: After `explore --trace FILE`.
    words: tuple[str, ...]
    #: The folder that all machines share, if there is one.
    shared: str = ""


@dataclass(frozen=True, kw_only=True)
class Done:
    """The result of a task. `packets` is a checkpoint of the engine."""

    packets: bytes
    finished: tuple[int, ...]
    #: Why chunks are missing, or what else went wrong.
    troubles: tuple[str, ...] = ()
    seconds: float = 0.0
    #: Seconds before the first chunk was begun: the engine's start, and the way through the trace.
    walk: float = 0.0


@dataclass
class _Underway:
    chunks: Range
    began: float
    #: Chunks that are finished by now; chunks are begun in their order.
    finished: set[int] = field(default_factory=set)
    first_at: float = 0.0


_lock = threading.Lock()
_underway: dict[str, _Underway] = {}


def fit(library: str) -> Facts | str:
    """Returns the facts about this machine on which results could depend; a sentence where the target cannot be
    explored here."""
    try:
        return facts(paths.engine(), library)
    except PowercutError as error:
        return error.paragraph()


def explore(task: Task, trace: bytes | None, folder: str | None = None) -> Done:
    """Explores the range. `trace`: compressed as it is on disk, or None with a shared folder."""
    folder = folder or tempfile.gettempdir()
    try:
        path = Path(task.shared) / trace_name(task.digest) if task.shared else kept(trace or b"", task.digest, folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix="powercut-range.") as work, _noted(task) as state:
            return _explored(task, path, Path(work) / "chunks", state)
    except (PowercutError, OSError) as error:
        said = error.paragraph() if isinstance(error, PowercutError) else str(error)
        return Done(packets=b"", finished=(), troubles=(said,))


def _explored(task: Task, trace: Path, checkpoint: Path, state: _Underway) -> Done:
    arguments = ["explore", "--trace", str(trace), *task.words]
    arguments += ["--chunks", str(task.chunks), "--checkpoint", str(checkpoint)]
    troubles: list[str] = []
    walk = 0.0
    with contextlib.closing(_stream(arguments)) as stream:
        try:
            for event, _ in stream:
                if isinstance(event, events.Explored):
                    troubles += event.troubles
                    walk = event.stats.get("run", {}).get("walk", 0.0) + event.stats.get("run", {}).get("open", 0.0)
                if isinstance(event, events.ChunkFinished) and event.kept:
                    with _lock:
                        state.first_at = state.first_at or time.monotonic()
                        state.finished.add(event.number)
                        mine = range(state.chunks.first, state.chunks.end)
                        given_away = state.chunks != task.chunks and state.finished.issuperset(mine)
                    if given_away:
                        break  # another worker has the rest
        except PowercutError as error:
            # Chunks that the engine had finished are in the file all the same.
            troubles.append(error.paragraph())
    return Done(
        packets=checkpoint.read_bytes() if checkpoint.exists() else b"",
        finished=tuple(sorted(state.finished)),
        troubles=tuple(troubles),
        seconds=time.monotonic() - state.began,
        walk=walk,
    )


def _stream(arguments: list[str]) -> Generator[engine.StreamItem, None, None]:
    yield from engine.stream(paths.engine(), arguments)


@contextlib.contextmanager
def _noted(task: Task) -> Iterator[_Underway]:
    state = _Underway(task.chunks, time.monotonic())
    with _lock:
        _underway[task.key] = state
    try:
        yield state
    finally:
        with _lock:
            _underway.pop(task.key, None)


def left() -> dict[str, float]:
    """By key, about how many seconds the tasks of this process have left; those that cannot be split are not there."""
    now = time.monotonic()
    out = {}
    with _lock:
        for key, state in _underway.items():
            spare = _spare(state)
            if spare and state.finished:
                out[key] = (now - state.began) / len(state.finished) * len(spare)
    return out


def halve(key: str) -> tuple[int, int] | None:
    """Takes the second half of what a task has not begun from it; nothing where less than two chunks are left."""
    with _lock:
        state = _underway.get(key)
        spare = _spare(state) if state else None
        if state is None or spare is None:
            return None
        middle = spare.first + len(spare) // 2
        state.chunks = Range(state.chunks.first, middle)
        return middle, spare.end


def _spare(state: _Underway) -> Range | None:
    """The chunks behind the one that is being explored, where there is something to take."""
    begun = max(state.finished, default=state.chunks.first - 1) + 2
    return Range(begun, state.chunks.end) if state.chunks.end - begun >= 1 else None


def trace_name(digest: str) -> str:
    """Returns the name of the trace's file in a folder of traces."""
    return f"{digest}.pct"


def kept(trace: bytes, digest: str, folder: str) -> Path:
    """The trace as a file of this worker, written once."""
    path = Path(folder) / "powercut-traces" / trace_name(digest)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
            part.write(trace)
        os.replace(part.name, path)
    return path
