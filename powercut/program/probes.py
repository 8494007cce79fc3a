"""Probes: commands that use what recovery has left, in their order."""

from collections.abc import Sequence
from pathlib import Path

from powercut.base import user_files
from powercut.base.errors import UsageError
from powercut.program import binary as program_binary
from powercut.program.words import words, working_folder


def given(commands: Sequence[str], *, script: str | None, cwd: Path | None) -> tuple[tuple[str, ...], ...]:
    """The probes of `--probe`, each a command, and behind them those of the file of `--probe-script`, as words.

    UsageError for one that cannot be run, with its line.
    """
    folder = working_folder(cwd)
    texts = [("--probe", text) for text in commands]
    if script is not None:
        texts += _lines(script, cwd=folder)
    made = [(option, words(text, option=option)) for option, text in texts]
    for option, command in made:
        program_binary.find(command[0], cwd=folder, option=option)
    return tuple(command for _, command in made)


def _lines(script: str, *, cwd: Path) -> list[tuple[str, str]]:
    """The commands of a script, each behind its place."""
    where = f"--probe-script {script}"
    try:
        text = user_files.text_of(cwd / script)
    except FileNotFoundError as error:
        raise UsageError("no such file", where=where, next_step="Name a file with a command on each line.") from error
    except user_files.Unreadable as error:
        raise UsageError(str(error), where=where, next_step="Name a text file with a command on each line.") from error
    lines = [(f"{script}:{number}", line.strip()) for number, line in enumerate(text.split("\n"), 1)]
    found = [(place, line) for place, line in lines if line and not line.startswith("#")]
    if not found:
        raise UsageError("it has no command", where=where, next_step="Write a command on each line.")
    return found
