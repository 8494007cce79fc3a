"""One run of a program on a real file system, whose write-back is nudged: what the disk was then asked to do.

The nudges are things that another process, or the kernel by itself, may do at any time. Without them most states never
show, since the kernel writes back after seconds and commits in one go.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from replayer.media.files.calls import Call, split

from . import kernel
from .block_log import BlockLog
from .folder import PAGE, Folder, opened
from .image_mount import blocks_of, dig_holes
from .recording_disk import RecordingDisk
from .systems import System

SETTLED = 0.001  # seconds that a file system takes to note that data were written
JUDGED = "judged"  # the program's folder
OTHER = "other"  # a file beside it
BTRFS_IOC_START_SYNC, BTRFS_IOC_WAIT_SYNC = 0x80089418, 0x40089416


@dataclass(frozen=True, slots=True)
class Recording:
    before: Mapping[int, bytes]
    log: BlockLog


class Recorder:
    def __init__(self, folder: Path, system: System, disk: RecordingDisk) -> None:
        self.folder, self.system, self.disk = folder, system, disk
        self.at = folder / "at"
        self.at.mkdir()
        self.fresh = folder / "fresh"
        with open(self.fresh, "wb") as file:
            file.truncate(system.size)
        subprocess.run([*system.maker, str(self.fresh)], check=True, stdout=subprocess.DEVNULL, timeout=60)
        dig_holes(self.fresh)

    def record(self, start: list[Call], calls: Sequence[Call], unit: int, random: Random) -> Recording:
        """Makes the tree at the start, mounts again, and makes the calls. A call that fails is an error of the rig."""
        folder = Folder(self.at / JUDGED, unit, keeps_open=random.random() < 0.5)
        self.disk.delay(0, 0)
        self.disk.load(self.fresh)
        self._mount()
        try:
            folder.path.mkdir()
            folder.make_start(start)
            (self.at / OTHER).write_bytes(bytes(PAGE))
        finally:
            folder.close()
            kernel.unmount(self.at)
        self._mount()
        try:
            with opened(self.at) as mounted, opened(self.at / OTHER, os.O_RDWR) as other:
                kernel.sync_file_system(mounted)
                before = self.disk.record()
                self.disk.delay(random.getrandbits(32), random.choice((0, 1000, 20000)))
                self._run(folder, calls, Nudges(self.system, folder, mounted, other, random))
                log = self.disk.log()
        finally:
            folder.close()
            kernel.unmount(self.at)
        return Recording(blocks_of(before), log)

    def _mount(self) -> None:
        kernel.mount(str(self.disk.device), self.at, self.system.kind, self.system.options)

    def _run(self, folder: Folder, calls: Sequence[Call], nudges: Nudges) -> None:
        """Marks carry the number of the program's instant: how many effects of calls were made."""
        instant = 0
        for call in calls:
            self.disk.mark(instant)
            nudges.some()
            self.disk.mark(instant)
            folder.make(call)
            instant += len(split(call))
        self.disk.mark(instant)
        nudges.at_the_end()
        self.disk.mark(instant)


class Nudges:
    """Work of the kernel beside the program, drawn with a seed."""

    def __init__(self, system: System, folder: Folder, mounted: int, other: int, random: Random) -> None:
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
                self._commit()
            case "settled":  # data are on disk before the commit begins, but some may be under way
                self._write_back(burst=self.random.random() < 0.5, waits=True)
                time.sleep(SETTLED)
                self._commit()
            case "pause":
                time.sleep(self.random.uniform(0, 0.003))
            case "commit":
                self._commit()

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

    def _commit(self) -> None:
        """A journal commits for the sake of another file. Btrfs has a call that commits without any data."""
        if self.system.kind == "btrfs" and self.random.random() < 0.7:
            transaction = fcntl.ioctl(self.mounted, BTRFS_IOC_START_SYNC, bytes(8))
            fcntl.ioctl(self.mounted, BTRFS_IOC_WAIT_SYNC, transaction)
            return
        os.fchmod(self.other, self.random.getrandbits(9) | 0o600)  # changes the inode alone: no data go first
        os.fsync(self.other)
