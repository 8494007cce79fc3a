"""The images of block logs that are made by hand; no file system is needed."""

from __future__ import annotations

import struct
from itertools import product
from random import Random

import pytest

from powercut.real_fs.block_log import BLOCK, BlockLog, CrashPoint, Entry, Images

SECTOR = 512


def write(number: int, letter: bytes, offset: int = 0, length: int = BLOCK) -> Entry:
    return Entry("W", number, offset, letter * length)


def mark(instant: int) -> Entry:
    return Entry("M", instant)


def ended(number: int) -> Entry:
    return Entry("E", number)


def flush(number: int) -> Entry:
    return Entry("F", number)


def durable_of(*entries: Entry) -> tuple[list[int], list[int]]:
    log = BlockLog(list(entries))
    sure, maybe = log.writes_at(CrashPoint(len(entries), range(1)))
    return [entry.id for entry in sure], [entry.id for entry in maybe]


@pytest.mark.parametrize(
    ("entries", "sure", "maybe"),
    [
        ([write(1, b"A")], [], [1]),
        ([write(1, b"A"), ended(1)], [], [1]),
        ([write(1, b"A"), ended(1), flush(2)], [], [1]),
        ([write(1, b"A"), ended(1), flush(2), ended(2)], [1], []),
        ([write(1, b"A"), flush(2), ended(2), ended(1)], [], [1]),
        ([write(1, b"A"), flush(2), ended(1), ended(2)], [], [1]),
        ([write(1, b"A"), ended(1), flush(2), write(3, b"B"), ended(3), ended(2)], [1], [3]),
        ([write(1, b"A"), flush(2), ended(1), flush(3), ended(3)], [1], []),
        ([write(1, b"A"), ended(1), flush(2), flush(3), ended(2)], [1], []),
    ],
)
def test_a_flush_has_what_had_ended_when_it_arrived(entries: list[Entry], sure: list[int], maybe: list[int]) -> None:
    assert durable_of(*entries) == (sure, maybe)


def test_a_crash_point_knows_its_instants() -> None:
    """Behind a mark the program stands still; elsewhere a call may be under way."""
    log = BlockLog([write(0, b"Z"), mark(0), mark(0), write(1, b"A"), mark(2), flush(2), mark(2), mark(3), ended(2)])
    assert [(point.entries, list(point.instants)) for point in log.crash_points()] == [
        (2, [0]),
        (3, [0]),
        (4, [0, 1, 2]),
        (5, [2]),
        (6, [2]),
        (7, [2]),
        (8, [3]),
        (9, [3]),
    ]


def sectors(block: bytes) -> tuple[bytes, ...]:
    return tuple(block[at : at + SECTOR] for at in range(0, BLOCK, SECTOR))


def images_of(*entries: Entry, unit: int = BLOCK, sector: int = SECTOR) -> Images:
    log = BlockLog(list(entries))
    return Images(log, CrashPoint(len(entries), range(1)), {0: b"a" * BLOCK}, sector=sector, unit=unit)


def test_every_version_of_a_page_is_drawn_and_nothing_else() -> None:
    images = images_of(write(1, b"A"), ended(1), flush(2), ended(2), write(3, b"B"), write(4, b"C", BLOCK))
    random = Random(1)
    drawn = {(blocks[0][:1], blocks.get(1, b"-")[:1]) for blocks in (images.draw(random) for _ in range(300))}
    assert drawn == set(product((b"A", b"B"), (b"-", b"C")))


def test_a_block_of_metadata_is_torn_and_a_letter_is_not() -> None:
    random = Random(1)
    metadata = Entry("W", 1, 0, bytes(range(16)) * (BLOCK // 16))
    old, new = b"a" * SECTOR, metadata.data[:SECTOR]
    drawn = {sectors(images_of(metadata).draw(random).get(0, b"a" * BLOCK)) for _ in range(400)}
    assert len(drawn) > 20 and {sector for block in drawn for sector in block} == {old, new}
    halves = {
        images_of(write(1, b"A", 0, BLOCK // 2), unit=BLOCK // 2).draw(random).get(0, b"a" * BLOCK) for _ in range(50)
    }
    assert halves == {b"a" * BLOCK, b"A" * (BLOCK // 2) + b"a" * (BLOCK // 2)}


def test_each_sector_of_random_logs_is_a_version_since_its_floor() -> None:
    for seed in range(300):
        random = Random(seed)
        entries, open_writes = [], []
        for number in range(random.randint(1, 9)):
            match random.choice(("write", "write", "end", "flush")):
                case "write":
                    place, length = random.randrange(4), random.randint(1, 4)
                    entries.append(write(number, bytes([65 + number]), place * SECTOR, length * SECTOR))
                    open_writes.append(number)
                case "end" if open_writes:
                    entries.append(ended(open_writes.pop(0)))
                case _:
                    entries += [flush(number), ended(number)]
        sure, maybe = (set(ids) for ids in durable_of(*entries))
        for _ in range(20):
            found = sectors(images_of(*entries, unit=SECTOR).draw(random).get(0, b"a" * BLOCK))
            for place, sector in enumerate(found):
                versions = [b"a" * SECTOR]
                for entry in entries:
                    if entry.letter == "W" and entry.offset <= place * SECTOR < entry.offset + len(entry.data):
                        versions = [entry.data[:SECTOR]] if entry.id in sure else [*versions, entry.data[:SECTOR]]
                assert sector in versions, f"seed {seed}"
        assert not sure & maybe


def test_the_durable_superblock_is_put_back() -> None:
    images = images_of(write(1, b"A"), ended(1), flush(2), ended(2), write(3, b"B"))
    torn = b"A" * 1536 + b"B" * (BLOCK - 1536)
    assert images.with_durable({0: torn}, range(1024, 2048)) == {0: b"A" * 2048 + b"B" * 2048}


def test_a_log_is_read_as_the_disk_writes_it() -> None:
    head = struct.Struct("<4Q")
    log = head.pack(ord("M"), 3, 0, 0) + head.pack(ord("W"), 4, 8192, 3) + b"abc" + head.pack(ord("Z"), 5, 0, 2)
    assert BlockLog.parse(log).entries == [Entry("M", 3), Entry("W", 4, 8192, b"abc"), Entry("Z", 5, 0, b"\0\0")]
