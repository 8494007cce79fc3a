"""The canary: beside the runs of a gate, a planted bug goes the same way, and must be found.

A gate that is green because the engine, the tracer or a report is broken is worse than none. A command that people gate
on therefore first records and explores something small that is known to be wrong. Engine, tracer, model, strategy, atom
policy, nested depth and seed are those of the command. The finding must appear in the output of the command's formats.
If it does not, no verdict of the command is worth anything. Each run that found nothing becomes `unknown`, with an
error that says so, and the exit code is 3. Findings stay: a finding stands on its own evidence.

Which bug: where lines can be lost (`adr`, with a strategy that looks beyond the order of the program), a bug that only
some images show. These images are *not* a prefix of the program. Under other models and strategies: two stores that
belong together, which a cut tears apart under every model. A recorded program is accompanied by a program, one on a
folder by a shell that writes two files, everything else by the target `patterns`.

Known inaccuracies: the canary is explored to its end, without a budget, and says nothing about how far a budget
reaches. Baseline and suppressions are those of the project and are not applied to it.
"""

import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, PowercutError
from powercut.base.exit_codes import ExitCode
from powercut.engine.options import DEFAULT_MODEL, Budget, ExploreOptions
from powercut.program.options import ProgramOptions
from powercut.program.program import Program
from powercut.program.recording import recording as recording_of
from powercut.program.recovery import recovery as recovery_of
from powercut.runs import program_requests, requests, runner, subjects
from powercut.runs.run_request import Request
from powercut.scenarios import scenario, targets
from powercut_records import media
from powercut_records import run as records
from powercut_records.run import RunRecord
from powercut_reports import text
from powercut_reports.gate_formats import RENDERERS, ci

_SCENARIOS = Path(__file__).parent / "canary_scenarios"
PROGRAM = "powercut-canary"


class Canary(records.Canary):
    """Result of the canary, as run records and the JSON report have it."""

    def error(self) -> HarnessError | None:
        """The failure of the gate; None when the canary was found."""
        if self.found:
            return None
        return HarnessError(
            f"a planted bug was not found again ({self.bug}, model {self.model}, strategy {self.strategy}): "
            f"{self.why}. No clean verdict of this command can be trusted",
            where="canary",
            next_step=f"{paths.BUILD_STEP} Report this if it stays.",
        )

    def mark(self, run: RunRecord) -> None:
        """Writes into a run record how the canary fared; a clean run beside a lost canary is `unknown`."""
        run.canary = self
        error = self.error()
        if error is None:
            return
        if run.error is None:
            run.error = records.RunError.model_validate(error.described())
        if not run.findings:
            run.verdict = "unknown"


def summary(runs: Sequence[RunRecord]) -> dict[str, Any]:
    """`canary` of the JSON report; empty where none was sent."""
    return next(({"canary": run.canary.as_json()} for run in runs if run.canary), {})


def sentences(runs: Sequence[RunRecord]) -> list[str]:
    """Returns the result as a sentence for people."""
    told = next((run.canary for run in runs if run.canary), None)
    if not told:
        return []
    if told.found:
        return [f"Canary: the planted {'/'.join(told.invariants)} was found again ({told.bug}, {told.model})"]
    return [f"Canary: NOT FOUND, so nothing here is clean: {told.why}"]


def check(beside: Request, *, engine_path: Path, formats: frozenset[str] = frozenset()) -> Canary:
    """Looks for the planted bug the way that `beside` goes. A failure of any kind is in the answer."""
    started = time.monotonic()
    if media.of_model(beside.options.model) is not media.MEMORY:  # which the pool of what is planted is
        beside = replace(beside, options=replace(beside.options, model=DEFAULT_MODEL))
    options = replace(beside.options, jobs=1, budget=Budget())
    planted = _planted(beside)
    try:
        with tempfile.TemporaryDirectory(prefix="powercut-canary.") as folder:
            request = planted.request(options, Path(folder))
            with runner.open_context(engine_path, Path(folder) / "out", checkpoints=True) as context:
                run = runner.run_one(request, context)
        why = _missing(run, planted.invariants, formats=formats)
    except PowercutError as error:
        why = error.paragraph().rstrip(".")
    except OSError as error:
        why = f"no folder for it can be made ({error.strerror})"
    return Canary(
        found=not why,
        bug=planted.name,
        invariants=list(planted.invariants),
        model=options.model,
        strategy=subjects.of(beside).strategy or options.strategy,
        seconds=round(time.monotonic() - started, 3),
        why=why,
    )


def _needs_lost_lines(beside: Request) -> bool:
    """Whether the exploration looks at images in which an earlier store is lost and a later one is not."""
    return beside.options.model == "adr" and (subjects.of(beside).strategy or beside.options.strategy) != "prefix"


@dataclass(frozen=True, kw_only=True)
class _Planted:
    """A planted bug that goes the way of one subject."""

    name: str
    invariants: tuple[str, ...]
    request: Callable[[ExploreOptions, Path], Request]


def _planted(beside: Request) -> _Planted:
    """The planted bug for a run."""
    beside_one = {
        subjects.Library.word: _beside_library,
        subjects.Commands.word: _beside_program,
        subjects.Folder.word: _beside_folder,
    }
    return beside_one[subjects.of(beside).word](beside)


def _beside_library(beside: Request) -> _Planted:
    bug, invariant = ("order", "lost-item") if _needs_lost_lines(beside) else ("copies", "duplicate-bound")

    def request(options: ExploreOptions, folder: Path) -> Request:
        item = scenario.load(_SCENARIOS / f"canary_{bug}.toml")
        target = targets.find("patterns")
        selection = targets.Selection(target=target, variant=targets.check_variant(target, item.bug.variant))
        return replace(requests.one(selection, item, options=options), tracer=beside.tracer)

    return _Planted(name=f"patterns/canary_{bug}", invariants=(invariant,), request=request)


def _beside_program(beside: Request) -> _Planted:
    bug = "order" if _needs_lost_lines(beside) else "pair"
    recorded = beside.program.recording if beside.program else None
    tracer = recorded.tracer if recorded else None

    def request(options: ExploreOptions, folder: Path) -> Request:
        return _program(tracer, options, folder, bug=bug)

    return _Planted(name=f"{PROGRAM} {bug}", invariants=("recovery-failed",), request=request)


def _beside_folder(beside: Request) -> _Planted:
    """A file that says that another one is whole, which nobody has synced. Its file system is the weakest one."""

    def request(options: ExploreOptions, folder: Path) -> Request:
        data = folder / "data"
        given = ProgramOptions(
            files=str(data),
            fs="posix",
            record=shlex.join(["sh", "-c", "echo whole > $0/new; echo yes > $0/done", str(data)]),
            recover=shlex.join(["sh", "-c", "test ! -s $0/done || test -s $0/new", str(data)]),
            cwd=folder,
            name=PROGRAM,
        )
        return program_requests.run_request(given, options, out=folder / "out")

    del beside
    return _Planted(name=f"{PROGRAM} folder", invariants=("recovery-failed",), request=request)


def _program(tracer: str | None, options: ExploreOptions, folder: Path, *, bug: str) -> Request:
    binary, pool = paths.tool(PROGRAM), folder / "pool"
    given = ProgramOptions(
        record=shlex.join([str(binary), bug, str(pool)]),
        recover=shlex.join([str(binary), "check", str(pool)]),
        pool=[str(pool)],
        cwd=folder,
        tracer=tracer,
    )
    recording = recording_of(given)
    recovery = recovery_of(given)
    made = Program(name=PROGRAM, recording=recording, recovery=replace(recovery, pools=recording.pools))
    header = {"target": PROGRAM, "scenario": bug, "program": {"name": PROGRAM, **made.recovery.described()}}
    return Request(name=f"{PROGRAM} {bug}", slug=PROGRAM, options=options, program=made, header=header)


def _missing(run: RunRecord, invariants: Sequence[str], *, formats: frozenset[str]) -> str:
    """Why the planted bug counts as not found; empty when it was, and every format says so."""
    if run.error:
        return f"{run.error.where}: {run.error.what}"
    found = [finding for finding in run.findings if finding.invariant in invariants]
    if not found:
        seen = ", ".join(sorted({finding.invariant for finding in run.findings}))
        return f"powercut judged it {run.verdict}" + (f" ({seen})" if seen else "")
    results = ci.results([run])
    if runner.exit_code(run) is not ExitCode.FINDINGS or ci.outcome(results.runs[0], results) != ci.FINDINGS:
        return "it was found, but the run does not count as one with findings"
    told = {name: render([run]) for name, render in RENDERERS.items() if name in formats}
    told["text"] = "\n".join(text.render_finding(finding, color=False) for finding in found)
    silent = [name for name, said in told.items() if found[0].invariant not in said]
    return f"it was found, but not shown as {', '.join(silent)}" if silent else ""
