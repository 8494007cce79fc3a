"""A budget in seconds is for all runs of a command, and is split fairly: a short look at each, then equal parts.

1. *Smoke*: every run is recorded and explored in program order (strategy `prefix`: one image a crash point, linear,
   the same in each run). At most half of the time goes there: as far as it reaches, each crash point of each run was
   looked at, however short the budget is.
2. *Explore*: each run has an equal part of what is left (`time_shares`); what it does not use goes to those after it.
3. *Go on*: while there is time, runs that were stopped get parts again, in their order, and go on from their
   checkpoints.

Findings of any round count. A run that ends complete has seen all images of the rounds before it: its own findings are
the run's then. A run that is complete and clean although smoke found something contradicts itself: `unknown`.

Budgets in executions need none of this: they are of each run, and give the same result on every machine.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from functools import partial

from powercut.base.errors import PowercutError
from powercut.engine.options import Budget
from powercut.findings.run_records import contradict
from powercut.runs import runner, subjects
from powercut.runs.outcome import Outcome, unstarted
from powercut.runs.run_request import Context, Request
from powercut.runs.stopping import stoppable
from powercut.runs.time_shares import TimeShares
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord, Smoke

SMOKE = "prefix"
#: Shorter parts are not worth the start of an engine, in seconds.
_LEAST = 0.2
#: Below this much a run is not begun at all: it keeps the result of the first round.
_NOTHING = 0.02
_SHARED = frozenset({"read-driven", "exhaustive", "random"})


def shared_seconds(requests: Sequence[Request]) -> float | None:
    """The time that these runs share; None when they have none, or are too simple to split it."""
    budgets = {request.options.budget.seconds for request in requests}
    split = all(subjects.of(request).in_chunks and request.options.strategy in _SHARED for request in requests)
    return budgets.pop() if requests and split and len(budgets) == 1 else None


@dataclass
class _State:
    """One run between rounds."""

    order: int
    request: Request
    run: RunRecord | None = None
    #: Findings of earlier rounds, by fingerprint.
    found: dict[str, FindingRecord] = field(default_factory=dict)
    smoke: Smoke | None = None
    seconds: float = 0.0
    final: bool = False
    failed: bool = False
    #: The time was used up before it was explored.
    starved: bool = False


def run_all(
    requests: Sequence[Request],
    context: Context,
    outcome: Outcome,
    *,
    seconds: float,
    jobs: int,
    stop: Callable[[], None],
    on_run: Callable[[RunRecord], None],
) -> None:
    """Carries out the requests within `seconds`, and puts their records into the outcome, in their order."""
    slots = max(1, min(jobs, len(requests)))
    states = [_State(order=order, request=request) for order, request in enumerate(requests)]
    whole = TimeShares(0.0, slots)
    whole.end = whole.clock() + seconds
    told: Iterator[_State] = iter(states)
    waiting_for = next(told, None)

    def release() -> None:
        """Hands over the runs that are final, in order."""
        nonlocal waiting_for
        while waiting_for is not None and waiting_for.final and not context.interrupt.requested:
            if not waiting_for.failed:
                _hand_over(waiting_for, context, outcome, on_run, seconds=seconds, of=len(states))
            waiting_for = next(told, None)

    def round_of(chosen: list[_State], task: Callable[..., RunRecord], shares: TimeShares) -> None:
        left = iter(range(len(chosen), 0, -1))
        many = max(1, jobs // max(1, min(slots, len(chosen))))
        tasks = [partial(task, state, context, shares, left, many) for state in chosen]
        with stoppable(tasks, jobs=slots, stop=stop) as futures:
            for state, future in zip(chosen, futures, strict=True):
                try:
                    _after(state, future.result())
                except CancelledError:
                    pass
                except PowercutError as error:
                    outcome.failed(state.request, error)
                    state.failed = state.final = True
                release()

    round_of(states, _smoke, TimeShares(whole.clock() + seconds / 2, slots, whole.clock))
    again = True
    while again and not context.interrupt.requested:
        rest = [state for state in states if not state.final]
        if rest:
            round_of(rest, _explore, whole)
        # Without checkpoints a run would begin at its beginning again.
        rest = [state for state in states if not state.final]
        again = bool(rest) and context.checkpoints and whole.left() * slots / len(rest) >= _LEAST
    for state in states:
        state.final = True
    while waiting_for is not None:
        if not waiting_for.failed:
            _hand_over(waiting_for, context, outcome, on_run, seconds=seconds, of=len(states))
        waiting_for = next(told, None)


def _smoke(state: _State, context: Context, shares: TimeShares, left: Iterator[int], jobs: int) -> RunRecord:
    if held := runner.recalled(state.request, context, order=state.order):
        next(left)
        return held
    part = shares.begin(state.order, waiting=next(left))
    try:
        options = replace(state.request.options, strategy=SMOKE, jobs=jobs, budget=Budget(seconds=max(part, _NOTHING)))
        once = replace(context, chunks=False, cache=None)
        run = runner.explore(replace(state.request, options=options), once, order=state.order)
        state.smoke = Smoke(
            strategy=SMOKE,
            crash_points=run.crash_points or 0,
            crash_states=run.coverage.covered,
            executions=run.executions or 0,
            findings=len(run.findings),
            stopped=_stopped(run),
            seconds=run.seconds or 0.0,
        )
        return run
    finally:
        shares.finish(state.order)


def _explore(state: _State, context: Context, shares: TimeShares, left: Iterator[int], jobs: int) -> RunRecord:
    part = shares.begin(state.order, waiting=next(left))
    try:
        if part < _NOTHING and state.run is not None:
            state.starved = state.starved or state.run.strategy == SMOKE
            return state.run
        options = replace(state.request.options, jobs=jobs, budget=Budget(seconds=max(part, _LEAST)))
        again = replace(context, resume=context.checkpoints)
        return runner.explore(replace(state.request, options=options), again, order=state.order)
    finally:
        shares.finish(state.order)


def _stopped(run: RunRecord) -> bool:
    """Whether only the budget ended it."""
    return run.coverage.reason.startswith("the budget")


def _after(state: _State, run: RunRecord) -> None:
    if run is state.run:  # there was no time for another round
        return
    state.run = run
    state.seconds += run.seconds or 0.0
    for finding in run.findings:
        state.found.setdefault(finding.fingerprint, finding)
    # Not in the run's thread: a run is handed over by this one as soon as it is final.
    explored = run.strategy == state.request.options.strategy
    state.final = _is_cached(run) or bool(run.error) or run.interrupted or (explored and not _stopped(run))


def _is_cached(run: RunRecord) -> bool:
    return bool(run.since and run.since.cached)


def _hand_over(
    state: _State,
    context: Context,
    outcome: Outcome,
    on_run: Callable[[RunRecord], None],
    *,
    seconds: float,
    of: int,
) -> None:
    run = state.run or unstarted(state.request)
    _join(run, state, context)
    run.smoke = state.smoke
    if not _is_cached(run):
        run.seconds = state.seconds
    if _stopped(run) or state.starved:
        among = f", shared by {of} runs," if of > 1 else ""
        run.coverage.reason = f"the budget of {seconds:g} s{among} was used up"
    if context.interrupt.requested and not runner.is_complete(run):
        run.interrupted = True
    run = runner.settle(run, state.request, context)
    outcome.runs.append(run)
    on_run(run)


def _join(run: RunRecord, state: _State, context: Context) -> None:
    """Adds the findings of earlier rounds, or drops them where the run has seen everything."""
    own = {finding.fingerprint for finding in run.findings}
    missed = [finding for name, finding in state.found.items() if name not in own]
    if not missed:
        return
    if not runner.is_complete(run):
        run.findings += missed
        run.verdict = "inconsistent"
    elif own:  # the same states under other names
        for finding in missed:
            context.store.withdraw(finding.fingerprint, order=state.order)
    else:
        contradict(run, "the exploration is complete and clean, but a shorter one found something", missed)
