"""A finding of a folder, looked for on real file systems: what is asked of their workers, and what becomes of it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from powercut.base import scratch
from powercut.base.errors import HarnessError, UsageError
from powercut.base.output_files import write_json
from powercut.confirm.requests import Looked, Run, Start
from powercut.files import fresh_folder
from powercut.files import recording as files_recording
from powercut.findings import run_records
from powercut.program import endings
from powercut.program.recording import Recording
from powercut.program.recovery import Recovery
from powercut.real_fs.guarded import Guarded, WorkerGone
from powercut.real_fs.systems import SYSTEMS
from powercut_records.base import changed
from powercut_records.files import Confirmed
from powercut_records.finding import FindingRecord

WORKER = "powercut.confirm.worker"
IMAGES = 40  # of one run, at most: further runs show more than further images
SECONDS = 60.0  # for one file system, unless --budget says otherwise
PATIENCE = 30.0  # seconds that one run may take beyond its time
#: Seconds that the program may take, where the finding's recording had no limit.
LONGEST = 600.0


def chosen(names: str | None, finding: FindingRecord) -> list[str]:
    """The file systems of a list such as 'ext4,xfs', each once; without one, those under which the finding is legal.
    UsageError for what no real file system is known of, and where this machine lacks what one needs."""
    own = finding.files.profiles if finding.files else []
    words = own if names is None else [word.strip() for word in names.split(",") if word.strip()]
    words = [word for word in dict.fromkeys(words) if names is not None or word in SYSTEMS]
    if not words:
        raise UsageError(
            "no real file system stands for the finding's profiles",
            where="--on",
            next_step=f"Name file systems: {', '.join(SYSTEMS)}.",
        )
    for word in words:
        if word not in SYSTEMS:
            raise UsageError(
                f"'{word}' is no file system that can be confirmed on",
                where="--on",
                next_step=f"Use some of: {', '.join(SYSTEMS)}.",
            )
        if reason := SYSTEMS[word].missing():
            raise UsageError(
                f"a finding is confirmed on file systems that are made and mounted. {reason.removesuffix('.')}",
                where=f"--on {word}",
                next_step="This takes root, /dev/fuse, loop devices, the file system in the kernel, and its mkfs. "
                "An unconfirmed finding is still legal under its profiles.",
            )
    return words


def confirm(
    finding: FindingRecord,
    systems: Sequence[str],
    *,
    budget: float,
    engine: Path,
    told: Callable[[Confirmed], None] = lambda answer: None,
) -> list[Confirmed]:
    """The answers of the file systems, each told as it comes. HarnessError where a rig itself fails."""
    with scratch.folder("powercut-confirm-") as place:
        start = _start(finding, place, engine)
        found = []
        for system in systems:
            found.append(_on(system, start, finding, budget))
            told(found[-1])
        return found


def _start(finding: FindingRecord, scratch: Path, engine: Path) -> Start:
    """The folder as the program begins with it, copied, and the finding's commands. The user's folder is as before."""
    recording = recording_of(finding)
    (folder,) = recording.pools
    start = scratch / "start"
    with fresh_folder.begun(recording, scratch=scratch, interrupt=None):
        subprocess.run(["cp", "-a", "--", os.fspath(folder), os.fspath(start)], check=True)
    recovery = Recovery.of_record(finding.commands)
    probes = [(f"probe {number}", words) for number, words in enumerate(recovery.probes, 1)]
    steps = [("recover", recovery.recover), ("check", recovery.check), ("dump", recovery.dump), *probes]
    return Start(
        folder=os.fspath(folder),
        start=os.fspath(start),
        cwd=os.fspath(recording.cwd),
        command=list(recording.words),
        driver=list(recording.driver),
        engine=os.fspath(engine),
        environment=endings.environment(),
        timeout=recording.timeout or LONGEST,
        commands=[(name, _in_place(words, folder)) for name, words in steps if words],
        seconds=recovery.timeout,
        record=finding.as_json(),
    )


def recording_of(finding: FindingRecord) -> Recording:
    """How the program of a finding was recorded. UsageError where it is no finding of a folder, or has no command."""
    described = finding.commands
    where = f"finding {finding.fingerprint}"
    if finding.files is None or not described.folder or not described.command:
        raise UsageError(
            "this is no finding of a folder whose program can be run again",
            where=where,
            next_step="Name a finding that 'powercut run --files DIR --record CMD' wrote.",
        )
    if finding.crash_point.depth:
        raise UsageError(
            "this finding needs a second power cut, inside recovery, which real file systems are not asked for",
            where=where,
            next_step="'powercut reproduce' runs it again on its trees.",
        )
    return files_recording.recording_again(described)


def _in_place(words: Sequence[str], folder: Path) -> list[str]:
    return [word.replace("{image}", os.fspath(folder)) for word in words]


def _on(system: str, start: Start, finding: FindingRecord, budget: float) -> Confirmed:
    """Runs the program until an image fails as the finding, or the budget is over."""
    begun = time.monotonic()
    answer = Confirmed(system=system, kernel=kernel())
    try:
        with Guarded(WORKER, system, name=system) as worker:
            worker.tell(asdict(start))
            while not answer.reproduced and (left := begun + budget - time.monotonic()) > 0:
                asked = Run(number=answer.runs + 1, images=IMAGES, within=left)
                limit = left + start.timeout + PATIENCE + 4 * start.seconds
                looked = Looked(**worker.ask(asdict(asked), within=limit))
                if looked.error:
                    raise WorkerGone(looked.error)
                answer.runs += 1
                answer.image = answer.images + looked.reproduced if looked.reproduced else 0
                answer.images += looked.images
                answer.reproduced = bool(looked.reproduced)
    except WorkerGone as error:
        raise HarnessError(
            f"the run on {system} failed: {str(error).strip().splitlines()[-1]}",
            where=f"finding {finding.fingerprint}",
            next_step="Run the program by itself to see that it still ends well; "
            "'make test-real-fs' tells whether the rig works on this machine.",
        ) from error
    answer.seconds = round(time.monotonic() - begun, 1)
    return answer


def kernel() -> str:
    """ "Linux 6.18" """
    match = re.match(r"\d+\.\d+", os.uname().release)
    return f"{os.uname().sysname} {match[0] if match else os.uname().release}"


def with_answers(finding: FindingRecord, answers: Sequence[Confirmed]) -> FindingRecord:
    """The record with the answers; they take the place of earlier ones of the same file system and kernel."""
    new = {(each.system, each.kernel) for each in answers}
    kept = [each for each in finding.confirmed if (each.system, each.kernel) not in new]
    return changed(finding, confirmed=[*kept, *answers])


def keep(file: Path, answers: Sequence[Confirmed]) -> FindingRecord:
    """Writes the answers into the finding's file, and into the run records beside it that have the finding."""
    raw = FindingRecord.model_validate_json(file.read_text(encoding="utf-8"))
    finding = with_answers(raw, answers)
    write_json(file, finding.as_json())
    runs = file.resolve().parent.parent / "runs"
    for path in sorted(runs.glob("*.json")):
        run = run_records.load(path)
        mine = [each for each in run.findings if each.fingerprint == finding.fingerprint]
        if mine:
            run.findings = [
                changed(each, confirmed=finding.confirmed) if each in mine else each for each in run.findings
            ]
            write_json(path, run.as_json())
    return finding
