"""Records what a command does to the files below a folder, by the tracer `calls` (tracer/calls).

The command works in place: after the recording the folder is what the command left.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, UsageError
from powercut.engine.supervise import OUTPUTS
from powercut.program import acknowledgements, valgrind

_CHOOSE = "Name the folder that holds the program's data with --files."


@dataclass(frozen=True, kw_only=True)
class RecordedFiles:
    """The end of a recorded command, and how much was recorded of it."""

    status: int | None
    signal: int | None
    events: int
    #: Whether the command changed or synced something below the folder.
    touched: bool
    #: Sentences on what was missed; they are notes of the trace as well.
    missed: list[str]
    #: Files outside of the folder that the command wrote to, those with the most writes first; three at most are named.
    elsewhere: list[str]
    #: How many there are.
    elsewhere_count: int
    #: Operations that the program's output has acknowledged, and notes on how the lines left the program.
    acknowledged: int = 0
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every call on the folder was followed, and nobody else has changed it."""
        return not self.missed

    def ending(self) -> str:
        """The end of the command, as the rest of a sentence."""
        if self.signal is not None:
            return f"was killed by signal {self.signal}"
        return f"ended with status {self.status}"

    def untouched(self, folder: Path) -> str:
        """Tells where the command wrote, if not to the folder."""
        if not self.elsewhere:
            return f"The command changed nothing below {folder}, and wrote no other file."
        if self.elsewhere_count == 1:
            return f"The command wrote 1 file, which is not below {folder}: {self.elsewhere[0]}."
        files = f"{self.elsewhere_count} files, none below {folder}"
        return f"The command wrote {files}: the most likely are {', '.join(self.elsewhere)}."


def checked_folder(folder: Path) -> Path:
    """The folder as an absolute path without links, or an error for what cannot be judged."""
    try:
        status = folder.stat()
    except OSError as error:
        raise UsageError(f"the folder cannot be used: {error.strerror}", where=str(folder), next_step=_CHOOSE) from None
    if not stat.S_ISDIR(status.st_mode):
        raise UsageError("this is a file, and no folder", where=str(folder), next_step=_CHOOSE)
    if os.path.ismount(folder):
        raise UsageError(
            "the root of a file system is no folder to judge: other files of the file system lie in it",
            where=str(folder),
            next_step="Make a folder below it, and let the program keep its data there.",
        )
    return folder.resolve()


def record(
    command: Sequence[str],
    folder: Path,
    trace: Path,
    *,
    ack: re.Pattern[str] | None = None,
    tracer: str = "calls",
) -> RecordedFiles:
    """Runs the command and writes its trace. Lines of its output that match `ack` acknowledge operations; the command
    then prints when it has ended. With the tracer `valgrind` stores through mappings are exact."""
    if not command:
        raise UsageError(
            "no command to record", where="--files", next_step="Write the command behind '--': -- ./app run DIR."
        )
    if shutil.which(command[0]) is None:
        raise UsageError(
            "the command cannot be found", where=command[0], next_step="Name a program that exists and may be run."
        )
    checked = checked_folder(folder)
    if trace.resolve().is_relative_to(checked):
        raise UsageError(
            "the trace would lie in the folder that is recorded",
            where=str(trace),
            next_step="Name another place with -o.",
        )
    with tempfile.TemporaryDirectory(prefix="powercut-", dir=_scratch_outside(checked, trace)) as name:
        scratch = Path(name)
        raw = scratch / "raw.pct" if ack else trace
        asked = [f"--folder={checked}", f"--trace={raw}", f"--marks={scratch / 'marks'}"]
        if ack:
            (scratch / "output").mkdir()
            asked.append(f"--output={scratch / 'output'}")
        words, environment = list(command), None
        if tracer == "valgrind":
            words, environment = valgrind.telling_stores(command, stores=scratch / "stores")
            asked += [f"--stores={scratch / 'stores'}", f"--tracer-words={len(words) - len(command)}"]
        try:
            found = _reported(scratch, ["record-files", *asked], ["--", *words], of=command[0], environment=environment)
        finally:
            _print_again(scratch / "output")
        printed = found.pop("printed")
        if ack:
            given = {"ack": ack.pattern, "printed": printed, "lines": acknowledgements.found(ack, scratch / "output")}
            (scratch / "lines").write_text(json.dumps(given), encoding="utf-8")
            asked = [f"--trace={raw}", f"--output={scratch / 'lines'}", f"--out={trace}"]
            counts = _reported(scratch, ["acknowledge-files", *asked], [], of=command[0])
            found |= {
                "events": counts["events"],
                "acknowledged": counts["lines"],
                "notes": tuple(acknowledgements.notes(counts)),
            }
    return RecordedFiles(**found)


def _scratch_outside(folder: Path, trace: Path) -> Path | None:
    """A place for files of the recorder's own outside of the folder; None: where temporary files are."""
    inside = Path(tempfile.gettempdir()).resolve().is_relative_to(folder)
    return trace.absolute().parent if inside else None


def _reported(
    scratch: Path, words: list[str], rest: list[str], *, of: str, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """The answer of a command of the engine that prints nothing."""
    report = scratch / "report"
    report.unlink(missing_ok=True)
    ended = _run([str(paths.engine()), *words, f"--report={report}", *rest], environment)
    try:
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise HarnessError(
            f"the recorder ended with status {ended.returncode} and without a report; it took the command with it",
            where=of,
            next_step="Record it again.",
        ) from None
    if error := found.get("error"):
        kind = UsageError if error["kind"] == "usage" else HarnessError
        raise kind(error["what"], where=error["where"], next_step=error["next"])
    return found


def _run(words: list[str], environment: dict[str, str] | None) -> "subprocess.Popen[bytes]":
    """Runs the engine to its end. Ctrl-C reaches the recorded command as well, whose end ends the recording."""
    with subprocess.Popen(words, env=environment) as process:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.wait()  # a second Ctrl-C ends the recording at once
    return process


def _print_again(output: Path) -> None:
    """Hands on what the command printed to files."""
    for name, stream in zip(OUTPUTS, (sys.stdout, sys.stderr), strict=True):
        if (file := output / name).is_file():
            stream.write(file.read_text(encoding="utf-8", errors="replace"))
            stream.flush()
