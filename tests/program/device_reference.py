"""Files on a block device after a power cut, by brute force and in terms of files: the file's size, and in each atomic
write unit any set of the writes to it that no sync has made durable.

It knows nothing of traces, lines and words: `replayer/media/block/block.cc` and the converter are judged by it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

#: Calls of `programs/device/calls.c` that are one write of a byte, given as OFFSET LENGTH BYTE.
WRITES = (
    "write",
    "dup",
    "writev",
    "pwrite",
    "pwritev",
    "pwritev2",
    "raw",
    "copy_file_range",
    "sendfile",
    "splice",
    "zero",
)
DURABLE_WRITES = ("rwf_dsync", "o_dsync", "o_sync")
APPENDS = ("append", "append_at")
SYNCS = ("fsync", "fdatasync", "raw_fsync", "syncfs", "sync")
SIZES = ("ftruncate", "truncate")
ALLOCATIONS = ("fallocate", "posix_fallocate")


@dataclass
class _Write:
    """A write to one unit: the bytes of the sectors that it touched, by their number in the file."""

    sectors: dict[int, bytes]
    durable: bool = False


@dataclass
class Device:
    """A file, and every image that a power cut could have left of it so far."""

    sector: int
    unit: int
    size: int = 0
    #: As a program would read it.
    visible: dict[int, bytes] = field(default_factory=dict)
    #: For each unit its durable content, and the writes to it since, in order.
    durable: dict[int, bytes] = field(default_factory=dict)
    pending: dict[int, list[_Write]] = field(default_factory=dict)
    images: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._cut()

    def call(self, line: str) -> None:
        """One line of a script; the images before, while and after it runs."""
        name, *numbers = line.split()
        offset, length, byte = (*map(int, numbers), 0, 0, 0)[:3]
        if name in WRITES or name == "o_direct" or name == "stdio":
            self._write(offset, bytes([0 if name == "zero" else byte]) * length)
        elif name in DURABLE_WRITES:
            for write in self._write(offset, bytes([byte]) * length):
                write.durable = True
        elif name in APPENDS:
            self._write(self.size, bytes([byte]) * length)
        elif name == "punch":
            self._write(offset, bytes(max(0, min(length, self.size - offset))))
        elif name in SYNCS:
            self.durable = dict(self.visible)
            self.pending = {}
        elif name in SIZES or name == "o_trunc":
            self._resize(offset)
        elif name in ALLOCATIONS:
            self._resize(max(self.size, offset + length))
        else:
            assert name in ("keep_size", "sync_file_range"), name
        self._cut()

    def _resize(self, size: int) -> None:
        """At once, and durable: what is cut off is gone, and reads as zeroes when the file grows again."""
        shrinks, self.size = size < self.size, size
        if not shrinks:
            return
        for sector in [sector for sector in self.visible if sector * self.sector + self.sector > size]:
            kept = max(0, size - sector * self.sector)
            self.visible[sector] = self.visible[sector][:kept].ljust(self.sector, b"\0")
            writes = self.pending.setdefault(sector // self.unit, [])
            writes.append(_Write({sector: self.visible[sector]}, durable=kept == 0))

    def _write(self, offset: int, data: bytes) -> list[_Write]:
        if offset + len(data) > self.size and data:
            self._resize(offset + len(data))
            self._cut()
        writes: dict[int, _Write] = {}
        for at in range(offset, offset + len(data)):
            sector, within = divmod(at, self.sector)
            held = bytearray(self.visible.get(sector, bytes(self.sector)))
            held[within] = data[at - offset]
            self.visible[sector] = bytes(held)
            writes.setdefault(sector // self.unit, _Write({})).sectors[sector] = self.visible[sector]
        for unit, write in writes.items():
            self.pending.setdefault(unit, []).append(write)
        self._cut()
        return list(writes.values())

    def _of_unit(self, unit: int) -> Iterator[dict[int, bytes]]:
        """Contents that the unit may have: any set of its writes, with those that are durable, one on top of the
        other."""
        writes = self.pending.get(unit, [])
        choices = [(True,) if write.durable else (False, True) for write in writes]
        first = unit * self.unit
        base = {sector: self.durable.get(sector, bytes(self.sector)) for sector in range(first, first + self.unit)}
        seen = []
        for chosen in itertools.product(*choices):
            held = dict(base)
            for write, there in zip(writes, chosen, strict=True):
                held |= write.sectors if there else {}
            if held not in seen:
                seen.append(held)
                yield held

    def _cut(self) -> None:
        units = range(-(-self.size // (self.sector * self.unit)))
        for held in itertools.product(*map(list, map(self._of_unit, units))):
            sectors = {sector: content for unit in held for sector, content in unit.items()}
            self.images.add(described(b"".join(sectors[sector] for sector in sorted(sectors))[: self.size]))


def described(content: bytes) -> str:
    """As `calls collect` writes it: the size, and runs of equal bytes."""
    runs = (f"{byte}x{len(list(run))}," for byte, run in itertools.groupby(content))
    return f"{len(content)}:{''.join(runs)}"


def left_by(image: str, *, sector: int, unit: int) -> Device:
    """The device of an image, as `described` tells of it: what it holds is durable."""
    size, _, runs = image.partition(":")
    content = b"".join(
        bytes([int(byte)]) * int(count) for byte, count in (run.split("x") for run in runs.split(",") if run)
    )
    sectors = {at // sector: content[at : at + sector].ljust(sector, b"\0") for at in range(0, len(content), sector)}
    return Device(sector=sector, unit=unit, size=int(size), visible=dict(sectors), durable=dict(sectors))


def legal_images(script: list[str], *, sector: int, unit: int) -> set[str]:
    """The images of a whole script, on a file that was not there before."""
    device = Device(sector=sector, unit=unit)
    for line in script:
        device.call(line)
    return device.images
