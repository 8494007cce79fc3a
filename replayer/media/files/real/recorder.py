"""One run of a program on a real file system, whose write-back is nudged: what the disk was then asked to do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from powercut.real_fs import kernel
from powercut.real_fs.block_log import BlockLog
from powercut.real_fs.image_mount import blocks_of, make
from powercut.real_fs.nudges import Nudges
from powercut.real_fs.recording_disk import RecordingDisk
from powercut.real_fs.systems import System
from replayer.media.files.calls import Call, split

from .folder import PAGE, Folder, opened

JUDGED = "judged"  # the program's folder
OTHER = "other"  # a file beside it


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
        make(system, self.fresh)

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
