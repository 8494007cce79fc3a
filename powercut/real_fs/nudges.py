"""Work of the kernel beside the program, drawn with a seed.

The nudges are things that another process, or the kernel by itself, may do at any time. Without them most states never
show, since the kernel writes back after seconds and commits in one go.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Sequence
from random import Random
from typing import Protocol

from powercut.real_fs import kernel
from powercut.real_fs.systems import System

PAGE = 4096
SETTLED = 0.001  # seconds that a file system takes to note that data were written
BTRFS_IOC_START_SYNC, BTRFS_IOC_WAIT_SYNC = 0x80089418, 0x40089416


class Files(Protocol):
    """The program's files, each with a number."""

    def files(self) -> Sequence[int]: ...

    def file(self, number: int, /) -> int:
        """A descriptor. `done` follows the use."""

    def done(self, file: int) -> None: ...


class Nudges:
    def __init__(self, system: System, folder: Files, mounted: int, other: int, random: Random) -> None:
        self.system, self.folder, self.mounted, self.other, self.random = system, folder, mounted, other, random
        self.wish = random.choice((0.0, 0.4, 0.8, 1.5))  # nudges between two calls, about
        self.kinds = random.choice(
            (
                ("page", "commit"),
                ("page", "page", "overtaken", "commit"),
                ("page", "commit", "overtaken", "pause"),
                ("commit",),
                ("page", "burst", "commit", "pause"),
                ("overtaken",),
                ("settled",),
            )
        )

    def some(self) -> None:
        wish = self.wish
        while self.random.random() < wish:
            wish -= 0.5
            self._make(self.random.choice(self.kinds))

    def at_the_end(self) -> None:
        for _ in range(self.random.choice((1, 2, 3, 5))):
            self._make(self.random.choice(("page", "overtaken", "settled", "settled", "commit")))
        if self.random.random() < 0.2:
            kernel.sync_file_system(self.mounted)

    def _make(self, kind: str) -> None:
        match kind:
            case "page":
                self._write_back(waits=self.random.random() < 0.5)
            case "burst":
                self._write_back(burst=True)
            case "overtaken":  # the commit comes while the data are under way
                self._write_back(burst=self.random.random() < 0.5)
                self.commit()
            case "settled":  # data are on disk before the commit begins, but some may be under way
                self._write_back(burst=self.random.random() < 0.5, waits=True)
                time.sleep(SETTLED)
                self.commit()
            case "pause":
                time.sleep(self.random.uniform(0, 0.003))
            case "commit":
                self.commit()

    def _write_back(self, *, burst: bool = False, waits: bool = False) -> None:
        """One page of a file, or all its pages, each by itself and in any order. `waits`: for the last one of them."""
        files = self.folder.files()
        if not files:
            return
        file = self.folder.file(self.random.choice(files))
        pages = range(-(-os.fstat(file).st_size // PAGE))
        chosen = self.random.sample(pages, len(pages) if burst else min(1, len(pages)))
        for page in chosen:
            wait = kernel.SYNC_FILE_RANGE_WAIT_AFTER if waits and page == chosen[-1] else 0
            kernel.sync_file_range(file, page * PAGE, PAGE, kernel.SYNC_FILE_RANGE_WRITE | wait)
        self.folder.done(file)

    def commit(self) -> None:
        """A journal commits for the sake of another file. Btrfs has a call that commits without any data."""
        if self.system.kind == "btrfs" and self.random.random() < 0.7:
            transaction = fcntl.ioctl(self.mounted, BTRFS_IOC_START_SYNC, bytes(8))
            fcntl.ioctl(self.mounted, BTRFS_IOC_WAIT_SYNC, transaction)
            return
        os.fchmod(self.other, self.random.getrandbits(9) | 0o600)  # changes the inode alone: no data go first
        os.fsync(self.other)
