"""Program mode: makes a request of its options. The options are in `powercut.program.options`."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from powercut.base import trust
from powercut.engine.options import ExploreOptions
from powercut.program import recording as recordings
from powercut.program import recovery as recoveries
from powercut.program.options import ProgramOptions
from powercut.program.program import Program
from powercut.program.recording import Recording
from powercut.program.recovery import Recovery
from powercut.program.words import default_name
from powercut.runs import runner
from powercut.runs.run_request import Request
from powercut_records.media import BLOCK, MEMORY


def recording_of(given: ProgramOptions, chosen: ExploreOptions) -> Recording:
    """Returns the recording that the options ask for."""
    scheduled = given.record is not None and given.scheduled
    scheduling = recordings.scheduling(chosen.schedules, seed=chosen.seed, model=chosen.model) if scheduled else None
    return recordings.recording(given, scheduling=scheduling)


def run_request(given: ProgramOptions, chosen: ExploreOptions) -> Request:
    """Returns the run of `powercut run --record …`."""
    recording = recording_of(given, chosen)
    chosen = chosen.on(BLOCK if recording.device else MEMORY)
    name = given.name or default_name(recording.command)
    made = Program(name=name, recording=recording, recovery=replace(_recovery(given), pools=recording.pools))
    # 'powercut minimise' runs the command again.
    trust.remember([trust.command(recording.command, recording.cwd)])
    words = ["powercut", "run", *replace(given, tracer=recording.tracer).again()]
    words += chosen.schedules.words() if given.scheduled else []
    return _request(made, chosen, scenario=shlex.join(recording.command), words=words)


def explore_request(given: ProgramOptions, chosen: ExploreOptions, trace: Path) -> Request:
    """Returns the run of `powercut explore TRACE --recover …`."""
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
    judging = (made.recover, made.check, made.dump, *made.probes)
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
