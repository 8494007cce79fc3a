"""Many runs at once, reported in the order in which they were asked for.

Runs are independent processes, so threads that wait for them are enough. Parallelism never shows: runs
are handed to `on_run` in order, and a finding's file belongs to the first run that has it
(`findings.FindingStore`). With fewer runs than jobs, each engine gets its share of the jobs.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, wait
from dataclasses import replace
from functools import partial
from itertools import takewhile

from powercut.base.errors import PowercutError
from powercut.runs import rounds
from powercut.runs.applicability import unjudged
from powercut.runs.outcome import Outcome, unstarted
from powercut.runs.run_request import Context, Request
from powercut.runs.runner import run_one
from powercut.runs.stopping import stoppable
from powercut_records.run import RunRecord


def run_all(
    requests: Sequence[Request],
    context: Context,
    *,
    jobs: int,
    on_run: Callable[[RunRecord], None] = lambda run: None,
    ahead: Callable[[Sequence[RunRecord]], None] = lambda runs: None,
) -> Outcome:
    """Carries out `requests` with at most `jobs` at a time. A signal (Ctrl-C) stops them and keeps what they found.

    An error of one request does not stop the others; it is in the outcome. Runs that an interruption
    kept from starting are in it too, as `unknown`. A budget in seconds is split over all of them (`rounds`).

    `ahead` is given the runs that have ended while others were with `on_run`, in order, before `on_run` is; not under
    a budget in seconds, where a run that has ended may go on.
    """
    outcome = Outcome()

    def stop() -> None:
        outcome.interrupted = True
        context.interrupt.request()

    if (seconds := rounds.shared_seconds(requests)) is not None:
        rounds.run_all(requests, context, outcome, seconds=seconds, jobs=jobs, stop=stop, on_run=on_run)
    else:
        _run_each(requests, context, outcome, jobs=jobs, stop=stop, on_run=on_run, ahead=ahead)
    outcome.errors += unjudged(requests, outcome.aside)
    return outcome


def _run_each(
    requests: Sequence[Request],
    context: Context,
    outcome: Outcome,
    *,
    jobs: int,
    stop: Callable[[], None],
    on_run: Callable[[RunRecord], None],
    ahead: Callable[[Sequence[RunRecord]], None],
) -> None:
    share = max(1, jobs // max(1, len(requests)))
    scaled = [replace(item, options=item.options.with_jobs(share)) for item in requests]
    tasks = [partial(run_one, item, context, order=order) for order, item in enumerate(scaled)]
    with stoppable(tasks, jobs=jobs, stop=stop) as futures:
        told = 0
        for request, future in zip(scaled, futures, strict=True):
            if not future.done():  # one that is cancelled is told to wait() late
                wait([future])
            ended = list(takewhile(Future.done, futures[told:]))
            told += len(ended)
            ahead([item.result() for item in ended if not item.cancelled() and not item.exception()])
            _take(request, future, outcome, on_run)


def _take(request: Request, future: Future[RunRecord], outcome: Outcome, on_run: Callable[[RunRecord], None]) -> None:
    try:
        run = future.result()
    except CancelledError:
        run = unstarted(request)
    except PowercutError as error:
        outcome.failed(request, error)
        return
    outcome.runs.append(run)
    on_run(run)
