"""Records the program of `powercut run --files`: its options, checked, and the recording of its calls on the folder."""

import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from powercut.base import scratch
from powercut.base.errors import UsageError
from powercut.base.option import is_given, rows
from powercut.base.output_files import unwritable
from powercut.engine.engine import Interrupt
from powercut.engine.supervise import OUTPUTS, Ended, Output, StartError, supervised
from powercut.files import fresh_folder
from powercut.files import record as files_record
from powercut.files.places import is_runtime
from powercut.files.record import RecordedFiles
from powercut.program import acknowledgements, endings
from powercut.program import binary as program_binary
from powercut.program import ops_file as program_ops_file
from powercut.program.options import ProgramOptions
from powercut.program.recording import Recording
from powercut.program.words import duration, words, working_folder
from powercut_records.program import Program as ProgramRecord

#: How a set-up begins.
_BARE = "with an empty folder, or, where it fails there, with none"
#: Bytes of a command's output that reports show.
_KEPT = 32 * 1024
#: Fields of the options that say something of pools in memory, of a device, or of schedules.
_OTHERS = ("pool", "device", "atomic_unit", "keep_pool", "keep", "images", "threads")


def recording(given: ProgramOptions, *, out: Path) -> Recording:
    """The recording that the options ask for, whose reports go to `out`. UsageError when it cannot be made."""
    assert given.files is not None
    for field, option in rows(given):
        if field.name in _OTHERS and is_given(getattr(given, field.name), field.default):
            raise UsageError(
                f"{option.flag} has no use for a folder",
                where=f"--files {given.files} {option.flag}",
                next_step="Leave it out: all files below the folder are judged, as the calls leave them.",
            )
    if given.record is None:
        raise UsageError(
            "a folder needs a command to record",
            where=f"--files {given.files}",
            next_step=f"Name the program that keeps its data there: --record './prog run {given.files}'.",
        )
    cwd = working_folder(given.cwd)
    command = words(given.record, option="--record")
    driver, setup = words(given.ops, option="--ops"), words(given.setup, option="--setup")
    for flag, chosen in (("--ops", driver), ("--setup", setup)):
        if chosen:
            program_binary.find(chosen[0], cwd=cwd, option=flag)
    if driver and given.ops_file is not None:
        raise UsageError(
            "a program has its operations from one place",
            where=f"--ops {given.ops} --ops-file {given.ops_file}",
            next_step="Leave one of them out.",
        )
    folder = fresh_folder.examine(given.files, cwd=cwd)
    binary = program_binary.find(command[0], cwd=cwd, option="--record")
    fresh_folder.refuse_inside(folder, the_folder_of_the_commands=cwd, the_program=binary.path, the_output=out)
    return Recording(
        command=command,
        binary=binary,
        ops=driver,
        ops_file=None if given.ops_file is None else program_ops_file.examine(given.ops_file, cwd=cwd),
        pools=(folder,),
        cwd=cwd,
        tracer=files_record.tracer(given.tracer),
        timeout=duration(given.record_timeout, option="--record-timeout"),
        allowed=frozenset({0, *(given.allow_exit or [])}),
        setup=setup,
        bare=_BARE,
        ack=None if given.ack is None else acknowledgements.pattern(given.ack),
    )


def recording_again(described: ProgramRecord) -> Recording:
    """The recording of a finding's record, to be made again. UsageError when it cannot be made any more."""
    cwd = Path(described.cwd)
    return Recording(
        command=tuple(described.command),
        binary=program_binary.find(described.command[0], cwd=cwd, option="--record"),
        ops=tuple(described.ops),
        ops_file=program_ops_file.examine(described.ops_file, cwd=cwd) if described.ops_file else None,
        pools=(fresh_folder.examine(described.folder, cwd=cwd),),
        cwd=cwd,
        tracer=described.tracer,
        timeout=described.record_timeout,
        allowed=frozenset(described.allowed),
        setup=tuple(described.setup),
        bare=_BARE,
        ack=acknowledgements.pattern(described.ack) if described.ack else None,
    )


def name_of(recording: Recording) -> str:
    """The name of the program in reports: that of its file, or of the script that an interpreter runs."""
    first, *rest = recording.command
    script = next((word for word in rest if (recording.cwd / word).is_file()), None)
    named = script if script and is_runtime(os.path.realpath(shutil.which(first) or first)) else first
    return os.path.basename(named)


def record(recording: Recording, trace: Path, *, name: str, interrupt: Interrupt | None = None) -> dict[str, Any]:
    """Records into `trace`, and returns facts about the recording. A failure leaves an older trace alone.

    The folder is as before when this returns.
    """
    trace = trace.absolute()  # the program may run in another folder
    (folder,) = recording.pools
    fresh_folder.refuse_inside(folder, the_trace=trace)
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        with scratch.folder(".record.", within=trace.parent) as place:
            return _record(recording, trace, name=name, scratch=place, interrupt=interrupt)
    except OSError as error:
        raise unwritable(trace, error) from error


def _record(
    recording: Recording, trace: Path, *, name: str, scratch: Path, interrupt: Interrupt | None
) -> dict[str, Any]:
    part = scratch / trace.name
    (folder,) = recording.pools
    with fresh_folder.begun(recording, scratch=scratch, interrupt=interrupt) as begun:
        recording = begun.recording
        command, variables = files_record.recorder(
            recording.words, folder, part, scratch=scratch, ack=recording.ack, tracer=recording.tracer
        )
        try:
            with supervised(
                command,
                cwd=recording.cwd,
                environment={**endings.environment(), **(variables or {})},
                timeout=recording.limit,
                driver=recording.driver,
                scratch=scratch,
                held=(begun.held,),
                interrupt=interrupt,
            ) as ended:
                endings.refuse_slow("the program", recording, ended, endings.where(recording))
                found = files_record.recorded(scratch, of=recording.command[0])
        except StartError as error:
            raise endings.not_started(error) from error
        ended = _of_command(ended, found, scratch / "output")
        endings.refuse_failure(recording, ended)
        _refuse_untouched(recording, found)
        found = files_record.acknowledged(found, scratch, part, of=recording.command[0], ack=recording.ack)
    part.replace(trace)
    return {
        "events": found.events,
        "operations": found.acknowledged,
        "trace": os.fspath(trace),
        "missed": found.missed,
        "pools": [],
        "program": {
            **endings.described(recording, ended, name=name),
            "notes": [*found.notes, *_of_left(ended), *_of_elsewhere(found, folder)],
        },
    }


def _of_command(ended: Ended, found: RecordedFiles, output: Path) -> Ended:
    """The end of the command, where `ended` is that of its recorder; `output`: a folder that it may have printed to."""
    status = -found.signal if found.signal is not None else found.status or 0
    printed: dict[str, Any] = {name: _beginning(output / name) for name in OUTPUTS if (output / name).is_file()}
    return replace(ended, status=status, **printed)


def _beginning(file: Path) -> Output:
    with file.open("rb") as data:
        return Output(head=data.read(_KEPT).decode("utf-8", "replace"))


def _refuse_untouched(recording: Recording, found: RecordedFiles) -> None:
    if not found.touched:
        (folder,) = recording.pools
        raise UsageError(
            f"nothing was recorded. {found.untouched(folder).removesuffix('.')}",
            where=f"{endings.where(recording)} --files {shlex.quote(os.fspath(folder))}",
            next_step=recording.advice + "Name the folder that the program writes to, and see that the command does.",
        )


def _of_left(ended: Ended) -> list[str]:
    left = "; ".join(ended.left[:3])
    return [f"the program left processes behind, which were ended: {left}"] if left else []


def _of_elsewhere(found: RecordedFiles, folder: Path) -> list[str]:
    if not found.elsewhere_count:
        return []
    files = "a file" if found.elsewhere_count == 1 else f"{found.elsewhere_count} files"
    return [
        f"the program wrote {files} outside of {folder}, which no power cut takes here: {', '.join(found.elsewhere)}"
    ]
