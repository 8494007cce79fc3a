"""The files that a recorded program keeps its data in."""

import contextlib
import errno
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.engine.supervise import companion
from powercut.program import keeper


def examine(name: str, *, cwd: Path, option: str = "--pool") -> Path:
    """The pool's file, absolute and without links; it need not exist yet. UsageError when it cannot be a pool."""
    where = f"{option} {name}"
    if not name or "\0" in name:
        raise UsageError("an empty name", where=option, next_step="Name the file that the program works on.")
    path = Path(os.path.realpath(cwd / name))
    if not path.parent.is_dir():
        raise UsageError(
            f"its folder does not exist: {path.parent}",
            where=where,
            next_step="Make the folder, or correct the path (it is relative to --cwd).",
        )
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        _require_writable(path.parent, where)
        return path
    except OSError as error:
        raise UsageError(
            f"cannot be looked at ({error.strerror})", where=where, next_step="Correct its permissions."
        ) from error
    if stat.S_ISDIR(mode):
        raise UsageError("this is a folder", where=where, next_step="Name the file inside it that the program maps.")
    if not stat.S_ISREG(mode):
        raise UsageError(
            "this is not a regular file",
            where=where,
            next_step="powercut makes crash images as files: run the program on a file, for example in /dev/shm.",
        )
    _require_writable(path, where)
    return path


def _require_writable(path: Path, where: str) -> None:
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise UsageError(
            "this file system is mounted read-only",
            where=where,
            next_step="Copy the pool to one that can be written, for example in /dev/shm, and name the copy.",
        )
    if not os.access(path, os.W_OK):
        raise UsageError(
            f"{path} cannot be written", where=where, next_step="Correct its permissions, or name a copy of the pool."
        )


def copy(source: Path, to: Path) -> None:
    """Copies a file with its holes: a pool is large and mostly empty."""
    with source.open("rb", buffering=0) as reader, to.open("wb", buffering=0) as writer:
        size = os.fstat(reader.fileno()).st_size
        writer.truncate(size)
        at = 0
        while at < size:
            try:
                start = os.lseek(reader.fileno(), at, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                return
            at = os.lseek(reader.fileno(), start, os.SEEK_HOLE)
            os.lseek(writer.fileno(), start, os.SEEK_SET)
            os.lseek(reader.fileno(), start, os.SEEK_SET)
            while start < at:
                data = reader.read(min(at - start, 1 << 20))
                if not data:
                    return
                writer.write(data)
                start += len(data)


@dataclass(frozen=True)
class Aside:
    """Pools whose files are aside while a program works under their names."""

    #: To be inherited by whoever ends the program when this process is killed: the files stay aside until it has gone.
    held: int
    #: A folder for other files that the program changes (`other_files`): they come back from there.
    saved: Path
    #: The files as they were; None for a pool that had none.
    before: tuple[Path | None, ...]


@contextlib.contextmanager
def aside(pools: Sequence[Path]) -> Iterator[Aside]:
    """The pools have no files in the body. Afterwards theirs are back, untouched, and others gone; also after kill -9.

    Files that were saved in the folder `saved` come back, too.

    UsageError for one that cannot be moved, or that another process has locked.
    """
    process = companion(keeper.__file__)
    assert process.stdin is not None
    assert process.stdout is not None
    there: list[bool] = []
    saved = Path(tempfile.gettempdir()).resolve() / f"powercut-saved-{secrets.token_hex(8)}"
    putting = [os.fspath(paths.engine()), "put-back", os.fspath(saved)]
    try:
        request = {"pools": [os.fspath(pool) for pool in pools], "saved": os.fspath(saved), "put_back": putting}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline() or "{}")
        if failed := answer.get("failed"):
            raise _not_moved(failed)
        there = answer["there"]
        before = (
            Path(keeper.aside_of(os.fspath(pool))) if was else None for pool, was in zip(pools, there, strict=True)
        )
        yield Aside(held=process.stdin.fileno(), saved=saved, before=tuple(before))
    finally:
        process.stdin.close()
        process.stdout.close()
        if process.wait() != 0:  # it was killed itself
            keeper.put_others_back(os.fspath(saved), putting)
            for pool, was in zip(pools, there, strict=False):
                keeper.restore(os.fspath(pool), was_there=was)


def _not_moved(failed: Mapping[str, Any]) -> UsageError:
    pool = failed["pool"]
    aside = keeper.aside_of(pool)
    if failed["number"] == errno.EWOULDBLOCK:
        return UsageError(
            "another process has locked this file, such as another run of powercut",
            where=pool,
            next_step="Wait until it has ended, or give each run a file of its own.",
        )
    if failed["number"] == errno.EEXIST:
        return UsageError(
            f"a run that was killed has moved the file aside, to {aside}, and now there is another one as well",
            where=pool,
            next_step="Remove the one that you do not want, or move it away.",
        )
    return UsageError(
        f"this file cannot be moved aside for the run ({failed['reason']})",
        where=pool,
        next_step="Let its folder be written to, name another file, or say --keep-pool to begin with it as it is.",
    )
