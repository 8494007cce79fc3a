"""Places of a run's pool, in the words of its medium (powercut_records/media.py).

The engine sees one thing, lines of words (replayer/MODELS.md, "Devices"). A line of a block device is an atomic write
unit, and each word of the line names the content of a sector. Where the device is a file of the user's, the first line
is the file's size, and places are told by sector of the file. Flash has a line for each erase block, and then one for
each page (`targets/include/powercut/flash.h`); the record does not say how many blocks there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from powercut_records import media
from powercut_records.base import changed
from powercut_records.finding import FindingRecord, ImageLine
from powercut_records.places import Frame
from powercut_records.program import Sectors
from powercut_records.run import RunRecord
from powercut_reports import format as fmt

LINE, WORD = 64, 8  # bytes


@dataclass(frozen=True)
class Medium:
    words: media.Medium
    file: Sectors | None = None  # the device is a file of a recorded program

    @property
    def device(self) -> bool:
        return self.words.device

    @property
    def operations(self) -> bool:
        """Whether one operation is several stores."""
        return self.words.operation is not None

    def place(self, offset: int) -> str:
        """Names a line: "0x1080", "unit 66"; in a file: "sector 3 (0x600 of the file)", "the file's size"."""
        if self.file is None:
            return f"{self.words.line} {offset // LINE}" if self.device else fmt.offset(offset)
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
        if self.operations:
            return self.place(offset)
        first, last = offset // LINE, (offset + max(size, 1) - 1) // LINE
        units = f"{self.words.line} {first}" if first == last else f"{self.words.line}s {first} to {last}"
        return f"{self.size(size if sectors is None else sectors)} of {units}"

    def change(self, stack: Sequence[Frame]) -> str:
        """Returns the name of one change, made with these calls: "store", "write", "program", "erase"."""
        return self.words.changed_by(stack)

    def changed(self, offset: int, size: int, stack: Sequence[Frame]) -> str:
        """As `extent`, of one change: flash is programmed by pages and erased by blocks."""
        operation = self.words.operation
        return f"{operation.lines[self.change(stack)]} {offset // LINE}" if operation else self.extent(offset, size)

    def told(self, detail: str) -> str:
        """The engine's "8 bytes" of a store."""
        count, _, rest = detail.partition(" ")
        return self.size(int(count)) if self.device and count.isdecimal() and rest.startswith("byte") else detail

    def size(self, size: int) -> str:
        """ "8 bytes", "1 sector", of flash "2 words" """
        return fmt.plural(-(-size // WORD), self.words.cells) if self.device else fmt.plural(size, "byte")


MEMORY, BLOCK, FLASH = (Medium(words) for words in (media.MEMORY, media.BLOCK, media.FLASH))


def medium_of(told: FindingRecord | RunRecord) -> Medium:
    """Returns the medium of a finding or a run."""
    words = media.of_model(told.model)
    return Medium(words, file=told.commands.device if words.device else None)


def with_program(run: RunRecord) -> RunRecord:
    """The run, each finding with what it says of the device: within a run the program is not repeated."""
    if run.commands.device is None:
        return run
    return changed(run, findings=[changed(finding, program=run.program) for finding in run.findings])
