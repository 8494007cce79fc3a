"""The part that `run` and `explore` share: carry out requests, print results as they come, write the reports."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from powercut.base import paths
from powercut.base.errors import PowercutError
from powercut.base.exit_codes import ExitCode
from powercut.base.option import FAR, JUDGE, PRINT, row
from powercut.cause.explain import DEFAULT_MOST, DEFAULT_MOST_OF_VARIANT, MANY_VARIANTS, Explainer
from powercut.cli import output, progress, talk
from powercut.cli.commands import shared
from powercut.cli.stats import TITLES, rows
from powercut.engine import options
from powercut.findings import failures, profiles
from powercut.gate import canary
from powercut.gate.gate import Gate, open_gate
from powercut.runs import batch, run_cache, subjects
from powercut.runs.applicability import sentences, summary
from powercut.runs.machines import Here, Machines
from powercut.runs.run_request import Context, Request
from powercut.runs.runner import is_complete, open_context
from powercut_records.run import RunRecord
from powercut_reports import closing
from powercut_reports.gate_formats import RENDERERS


@dataclass(frozen=True, kw_only=True)
class Judging:
    """Options for the results of runs: where they go, what counts as a failure, what is made of findings."""

    jobs: shared.Jobs = None
    out: shared.Out = shared.DEFAULT_OUT
    format: shared.Format = "text,html"
    json: shared.Json = False
    fail_on: shared.FailOn = None
    baseline: shared.Baseline = None
    suppressions: shared.Suppressions = None
    since: str | None = row(
        "--since REV",
        "Explore only runs that changed since a git revision that a gate has judged: by code, scenario "
        "or options. Other results come from the cache.",
        group=FAR,
    )
    canary: bool | None = row(
        "--canary/--no-canary",
        "Also find a planted bug on the same way, or no verdict is clean.  [default: with a format for CI, "
        "--baseline or --since]",
        group=JUDGE,
    )
    resume: bool = row(
        "--resume",
        "Go on with a run that was killed, from what it has left in the output folder.",
        group=FAR,
        default=False,
    )
    no_replay: bool = row(
        "--no-replay", "Do not begin with the findings of earlier runs (OUT/failures).", group=FAR, default=False
    )
    keep_going: bool = row(
        "--keep-going",
        "Go on after a finding that needs no power cut. Without it, such a finding ends its run.",
        group=FAR,
        default=False,
    )
    stats: bool = row("--stats", "Print where the time of each run went.", group=PRINT, default=False)
    explain: int | None = row(
        "--explain N",
        "Findings of each run that are minimised and get a root cause, with a fix that is tried. "
        "[default: 3, and 4 of one variant in all; 1 of each variant where more than 8 are judged; with "
        "a --budget of time, 0, for a program as many as the budget has time for]",
        least=0,
        group=FAR,
    )

    @property
    def formats(self) -> frozenset[str]:
        """The formats of --format."""
        return output.parse_formats(self.format)

    def kinds(self, requests: Sequence[Request] = ()) -> frozenset[str]:
        """The kinds of --fail-on, and the file systems of folders among the runs."""
        folders = [item.program.folder for item in requests if item.program and item.program.folder]
        names = profiles.words(name for folder in folders for name in folder.profiles)
        return options.parse_fail_on(self.fail_on or [], also=names)

    def is_gate(self) -> bool:
        """Returns True if a machine decides by the result."""
        return not self.formats.isdisjoint(RENDERERS) or self.baseline is not None or self.since is not None

    def wants_canary(self) -> bool:
        """Returns True if a planted bug is to be found by the same command."""
        return self.is_gate() if self.canary is None else self.canary

    @contextmanager
    def errors_reported(self, *, of_folder: bool = False) -> Iterator[Gate]:
        """Opens the gate. Errors before the first run are written to the reports that machines read as well.

        `of_folder`: --fail-on may name file systems, which are known with the run."""
        formats = self.formats
        _ = of_folder or self.kinds()  # a mistake in these options is told before anything else
        try:
            yield open_gate(self.baseline, self.suppressions, since=self.since)
        except PowercutError as error:
            with suppress(PowercutError):  # a folder that cannot be written has its own message
                output.write_gate_reports([], self.out, formats, fail_on=frozenset(), errors=[error])
            output.print_annotations([], formats, fail_on=frozenset(), errors=[error], as_json=self.json)
            raise


def explainer_of(
    explain: int | None, requests: Sequence[Request], context: Context, jobs: int, *, bounded: bool = True
) -> Explainer:
    """A budget of time is for all that the command does. Exploring comes first, and the rest is for explaining.

    A target's findings are explained within a budget if --explain asks for it; a program's findings always. With
    `bounded`, requests of many variants have one finding of each variant explained, unless --explain says more.
    """
    budget = next((request.options.budget.seconds for request in requests), None)
    if explain is not None:
        return Explainer(context=context, most=explain, jobs=jobs, budget=budget)
    timed = budget is not None and not any(subjects.of(request).explained_in_budget for request in requests)
    most, most_of_variant = 0 if timed else DEFAULT_MOST, DEFAULT_MOST_OF_VARIANT
    if bounded and len({(request.header.get("target"), request.header.get("variant")) for request in requests}) > (
        MANY_VARIANTS
    ):
        most, most_of_variant = min(most, 1), 1
    return Explainer(context=context, most=most, most_of_variant=most_of_variant, jobs=jobs, budget=budget)


def judge(
    requests: Sequence[Request],
    judging: Judging,
    *,
    gate: Gate,
    title: str,
    machines: AbstractContextManager[Machines] | None = None,
    prepare: Callable[[Context], None] = lambda context: None,
) -> ExitCode:
    """Carries out the requests and returns the exit code of all of them.

    `machines`: the machines that explore. `prepare` is called once, before the first run. A second Ctrl-C ends the
    command at once, with a line on the runs that were judged.
    """
    settled: dict[str, RunRecord] = {}
    try:
        return _judge(requests, judging, gate=gate, title=title, machines=machines, prepare=prepare, settled=settled)
    except KeyboardInterrupt:
        whole = [run for run in settled.values() if is_complete(run)]
        found = sum(bool(run.findings) for run in settled.values())
        judged = f"{len(whole)} of {len(requests)} runs {'was' if len(whole) == 1 else 'were'} judged to the end"
        has = "has" if found == 1 else "have"
        talk.say(
            f"powercut: interrupted. {judged}, {found} {has} findings. 'powercut report {judging.out}' shows them."
        )
        return ExitCode.FINDINGS if found else ExitCode.INCOMPLETE


def _judge(
    requests: Sequence[Request],
    judging: Judging,
    *,
    gate: Gate,
    title: str,
    machines: AbstractContextManager[Machines] | None,
    prepare: Callable[[Context], None],
    settled: dict[str, RunRecord],
) -> ExitCode:
    """Carries out the requests, and puts each run into `settled` when its record is written."""
    began = time.monotonic()
    engine_path = paths.engine()
    requests = [replace(item, options=replace(item.options, keep_going=judging.keep_going)) for item in requests]
    out, formats, fail_on, as_json = judging.out, judging.formats, judging.kinds(requests), judging.json
    jobs = judging.jobs or shared.default_jobs()
    kept = None
    if judging.is_gate():
        kept = run_cache.open_cache(out, engine_path=engine_path, since=judging.since, warn=talk.say)
    bird = canary.check(requests[0], engine_path=engine_path, formats=formats) if judging.wants_canary() else None
    if bird and not bird.found:
        kept = None  # no result of this engine is worth keeping

    def mark(run: RunRecord) -> None:
        settled[run.file] = run
        gate.mark(run)
        profiles.mark(run, fail_on)
        if bird:
            bird.mark(run)

    with (
        machines or nullcontext(Here()) as explorers,
        progress.shown(len(requests)) as listener,
        open_context(
            engine_path,
            out,
            listener=listener,
            checkpoints=True,
            resume=judging.resume,
            mark=mark,
            cache=kept,
            database=failures.of_folder(out, replay=not judging.no_replay),
            machines=explorers,
        ) as context,
    ):
        prepare(context)

        def show(run: RunRecord) -> None:
            explainer.run(run)
            if kept:
                kept.explained(run)
            if "text" in formats and not as_json:
                with listener.paused():
                    output.print_run(run, output.page_of(out, formats))
                    if judging.stats:
                        output.print_table(TITLES, rows(run))
                        print(flush=True)
            listener.reported(run)

        with explainer_of(judging.explain, requests, context, jobs) as explainer:
            outcome = batch.run_all(requests, context, jobs=jobs, on_run=show, ahead=explainer.ahead)
    if kept:
        kept.close()
    if bird and (missed := bird.error()):
        outcome.errors.append(missed)
    # All files come before the screen, which may be gone.
    written: list[Path] = []
    try:
        if outcome.runs:
            written += output.write_reports(outcome.runs, out, formats, title=title, gate=gate)
        written += output.write_gate_reports(
            outcome.runs, out, formats, fail_on=fail_on, errors=outcome.errors, gate=gate
        )
    except PowercutError as unwritable:
        outcome.errors.append(unwritable)
    if as_json:
        output.print_json({**output.runs_object(outcome.runs, gate=gate), **summary(outcome.aside)})
    elif "text" in formats:
        output.print_closing(outcome.runs, took=time.monotonic() - began)
        output.print_gate(gate, outcome.runs)
    elif len(outcome.runs) > 1:
        talk.say(closing.total(outcome.runs, took=time.monotonic() - began))
    output.print_annotations(outcome.runs, formats, fail_on=fail_on, errors=outcome.errors, as_json=as_json)
    for line in sentences(outcome.aside):
        talk.say(line)
    for paragraph in dict.fromkeys(error.paragraph() for error in outcome.errors):  # many runs, one library
        talk.say(f"powercut: {paragraph}")
    for path in written:
        talk.say(f"Report: {path}")
    if outcome.interrupted:
        talk.say("Interrupted: what was found so far is kept; coverage is marked as sampled.")
    return outcome.exit_code(fail_on=fail_on)
