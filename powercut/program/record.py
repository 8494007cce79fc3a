"""Records a program: it runs under a tracer with its own files, and its changes of the pools become a trace."""

import json
import os
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.output_files import unwritable, write_json
from powercut.base.scratch import folder as scratch_folder
from powercut.engine import engine, events
from powercut.engine.engine import Interrupt
from powercut.engine.supervise import Ended, Output, StartError, supervised
from powercut.program import acknowledgements, endings, other_files, pin, pmemcheck, unseen_instructions, valgrind
from powercut.program import pools as program_pools
from powercut.program.pools import Aside
from powercut.program.recording import Recording
from powercut.symbols import store_functions

_STREAM = "stream"
_REACHED = "reached"
#: Seconds that a recording has at least, however little a budget leaves of its time.
_LEAST = 0.1
_NO_FILE = "no file"


def record(recording: Recording, trace: Path, *, name: str, interrupt: Interrupt | None = None) -> dict[str, Any]:
    """Records into `trace` and returns facts about the trace. A failure leaves an older trace alone.

    The program begins without pool files, or with the files that its set-up has made. The next run of the command
    therefore finds what this run has found. Older files are set aside, and come back afterwards. With `keep_pool` the
    program works on the older files, and they stay as the program left them.
    """
    trace = trace.absolute()  # the program may run in another folder
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(".record.", within=trace.parent) as scratch:
            return _record(recording, trace, name=name, scratch=scratch, interrupt=interrupt)
    except OSError as error:
        raise unwritable(trace, error) from error


def _record(
    recording: Recording, trace: Path, *, name: str, scratch: Path, interrupt: Interrupt | None
) -> dict[str, Any]:
    if recording.keep_pool:
        before = [pool if pool.exists() else None for pool in recording.pools]
        recording = _begun(recording, "the file as it was" if any(before) else _NO_FILE)
        _copy(recording, before, scratch)
        recorded = _traced(recording, trace, name=name, scratch=scratch, interrupt=interrupt)
    else:
        with program_pools.aside(recording.pools) as aside:
            _copy(recording, aside.before, scratch)
            began = f"{_NO_FILE} (the one that was there is back)" if any(aside.before) else _NO_FILE
            if recording.setup:
                started = time.monotonic()
                endings.set_up(recording, scratch=scratch, held=aside.held, interrupt=interrupt)
                began = f"made by --setup: {shlex.join(recording.setup)}"
                if recording.within is not None:
                    left = max(_LEAST, recording.within - (time.monotonic() - started))
                    recording = replace(recording, within=left)
            recording = _begun(recording, began)
            recorded = _traced(recording, trace, name=name, scratch=scratch, aside=aside, interrupt=interrupt)
    if recording.keep:
        _keep(scratch, trace)
    return recorded


def _begun(recording: Recording, began: str) -> Recording:
    """The recording with the state of the pools, and with advice where there was no file."""
    if not began.startswith(_NO_FILE):
        return replace(recording, began=began)
    pools = " or ".join(map(os.fspath, recording.pools))
    return replace(
        recording,
        began=began,
        advice=f"It began without {pools}: if it does not make that itself, give --setup CMD, or --keep-pool to begin "
        "with the file that is there. Otherwise: ",
    )


def _copy(recording: Recording, before: Sequence[Path | None], scratch: Path) -> None:
    """For --keep: the pools as they were."""
    for number, file in enumerate(before):
        if recording.keep and file:
            program_pools.copy(file, scratch / f"{number}.before")
            shutil.copystat(file, scratch / f"{number}.before")


def _traced(
    recording: Recording,
    trace: Path,
    *,
    name: str,
    scratch: Path,
    aside: Aside | None = None,
    interrupt: Interrupt | None,
) -> dict[str, Any]:
    part = scratch / trace.name
    reached = scratch / _REACHED
    reached.mkdir()
    run = _scheduled if recording.scheduling else _pmemcheck if recording.tracer == "pmemcheck" else _stream
    try:
        ended, raw = run(recording, part, name=name, scratch=scratch, aside=aside, interrupt=interrupt)
    except StartError as error:
        raise endings.not_started(error) from error
    _refuse_unused(recording, ended, raw)
    part.replace(trace)
    stores = store_functions.of_folder(reached)
    return {
        **{key: value for key, value in raw.items() if key != "event"},
        **({} if stores.empty else {"store_functions": stores.record()}),
        "trace": os.fspath(trace),
        "program": {**endings.described(recording, ended, name=name), "notes": _notes(recording, ended, raw, scratch)},
    }


def _stream(
    recording: Recording, part: Path, *, name: str, scratch: Path, aside: Aside | None, interrupt: Interrupt | None
) -> tuple[Ended, dict[str, Any]]:
    """Records into a stream, and makes a trace of it."""
    stream = scratch / _STREAM
    output = scratch / "output" if recording.ack else None
    if output:
        output.mkdir()
    variables = endings.environment()
    command: Sequence[str] = recording.words
    if recording.tracer == "llvm":
        if colon := next((path for path in recording.pools if ":" in os.fspath(path)), None):
            raise UsageError(
                "the llvm tracer cannot name a pool whose path has a colon",
                where=f"--pool {colon}",
                next_step="Use another path, or --tracer valgrind.",
            )
        files = ":".join(map(os.fspath, recording.pools))
        named = "POWERCUT_DEVICE_FILE" if recording.device else "POWERCUT_POOL_FILES"
        variables |= {"POWERCUT_STREAM": os.fspath(stream), named: files}
        variables |= {store_functions.VARIABLE: os.fspath(scratch / _REACHED)}
        variables |= {"POWERCUT_OUTPUT": os.fspath(output)} if output else {}
    elif recording.tracer == "pin":
        command, variables = pin.command(command, stream=stream, pools=recording.pools, env=variables)
    else:
        device_file = recording.pools[0] if recording.device else None
        pools = [] if recording.device else recording.pools
        command, variables = valgrind.command(
            command, stream=stream, pools=pools, device=device_file, output=output, env=variables
        )
    saved = aside.saved if aside else None
    with supervised(
        other_files.watched(command, pools=recording.pools, scratch=scratch, saved=saved),
        cwd=recording.cwd,
        environment=variables,
        timeout=recording.limit,
        driver=recording.driver,
        scratch=scratch,
        output=output,
        held=(aside.held,) if aside else (),
        interrupt=interrupt,
    ) as ended:
        beside = other_files.found(command, scratch=scratch)
        endings.refuse_failure(recording, ended)
        if not stream.exists():
            # It begins when the program does something with a pool.
            return ended, {"pools": [], "notes": []}
        file = scratch / "metadata.json"
        hidden = unseen_instructions.sentences(recording.binary.path) if recording.tracer == "llvm" else []
        described = {**endings.described(recording, ended, name=name), "unseen": hidden, **beside.described()}
        write_json(file, {"program": described})
        arguments = ["convert", "--stream", str(stream), "--trace", str(part), "--metadata", str(file)]
        if device := recording.device:
            arguments += ["--sector-size", str(device.sector_size), "--atomic-unit", str(device.unit)]
        if recording.ack and output:
            acknowledged = scratch / "acknowledged.json"
            write_json(acknowledged, acknowledgements.found(recording.ack, output))
            arguments += ["--acknowledged", str(acknowledged)]
        _, raw = engine.single(paths.engine(), arguments, events.Converted)
        if raw.get("exit") is None:
            raise UsageError(
                "the recording has no end: the program replaced itself by another one, or was ended from outside",
                where=endings.where(recording),
                next_step="Record the program that works on the pool itself.",
            )
        return ended, raw


def _scheduled(
    recording: Recording, part: Path, *, name: str, scratch: Path, aside: Aside | None, interrupt: Interrupt | None
) -> tuple[Ended, dict[str, Any]]:
    """Records all schedules into one trace."""
    chosen = recording.scheduling
    assert chosen is not None
    file = scratch / "metadata.json"
    hidden = unseen_instructions.sentences(recording.binary.path)
    # A run that is not refused below comes to what the trace says of it.
    described = endings.described(recording, _ended(events.Scheduled(event="scheduled", trace="", status=0)), name=name)
    write_json(file, {"program": {**described, "unseen": hidden}})
    arguments = ["record-schedules", "--command", json.dumps(recording.words), "--cwd", os.fspath(recording.cwd)]
    for pool in recording.pools:
        arguments += ["--pool", os.fspath(pool)]
    arguments += ["--trace", str(part), "--metadata", str(file), "--search", chosen.search, "--model", chosen.model]
    arguments += ["--preemptions", str(chosen.preemptions), "--schedules", str(chosen.schedules)]
    arguments += ["--seed", str(chosen.seed)]
    if recording.limit is not None:
        arguments += ["--seconds", f"{recording.limit:g}"]
    for status in sorted(recording.allowed - {0}):
        arguments += ["--allow-exit", str(status)]
    saved = aside.saved if aside else None
    watching = other_files.watched((), pools=recording.pools, scratch=scratch, saved=saved, asks=True)
    arguments += ["--other-files", str(other_files.report(scratch))]
    answer, raw = engine.single(
        paths.engine(),
        arguments,
        events.Scheduled,
        before=watching,
        interrupt=interrupt,
        environment={**endings.environment(), store_functions.VARIABLE: os.fspath(scratch / _REACHED)},
        cwd=recording.cwd,
        held=(aside.held,) if aside else (),
    )
    assert isinstance(answer, events.Scheduled)
    ended = _ended(answer)
    if answer.events:
        _refuse_others(recording, answer, scratch)
    if answer.stalled:
        raise UsageError(
            f"the program did not come to its end with its threads scheduled: {answer.stalled}",
            where=endings.where(recording),
            next_step="Build all that waits for other threads with 'powercut cc', or leave out --threads scheduled.",
        )
    endings.refuse_failure(recording, ended)
    return ended, {**raw, "unseen": hidden}


def _refuse_others(recording: Recording, answer: events.Scheduled, scratch: Path) -> None:
    """The trace names the other files that the first schedules have changed, which must be all."""
    changed = [file["path"] for file in other_files.found((), scratch=scratch).changed]
    known = set(answer.other_files)
    if late := [path for path in changed if path not in known and not f"{path}/".startswith(f"{answer.folder}/")]:
        raise UsageError(
            f"only in some schedules the program has changed another file: {late[0]}",
            where=endings.where(recording),
            next_step="Let it write the same files in each schedule, or leave out --threads scheduled.",
        )


def _ended(answer: events.Scheduled) -> Ended:
    return Ended(
        status=answer.status,
        stopped=None,
        seconds=answer.seconds,
        stdout=Output(head=answer.stdout),
        stderr=Output(head=answer.stderr),
        left=(),
        driver_status=None,
        driver_stderr=Output(),
    )


def _pmemcheck(
    recording: Recording, part: Path, *, name: str, scratch: Path, aside: Aside | None, interrupt: Interrupt | None
) -> tuple[Ended, dict[str, Any]]:
    """Records into a log of pmemcheck, and makes a trace of it."""
    del name, scratch, interrupt
    recorded = pmemcheck.record(
        recording.words,
        recording.pools,
        part,
        cwd=recording.cwd,
        environment=endings.environment(),
        timeout=recording.limit,
        saved=aside.saved if aside else None,
    )
    endings.refuse_failure(recording, recorded.ended)
    raw = recorded.trace.model_dump()
    return recorded.ended, {**raw, "pools": [{**pool, "mapped": True} for pool in raw["pools"]], "notes": []}


def _refuse_unused(recording: Recording, ended: Ended, raw: Mapping[str, Any]) -> None:
    """A program that never touched a pool was not recorded, whatever else it did."""
    pools = {pool["path"]: pool for pool in raw["pools"]}
    used = [pool for pool in pools.values() if pool["mapped"] or (recording.device and pool["size"])]
    named = " or ".join(os.fspath(path) for path in recording.pools)
    if not used:
        private = any(note["kind"] == "private-mapping" for note in raw["notes"])
        forked = any(note["kind"] == "fork" for note in raw["notes"])
        if refused := [note["text"] for note in raw["notes"] if note["kind"] == "refused"]:
            raise UsageError(
                f"this cannot be judged: {refused[0]}",
                where=endings.where(recording),
                next_step="Judge a set-up in which the program writes this file under one name, by write or pwrite.",
            )
        why = ""
        step = "Name the file that it maps (shared) with --pool, and see that the command uses it."
        if private:
            why = ", but for private mappings (MAP_PRIVATE), whose stores never reach the file"
        elif ended.left:
            why = "; it went into the background as a daemon does, where nothing is recorded, and was ended there"
            step = "Record it in the foreground: many servers have an option for that, such as --foreground."
        elif forked:
            why = "; it started other processes, which are not recorded"
            step = "Record the program that works on the pool itself, not a script or a server that starts it."
        if recording.device:
            step = "Name the file that it writes with --device, and see that the command uses it."
        step = recording.advice + step
        raise UsageError(
            f"the program never {'wrote to' if recording.device else 'mapped'} {named}{why}",
            where=endings.where(recording),
            next_step=step,
        )


def _notes(recording: Recording, ended: Ended, raw: Mapping[str, Any], scratch: Path) -> list[str]:
    """Yields the blind spots of the recording, one sentence each."""
    notes = []
    kinds = [note["kind"] for note in raw["notes"]]
    if forks := kinds.count("fork"):
        many = "once" if forks == 1 else f"{forks} times"
        notes.append(f"the program forked {many} while it was recorded: what its children did is not in the trace")
    notes += [f"{note['text']}" for note in raw["notes"] if note["kind"] in ("exec", "other")]
    notes += [f"the verdict assumes: {note['text']}" for note in raw["notes"] if note["kind"] == "assumed"]
    private = {note["text"] for note in raw["notes"] if note["kind"] == "private-mapping"}
    notes += [f"private mappings of {path} are not persistent and were not recorded" for path in sorted(private)]
    others = scratch / f"{_STREAM}.unrecorded"
    if others.exists():
        lines = others.read_text(encoding="utf-8", errors="replace").splitlines()
        notes.append(f"other processes used the pool and were not recorded: {'; '.join(lines[:3])}")
    if recording.ack:
        notes += acknowledgements.notes(raw["acknowledged"])
    if ended.left:
        notes.append(f"the program left processes behind, which were ended: {'; '.join(ended.left[:3])}")
    unmapped = [pool["path"] for pool in raw["pools"] if not pool["mapped"] and not recording.device]
    if unmapped:
        notes.append(f"never mapped while it was recorded: {', '.join(unmapped)}")
    if recording.tracer == "llvm" and recording.binary.other_libraries:
        names = ", ".join(recording.binary.other_libraries)
        notes.append(
            f"what {names} did to the pool was seen only if built with 'powercut cc'; --tracer valgrind sees all of it"
        )
    return notes


def _keep(scratch: Path, trace: Path) -> None:
    kept = trace.with_suffix(".kept")
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    for file in scratch.iterdir():
        if file.name != trace.name:
            shutil.move(file, kept / file.name)
