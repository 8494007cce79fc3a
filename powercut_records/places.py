"""Places in source code: call stacks as frames, and the source lines of a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from powercut_records.base import Name, Record, Text


class SourceLine(Record):
    line: int = 0
    text: Text = ""
    focus: bool = False


class Frame(Record):
    function: Text = ""
    file: Name = ""
    line: int = 0
    column: int = 0
    module: Text = ""
    offset: int = 0  # within the module
    inlined: bool = False
    source: list[SourceLine] = []  # around the line, of the user's code

    @property
    def site(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.function


class Placed(Record):
    """Something that code did: its stack, innermost first, and the innermost site in the user's own code."""

    stack: list[Frame] = []
    site: Name = ""
    function: Name = ""
    identity: dict[str, Any] | None = None  # what edits leave of the site

    @property
    def place(self) -> str:
        """The site; without line numbers, the innermost function."""
        if self.site:
            return self.site
        frame = own_frame(self.stack)
        return frame.site if frame else next((f.function for f in self.stack if f.function), "")


# The header through which schemes store, flush and fence: the line that people want is its caller's.
_PRIMITIVES = "powercut/pmem.h"


def own_frame(frames: Sequence[Frame], site: str = "") -> Frame | None:
    """The frame at `site`, as the caller chose it; else the innermost in the program's own code.

    None when the caller's is one without line numbers.
    """
    located = [frame for frame in frames if frame.file]
    chosen = next((frame for frame in located if frame.site == site), None)
    if site and chosen is None:
        return None
    own = (frame for frame in located if not frame.file.endswith(_PRIMITIVES))
    return chosen or next(own, next(iter(located), None))


def flash_operation(stack: Sequence[Frame]) -> str:
    """The object to which a store on flash belongs, by the functions that made it
    (`targets/include/powercut/flash.h`)."""
    return "erase" if any("powercut_flash_erase" in frame.function for frame in stack) else "program"


def nor_operation(stack: Sequence[Frame]) -> str:
    """The operation on NOR flash to which a store belongs, by the functions that made it
    (`targets/include/powercut/nor.h`)."""
    return "erase" if any("powercut_nor_erase" in frame.function for frame in stack) else "program"
