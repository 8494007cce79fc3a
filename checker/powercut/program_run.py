"""Explores the trace of a program: the engine runs the user's recovery on crash images as files."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from powercut import engine, program_record
from powercut.engine import Interrupt, StreamItem
from powercut.options import ExploreOptions
from powercut.program import Program, Recovery


def record(program: Program, trace: Path, *, interrupt: Interrupt | None) -> dict[str, Any]:
    """Records the program's run; the fields of the run record that say how."""
    assert program.recording is not None
    return program_record.record(program.recording, trace, name=program.name, interrupt=interrupt)


def explore(
    program: Program, trace: Path, *, options: ExploreOptions, engine_path: Path, interrupt: Interrupt | None = None
) -> Iterator[StreamItem]:
    """The events of the exploration."""
    arguments = ["program", "--trace", str(trace), *commands(program.recovery)]
    arguments += ["--model", options.model, "--atoms", options.atoms]
    arguments += ["--jobs", str(options.jobs), "--seed", str(options.seed)]
    if options.budget.seconds is not None:
        arguments += ["--budget-seconds", f"{options.budget.seconds:g}"]
    if options.budget.executions is not None:
        arguments += ["--budget-executions", str(options.budget.executions)]
    return engine.stream(
        engine_path,
        arguments,
        interrupt=interrupt,
        under=((), program_record.environment()),
        cwd=program.recovery.cwd,
    )


def commands(recovery: Recovery) -> list[str]:
    """The engine's options for the commands that judge an image."""
    arguments = ["--timeout", f"{recovery.timeout:g}"]
    for option, command in (("recover", recovery.recover), ("check", recovery.check), ("dump", recovery.dump)):
        if command:
            arguments += [f"--{option}", json.dumps(_with_real_paths(command, recovery))]
    return arguments


def _with_real_paths(command: Sequence[str], recovery: Recovery) -> list[str]:
    """Words that are a pool's file under another name, such as a link, as that file: the engine knows only one name."""
    known = {os.fspath(pool) for pool in recovery.pools}
    first, *rest = command
    return [first, *(real if (real := os.path.realpath(recovery.cwd / word)) in known else word for word in rest)]
