"""Words for the pool of a run: memory has lines and stores, a block device units of sectors and writes, flash erase
blocks of pages that are programmed.

The engine sees one thing, lines of words (replayer/MODELS.md, "Devices"). A line of a block device is an atomic write
unit, and each word of the line names the content of a sector. Where the device is a file of the user's, the first line
is the file's size, and places are told by sector of the file. Flash has a line for each erase block, and then one for
each page (`targets/include/powercut/flash.h`); the record does not say how many blocks there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from powercut_records.base import changed
from powercut_records.finding import FindingRecord, ImageLine
from powercut_records.places import Frame, flash_operation
from powercut_records.program import Sectors
from powercut_records.run import RunRecord
from powercut_reports import format as fmt

LINE, WORD = 64, 8  # bytes


@dataclass(frozen=True)
class Medium:
    device: bool
    store: str  # what changes it
    line: str  # what is decided together
    row: str  # of a drawn table
    cell: str
    cells: str = "byte"  # that a line has, as pictures show them
    flash: bool = False
    file: Sectors | None = None  # the device is a file of a recorded program

    def place(self, offset: int) -> str:
        """Names a line: "0x1080", "unit 66"; in a file: "sector 3 (0x600 of the file)", "the file's size"."""
        if self.file is None:
            return f"{self.line} {offset // LINE}" if self.device else fmt.offset(offset)
        if offset < LINE:
            return "the file's size"
        number = (offset // LINE - 1) * self.file.unit + offset % LINE // WORD
        return f"sector {fmt.grouped(number)} ({fmt.offset(number * self.file.sector_size)} of the file)"

    def label(self, offset: int) -> str:
        """Names a line where room is narrow: in a file the sector's number alone."""
        return self.place(offset).split(" (")[0].removeprefix("the file's ")

    def head(self, line: ImageLine) -> str:
        """Returns the words before the summary of a line; a file's summary names its sectors itself."""
        if self.file is None:
            return self.place(line.offset)
        return f"unit of {fmt.grouped(self.file.unit * self.file.sector_size)} bytes" if line.offset else "size"

    def extent(self, offset: int, size: int, *, sectors: int | None = None) -> str:
        """ "8 bytes at 0x1080", "1 sector of unit 66"; `sectors`: bytes of those alone that were written."""
        if not self.device:
            return f"{fmt.plural(size, 'byte')} at {fmt.offset(offset)}"
        if self.file is not None:
            count = (size if sectors is None else sectors) // WORD
            return self.place(offset) if count <= 1 else f"{fmt.plural(count, 'sector')} from {self.place(offset)}"
        if self.flash:
            return self.place(offset)
        first, last = offset // LINE, (offset + max(size, 1) - 1) // LINE
        units = f"{self.line} {first}" if first == last else f"{self.line}s {first} to {last}"
        return f"{self.size(size if sectors is None else sectors)} of {units}"

    def change(self, stack: Sequence[Frame]) -> str:
        """Names one change that these calls made: "store", "write", "program", "erase"."""
        return flash_operation(stack) if self.flash else self.store

    def changed(self, offset: int, size: int, stack: Sequence[Frame]) -> str:
        """As `extent`, of one change: flash is programmed by pages and erased by blocks."""
        if not self.flash:
            return self.extent(offset, size)
        return f"{'erase block' if self.change(stack) == 'erase' else 'page, device line'} {offset // LINE}"

    def told(self, detail: str) -> str:
        """The engine's "8 bytes" of a store."""
        count, _, rest = detail.partition(" ")
        return self.size(int(count)) if self.device and count.isdecimal() and rest.startswith("byte") else detail

    def size(self, size: int) -> str:
        """ "8 bytes", "1 sector", of flash "2 words" """
        return fmt.plural(-(-size // WORD), self.cells) if self.device else fmt.plural(size, "byte")


MEMORY = Medium(device=False, store="store", line="line", row="bucket", cell="slot")
BLOCK = Medium(device=True, store="write", line="unit", row="page", cell="entry", cells="sector")
FLASH = Medium(device=True, store="program", line="device line", row="page", cell="entry", cells="word", flash=True)


def medium_of(told: FindingRecord | RunRecord) -> Medium:
    """Returns the medium of a finding or a run."""
    if told.model == "flash":
        return FLASH
    if told.model != "block":
        return MEMORY
    return replace(BLOCK, file=told.program.device if told.program else None)


def with_program(run: RunRecord) -> RunRecord:
    """The run, each finding with what it says of the device: within a run the program is not repeated."""
    if run.program is None or run.program.device is None:
        return run
    return changed(run, findings=[changed(finding, program=run.program) for finding in run.findings])
