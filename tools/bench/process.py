"""Cost of one recording and one exploration: wall clock, processor time, and the peak of memory of all processes.

Processor time is steadier than the wall clock on a machine that has other work.

Memory is the sum of the proportional set sizes of the engine's process group, sampled: a page that several workers
share counts once. A peak between two samples can be missed. Samples are a tenth of a second apart, or more where taking
one is slow: sampling costs at most a twentieth of a core.
"""

import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError
from powercut.engine import engine, events
from powercut.engine.options import ExploreOptions
from powercut.runs import plan_recording, runner
from powercut.runs.run_request import Request
from powercut.scenarios import plan
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.targets import Target

_SAMPLE_SECONDS = 0.1
_MOST_SHARE = 0.05


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One workload: the run record, and what it took."""

    run: dict[str, Any]
    record_seconds: float
    seconds: float  # of the exploration
    cpu_seconds: float  # of all its processes
    record_peak: int  # bytes
    peak: int


def rows_of(
    target: Target,
    cases: Mapping[int, Scenario],
    row: Callable[[int, Path], dict[str, Any]],
    *,
    variant: str,
) -> list[dict[str, Any]]:
    """A row for each case, of its number and the trace of its recording."""
    with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
        rows = []
        for number, scenario in cases.items():
            trace = Path(folder) / f"{number}.pct"
            record(plan.build(target, variant=variant, scenario=scenario, seed=1), trace)
            rows.append(row(number, trace))
    return rows


class PeakMemory(engine.Interrupt):
    """Watches the processes of an engine while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, process: subprocess.Popen[str]) -> None:
        super().add(process)
        self._ended.clear()
        self._thread = threading.Thread(target=self._watch, args=(process.pid,), daemon=True)
        self._thread.start()

    def discard(self, process: subprocess.Popen[str]) -> None:
        super().discard(process)
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, group: int) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            began = time.monotonic()
            self.peak = max(self.peak, sum(_proportional_bytes(pid) for pid in _members(group)))
            pause = max(_SAMPLE_SECONDS, (time.monotonic() - began) / _MOST_SHARE)


def _members(group: int) -> Iterator[int]:
    """The processes of a process group, without those that end while they are read."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # "pid (name) state ppid pgrp ...": a name may hold blanks and parentheses.
            fields = (folder / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            yield int(folder.name)


def _proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0  # it has ended
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _children_seconds() -> float:
    """Processor time of every process that was started from here and has ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(plan: dict[str, Any], *, options: ExploreOptions) -> Measured:
    """Records `plan`, then explores the trace; HarnessError when either fails."""
    with (
        tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder,
        runner.open_context(paths.engine(), Path(folder)) as context,
    ):
        trace = Path(folder) / "run.pct"
        recording, exploring = PeakMemory(), PeakMemory()
        began = time.monotonic()
        plan_recording.record(plan, trace, context=replace(context, interrupt=recording))
        recorded, cpu = time.monotonic(), _children_seconds()
        request = Request(name="bench", slug="bench", options=options, trace=trace)
        run = runner.run_one(request, replace(context, interrupt=exploring))
        ended, cpu = time.monotonic(), _children_seconds() - cpu
    if run.error:
        raise HarnessError(run.error.what, where=run.error.where, next_step=run.error.next)
    return Measured(
        run=run.as_json(),
        record_seconds=recorded - began,
        seconds=ended - recorded,
        cpu_seconds=cpu,
        record_peak=recording.peak,
        peak=exploring.peak,
    )


def record(plan: dict[str, Any], trace: Path) -> None:
    """Records `plan` to `trace`; HarnessError when that fails."""
    with runner.open_context(paths.engine(), trace.parent) as context:
        plan_recording.record(plan, trace, context=context)


def explored(trace: Path, options: ExploreOptions, *arguments: str) -> tuple[dict[str, Any], float]:
    """The engine's `result` of a trace explored with further arguments, and the seconds that took."""
    given: Sequence[str] = ["explore", "--trace", str(trace), *options.arguments(), *arguments]
    began = time.monotonic()
    result = engine.single(paths.engine(), given, events.Result)[1]
    return result, time.monotonic() - began
