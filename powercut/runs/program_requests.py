"""Runs of program mode, made of their options (`powercut.program.options`)."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from powercut.base import trust
from powercut.base.errors import UsageError
from powercut.engine.engine import Interrupt
from powercut.engine.options import ExploreOptions
from powercut.files import recording as folder_recordings
from powercut.files import trees
from powercut.program import record as program_record
from powercut.program import recording as recordings
from powercut.program import recovery as recoveries
from powercut.program.options import SECTOR_SIZES, ProgramOptions
from powercut.program.program import Folder, Program
from powercut.program.recording import Recording
from powercut.program.recovery import Recovery
from powercut.program.words import default_name
from powercut.runs import runner
from powercut.runs.run_request import Request
from powercut_records.media import BLOCK, FOLDER, MEMORY


def recording_of(given: ProgramOptions, chosen: ExploreOptions) -> Recording:
    """Returns the recording that the options ask for."""
    scheduled = given.record is not None and given.scheduled
    scheduling = recordings.scheduling(chosen.schedules, seed=chosen.seed, model=chosen.model) if scheduled else None
    return recordings.recording(given, scheduling=scheduling)


def record(given: ProgramOptions, chosen: ExploreOptions, trace: Path, *, interrupt: Interrupt) -> dict[str, Any]:
    """Records the command of `powercut record --record …`, and returns facts about the recording."""
    if given.files is not None:
        recording = folder_recordings.recording(given, out=trace)
        name = given.name or folder_recordings.name_of(recording)
        return folder_recordings.record(recording, trace, name=name, interrupt=interrupt)
    recording = recording_of(given, chosen)
    name = given.name or default_name(recording.command)
    return program_record.record(recording, trace, name=name, interrupt=interrupt)


def run_request(given: ProgramOptions, chosen: ExploreOptions, *, out: Path) -> Request:
    """Returns the run of `powercut run --record …`, whose reports go to the folder `out`."""
    if given.files is not None:
        return _folder_request(given, chosen, out)
    _refuse_file_systems(given)
    recording = recording_of(given, chosen)
    chosen = chosen.on(BLOCK if recording.device else MEMORY)
    name = given.name or default_name(recording.command)
    made = Program(name=name, recording=recording, recovery=replace(_recovery(given), pools=recording.pools))
    # 'powercut minimise' runs the command again.
    trust.remember([trust.command(recording.command, recording.cwd)])
    words = ["powercut", "run", *replace(given, tracer=recording.tracer).again()]
    words += chosen.schedules.words() if given.scheduled else []
    return _request(made, chosen, scenario=shlex.join(recording.command), words=words)


def _folder_request(given: ProgramOptions, chosen: ExploreOptions, out: Path) -> Request:
    """Returns the run of `powercut run --files …`."""
    profiles = trees.switches(trees.chosen(given.fs))
    recording = folder_recordings.recording(given, out=out)
    (path,) = recording.pools
    recovery = replace(_recovery(given), pools=recording.pools)
    name = given.name or folder_recordings.name_of(recording)
    layout = recordings.device_layout(sector_size=given.sector_size, unit=None)
    sector_size = layout.sector_size if layout else SECTOR_SIZES[0]
    folder = Folder(path=path, profiles=profiles, sector_size=sector_size)
    made = Program(name=name, recording=recording, recovery=recovery, folder=folder)
    trust.remember([trust.command(recording.command, recording.cwd)])
    return _of_folder(made, chosen, scenario=shlex.join(recording.command), words=["powercut", "run", *given.again()])


def _folder_of_trace(given: ProgramOptions, chosen: ExploreOptions, trace: Path, path: Path) -> Request:
    """Returns the run of `powercut explore` on the recording of a folder."""
    folder = Folder(path=path, profiles=trees.switches(trees.chosen(given.fs)))
    recovery = replace(_recovery(given), pools=(path,))
    made = Program(name=given.name or default_name([trace.stem]), recovery=recovery, folder=folder)
    words = ["powercut", "explore", str(trace), *given.again(judging=True)]
    return replace(_of_folder(made, chosen, scenario=trace.name, words=words), trace=trace.absolute())


def _refuse_file_systems(given: ProgramOptions) -> None:
    if given.continuation is not None:
        raise UsageError(
            "second lives are for a folder, and here is none",
            where=f"--continue {given.continuation}",
            next_step="Name the folder that holds the program's data with --files DIR, or leave --continue out.",
        )
    if given.fs is not None:
        raise UsageError(
            "file systems are for a folder, and here is none",
            where=f"--fs {given.fs}",
            next_step="Name the folder that holds the program's data with --files DIR, or leave --fs out.",
        )


def _of_folder(made: Program, chosen: ExploreOptions, *, scenario: str, words: list[str]) -> Request:
    """A run on a folder. Its file systems stand in the place of a persistency model."""
    assert made.folder is not None
    words += ["--seed", str(chosen.seed), *(["--nested", str(chosen.nested)] if chosen.nested else [])]
    header: dict[str, Any] = {
        "target": made.name,
        "scenario": scenario,
        "model": FOLDER.own_model,
        "command": shlex.join(words),
        "program": {"name": made.name, **made.recovery.described(), **made.folder.described()},
    }
    slug = runner.slug(made.name, "folder")
    return Request(name=f"{made.name} {scenario}", slug=slug, options=chosen, program=made, header=header)


def explore_request(given: ProgramOptions, chosen: ExploreOptions, trace: Path) -> Request:
    """Returns the run of `powercut explore TRACE --recover …`."""
    files = trust.metadata_of(trace).get("files")
    if isinstance(files, dict) and isinstance(files.get("folder"), str):
        return _folder_of_trace(given, chosen, trace, Path(files["folder"]))
    _refuse_file_systems(given)
    made = Program(name=given.name or default_name([trace.stem]), recovery=_recovery(given))
    words = ["powercut", "explore", str(trace), *given.again(judging=True)]
    request = _request(made, chosen, scenario=trace.name, words=words)
    recorded = trust.metadata_of(trace).get("program")
    if isinstance(recorded, dict):  # what a reader of the verdict has to know of the recording
        request.header["program"] |= {name: str(recorded[name]) for name in ("began", "ack") if name in recorded}
    return replace(request, trace=trace.absolute())


def _recovery(given: ProgramOptions) -> Recovery:
    """Returns the recovery, which tells how images are judged."""
    made = recoveries.recovery(given)
    # A finding's record names the commands again.
    judging = (made.recover, made.check, made.dump, made.continuation, *made.probes)
    trust.remember(trust.command(words, made.cwd) for words in judging if words)
    return made


def _request(made: Program, chosen: ExploreOptions, *, scenario: str, words: list[str]) -> Request:
    words += ["--model", chosen.model, "--atoms", chosen.atoms, "--seed", str(chosen.seed)]
    words += ["--nested", str(chosen.nested)] if chosen.nested else []
    header: dict[str, Any] = {
        "target": made.name,
        "scenario": scenario,
        "command": shlex.join(words),
        "program": {"name": made.name, **made.recovery.described()},
    }
    return Request(
        name=f"{made.name} {scenario}",
        slug=runner.slug(made.name, "program"),
        options=chosen,
        program=made,
        header=header,
    )
