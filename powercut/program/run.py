"""Explores the trace of a program: the engine runs the user's recovery on crash images as files."""

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from powercut.base import scratch
from powercut.base.errors import UsageError
from powercut.engine import engine, events
from powercut.engine.engine import Interrupt, StreamItem
from powercut.engine.options import STOP_WORD, ExploreOptions
from powercut.program import binary as program_binary
from powercut.program import endings, ops_file, trial, valgrind
from powercut.program import record as program_record
from powercut.program.program import Program
from powercut.program.recording import Device, Recording
from powercut.program.recovery import Recovery
from powercut.symbols import store_functions
from powercut_records.finding import FindingRecord
from powercut_records.program import Program as ProgramRecord

#: Share of a time budget that exploring may take once something was found: the rest is for the cause.
FOUND_SHARE = 0.75


def record(
    program: Program, trace: Path, *, interrupt: Interrupt | None, within: float | None = None
) -> dict[str, Any]:
    """Records the program's run; the fields of the run record that say how. `within`: seconds of a budget, or None."""
    assert program.recording is not None
    recording = replace(program.recording, within=within)
    return program_record.record(recording, trace, name=program.name, interrupt=interrupt)


def explore(
    program: Program,
    trace: Path,
    *,
    options: ExploreOptions,
    engine_path: Path,
    keep_image: Path | None = None,
    interrupt: Interrupt | None = None,
    spent: float = 0.0,
) -> Iterator[StreamItem]:
    """The events of the exploration. UsageError when the recovery cannot judge: it fails where nothing was lost.

    `keep_image`: a file for an image on which recovery came to two different ends, if there is one. `spent`: seconds of
    the budget that are over.
    """
    trace = trace.absolute()  # the engine works in the folder of the commands
    begun = time.monotonic() - spent
    judged = partial(image, program.recovery, trace, engine_path=engine_path, runs=2)
    trial.within_budget(judged, program.recovery, "pool", options=options, interrupt=interrupt, begun=begun)
    arguments = ["program", "--trace", str(trace), *program.recovery.engine_words()]
    arguments += ["--model", options.model, "--atoms", options.atoms]
    arguments += ["--jobs", str(options.jobs), "--seed", str(options.seed), "--images", str(program.recovery.images)]
    if options.nested:
        # The stores of recovery are known under the tool alone.
        arguments += ["--nested", str(options.nested), *tracer(stacks=True), *_device_tracer()]
    else:
        arguments += _read_sets()
    if keep_image:
        keep_image.unlink(missing_ok=True)
        keep_image.parent.mkdir(parents=True, exist_ok=True)
        arguments += ["--keep-image", os.fspath(keep_image.absolute())]
    arguments += limit_words(options, begun=begun)
    with scratch.folder(".explore.", within=trace.parent) as folder:
        environment = {**endings.environment(), store_functions.VARIABLE: os.fspath(folder)}
        for event, raw in engine.stream(
            engine_path, arguments, interrupt=interrupt, under=((), environment), cwd=program.recovery.cwd
        ):
            if isinstance(event, events.Result) and not (stores := store_functions.of_folder(folder)).empty:
                event = event.model_copy(update={"store_functions": stores.record()})
            yield event, raw


def limit_words(options: ExploreOptions, *, begun: float) -> list[str]:
    """The engine's options that end an exploration early. `begun`: when the budget began, by the monotonic clock."""
    words: list[str] = []
    if options.budget.seconds is not None:
        words += ["--budget-seconds", f"{options.budget.seconds:g}"]
        words += ["--budget-found", f"{options.budget.seconds * FOUND_SHARE:g}"]
        words += ["--budget-spent", f"{time.monotonic() - begun:.3f}"]
    if options.budget.executions is not None:
        words += ["--budget-executions", str(options.budget.executions)]
    return words if options.keep_going else [*words, STOP_WORD]


def image(
    recovery: Recovery,
    trace: Path,
    *,
    engine_path: Path,
    finding: Path | None = None,
    out: Path | None = None,
    runs: int = 1,
    interrupt: Interrupt | None = None,
) -> events.Imaged:
    """Runs the commands on the image of a finding, or on the one that the program left at its end."""
    arguments = ["program-image", "--trace", str(trace.absolute()), "--runs", str(runs), *recovery.engine_words()]
    if finding:
        arguments += ["--finding", str(finding.absolute())]
    if out:
        arguments += ["--out", str(out.absolute())]
    environment = endings.environment()
    answer, _ = engine.single(
        engine_path, arguments, events.Imaged, interrupt=interrupt, environment=environment, cwd=recovery.cwd
    )
    assert isinstance(answer, events.Imaged)
    return answer


def _read_sets() -> list[str]:
    """Returns the engine's options for learning what recovery reads, which spares images that recovery cannot tell
    apart.

    Commands tell it themselves where that can be followed, and else under the Valgrind tool. Where that is missing and
    one of them needs it, every image is run.
    """
    words = ["--report-reads"]
    with contextlib.suppress(UsageError):
        words += tracer()
    return words


def tracer(*, stacks: bool = False) -> list[str]:
    """The engine's option for runs of recovery under the Valgrind tool. UsageError where it is missing.

    With `stacks` recovery's own stores have call stacks, for findings of cuts inside it.
    """
    image = Path("/{image}")
    return _prefix("--trace-prefix", partial(valgrind.command, pools=[image], loads=True, stacks=stacks))


def _device_tracer() -> list[str]:
    """The engine's option for what recovery does to a device, which the tool records in a run of its own."""
    return _prefix("--device-prefix", partial(valgrind.command, pools=[], device=Path("/{image}")))


def _prefix(option: str, under: Callable[..., tuple[list[str], dict[str, str]]]) -> list[str]:
    command, variables = under([], stream=Path("/{stream}"), env={})
    words = [word.replace("/{", "{") for word in command]
    return [option, json.dumps({"command": words, "environment": variables})]


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """Yields the present findings on a finding's image."""

    held: bool
    invariant: str
    message: str
    files: tuple[str, ...]


def reproduce(
    record: FindingRecord, finding: Path, trace: Path, *, engine_path: Path, out: Path | None = None
) -> Replayed:
    """Runs the commands of a finding's record on its image; `out` is a file for the image.

    A schedule that went wrong by itself has no image: whether the trace still has it.
    """
    recovery = Recovery.of_record(record.commands)
    answer = image(recovery, trace, engine_path=engine_path, finding=finding, out=out)
    if record.by_schedule:
        held = bool(answer.trouble) and answer.trouble == record.message
        return Replayed(held=held, invariant=record.invariant, message=answer.trouble, files=())
    return replayed(record, answer)


def replayed(record: FindingRecord, answer: events.Imaged) -> Replayed:
    """The answer about the image of a finding."""
    wrong = answer.violation
    return Replayed(
        held=wrong is not None,
        invariant=wrong.invariant if wrong else record.invariant,
        message=f"{wrong.message} ({wrong.query})" if wrong else "",
        files=tuple(answer.files),
    )


def of_record(described: ProgramRecord) -> Program:
    """The program of a record, whose trace is there already."""
    return Program(name=described.name, recovery=Recovery.of_record(described))


def refuse_without_lines(record: FindingRecord) -> None:
    """UsageError for the finding of a program whose operations are not in a file."""
    if not record.commands.ops_file:
        raise UsageError(
            "the program's operations are not known line by line",
            where=f"finding {record.fingerprint}",
            next_step="Give them to 'powercut run' as a file, with --ops-file FILE, and find it again; or give the "
            "--record command less to do.",
        )


def recording_of(record: FindingRecord) -> Recording:
    """How the program of a finding was recorded, on its file of operations. UsageError where it cannot be again."""
    refuse_without_lines(record)
    described = record.commands
    where = f"finding {record.fingerprint}"
    assert described.ops_file
    if described.keep_pool:
        raise UsageError(
            "it began with a pool that it has changed",
            where=where,
            next_step="Make the pool with --setup CMD instead of --keep-pool, and find it again.",
        )
    if described.scheduled:
        raise UsageError(
            "its threads were run in many schedules, and one of these shows the finding",
            where=where,
            next_step="Give the --record command less to do, and run it again.",
        )
    cwd = Path(described.cwd)
    device = described.device
    return Recording(
        command=tuple(described.command),
        binary=program_binary.find(described.command[0], cwd=cwd, option="--record"),
        ops_file=ops_file.examine(described.ops_file, cwd=cwd),
        pools=tuple(Path(pool.path) for pool in described.pools),
        cwd=cwd,
        tracer=described.tracer,
        timeout=described.record_timeout,
        allowed=frozenset(described.allowed),
        setup=tuple(described.setup),
        ack=re.compile(described.ack) if described.ack else None,
        device=Device(sector_size=device.sector_size, unit=device.unit) if device else None,
    )
