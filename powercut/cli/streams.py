"""The standard streams: refused before any work where nobody could be told its result, and watched afterwards."""

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable
from typing import Any, TextIO, cast

#: Errors of printing when the reader has gone: of a pipe, or with the terminal.
_NOBODY_READS = frozenset({errno.EPIPE, errno.EIO})
_NAMES = {1: "standard output", 2: "standard error"}
#: /dev/full
_FULL = os.makedev(1, 7)


class Watched:
    """A stream whose reader may leave, as `head` or a terminal does: what is printed from then on goes nowhere.

    The command goes on. Its findings are in files, and its exit code is what it would have been. Where the stream fails
    for another reason, such as a full disk, `failure` says so: what was printed is not whole.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.failure: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._print(lambda: self._stream.write(text)) or 0

    def flush(self) -> None:
        self._print(self._stream.flush)

    def _print(self, act: Callable[[], int | None]) -> int | None:
        try:
            return act()
        except OSError as error:
            if error.errno not in _NOBODY_READS:
                self.failure = error
            # The rest in the stream's buffer is printed there as well, at the latest when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            return None


def watched() -> Watched:
    """Makes stdout such a stream."""
    stream = Watched(sys.stdout)
    sys.stdout = cast(TextIO, stream)
    return stream


def refusal() -> str:
    """Why nothing can be told on one of the streams, in a sentence; empty where both are fine.

    A standard input that is closed is opened as an empty one: the next file would be taken for it.
    """
    if _flags(0) is None:
        os.open(os.devnull, os.O_RDONLY)
    troubles = {number: why for number in _NAMES if (why := _trouble(number))}
    if not troubles:
        return ""
    said = " and ".join(f"{_NAMES[number]} {why}" for number, why in troubles.items())
    return f"powercut: {said}, so nobody could be told a result: redirect it to a file or to /dev/null."


def tell(sentence: str) -> None:
    """Says it on the stream that works; nowhere, where none does."""
    for number in (2, 1):
        if not _trouble(number):
            os.write(number, f"{sentence}\n".encode())
            return


def _flags(number: int) -> int | None:
    try:
        return fcntl.fcntl(number, fcntl.F_GETFL)
    except OSError:
        return None


def _trouble(number: int) -> str:
    flags = _flags(number)
    if flags is None or (sys.stdout, sys.stderr)[number - 1] is None:
        return "is closed"
    if flags & os.O_ACCMODE == os.O_RDONLY:
        return "cannot be written to"
    status = os.fstat(number)
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == _FULL:
        return "is full"
    if stat.S_ISREG(status.st_mode):
        room = os.fstatvfs(number)
        if room.f_blocks and not room.f_bavail:
            return "is on a full disk"
    return ""
