"""The commands of program mode as words, the folder in which they run, and their durations."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from powercut.base.durations import parse_seconds
from powercut.base.errors import UsageError
from powercut.program import tracers as program_tracers


def words(text: str | None, *, option: str) -> tuple[str, ...]:
    """A command as words; no shell is involved. Empty for None."""
    if text is None:
        return ()
    try:
        found = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            f"cannot be split into words ({str(error).lower()})",
            where=f"{option} {text}",
            next_step="Close the quote; for a shell's own syntax write sh -c '…'.",
        ) from error
    if not found:
        raise UsageError("an empty command", where=option, next_step="Name a program and its arguments.")
    shell = next((word for word in found if re.fullmatch(r"[0-9]?(>>?|<)|\|\|?|&&?|;|.*;", word)), None)
    if shell is not None and os.path.basename(found[0]) not in program_tracers.STARTERS:
        raise UsageError(
            f"'{shell}' would be an argument: commands run without a shell",
            where=f"{option} {text}",
            next_step="Write sh -c '…' around a command that needs one.",
        )
    return tuple(found)


def duration(text: str, *, option: str) -> float:
    """Seconds of "500ms", "5s", "2m", "1h"."""
    seconds = parse_seconds(text)
    if seconds is None:
        raise UsageError(f"'{text}' is not a time", where=option, next_step="Write a time such as 500ms, 5s or 2m.")
    return seconds


def working_folder(cwd: Path | None) -> Path:
    """The folder in which the commands run; relative names are relative to it."""
    folder = (cwd or Path.cwd()).absolute()
    if not folder.is_dir():
        raise UsageError("no such folder", where=f"--cwd {cwd}", next_step="Name the folder that the commands run in.")
    return folder


def default_name(command: Sequence[str]) -> str:
    """The name of a program in reports: that of its file."""
    return os.path.basename(command[0])
