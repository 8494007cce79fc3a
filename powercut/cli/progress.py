"""How runs get on, on stderr: bars on a terminal, elsewhere a plain line now and then; and findings as they come.

A run's report is printed when the run ends and the reports of earlier runs are printed. A finding that waits longer
than `PATIENCE` is told in one line. This line also stays in the log of a run that was killed. The finding's file is on
disk before.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

from powercut.cli import talk
from powercut.cli.streams import Watched
from powercut.engine import events
from powercut.runs.run_request import Listener
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord
from powercut_reports import closing

if TYPE_CHECKING:
    from rich.progress import TaskID

#: Seconds between two lines without a terminal.
EVERY = 10.0
#: Seconds that a finding waits for the report of its run before it is told by itself.
PATIENCE = 2.0
_TICK = 0.5
_NAMED = 2


def compact(number: int) -> str:
    """A count of any size in a few characters: 987, 12.3k, 4.5M, 1.2e40."""
    for limit, unit in ((10**3, ""), (10**6, "k"), (10**9, "M"), (10**12, "G")):
        if number < limit:
            return str(number) if not unit else f"{number * 1000 / limit:.1f}{unit}"
    digits = str(number)
    return f"{digits[0]}.{digits[1]}e{len(digits) - 1}"


class Shown(Listener, Protocol):
    """A listener that shares the terminal with the reports of the runs."""

    def paused(self) -> Any: ...
    def reported(self, run: RunRecord) -> None: ...


class _Early:
    """Findings of runs without a report so far, each told once, when it has waited long enough."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waiting: list[tuple[float, tuple[str, ...], str]] = []
        self._seen: set[str] = set()

    def add(self, finding: FindingRecord) -> None:
        if finding.fingerprint not in self._seen:
            self._seen.add(finding.fingerprint)
            self._waiting.append((self._clock() + PATIENCE, _run_of(finding), closing.render_line(finding)))

    def reported(self, run: RunRecord) -> None:
        self._waiting = [item for item in self._waiting if item[1] != _run_of(run)]

    def due(self) -> list[str]:
        now = self._clock()
        lines = [line for at, _, line in self._waiting if at <= now]
        self._waiting = [item for item in self._waiting if item[0] > now]
        return lines


def _run_of(record: FindingRecord | RunRecord) -> tuple[str, ...]:
    return record.target, record.variant, record.scenario


class _Ticking:
    """Runs a function twice a second, until the end of the block."""

    def __init__(self, tick: Callable[[], None]) -> None:
        self._tick = tick
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_TICK):
            self._tick()


class _Announcing:
    """Lines that every listener says: findings before their run's report, and sentences."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._early = _Early(clock)

    def found(self, order: int, finding: FindingRecord) -> None:
        del order
        with self._lock:
            self._early.add(finding)

    def reported(self, run: RunRecord) -> None:
        """The report of the run, with its findings, was printed."""
        with self._lock:
            self._early.reported(run)

    def announced(self, order: int, sentence: str) -> None:
        del order
        self._say(sentence)


class Bars(_Announcing):
    """One bar for every run in progress: crash points done, states a second, findings, time left."""

    def __init__(self) -> None:
        # Loaded here: without a terminal there are no bars.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[found]}"),
            TimeRemainingColumn(),
            console=Console(file=cast(TextIO, Watched(sys.stderr))),
            transient=True,
        )
        self._tasks: dict[int, TaskID] = {}
        self._names: dict[int, str] = {}
        super().__init__(self._print, time.monotonic)
        self._ticking = _Ticking(self._tick)

    def __enter__(self) -> "Bars":
        self._bars.start()
        self._ticking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ticking.stop()
        self._bars.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Takes the bars off the terminal while something is printed."""
        self._bars.stop()
        try:
            yield
        finally:
            self._bars.start()

    def started(self, order: int, name: str) -> None:
        with self._lock:
            self._names[order] = name
            self._tasks[order] = self._bars.add_task(name, total=None, rate="-", found="")

    def phase(self, order: int, name: str) -> None:
        with self._lock:
            called = self._names[order]
            self._bars.update(self._tasks[order], description=f"{called} ({name})" if name else called)

    def progressed(self, order: int, progress: events.Progress, found: int) -> None:
        if progress.phase:
            self.phase(order, progress.phase)
        with self._lock:
            self._bars.update(
                self._tasks[order],
                completed=progress.crash_points,
                total=progress.of,
                rate=_rate(progress),
                found=f"{found} findings" if found else "",
            )

    def ended(self, order: int) -> None:
        with self._lock:
            task = self._tasks.pop(order, None)
            if task is not None:
                self._bars.remove_task(task)

    def _tick(self) -> None:
        with self._lock:
            lines = self._early.due()
        for line in lines:
            self._say(line)

    def _print(self, line: str) -> None:
        self._bars.console.print(line, markup=False, highlight=False, soft_wrap=True)


@dataclass
class _Underway:
    name: str
    phase: str = ""
    progress: events.Progress | None = None


class Lines(_Announcing):
    """Without a terminal: a line every `EVERY` seconds, for readers of a log that grows."""

    def __init__(
        self,
        *,
        of: int | None = None,
        say: Callable[[str], None] = talk.say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(say, clock)
        self._of = of
        self._clock = clock
        self._began = clock()
        self._next = self._began + EVERY
        self._underway: dict[int, _Underway] = {}
        self._ended: set[int] = set()
        self._found: set[tuple[str, str, str]] = set()
        self._ticking = _Ticking(self.tick)

    def __enter__(self) -> "Lines":
        self._ticking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ticking.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Lines need no terminal for themselves."""
        yield

    def started(self, order: int, name: str) -> None:
        with self._lock:
            self._underway[order] = _Underway(name)
            self._ended.discard(order)  # a run with a budget of time is begun several times

    def phase(self, order: int, name: str) -> None:
        with self._lock:
            if order in self._underway:
                self._underway[order].phase = name

    def found(self, order: int, finding: FindingRecord) -> None:
        super().found(order, finding)
        with self._lock:
            self._found.add(finding.counted_as)

    def reported(self, run: RunRecord) -> None:
        super().reported(run)
        with self._lock:  # a run of the cache has announced none
            self._found |= {finding.counted_as for finding in run.findings}

    def progressed(self, order: int, progress: events.Progress, found: int) -> None:
        del found  # of this run alone, and what several runs show is one finding
        with self._lock:
            if run := self._underway.get(order):
                run.progress = progress
                run.phase = progress.phase or run.phase

    def ended(self, order: int) -> None:
        with self._lock:
            if self._underway.pop(order, None):
                self._ended.add(order)

    def tick(self) -> None:
        """Says what is due."""
        with self._lock:
            lines = self._early.due()
            now = self._clock()
            if now >= self._next and self._underway:
                lines.append(self._line(now))
                self._next = now + EVERY
        for line in lines:
            self._say(line)

    def _line(self, now: float) -> str:
        done = f"{len(self._ended)} done"
        if self._of is not None:  # explanations have orders beyond those of the runs
            explored = sum(order < self._of for order in self._ended)
            causes = len(self._ended) - explored
            done = f"{explored} of {self._of} runs explored"
            done += f", {causes} cause{'s' * (causes != 1)} looked for" if causes else ""
        runs = list(self._underway.values())
        named = [f"{run.name}{_reached(run)}" for run in runs[:_NAMED]]
        more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
        found = len(self._found)
        told = f", {found} finding{'s' * (found != 1)} so far" if found else ""
        return f"powercut: {now - self._began:.0f} s, {done}; under way: {', '.join(named)}{more}{told}"


def _reached(run: _Underway) -> str:
    progress = run.progress
    if progress is None:
        return f" ({run.phase})" if run.phase else ""
    parts = [f"{progress.crash_points} of {progress.of} crash points", f"{compact(int(progress.crash_states))} states"]
    if progress.phase == "observing":
        parts = []  # none was looked at yet
    parts += [f"{compact(progress.executions + progress.repeats)} runs", _rate(progress)] if progress.phase else []
    return f" ({': '.join(filter(None, (run.phase, ', '.join(parts))))})"


def _rate(progress: events.Progress) -> str:
    """A run of a program's recovery takes a while, and counts; of a target, crash states do."""
    runs = progress.executions + progress.repeats
    done, what = (runs, "runs") if progress.phase else (int(progress.crash_states), "states")
    return f"{compact(done * 1000 // max(1, int(progress.seconds * 1000)))} {what}/s"


@contextmanager
def shown(of: int | None = None) -> Iterator[Shown]:
    """A listener for `of` runs: bars when stderr is a terminal, lines otherwise."""
    with Bars() if sys.stderr.isatty() else Lines(of=of) as listener:
        yield listener
