"""Which place of the source a frame is, in words that survive an edit beside it.

A line number changes with every line above it, an address with every build. Three things stay: the function, the text
of the statement, and which of the statements with this text in this function it is (`update.cc level::Table::Update
slot->token=1 #0`). A comment above it, other white space around it, or a new function before it leave this name the
same. A change of the statement itself makes another place, and what was known of it has to be looked at again.

Where the source cannot be read, the line within its function stands for the text. Where there are no line numbers, the
offset of the instruction within its function does; `by` says which. These two change with any edit of the function.
"""

from dataclasses import asdict, dataclass
from typing import Any

from powercut.symbols import source
from powercut.symbols.function_names import function_name
from powercut.symbols.statements import statements
from powercut.symbols.symbolize import Frame

SOURCE, LINE, CODE = "source", "line", "code"


@dataclass(frozen=True, kw_only=True)
class PlaceIdentity:
    """`file` is the name without its folder, `ordinal` counts from 0. `by` says what `text` was taken from."""

    file: str
    function: str
    text: str
    ordinal: int
    by: str

    def __str__(self) -> str:
        return f"{self.file} {self.function} {self.text} #{self.ordinal}"

    def record(self) -> dict[str, Any]:
        """As it stands in a finding record."""
        return asdict(self)


def identity_of(frame: Frame | None) -> PlaceIdentity | None:
    """The identity of a frame's place; None where there is no frame."""
    if frame is None:
        return None
    function = function_name(frame.function)
    begin = frame.start_line if frame.start_file == frame.file else 0
    if not frame.file or not frame.line:
        at = frame.offset - frame.start_offset if frame.start_offset else frame.offset
        return PlaceIdentity(file=frame.module, function=function, text=f"+0x{at:x}", ordinal=0, by=CODE)
    name = frame.file.rpartition("/")[2]
    text = source.text(frame.file)
    found = statements(text) if text is not None else None
    statement = found.at(frame.line, frame.column) if found else None
    if found is None or statement is None:
        return PlaceIdentity(
            file=name, function=function, text=f"line {frame.line - begin if begin else frame.line}", ordinal=0, by=LINE
        )
    return PlaceIdentity(
        file=name, function=function, text=statement.text, ordinal=found.ordinal(statement, begin), by=SOURCE
    )


def told(identity: object) -> str:
    """The identity in a record as text; "?" where there is none."""
    if not isinstance(identity, dict):
        return "?"
    return " ".join(str(identity.get(part) or "") for part in ("file", "function", "text")) + (
        f" #{identity.get('ordinal') or 0}"
    )
