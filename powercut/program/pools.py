"""The files that a recorded program keeps its data in."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from powercut.base.errors import UsageError


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


@contextlib.contextmanager
def put_back(pools: Sequence[Path], scratch: Path, *, keep: bool, changed: bool) -> Iterator[None]:
    """Afterwards the pools are what they are now, and those that do not exist do not: their contents wait in `scratch`.

    With `changed` they stay as the body leaves them; with `keep` the copies are made all the same.
    """
    copies = {}
    for number, pool in enumerate(pool for pool in pools if pool.exists() and (keep or not changed)):
        copies[pool] = scratch / f"{number}.before"
        copy(pool, copies[pool])
        shutil.copystat(pool, copies[pool])
    try:
        yield
    finally:
        if not changed:
            for pool in pools:
                _restore(pool, copies.get(pool))


def _restore(pool: Path, before: Path | None) -> None:
    if before is None:
        pool.unlink(missing_ok=True)
        return
    with contextlib.suppress(FileNotFoundError):
        if pool.stat().st_nlink > 1:  # the file itself counts, whatever its names are
            copy(before, pool)
            shutil.copystat(before, pool)
            return
    # At once, or not at all: the process may be killed here.
    part = pool.with_name(f".{pool.name}.powercut")
    copy(before, part)
    shutil.copystat(before, part)
    part.replace(pool)
