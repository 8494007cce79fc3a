"""A trial of the commands where nothing was lost: those that fail there, or end in two ways, cannot judge."""

import shlex
import time
from typing import Protocol

from powercut.base.errors import HarnessError, UsageError
from powercut.engine import events
from powercut.engine.engine import Interrupt, Interrupted
from powercut.engine.options import ExploreOptions
from powercut.engine.supervise import status_text
from powercut.engine.time_limit import TimeLimit
from powercut.program.recovery import Recovery


class Judged(Protocol):
    """Runs the commands twice on what the program left at its end."""

    def __call__(self, *, interrupt: Interrupt | None) -> events.Imaged: ...


def within_budget(
    judged: Judged,
    recovery: Recovery,
    what: str,
    *,
    options: ExploreOptions,
    interrupt: Interrupt | None,
    begun: float,
) -> None:
    """Runs the commands where nothing was lost. UsageError for commands that cannot judge; HarnessError when the budget
    ends before the commands do. `what`: the word for a program's data, such as "pool". `begun`: when the budget began.
    """
    budget = options.budget.seconds
    if budget is None:
        return _refuse_useless(judged(interrupt=interrupt), recovery, what)
    with TimeLimit(budget - (time.monotonic() - begun), parent=interrupt) as end:
        try:
            _refuse_useless(judged(interrupt=end), recovery, what)
        except (Interrupted, HarnessError) as error:
            if not end.expired:
                raise
            raise HarnessError(
                f"the budget of {budget:g} s ended before the commands had judged the {what} as the program left it",
                where=f"--recover {shlex.join(recovery.recover)}",
                next_step="Give it a longer --budget, or the commands less to do.",
            ) from error
    return None


def _refuse_useless(answer: events.Imaged, recovery: Recovery, what: str) -> None:
    first, second = answer.runs
    told = next((run for run in answer.runs if run.kind != "ok"), first)
    steps = {
        "recover": recovery.recover,
        "continue": recovery.continuation,
        "check": recovery.check,
        "dump": recovery.dump,
    }
    words = recovery.probes[told.probe - 1] if told.step == "probe" else steps[told.step]
    where = f"--{told.step} {shlex.join(words)}"
    if not answer.same:
        raise UsageError(
            f"run twice on the same {what}, this came to two different ends, so it cannot judge: "
            f"{_end(first)}, then {_end(second)}",
            where=where,
            next_step=f"Make it depend on the {what} alone: no times, addresses, random numbers, counters of its own.",
        )
    # Where the trace lacks stores the image is not what the program has left, and the run will say so.
    if first.kind != "ok" and not answer.unseen:
        raise UsageError(
            f"this does not accept the {what} as the program left it, where nothing was lost: {_end(first)}. "
            "Every verdict would be meaningless",
            where=where,
            next_step=f"Run the recorded command by hand and then this one on its {what}; it must end with status 0.",
        )


def _end(run: events.ImageRun) -> str:
    """ "exit status 1, printing: bad header" """
    how = (
        "no end within --timeout"
        if run.kind == "timeout"
        else status_text(-run.code if run.kind == "signal" else run.code)
    )
    shown = " | ".join(line for line in run.shown.splitlines() if line.strip())
    return f"{how}, printing: {shown}" if shown else f"{how}, printing nothing"
