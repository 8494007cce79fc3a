"""Keeps the user's pool files while a recorded program works under their names: a program of its own, with the
standard library only.

`powercut.program.pools` starts it. The first line of its standard input is a JSON object: the paths of the `pools`, a
folder `saved` for other files that the program changes, and the command `put_back` that puts these back. Each pool that
is there is moved aside, in its folder, so that its contents, owner, links and attributes stay what they are; the answer
is a JSON line. When the input ends, what is under the names is removed and the files are back. The input ends when
everybody has let go of it that holds its other end: powercut, and whoever ends the recorded program when powercut is
killed.

A file that is aside is locked. One without a lock was left by a run whose keeper was killed as well, or whose machine
has stopped: the next run puts it back first, unless there is another file by now, which may be the user's.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import sys

# The program itself does not load these modules, which took a third of its start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

#: The suffix of a file that is set aside.
SUFFIX = ".powercut-aside"


def aside_of(pool: str) -> str:
    """Where a pool's file is meanwhile."""
    folder, name = os.path.split(pool)
    return os.path.join(folder, f".{name}{SUFFIX}")


def restore(pool: str, *, was_there: bool) -> None:
    """The file under its name again, at once; or none, where there was none."""
    if was_there:
        with contextlib.suppress(FileNotFoundError):  # it is back already
            os.replace(aside_of(pool), pool)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(pool)


def _write_again(file: IO[bytes], aside: str) -> None:
    """The run has removed what is aside, perhaps with its folder: a copy of it is there again."""
    import shutil

    os.makedirs(os.path.dirname(aside), exist_ok=True)
    with open(aside, "wb") as again:
        file.seek(0)
        shutil.copyfileobj(file, again)
    shutil.copystat(f"/proc/self/fd/{file.fileno()}", aside)


def put_others_back(saved: str, command: list[str]) -> None:
    """The files that were saved in the folder, where there are some."""
    if os.path.isdir(saved):
        import subprocess

        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)


class Kept:
    """The files that are aside, and those that were not there."""

    def __init__(self) -> None:
        self._locks: dict[str, IO[bytes] | None] = {}

    def take(self, pool: str) -> bool:
        """Moves a pool aside; whether there was one. OSError where that cannot be done."""
        aside = aside_of(pool)
        with contextlib.suppress(FileNotFoundError), open(aside, "rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: another run has it
            os.link(aside, pool)  # FileExistsError: which of the two is wanted, only the user knows
            os.unlink(aside)
        try:
            lock = open(pool, "rb")  # noqa: SIM115
        except FileNotFoundError:
            self._locks[pool] = None
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(pool, aside)
        except OSError:
            lock.close()
            raise
        self._locks[pool] = lock
        return True

    def put_back(self) -> None:
        """All of them."""
        for pool, lock in self._locks.items():
            if lock and not os.path.lexists(aside_of(pool)):
                _write_again(lock, aside_of(pool))
            restore(pool, was_there=lock is not None)
            if lock:
                lock.close()
        self._locks.clear()


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when its input does
    kept = Kept()
    answer: dict[str, Any] = {"there": []}
    request = json.loads(sys.stdin.readline())
    for pool in request["pools"]:
        try:
            answer["there"].append(kept.take(pool))
        except OSError as error:
            kept.put_back()
            answer = {"failed": {"pool": pool, "number": error.errno, "reason": error.strerror}}
            break
    with contextlib.suppress(OSError):
        print(json.dumps(answer), flush=True)
    sys.stdin.read()
    put_others_back(request["saved"], request["put_back"])
    kept.put_back()


if __name__ == "__main__":
    main()
