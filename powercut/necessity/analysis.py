"""All sites of one target: the runs are recorded and explored once, then each site is dropped from those that reach it.

Sites are judged in parallel, each by one worker. The worker takes the runs that reach the site in turn, and stops at
the first new finding. The cheapest run comes first (by the loads of its exploration, which depend on no clock). The
record on disk is written anew after each site, so an interruption keeps what is judged.
"""

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from powercut.base.errors import HarnessError, NotApplicable
from powercut.engine.engine import Interrupted
from powercut.necessity import drop, record
from powercut.necessity.sites import Site
from powercut.necessity.unedited_run import UneditedRun, prepare
from powercut.necessity.verdict import Shown, judge
from powercut.runs import stopping
from powercut.runs.applicability import SetAside, set_aside, summary, unjudged, without_threads
from powercut.runs.run_request import Context, Request


class Progress(Protocol):
    """Hears how an analysis gets on; called from several threads."""

    def stage(self, name: str, of: int) -> None: ...
    def advanced(self) -> None: ...


class Silent:
    """Hears, and says nothing."""

    def stage(self, name: str, of: int) -> None:
        pass

    def advanced(self) -> None:
        pass


def analyse(
    requests: Sequence[Request],
    *,
    header: dict[str, Any],
    context: Context,
    jobs: int,
    patterns: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The necessity record of one target; the requests are its runs. It is on disk when this returns.

    Scenarios with threads are set aside, unless one of the user's `patterns` names them.

    Raises UsageError when a run cannot be recorded. Otherwise whatever is not finished is missing or marked in the
    record, whose `complete` is false then.
    """
    with tempfile.TemporaryDirectory(prefix="powercut-necessity-") as folder:
        analysis = _Analysis(header=header, context=context, folder=Path(folder), progress=progress or Silent())
        analysis.prepare(requests, patterns, jobs=jobs)
        analysis.drop_all(jobs=jobs)
        return analysis.write()


class _Analysis:
    def __init__(self, *, header: dict[str, Any], context: Context, folder: Path, progress: Progress) -> None:
        self._header = header
        self._context = context
        self._folder = folder
        self._progress = progress
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._unedited_runs: list[UneditedRun] = []
        self._errors: list[str] = []  # what went wrong in powercut itself
        self._aside: list[SetAside] = []
        self._interrupted = False
        self._judged: list[dict[str, Any]] = []
        self._sites: list[Site] = []

    def prepare(self, requests: Sequence[Request], patterns: Sequence[str], *, jobs: int) -> None:
        """Records and explores every run as it is."""
        judged, self._aside = without_threads(requests, patterns, command="powercut necessity")
        self._progress.stage("runs as they are", len(judged))

        def one(request: Request) -> dict[str, Any]:
            try:
                found = prepare(request, self._folder, context=self._context, helpers=self._header.get("helpers", ()))
            except NotApplicable as error:
                return {"aside": self._unfit(request, error)}
            self._progress.advanced()
            return {"unedited": found}

        for future in self._carry_out([partial(one, request) for request in judged], jobs=jobs):
            if (done := self._result(future)) is not None and "unedited" in done:
                self._unedited_runs.append(done["unedited"])
        for nothing in unjudged(requests, self._aside):
            raise nothing
        self._sites = sorted({site for unedited in self._unedited_runs for site in unedited.sites})

    def _unfit(self, request: Request, error: NotApplicable) -> SetAside:
        item = set_aside(request, error)
        if item is None:
            raise error
        self._aside.append(item)
        return item

    def drop_all(self, *, jobs: int) -> None:
        """Judges every site."""
        self._progress.stage("sites dropped", len(self._sites))
        for future in self._carry_out([partial(self._judge, site) for site in self._sites], jobs=jobs):
            self._result(future)

    def _carry_out(self, tasks: Sequence[Callable[[], dict[str, Any]]], *, jobs: int) -> list[Future[dict[str, Any]]]:
        if not tasks or self._context.interrupt.requested:
            return []
        with stopping.stoppable(tasks, jobs=jobs, stop=self._context.interrupt.request) as futures:
            for future in futures:
                # Waits. A mistake of the user's ends everything here.
                with contextlib.suppress(CancelledError, Interrupted, HarnessError):
                    future.result()
            return futures

    def _result(self, future: Future[dict[str, Any]]) -> dict[str, Any] | None:
        """Returns a task's result; None when an interruption or the harness ended the task."""
        try:
            return future.result()
        except (CancelledError, Interrupted):
            self._interrupted = True
        except HarnessError as error:
            self._errors.append(error.paragraph())
        return None

    def _judge(self, site: Site) -> dict[str, Any]:
        reaching = sorted(
            (unedited for unedited in self._unedited_runs if site in unedited.sites),
            key=lambda unedited: (unedited.explored.loads, unedited.scenario),
        )
        prefixes = frozenset().union(*(unedited.sites[site].prefixes for unedited in reaching))
        known = frozenset().union(*(unedited.explored.fingerprints for unedited in self._unedited_runs))
        drops: list[drop.Drop] = []
        skipped: dict[str, str] = {}
        for unedited in reaching:
            if not unedited.explored.complete:
                skipped[unedited.scenario] = f"the run itself is not complete: {unedited.explored.reason}"
                continue
            try:
                done = drop.carry_out(
                    site, unedited, prefixes=prefixes, known=known, folder=self._folder, context=self._context
                )
            except HarnessError as error:
                skipped[unedited.scenario] = error.paragraph()
                continue
            drops.append(done)
            if done.finding is not None:
                break
            done.trace.unlink(missing_ok=True)
        shown = Shown(site=site, drops=drops, skipped=skipped)
        verdict = judge(shown)
        with self._lock:
            finding = record.keep_proof(site, verdict, out=self._context.out)
            entry = record.of_site(shown, verdict, finding, reaching)
            self._judged.append(entry)
            self._write()
        for done in drops:
            done.trace.unlink(missing_ok=True)
        self._progress.advanced()
        return entry

    def write(self) -> dict[str, Any]:
        """Writes the unfinished or finished record, and returns it."""
        with self._lock:
            return self._write()

    def _write(self) -> dict[str, Any]:
        made = record.assemble(
            self._header,
            self._unedited_runs,
            self._judged,
            of=len(self._sites),
            errors=self._errors,
            seconds=time.monotonic() - self._begun,
        )
        if self._interrupted or self._context.interrupt.requested:
            made["complete"] = False
        made |= summary(self._aside)
        record.write(made, self._context.out)
        return made
