"""What the pool of a run is, in words: memory has lines and stores, a block device units of sectors and writes.

The engine sees one thing, lines of words (replayer/MODELS.md, "Devices"): of a block device a line is an atomic write
unit, and each word of it the name of what a sector holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from powercut_reports import format as fmt

_LINE, _WORD = 64, 8  # bytes


@dataclass(frozen=True)
class Medium:
    device: bool
    store: str  # what changes it
    line: str  # what is decided together
    row: str  # of a drawn table
    cell: str
    cells: str = "byte"  # that a line has, as pictures show them

    def place(self, offset: int) -> str:
        """Of a line: "0x1080", "unit 66"."""
        return f"{self.line} {offset // _LINE}" if self.device else fmt.offset(offset)

    def extent(self, offset: int, size: int, *, sectors: int | None = None) -> str:
        """ "8 bytes at 0x1080", "1 sector of unit 66"; `sectors`: bytes of those alone that were written."""
        if not self.device:
            return f"{fmt.plural(size, 'byte')} at {fmt.offset(offset)}"
        first, last = offset // _LINE, (offset + max(size, 1) - 1) // _LINE
        units = f"{self.line} {first}" if first == last else f"{self.line}s {first} to {last}"
        return f"{self.size(size if sectors is None else sectors)} of {units}"

    def told(self, detail: str) -> str:
        """The engine's "8 bytes" of a store."""
        count, _, rest = detail.partition(" ")
        return self.size(int(count)) if self.device and count.isdecimal() and rest.startswith("byte") else detail

    def size(self, size: int) -> str:
        """ "8 bytes", "1 sector" """
        return fmt.plural(-(-size // _WORD), "sector") if self.device else fmt.plural(size, "byte")


MEMORY = Medium(device=False, store="store", line="line", row="bucket", cell="slot")
_BLOCK = Medium(device=True, store="write", line="unit", row="page", cell="entry", cells="sector")


def medium_of(model: str) -> Medium:
    """Of a finding or run with this persistency model."""
    return _BLOCK if model == "block" else MEMORY
