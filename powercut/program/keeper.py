"""Keeps the user's pool files, or a folder of files, while a recorded program works under their names: a program of
its own, with the standard library only.

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
import errno
import fcntl
import json
import os
import signal
import sys

# The program itself does not load these modules, which took a third of its start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The suffix of a file that is set aside.
SUFFIX = ".powercut-aside"


def aside_of(pool: str) -> str:
    """Where a pool's file is meanwhile."""
    folder, name = os.path.split(pool)
    return os.path.join(folder, f".{name}{SUFFIX}")


def restore(pool: str, *, was_there: bool) -> None:
    """The file or folder under its name again, at once; or none, where there was none."""
    if was_there and not os.path.lexists(aside_of(pool)):
        return  # it is back already
    if os.path.isdir(pool) and not os.path.islink(pool):
        _remove_folder(pool)
    elif was_there and os.path.isdir(aside_of(pool)) and os.path.lexists(pool):
        os.unlink(pool)  # the run has put something else in the place of the folder
    if was_there:
        with contextlib.suppress(FileNotFoundError):
            os.replace(aside_of(pool), pool)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(pool)


def _remove_folder(folder: str) -> None:
    """The folder that the run has made, also where the program has taken rights away."""
    import shutil

    for at, folders, _ in os.walk(folder):
        for name in folders:
            with contextlib.suppress(OSError):
                if not os.path.islink(os.path.join(at, name)):
                    os.chmod(os.path.join(at, name), 0o700)
    with contextlib.suppress(OSError):
        os.chmod(folder, 0o700)
        shutil.rmtree(folder)


def _write_again(opened: int, aside: str) -> None:
    """The run has removed what is aside, perhaps with its folder: a copy of it is there again."""
    import shutil

    os.makedirs(os.path.dirname(aside), exist_ok=True)
    with open(aside, "wb") as again, open(os.dup(opened), "rb") as file:
        file.seek(0)
        shutil.copyfileobj(file, again)
    shutil.copystat(f"/proc/self/fd/{opened}", aside)


def put_others_back(saved: str, command: list[str]) -> None:
    """The files that were saved in the folder, where there are some."""
    if os.path.isdir(saved):
        import subprocess

        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)


class Kept:
    """The files that are aside, and those that were not there."""

    def __init__(self) -> None:
        self._locks: dict[str, int | None] = {}

    def take(self, pool: str) -> bool:
        """Moves a pool aside; whether there was one. OSError where that cannot be done."""
        aside = aside_of(pool)
        with contextlib.suppress(FileNotFoundError):
            left = _locked(aside)  # BlockingIOError: another run has it
            try:
                _bring_back(aside, pool)  # FileExistsError: which of the two is wanted, only the user knows
            finally:
                os.close(left)
        try:
            lock = _locked(pool)
        except FileNotFoundError:
            self._locks[pool] = None
            return False
        try:
            os.rename(pool, aside)
        except OSError:
            os.close(lock)
            raise
        self._locks[pool] = lock
        return True

    def put_back(self) -> None:
        """All of them."""
        for pool, lock in self._locks.items():
            if lock is not None and not os.path.lexists(aside_of(pool)) and not os.path.isdir(f"/proc/self/fd/{lock}"):
                _write_again(lock, aside_of(pool))
            restore(pool, was_there=lock is not None)
            if lock is not None:
                os.close(lock)
        self._locks.clear()


def _bring_back(aside: str, pool: str) -> None:
    """Moves to a free name: no call moves a folder so, but none takes the place of a folder that has files."""
    if not os.path.isdir(aside):
        os.link(aside, pool)
        os.unlink(aside)
        return
    try:
        os.rename(aside, pool)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        raise


def _locked(path: str) -> int:
    """A descriptor of the file or folder, which is locked as long as it is open."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        raise
    return opened


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when its input does
    kept = Kept()
    answer: dict[str, Any] = {"there": []}
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        return  # powercut was killed before it could ask
    request = json.loads(line)
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
