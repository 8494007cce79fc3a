"""One more run of the finding's program, on a real file system over a disk that records.

The engine's recorder holds the program before each call on the folder (`record-files --steps`). The disk's log is
marked there with the number of calls that were made, and write-back is nudged, most of all at the finding's moment.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from powercut.confirm import commands
from powercut.confirm.choosing import Moment
from powercut.confirm.requests import Start
from powercut.real_fs import kernel
from powercut.real_fs.block_log import BlockLog
from powercut.real_fs.image_mount import blocks_of, make
from powercut.real_fs.nudges import PAGE, Nudges
from powercut.real_fs.recording_disk import RecordingDisk
from powercut.real_fs.systems import System

JUDGED = "judged"  # the program's folder
OTHER = "other"  # a file beside it
NEAR = 6  # calls around the moment between which write-back is nudged
CALLS = struct.Struct("<Q")
DELAYS = (0, 1000, 20000, 200000)  # microseconds, at most, until a write ends


@dataclass(frozen=True, kw_only=True)
class Recorded:
    before: Mapping[int, bytes]
    log: BlockLog
    calls: int


class BelowFolder:
    """The files below a folder, with numbers of the moment (`nudges.Files`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: list[Path] = []

    def files(self) -> Sequence[int]:
        self.paths = sorted(path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        return range(len(self.paths))

    def file(self, number: int, /) -> int:
        return os.open(self.paths[number], os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)

    def done(self, file: int) -> None:
        os.close(file)


class Recorder:
    def __init__(self, folder: Path, system: System, disk: RecordingDisk, start: Start) -> None:
        self.folder, self.system, self.disk, self.start = folder, system, disk, start
        self.at = folder / "at"
        self.at.mkdir()
        self.begun = folder / "begun"  # the disk with the folder as the program begins with it
        fresh = folder / "fresh"
        make(system, fresh)
        disk.load(fresh)
        with self._mounted():
            subprocess.run(["cp", "-a", "--", start.start, str(self.at / JUDGED)], check=True)
            (self.at / OTHER).write_bytes(bytes(PAGE))
        shutil.move(disk.record(), self.begun)
        disk.log()
        fresh.unlink()

    def record(self, moment: Moment, random: Random, *, until: float) -> Recorded:
        """Runs the program up to the moment, where no other will do, or to its end. TimeoutError behind `until`."""
        self.disk.delay(0, 0)
        self.disk.load(self.begun)
        with self._mounted():
            mounted = os.open(self.at, os.O_RDONLY | os.O_CLOEXEC)
            other = os.open(self.at / OTHER, os.O_RDWR | os.O_CLOEXEC)
            try:
                kernel.sync_file_system(mounted)
                before = self.disk.record()
                self.disk.delay(random.getrandbits(32), random.choice(DELAYS))
                nudges = Nudges(self.system, BelowFolder(self.at / JUDGED), mounted, other, random)
                kernel.bind(self.at / JUDGED, Path(self.start.folder))
                try:
                    calls = self._run(moment, nudges, random, until=until)
                finally:
                    commands.end_all_but(self.disk.process.pid)
                    kernel.unmount(self.start.folder, later=True)
                log = self.disk.log()
            finally:
                os.close(other)
                os.close(mounted)
        return Recorded(before=blocks_of(before), log=log, calls=calls)

    @contextmanager
    def _mounted(self) -> Iterator[None]:
        kernel.mount(str(self.disk.device), self.at, self.system.kind, self.system.options)
        try:
            yield
        finally:
            kernel.unmount(self.at)

    def _run(self, moment: Moment, nudges: Nudges, random: Random, *, until: float) -> int:
        """Returns the number of calls that were made."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self._start(theirs.fileno())
            calls = 0
            self.disk.mark(calls)
            while held := self._held(ours, until):
                calls = int(CALLS.unpack(held)[0])
                self.disk.mark(calls)
                self._nudge(calls, moment, nudges, random)
                self.disk.mark(calls)
                if moment.alone and calls >= moment.last:
                    return calls
                with suppress(BrokenPipeError):
                    ours.send(b"\n")
            self._refuse_failure()
            self._at_the_end(nudges)
            self.disk.mark(calls)
            return calls

    def _start(self, steps: int) -> None:
        start, own = self.start, self.folder / "recorder"
        shutil.rmtree(own, ignore_errors=True)  # what the run before has left
        own.mkdir()
        words = [start.engine, "record-files", f"--folder={start.folder}", f"--trace={own / 'trace'}"]
        words += [f"--report={own / 'report'}", f"--marks={own / 'marks'}", f"--steps={steps}"]
        feed = None
        if start.driver:
            feed = subprocess.Popen(
                start.driver, cwd=start.cwd, env=start.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            )
        subprocess.Popen(
            [*words, "--", *start.command],
            cwd=start.cwd,
            env=start.environment,
            stdin=feed.stdout if feed else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[steps],
        )
        if feed and feed.stdout:
            feed.stdout.close()

    def _refuse_failure(self) -> None:
        """OSError where the recorder could not run the program."""
        report = self.folder / "recorder" / "report"
        end = time.monotonic() + commands.SECONDS_TO_DIE
        while not report.exists() and time.monotonic() < end:
            time.sleep(0.001)
        error = json.loads(report.read_text(encoding="utf-8")).get("error") if report.exists() else None
        if error or not report.exists():
            raise OSError(f"the recorder failed: {error['what'] if error else 'it has ended without a report'}")

    @staticmethod
    def _held(ours: socket.socket, until: float) -> bytes:
        """The next message of the recorder; nothing when it has ended."""
        ours.settimeout(max(until - time.monotonic(), 0.01))
        return ours.recv(CALLS.size)

    def _nudge(self, calls: int, moment: Moment, nudges: Nudges, random: Random) -> None:
        """Data that go to the disk before the moment are slow in half of the runs, and a commit at the moment is quick:
        such a commit is durable before they are."""
        if moment.first <= calls <= moment.last:
            if random.random() < 0.5:
                self.disk.delay(0, 0)
                nudges.commit()
            self._at_the_end(nudges)
        elif moment.first - NEAR <= calls <= moment.last + NEAR:
            self.disk.delay(random.getrandbits(32), random.choice(DELAYS))
            if random.random() < 0.5:
                with suppress(FileNotFoundError):  # another thread of the program has removed it
                    nudges.some()

    @staticmethod
    def _at_the_end(nudges: Nudges) -> None:
        with suppress(FileNotFoundError):
            nudges.at_the_end()
