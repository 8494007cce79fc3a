"""What `run` and `explore` share: carry out requests, print results as they come, write the reports."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from powercut import batch, failures, output, paths, progress
from powercut.exit_codes import ExitCode
from powercut.gate import Gate
from powercut.runner import Request, open_context
from powercut.stats import TITLES, rows


def judge(
    requests: Sequence[Request],
    *,
    jobs: int,
    out: Path,
    formats: frozenset[str],
    as_json: bool,
    fail_on: frozenset[str],
    gate: Gate,
    title: str,
    resume: bool,
    stats: bool,
    replay: bool,
) -> ExitCode:
    """Carries out the requests and returns the exit code of all of them."""
    with (
        progress.bars() as (listener, bars),
        open_context(
            paths.engine(),
            out,
            listener=listener,
            checkpoints=True,
            resume=resume,
            mark=gate.mark,
            database=failures.of_folder(out, replay=replay),
        ) as context,
    ):

        def show(run: dict[str, Any]) -> None:
            if "text" in formats and not as_json:
                with bars.paused() if bars else nullcontext():
                    output.print_run(run)
                    if stats:
                        output.print_table(TITLES, rows(run))
                        print(flush=True)

        outcome = batch.run_all(requests, context, jobs=jobs, on_run=show)
    if as_json:
        output.print_json(output.runs_object(outcome.runs, gate=gate))
    elif "text" in formats:
        output.print_gate(gate, outcome.runs)
    for error in outcome.errors:
        output.say_error(error)
    if outcome.runs:
        for path in output.write_reports(outcome.runs, out, formats, title=title, gate=gate):
            output.say(f"Report: {path}")
    for path in output.write_gate_reports(
        outcome.runs, out, formats, fail_on=fail_on, errors=outcome.errors, as_json=as_json
    ):
        output.say(f"Report: {path}")
    if outcome.interrupted:
        output.say("Interrupted: what was found so far is kept; coverage is marked as sampled.")
    return outcome.exit_code(fail_on=fail_on)
