"""The driver's end of `powercut-recording-disk`: one process, one file below FUSE, one loop device over it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType

from powercut.real_fs import kernel
from powercut.real_fs.block_log import BlockLog
from powercut.real_fs.systems import System, daemon


class RecordingDisk:
    def __init__(self, folder: Path, tag: str, system: System) -> None:
        self.folder, self.system = folder, system
        self.at = folder / "disk"
        self.at.mkdir()
        command = [str(daemon()), str(self.at), str(system.size)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer()
        file = os.open(self.at / "disk", os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)
        try:
            self.device, self.open = kernel.attach(file, tag, system.sector, direct=True)
        finally:
            os.close(file)

    def __enter__(self) -> RecordingDisk:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self.open)  # detaches the loop device
        kernel.unmount(self.at, later=True)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def load(self, image: Path) -> None:
        self._ask(f"load {image}")
        kernel.forget_cache(self.open)

    def delay(self, seed: int, most: int) -> None:
        """From now on a write ends after some microseconds."""
        self._ask(f"delay {seed} {most}")

    def record(self) -> Path:
        """The disk as it is now; recording begins."""
        path = self.folder / "before"
        self._ask(f"record {path}")
        return path

    def mark(self, instant: int) -> None:
        self._ask(f"mark {instant}")

    def log(self) -> BlockLog:
        """Ends the recording, and returns its log."""
        path = self.folder / "log"
        self._ask(f"log {path}")
        return BlockLog.parse(path.read_bytes())

    def _ask(self, command: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        self._answer()

    def _answer(self) -> None:
        assert self.process.stdout
        answer = self.process.stdout.readline().strip()
        if answer != "ok":
            raise OSError(f"the recording disk: {answer or 'it has ended'}.")
