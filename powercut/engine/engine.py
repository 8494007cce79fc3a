"""Starts the native engine and yields its event stream.

The engine is always started with an argument list, in a process group of its own: a Ctrl-C in the
terminal reaches this process alone, which then stops every engine in order (`Interrupt`) and keeps what
they had found. A stream that stops without `end` is a `HarnessError`, whatever the exit status says:
an engine that died has judged nothing.
"""

import contextlib
import ctypes
import errno
import os
import select
import signal
import subprocess
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from powercut.base import paths, resources
from powercut.base.errors import EngineDied, HarnessError, NotApplicable, UsageError
from powercut.engine import engine_words, events

_LIBC = ctypes.CDLL(None)
#: <sys/personality.h>: asks what it is; ADDR_NO_RANDOMIZE.
_QUERY = 0xFFFFFFFF
_NO_RANDOMIZE = 0x0040000
#: ld.so(8): functions that are bound when they are first called would change memory while the target runs.
_BOUND_AT_ONCE = {"LD_BIND_NOW": "1"}
#: Names the descriptor by which an engine hears that this process has ended (base/descendants.h).
_CALLER = "POWERCUT_CALLER"
#: Seconds between asking an engine to stop and killing it.
GRACE_SECONDS = 5.0
_STDERR_LINES = 5
#: Seconds in which an engine ends that was asked to end at once.
_ENDING_SECONDS = 3.0
#: Seconds between two looks whether a silent engine still lives.
_SECONDS_PER_LOOK = 0.2

StreamItem = tuple[events.Event, dict[str, Any]]


class Interrupted(Exception):
    """The user asked to stop; the stream ended early because of that."""


class Interrupt:
    """Stops every running engine once, from any thread. Engines started afterwards stop at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._requested = False

    @property
    def requested(self) -> bool:
        """True from the first `request` on."""
        return self._requested

    def add(self, process: subprocess.Popen[str]) -> None:
        """Puts a running engine under this switch."""
        with self._lock:
            self._running.add(process)
            if self._requested:
                process.terminate()

    def discard(self, process: subprocess.Popen[str]) -> None:
        """The engine has ended."""
        with self._lock:
            self._running.discard(process)

    def request(self) -> None:
        """Asks every engine to stop, and ends those that have not after `GRACE_SECONDS`; at once the second time."""
        with self._lock:
            again, self._requested = self._requested, True
            for process in self._running:
                process.terminate()
        if again:
            self._kill()
            return
        timer = threading.Timer(GRACE_SECONDS, self._kill)
        timer.daemon = True
        timer.start()

    def _kill(self) -> None:
        with self._lock:
            running = list(self._running)
        for process in running:
            end_at_once(process)


def end_at_once(process: "subprocess.Popen[str]") -> None:
    """Ends an engine that need not finish anything. SIGHUP: it takes along what its target has started."""
    process.send_signal(signal.SIGHUP)
    if not _ends_within(process, _ENDING_SECONDS):
        process.kill()


def _ends_within(process: "subprocess.Popen[str]", seconds: float) -> bool:
    """Waits without looking again and again, as Popen.wait() does: thousands of engines end within a millisecond."""
    with contextlib.suppress(OSError):  # a kernel without it, or a process that somebody else has waited for
        ended = os.pidfd_open(process.pid)
        try:
            return bool(select.select([ended], [], [], seconds)[0])
        finally:
            os.close(ended)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.poll() is not None


def stream(
    engine: Path,
    arguments: Sequence[str],
    *,
    interrupt: Interrupt | None = None,
    under: tuple[Sequence[str], Mapping[str, str]] | None = None,
    cwd: Path | None = None,
    held: Sequence[int] = (),
) -> Generator[StreamItem, None, None]:
    """Runs `engine arguments…` and yields `(event, raw object)` as lines arrive. `under` is what starts it, with
    the environment: a command that takes another one (`powercut.program.valgrind`). `held` stays open as long as it.

    Raises UsageError or HarnessError for the engine's own `error` event. Raises HarnessError when the stream ends
    without `end`, and Interrupted when `interrupt` was requested before its end. Closing the generator kills the
    engine.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as diagnostics, _lives() as caller:
        process = _start(engine, arguments, diagnostics, under, cwd, held, caller)
        if interrupt:
            interrupt.add(process)
        try:
            for line in _lines(process):
                if not line.strip():
                    continue
                try:
                    event, raw = events.parse(line)
                except events.ProtocolError:
                    # A line cut short by the stop that we asked for is no protocol violation.
                    if interrupt and interrupt.requested:
                        raise Interrupted from None
                    raise
                if isinstance(event, events.EngineErrorEvent):
                    raise _reported(event, diagnostics)
                yield event, raw
                if isinstance(event, events.End):
                    if under:
                        # A tool that looks on from outside has its own files to complete.
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            process.wait(GRACE_SECONDS * 12)
                    return
            status = process.wait()
            if interrupt and interrupt.requested:
                raise Interrupted
            raise _died(arguments, status, diagnostics)
        finally:
            if interrupt:
                interrupt.discard(process)
            if process.poll() is None:
                end_at_once(process)
            if process.stdout is not None:
                process.stdout.close()
            process.wait()


def _lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    """The lines that a process writes, until it has ended.

    The pipe alone does not tell when: a process that the target has started may hold it open after the engine was
    killed. Once the engine is seen to be dead, all that it wrote is in the pipe.
    """
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    rest: list[bytes] = []  # of a line that may be long
    while True:
        dead = process.poll() is not None
        ready, _, _ = select.select([pipe], [], [], 0 if dead else _SECONDS_PER_LOOK)
        chunk = os.read(pipe, 1 << 16) if ready else b""
        rest.append(chunk)
        if b"\n" in chunk:
            *lines, last = b"".join(rest).split(b"\n")
            rest = [last]
            for line in lines:
                yield line.decode("utf-8", "replace")
        if not chunk and (ready or dead):
            break
    yield b"".join(rest).decode("utf-8", "replace")


def single(
    engine: Path,
    arguments: Sequence[str],
    kind: type[events.Event],
    *,
    interrupt: Interrupt | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    held: Sequence[int] = (),
    before: Sequence[str] = (),
) -> StreamItem:
    """Runs a command that answers with one event of type `kind`, and returns that event.

    `before`: words in front of the engine's own, such as a program that starts it; with `environment` alone.
    """
    answer: StreamItem | None = None
    under = (before, environment) if environment is not None else None
    for event, raw in stream(engine, arguments, interrupt=interrupt, under=under, cwd=cwd, held=held):
        if isinstance(event, kind):
            answer = (event, raw)
    if answer is None:
        raise HarnessError(
            f"the engine ended without answering '{arguments[0]}'",
            where=str(engine),
            next_step=f"Engine and CLI are probably of different builds. {paths.BUILD}",
        )
    return answer


def _start(
    engine: Path,
    arguments: Sequence[str],
    diagnostics: IO[str],
    under: tuple[Sequence[str], Mapping[str, str]] | None,
    cwd: Path | None,
    held: Sequence[int],
    caller: int,
) -> subprocess.Popen[str]:
    before, environment = under or ((), {**os.environ, **_BOUND_AT_ONCE})
    environment = {**environment, _CALLER: f"{caller:010}"}  # of one length: addresses on the stack stay the same
    try:
        with contextlib.nullcontext() if under else _fixed_addresses():
            return subprocess.Popen(
                [*before, os.fspath(engine), *arguments],
                env=environment,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=diagnostics,
                text=True,
                encoding="utf-8",
                errors="replace",
                process_group=0,
                pass_fds=(*held, caller),
            )
    except OSError as error:
        raise UsageError(
            f"the engine does not start ({error.strerror})",
            where=str(engine),
            next_step=resources.advice(error.errno) or paths.BUILD_STEP,
        ) from error


@contextlib.contextmanager
def _lives() -> Iterator[int]:
    """One end of a pipe, for an engine, whose other end is closed when this process ends, in whatever way."""
    theirs, ours = os.pipe()
    try:
        yield theirs
    finally:
        os.close(theirs)
        os.close(ours)


@contextlib.contextmanager
def _fixed_addresses() -> Iterator[None]:
    """Programs that this thread starts meanwhile have their memory at the same addresses each time (personality(2) of
    one thread).

    An engine needs that, and starts itself once more where it is not so (base/repeatable_process.h): a fifth of the
    time of a small run. Where the system forbids it, the engine says what follows.
    """
    before = _LIBC.personality(ctypes.c_ulong(_QUERY))
    if before == -1:
        yield
        return
    _LIBC.personality(ctypes.c_ulong(before | _NO_RANDOMIZE))
    try:
        yield
    finally:
        _LIBC.personality(ctypes.c_ulong(before))


def _reported(event: events.EngineErrorEvent, diagnostics: IO[str]) -> UsageError | HarnessError:
    if event.kind == "usage":
        what, where, next_step = engine_words.usage(event.what, event.where, event.next)
        if event.needs:
            return NotApplicable(what, where=where, next_step=next_step, needs=event.needs)
        return UsageError(what, where=where, next_step=next_step)
    # A target that ends the process says why on its standard error: an assertion, for instance.
    what, where = f"{engine_words.told(event.what)}{_said(diagnostics)}", engine_words.told(event.where)
    next_step = engine_words.next_step(event.what, event.next) or "Please report this."
    return HarnessError(what, where=where, next_step=next_step)


def _said(diagnostics: IO[str]) -> str:
    """The last lines of the engine's standard error, which is its target's too; empty where there are none."""
    diagnostics.seek(0)
    tail = " | ".join(line.strip() for line in diagnostics.readlines()[-_STDERR_LINES:] if line.strip())
    return f"; it said: {tail}" if tail else ""


def _died(arguments: Sequence[str], status: int, diagnostics: IO[str]) -> EngineDied:
    how = f"exit status {status}"
    if status < 0:
        try:
            how = f"signal {signal.Signals(-status).name}"
        except ValueError:
            how = f"signal {-status}"
    said, next_step = _said(diagnostics), "Run it again with --jobs 1, and report this."
    if status == -signal.SIGXFSZ:
        said, next_step = "; a file would be larger than allowed", resources.advice(errno.EFBIG)
    elif limit := resources.memory_limit():
        said, next_step = f"{said}; {limit}", "Raise the limit and run it again."
    return EngineDied(
        f"the engine died ({how}) before it finished '{arguments[0]}'{said}",
        where="powercut-engine",
        next_step=f"Its findings are kept; the verdict is unknown. {next_step}",
        how=how,
    )
