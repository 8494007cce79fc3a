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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, UsageError
from powercut.base.scratch import folder as scratch_folder
from powercut.engine.supervise import OUTPUTS
from powercut.program import acknowledgements, valgrind

#: Tracers of folders, the default first.
TRACERS = ("calls", "valgrind")
_RAW, _REPORT = "raw.pct", "report"
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


def tracer(asked: str | None) -> str:
    """The tracer of a folder that --tracer names. UsageError for one that records no folder."""
    if asked is not None and asked not in TRACERS:
        raise UsageError(
            f"the tracer '{asked}' records no folder",
            where="--tracer",
            next_step="Leave it out; or name valgrind, for exact stores through mappings.",
        )
    return asked or TRACERS[0]


def checked_folder(folder: Path) -> Path:
    """The folder as an absolute path without links, or an error for what cannot be judged."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        raise UsageError("there is no such folder", where=str(folder), next_step=f"Make it first. {_CHOOSE}") from None
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
    with scratch_folder("powercut-", within=_scratch_outside(checked, trace)) as scratch:
        words, environment = recorder(command, checked, trace, scratch=scratch, ack=ack, tracer=tracer)
        try:
            _run(words, environment)
        finally:
            _print_again(scratch / "output")
        return acknowledged(recorded(scratch, of=command[0]), scratch, trace, of=command[0], ack=ack)


def recorder(
    command: Sequence[str], folder: Path, trace: Path, *, scratch: Path, ack: re.Pattern[str] | None, tracer: str
) -> tuple[list[str], dict[str, str] | None]:
    """The command under the recorder, and the whole environment or None for that of this process. `recorded` tells its
    end. With `ack` the command prints to files of the folder `scratch`, which is the recorder's own."""
    words, environment = list(command), None
    asked = [f"--folder={folder}", f"--trace={scratch / _RAW if ack else trace}", f"--marks={scratch / 'marks'}"]
    if ack:
        (scratch / "output").mkdir()
        asked.append(f"--output={scratch / 'output'}")
    if tracer == "valgrind":
        words, environment = valgrind.telling_stores(command, stores=scratch / "stores")
        asked += [f"--stores={scratch / 'stores'}", f"--tracer-words={len(words) - len(command)}"]
    report = [f"--report={scratch / _REPORT}"]
    return [str(paths.engine()), "record-files", *asked, *report, "--", *words], environment


def recorded(scratch: Path, *, of: str) -> RecordedFiles:
    """The end of a recorder's command. UsageError where the recorder refused the command, HarnessError where it did not
    report."""
    found = _report(scratch, of=of)
    found["elsewhere"] = list(dict.fromkeys(found["elsewhere"]))  # a file that took the place of another has its name
    return RecordedFiles(**{name: value for name, value in found.items() if name != "printed"})


def acknowledged(
    found: RecordedFiles, scratch: Path, trace: Path, *, of: str, ack: re.Pattern[str] | None
) -> RecordedFiles:
    """With `ack`: puts the operations that the command's output acknowledges into the trace. UsageError where no line
    matches."""
    if ack is None:
        return found
    printed = _report(scratch, of=of)["printed"]
    given = {"ack": ack.pattern, "printed": printed, "lines": acknowledgements.found(ack, scratch / "output")}
    (scratch / "lines").write_text(json.dumps(given), encoding="utf-8")
    asked = [f"--trace={scratch / _RAW}", f"--output={scratch / 'lines'}", f"--out={trace}"]
    (scratch / _REPORT).unlink()
    _run([str(paths.engine()), "acknowledge-files", *asked, f"--report={scratch / _REPORT}"], None)
    counts = _report(scratch, of=of)
    return replace(
        found, events=counts["events"], acknowledged=counts["lines"], notes=tuple(acknowledgements.notes(counts))
    )


def _scratch_outside(folder: Path, trace: Path) -> Path | None:
    """A place for files of the recorder's own outside of the folder; None: where temporary files are."""
    inside = Path(tempfile.gettempdir()).resolve().is_relative_to(folder)
    return trace.absolute().parent if inside else None


def _report(scratch: Path, *, of: str) -> dict[str, Any]:
    """The answer of a command of the engine that prints nothing."""
    try:
        found: dict[str, Any] = json.loads((scratch / _REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise HarnessError(
            "the recorder ended without a report; it took the command with it", where=of, next_step="Record it again."
        ) from None
    if error := found.get("error"):
        kind = UsageError if error["kind"] == "usage" else HarnessError
        raise kind(error["what"], where=error["where"], next_step=error["next"])
    return found


def _run(words: list[str], environment: dict[str, str] | None) -> None:
    """Runs the engine to its end. Ctrl-C reaches the recorded command as well, whose end ends the recording."""
    with subprocess.Popen(words, env=environment) as process:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.wait()  # a second Ctrl-C ends the recording at once


def _print_again(output: Path) -> None:
    """Hands on what the command printed to files."""
    for name, stream in zip(OUTPUTS, (sys.stdout, sys.stderr), strict=True):
        if (file := output / name).is_file():
            stream.write(file.read_text(encoding="utf-8", errors="replace"))
            stream.flush()
