"""The requests to a disk while a program ran, and the images that a power cut may leave of them.

The rules are those of a disk with a write-back cache, and no rule knows a file system. A write that had ended when a
flush arrived is durable once this flush has ended. Each sector of any other write is on disk or not. The rig's page
(replayer/media/files/real/README.md) has the argument.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random

HEAD = struct.Struct("<4Q")
BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Entry:
    letter: str  # W, Z, F, E, M: recording_disk.cc says what they are
    id: int
    offset: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The power fails behind so many entries of the log."""

    entries: int
    instants: range  # of the program: those that this moment may lie in


class BlockLog:
    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries

    @classmethod
    def parse(cls, log: bytes) -> BlockLog:
        entries, at = [], 0
        while at < len(log):
            letter, number, offset, length = HEAD.unpack_from(log, at)
            at += HEAD.size
            data = b""
            if chr(letter) == "W":
                data = log[at : at + length]
                at += length
            elif chr(letter) == "Z":
                data = bytes(length)
            entries.append(Entry(chr(letter), number, offset, data))
        return cls(entries)

    def crash_points(self) -> Iterator[CrashPoint]:
        """Behind each entry from the first mark on. Behind a mark it is the mark's instant, and no other. Elsewhere a
        call may be under way, which brings the program from the mark before to the mark behind."""
        marks = [(place, entry.id) for place, entry in enumerate(self.entries) if entry.letter == "M"]
        for (place, before), (end, after) in pairwise(marks):
            yield CrashPoint(place + 1, range(before, before + 1))
            for number in range(place + 2, end + 1):
                yield CrashPoint(number, range(before, after + 1))
        place, last = marks[-1]
        for number in range(place + 1, len(self.entries) + 1):
            yield CrashPoint(number, range(last, last + 1))

    def writes_at(self, point: CrashPoint) -> tuple[list[Entry], list[Entry]]:
        """Durable writes, and those that may be on disk in part, both in the order of their arrival."""
        ended: set[int] = set()
        flushes: dict[int, frozenset[int]] = {}  # with the writes that had ended before each
        durable: frozenset[int] = frozenset()
        arrived: list[Entry] = []
        for entry in self.entries[: point.entries]:
            match entry.letter:
                case "W" | "Z":
                    arrived.append(entry)
                case "F":
                    flushes[entry.id] = frozenset(ended)
                case "E" if entry.id in flushes:
                    durable |= flushes[entry.id]
                case "E":
                    ended.add(entry.id)
        sure = [entry for entry in arrived if entry.id in durable]
        return sure, [entry for entry in arrived if entry.id not in durable]


Blocks = dict[int, bytes]  # by their number: what the image has instead of the disk's blocks at the beginning


class Images:
    """The images of one crash point, drawn with a seed."""

    def __init__(
        self, log: BlockLog, point: CrashPoint, before: Mapping[int, bytes], *, sector: int, unit: int
    ) -> None:
        self.before, self.sector, self.unit = before, sector, unit
        sure, self.maybe = log.writes_at(point)
        self.sure: Blocks = {}
        for entry in sure:
            apply(self.sure, before, entry.offset, entry.data)
        self.parts = [part for entry in self.maybe for part in self._parts(entry)]

    def _parts(self, entry: Entry) -> Iterator[tuple[int, bytes]]:
        """The pieces of a write that are on disk together in a drawn image. A disk promises no more than whole sectors.
        To draw sectors of one block together is one of the legal draws, and letters of the program stay whole by it."""
        for at in range(0, len(entry.data), BLOCK):
            block = entry.data[at : at + BLOCK]
            size = self.unit if self._is_letters(block) else self.sector
            for begin in range(0, len(block), size):
                yield entry.offset + at + begin, block[begin : begin + size]

    def _is_letters(self, block: bytes) -> bool:
        parts = [block[at : at + self.unit] for at in range(0, len(block), self.unit)]
        return all(part == part[:1] * self.unit for part in parts)

    def draw(self, random: Random) -> Blocks:
        """One image."""
        blocks = dict(self.sure)
        for offset, data in self._drawn(random):
            apply(blocks, self.before, offset, data)
        return blocks

    def with_durable(self, blocks: Blocks, place: range) -> Blocks:
        """An image with some bytes of one block as the last flush left them."""
        number, begin = divmod(place.start, BLOCK)
        found = dict(blocks)
        old = self.sure.get(number) or self.before[number]
        apply(found, self.before, place.start, old[begin : begin + len(place)])
        return found

    def _drawn(self, random: Random) -> list[tuple[int, bytes]]:
        chance = random.choice((0.1, 0.3, 0.5, 0.7, 0.9))
        match random.choice(
            ("all", "none", "writes", "writes", "blocks", "blocks", "parts", "first", "but one", "one")
        ):
            case "all":
                return self.parts
            case "none":
                return []
            case "parts":
                return [part for part in self.parts if random.random() < chance]
            case "blocks":
                chosen = {block for block in self._blocks() if random.random() < chance}
            case "but one":
                every = self._blocks()
                chosen = set(every) - set(random.sample(every, min(1, len(every))))
            case "one":
                every = self._blocks()
                chosen = set(random.sample(every, min(1, len(every))))
            case "first":
                return self._of(self.maybe[: random.randint(0, len(self.maybe))])
            case _:
                return self._of([entry for entry in self.maybe if random.random() < chance])
        return [part for part in self.parts if part[0] // BLOCK in chosen]

    def _blocks(self) -> list[int]:
        return sorted({offset // BLOCK for offset, _ in self.parts})

    def _of(self, entries: list[Entry]) -> list[tuple[int, bytes]]:
        return [part for entry in entries for part in self._parts(entry)]


def apply(blocks: Blocks, before: Mapping[int, bytes], offset: int, data: bytes) -> None:
    """Puts bytes into the blocks of an image."""
    while data:
        number, begin = divmod(offset, BLOCK)
        some = data[: BLOCK - begin]
        old = blocks.get(number) or before.get(number) or bytes(BLOCK)
        blocks[number] = old[:begin] + some + old[begin + len(some) :]
        offset, data = offset + len(some), data[len(some) :]
