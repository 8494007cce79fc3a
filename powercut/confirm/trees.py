"""The tree of a mounted image as one digest: commands that have judged it are not run again on an equal one."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path


def digest_of(folder: Path) -> bytes:
    """Names, kinds, permissions, hard links and contents of all that is below the folder. Times and inode numbers are
    not of the tree. A file that cannot be read is one of a kind."""
    digest = blake2b(digest_size=16)
    numbers: dict[int, int] = {}

    def told(*words: object) -> None:
        digest.update(repr(words).encode("utf-8", "surrogateescape"))

    for at, folders, files in os.walk(folder):
        folders.sort()
        told(os.path.relpath(at, folder), os.stat(at).st_mode)
        for name in sorted([*files, *(each for each in folders if os.path.islink(os.path.join(at, each)))]):
            path = Path(at, name)
            try:
                status = path.lstat()
                link = numbers.setdefault(status.st_ino, len(numbers))
                told(name, status.st_mode, status.st_uid, status.st_gid, status.st_size, link)
                told(os.readlink(path) if path.is_symlink() else blake2b(path.read_bytes()).digest())
            except OSError as error:
                told(name, error.errno)
    return digest.digest()
