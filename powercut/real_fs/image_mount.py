"""Crash images as mounted file systems: the kernel replays its journal, and somebody looks at the folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from powercut.real_fs import kernel
from powercut.real_fs.block_log import BLOCK, Blocks
from powercut.real_fs.systems import System

MESSAGES = 8  # of the kernel, which say why


def blocks_of(image: Path) -> dict[int, bytes]:
    """The blocks of a sparse file that are not holes."""
    found = {}
    file = os.open(image, os.O_RDONLY)
    try:
        at, size = 0, os.fstat(file).st_size
        while at < size:
            try:
                at = os.lseek(file, at, os.SEEK_DATA)
            except OSError:  # only a hole is left
                break
            end = os.lseek(file, at, os.SEEK_HOLE)
            for number in range(at // BLOCK, -(-end // BLOCK)):
                found[number] = os.pread(file, BLOCK, number * BLOCK)
            at = end
    finally:
        os.close(file)
    return found


def dig_holes(image: Path) -> None:
    """Blocks of zeroes become holes: a maker of file systems writes many."""
    with open(image, "r+b") as file:
        for number, block in blocks_of(image).items():
            if not block.strip(b"\0"):
                kernel.allocate(
                    file.fileno(), kernel.FALLOC_FL_PUNCH_HOLE | kernel.FALLOC_FL_KEEP_SIZE, number * BLOCK, BLOCK
                )


def make(system: System, image: Path) -> None:
    """A fresh file system in a sparse file."""
    with open(image, "wb") as file:
        file.truncate(system.size)
    subprocess.run([*system.maker, str(image)], check=True, stdout=subprocess.DEVNULL, timeout=60)
    dig_holes(image)


class ImageMount:
    """A file with an image, a loop device over it, and a place where it is mounted."""

    def __init__(self, folder: Path, tag: str, system: System, judged: str) -> None:
        self.system, self.judged = system, judged
        self.messages: list[str] = []  # of the kernel, when it last refused an image
        self.at = folder / "image-at"
        self.at.mkdir()
        self.path = folder / "image"
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self.file, system.size)
        self.device, self.open = kernel.attach(self.file, tag, system.sector, direct=False)

    def __enter__(self) -> ImageMount:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self.open)
        os.close(self.file)

    def write(self, before: Mapping[int, bytes], blocks: Blocks) -> None:
        """The file becomes the image. Writes of an earlier mount are gone with the file's old blocks."""
        kernel.allocate(self.file, kernel.FALLOC_FL_PUNCH_HOLE | kernel.FALLOC_FL_KEEP_SIZE, 0, self.system.size)
        for number, data in {**before, **blocks}.items():
            os.pwrite(self.file, data, number * BLOCK)
        kernel.forget_cache(self.open)

    def keep(self, folder: Path, name: str) -> None:
        """A copy of the image as the last mount left it, for a person to look at."""
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"{name}.img", "wb") as copy:
            copy.truncate(self.system.size)
            for number, block in blocks_of(self.path).items():
                os.pwrite(copy.fileno(), block, number * BLOCK)

    @contextmanager
    def mounted(self) -> Iterator[Path]:
        """The judged folder of the image, in the body. OSError where the kernel refuses the image."""
        try:
            kernel.mount(str(self.device), self.at, self.system.kind, self.system.options)
        except OSError:
            self.messages = kernel.last_messages(self.device.name, MESSAGES)
            raise
        try:
            yield self.at / self.judged
        finally:
            kernel.unmount(self.at)
