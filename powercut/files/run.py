"""Explores the trace of a folder: the engine runs the user's recovery on trees that a power cut may leave."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from powercut.engine import engine, events
from powercut.engine.engine import Interrupt, StreamItem
from powercut.engine.options import ExploreOptions
from powercut.files import trees
from powercut.files.told import Recording
from powercut.program import endings, trial
from powercut.program.program import Folder, Program
from powercut.program.recovery import Recovery
from powercut.program.run import Replayed, limit_words, replayed
from powercut_records.finding import FindingRecord
from powercut_records.program import Program as ProgramRecord

_GAPS = "the recording is not whole: {}"


def explore(
    program: Program,
    trace: Path,
    *,
    options: ExploreOptions,
    engine_path: Path,
    interrupt: Interrupt | None = None,
    spent: float = 0.0,
) -> Iterator[StreamItem]:
    """The events of the exploration, with the calls of each finding told. UsageError when the recovery cannot judge: it
    fails where nothing was lost. `spent`: seconds of the budget that are over.
    """
    trace = trace.absolute()  # the engine works in the folder of the commands
    begun = time.monotonic() - spent
    judged = partial(image, program, trace, engine_path=engine_path, runs=2)
    trial.within_budget(judged, program.recovery, "folder", options=options, interrupt=interrupt, begun=begun)
    recording = Recording(engine_path, trace, interrupt=interrupt)
    yield _modules(recording)
    for event, raw in explored(
        program, trace, options=options, engine_path=engine_path, interrupt=interrupt, begun=begun
    ):
        if isinstance(event, events.Finding) and event.files is not None:
            yield recording.finding(event, raw)
        elif isinstance(event, events.Result) and recording.missed:
            yield _without_gaps(event, recording.missed), raw
        elif not isinstance(event, events.Modules):
            yield event, raw


def explored(
    program: Program,
    trace: Path,
    *,
    options: ExploreOptions,
    engine_path: Path,
    edits: Path | None = None,
    interrupt: Interrupt | None = None,
    begun: float,
) -> Iterator[StreamItem]:
    """The engine's own events. `edits`: a file of syncs that are put into the trace. `begun`: when the budget began."""
    words = ["--jobs", str(options.jobs), "--seed", str(options.seed), "--nested", str(options.nested)]
    words += limit_words(options, begun=begun)
    words += ["--edits", str(edits)] if edits else []
    with _asked("files", program, trace) as asked:
        yield from engine.stream(
            engine_path,
            [*asked, *words],
            interrupt=interrupt,
            under=((), endings.environment()),
            cwd=program.recovery.cwd,
        )


def image(
    program: Program,
    trace: Path,
    *,
    engine_path: Path,
    finding: Path | None = None,
    out: Path | None = None,
    runs: int = 1,
    interrupt: Interrupt | None = None,
) -> events.Imaged:
    """Runs the commands on the tree of a finding, or on the one that the program left at its end. `out`: a folder that
    is made, with the tree."""
    words = ["--runs", str(runs)]
    words += ["--finding", str(finding.absolute())] if finding else []
    words += ["--out", str(out.absolute())] if out else []
    with _asked("files-image", program, trace.absolute()) as asked:
        answer, _ = engine.single(
            engine_path,
            [*asked, *words],
            events.Imaged,
            interrupt=interrupt,
            environment=endings.environment(),
            cwd=program.recovery.cwd,
        )
    assert isinstance(answer, events.Imaged)
    return answer


@contextmanager
def _asked(command: str, program: Program, trace: Path) -> Iterator[list[str]]:
    """The engine's command on the trace, with the file systems and the commands that judge, in the body."""
    assert program.folder is not None
    with trees.profiles_file(program.folder.profiles) as profiles, _mount_point(program.folder.path):
        words = [command, "--trace", str(trace), "--folder", str(program.folder.path), "--profiles", profiles]
        words += ["--sector", str(program.folder.sector_size)]
        yield [*words, *program.recovery.engine_words()]


@contextmanager
def _mount_point(folder: Path) -> Iterator[None]:
    """The folder exists in the body: the engine serves trees in its place. A folder that is made here is removed."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()


def _modules(recording: Recording) -> StreamItem:
    """The modules that the stacks of the recording name."""
    raw = {"event": "modules", "modules": [module.model_dump() for module in recording.modules]}
    return events.Modules.model_validate(raw), raw


def _without_gaps(result: events.Result, missed: list[str]) -> events.Result:
    """The result of a recording with gaps: nothing is consistent, and nothing complete."""
    reason = _GAPS.format("; ".join(missed))

    def verdict(known: str) -> str:
        return "unknown" if known == "consistent" else known

    rows = [
        row.model_copy(update={"verdict": verdict(row.verdict), "complete": False, "reason": row.reason or reason})
        for row in result.profiles
    ]
    coverage = result.coverage.model_copy(update={"kind": "sampled", "reason": reason})
    return result.model_copy(update={"verdict": verdict(result.verdict), "coverage": coverage, "profiles": rows})


def reproduce(record: FindingRecord, finding: Path, trace: Path, *, engine_path: Path, out: Path | None) -> Replayed:
    """Runs the commands of a finding's record on its tree; `out` is a folder for the tree."""
    answer = image(of_record(record.commands), trace, engine_path=engine_path, finding=finding, out=out)
    return replayed(record, answer)


def of_record(described: ProgramRecord) -> Program:
    """The program of a record, whose trace is there already."""
    folder = Folder(path=Path(described.folder), profiles=described.profiles, sector_size=described.sector_size)
    recovery = replace(Recovery.of_record(described), pools=(folder.path,))
    return Program(name=described.name, recovery=recovery, folder=folder)
