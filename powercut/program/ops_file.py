"""A file of operations that a recorded program works through (`--ops-file`), one a line.

The command names it, by its path or as `{ops}`; one that does not gets its lines as standard input. Another file may
stand in for it: `powercut minimise` takes lines away.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from powercut.base.errors import UsageError

PLACEHOLDER = "{ops}"


@dataclass(frozen=True, kw_only=True)
class OpsFile:
    """Paths are absolute, with links resolved."""

    #: As the user named it.
    named: Path
    #: The file of the operations that are recorded.
    lines: Path

    def command(self, words: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
        """The recorded command, with the file of the lines."""
        return tuple(
            os.fspath(self.lines) if self._is(word, cwd) else word.replace(PLACEHOLDER, os.fspath(self.lines))
            for word in words
        )

    def driver(self, words: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
        """Returns the file that feeds the command; empty for a command that opens the file itself."""
        if any(PLACEHOLDER in word or self._is(word, cwd) for word in words[1:]):
            return ()
        return ("cat", "--", os.fspath(self.lines))

    def _is(self, word: str, cwd: Path) -> bool:
        return os.path.realpath(cwd / word) == os.fspath(self.named)


def examine(name: str, *, cwd: Path) -> OpsFile:
    """The file that the user named. UsageError when it cannot be read."""
    path = Path(os.path.realpath(cwd / name))
    where = f"--ops-file {name}"
    if not path.is_file():
        raise UsageError(
            "this is no regular file" if path.exists() else f"no such file: {path}",
            where=where,
            next_step="Name a file of operations, one a line; a command that prints them is given with --ops.",
        )
    if not os.access(path, os.R_OK):
        raise UsageError("it cannot be read", where=where, next_step="Correct its permissions.")
    return OpsFile(named=path, lines=path)
