"""Many runs at once, reported in the order in which they were asked for.

Runs are independent processes, so threads that wait for them are enough. Parallelism never shows: runs
are handed to `on_run` in order, and a finding's file belongs to the first run that has it
(`findings.FindingStore`). With fewer runs than jobs, each engine gets its share of the jobs.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import FrameType
from typing import Any

from powercut.base.errors import PowercutError
from powercut.base.exit_codes import ExitCode, worst
from powercut.findings.collector import INTERRUPTED, blank_run
from powercut.runs import rounds
from powercut.runs.applicability import WithoutRuns, unjudged
from powercut.runs.runner import Context, Request, exit_code, run_one

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(kw_only=True)
class Outcome(WithoutRuns):
    """What became of a command's runs."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False

    def exit_code(self, *, fail_on: frozenset[str] = frozenset()) -> ExitCode:
        """The worst of all runs and errors; an interruption is never clean."""
        codes = [exit_code(run, fail_on=fail_on) for run in self.runs]
        codes += [error.exit_code for error in self.errors]
        return worst([*codes, ExitCode.INCOMPLETE] if self.interrupted else codes)


def run_all(
    requests: Sequence[Request],
    context: Context,
    *,
    jobs: int,
    on_run: Callable[[dict[str, Any]], None] = lambda run: None,
) -> Outcome:
    """Carries out `requests` with at most `jobs` at a time. A signal (Ctrl-C) stops them and keeps what they found.

    An error of one request does not stop the others; it is in the outcome. Runs that an interruption
    kept from starting are in it too, as `unknown`. A budget in seconds is split over all of them (`rounds`).
    """
    outcome = Outcome()

    def stop() -> None:
        outcome.interrupted = True
        context.interrupt.request()

    if (seconds := rounds.shared_seconds(requests)) is not None:
        rounds.run_all(requests, context, outcome, seconds=seconds, jobs=jobs, stop=stop, on_run=on_run)
    else:
        _run_each(requests, context, outcome, jobs=jobs, stop=stop, on_run=on_run)
    outcome.errors += unjudged(requests, outcome.aside)
    return outcome


def _run_each(
    requests: Sequence[Request],
    context: Context,
    outcome: Outcome,
    *,
    jobs: int,
    stop: Callable[[], None],
    on_run: Callable[[dict[str, Any]], None],
) -> None:
    share = max(1, jobs // max(1, len(requests)))
    scaled = [replace(item, options=item.options.with_jobs(share)) for item in requests]
    tasks = [partial(run_one, item, context, order=order) for order, item in enumerate(scaled)]
    with stoppable(tasks, jobs=jobs, stop=stop) as futures:
        for request, future in zip(scaled, futures, strict=True):
            _take(request, future, outcome, on_run)


@contextmanager
def stoppable(
    tasks: Sequence[Callable[[], dict[str, Any]]], *, jobs: int, stop: Callable[[], None]
) -> Iterator[list[Future[dict[str, Any]]]]:
    """Carries out `tasks` with at most `jobs` at a time, while the body waits for them.

    At SIGINT, SIGTERM, SIGHUP or an exception of the body, what has not begun is cancelled and `stop` is called.
    """
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(tasks)))) as pool:
        futures = [pool.submit(task) for task in tasks]

        def stop_all() -> None:
            for waiting in futures:
                waiting.cancel()
            stop()

        try:
            with stopped_by_signals(stop_all):
                yield futures
        except BaseException:
            stop_all()
            raise


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` at the first SIGINT, SIGTERM or SIGHUP; a second one takes its usual course.

    A signal that is ignored, as `nohup` ignores SIGHUP, stays so. A terminal that closes sends SIGHUP more than once
    (its shell does, then the kernel): after the first one no other does anything.
    A handler, not KeyboardInterrupt: an exception could arise between taking a result and keeping it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _STOPPING}
    before = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGHUP:
            before[signal.SIGHUP] = signal.SIG_IGN
        for name, handler in before.items():
            signal.signal(name, handler)
        # A thread of its own: the handler may run while this one holds a lock that `stop` needs.
        threading.Thread(target=stop, daemon=True).start()

    for number in list(before):
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _take(
    request: Request, future: Future[dict[str, Any]], outcome: Outcome, on_run: Callable[[dict[str, Any]], None]
) -> None:
    try:
        run = future.result()
    except CancelledError:
        run = unstarted(request)
    except PowercutError as error:
        outcome.failed(request, error)
        return
    outcome.runs.append(run)
    on_run(run)


def unstarted(request: Request) -> dict[str, Any]:
    """The record of a run that an interruption kept from starting."""
    run = blank_run({**request.options.described(), **request.header})
    run["interrupted"] = True
    run["coverage"]["reason"] = INTERRUPTED
    return run
