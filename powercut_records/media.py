"""Media that the pool of a run can be: the words of each medium, and the advice that it allows.

There is one entry for each folder of `replayer/media`, in the order of `media.def`. All other code asks the entry of a
medium and never compares its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from powercut_records.places import Frame, flash_operation, nor_operation


@dataclass(frozen=True, slots=True)
class Advice:
    """The words and fixes of causes. Templates name `{until}`, the step that must not come before the store B is
    durable."""

    #: The means that cannot make two stores atomic: "No flush or fence".
    no_order: str
    #: The unit that persists as a whole.
    whole: str
    #: The verb for the code: "stores".
    does: str
    #: The sentence for a kind of fix; `order` is for all that have none.
    fixes: Mapping[str, str]
    #: Whether another thread may flush and fence what one thread stores.
    by_readers: bool = False
    #: The flush and the fence of a trace's edit, which make a group of stores durable. Without a flush, the fence acts
    #: on the whole pool.
    flush: str | None = None
    edited_fence: str = ""
    #: The source lines that a fix adds, by the kind of fix; `file_patch` is for a file of the user's.
    patch: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    file_patch: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a medium that consists of several stores, and is durable when it returns."""

    #: The operation's name, by the calls that made it: "program".
    name: Callable[[Sequence[Frame]], str]
    #: The word for the line of an operation, by the operation's name.
    lines: Mapping[str, str]
    #: The result of an interrupted operation, and the advice for it, by the operation's name.
    interrupted: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Medium:
    """A medium by its words."""

    #: The name in records, in targets and in the engine.
    name: str
    #: The name in sentences: "a block device".
    called: str
    #: The plural in sentences: "block devices".
    many: str
    #: The medium's persistency models, each with its assumption. The first model is used if nobody names another.
    models: Mapping[str, str]
    store: str  # a change of the medium
    line: str  # the unit that is decided together
    advice: Advice
    row: str = "page"  # row of a drawn table
    cell: str = "entry"
    cells: str = "byte"  # cells of a line in pictures
    #: True if a word of the pool is the name of a content. A word of memory is the bytes themselves.
    device: bool = True
    #: The name of a store in causes, if no stack says more.
    change: str = ""
    operation: Operation | None = None

    @property
    def own_model(self) -> str:
        return next(iter(self.models))

    def changed_by(self, stack: Sequence[Frame]) -> str:
        """Returns the name of one change, made with these calls: "store", "write", "program", "erase"."""
        return self.operation.name(stack) if self.operation else self.store

    def edit(self, begin: int, end: int) -> dict[str, Any]:
        """Returns the flush and fence that an edit of a trace inserts to make [begin, end) durable."""
        kind = self.advice.flush
        flush = {"offset": begin, "size": end - begin, "kind": kind} if kind else None
        return {"flush": flush, "fence": self.advice.edited_fence}


_FLUSH_AND_FENCE = ("flush(the line of B);", "fence();")
_DEVICE_FLUSH = dict.fromkeys(("flush", "fence", "flush-and-fence"), ("powercut_block_flush(device);",))
_FSYNC = dict.fromkeys(_DEVICE_FLUSH, ("fsync(file);  /* flushes the device */",))

MEMORY = Medium(
    name="memory",
    called="memory",
    many="memory",
    models={
        "adr": "caches are volatile: a line is durable once it was flushed and fenced (the default)",
        "eadr": "caches are inside the persistence domain: stores persist in the order in which they became visible",
    },
    store="store",
    line="line",
    row="bucket",
    cell="slot",
    device=False,
    advice=Advice(
        no_order="No flush or fence",
        whole="aligned 8-byte store",
        does="stores",
        fixes={
            "order": "Flush the line of B and fence before {until}.",
            "reorder": "Store B first, flush its line and fence; then store A, flush it and fence.",
            "flush-in-reader": "Another thread stores B, and has not made it durable yet: wait until it has, or flush "
            "the line of B here and fence before {until}.",
            "fence": "The line of B is flushed, but no fence waits for it: fence before {until}.",
        },
        by_readers=True,
        flush="clwb",
        edited_fence="sfence",
        patch={
            "flush": _FLUSH_AND_FENCE[:1],
            "fence": _FLUSH_AND_FENCE[1:],
            "flush-and-fence": _FLUSH_AND_FENCE,
            "flush-in-reader": _FLUSH_AND_FENCE,
        },
    ),
)
BLOCK = Medium(
    name="block",
    called="a block device",
    many="block devices",
    models={"block": "sectors behind a volatile write cache (the default of a target on a block device)"},
    store="write",
    line="unit",
    cells="sector",
    advice=Advice(
        no_order="No flush",
        whole="write of one atomic write unit",
        does="writes",
        fixes={
            "order": "Flush (a file: fsync) after B and before {until}, or force the write B.",
            "reorder": "Write B first, then flush; then write A, and flush again.",
        },
        edited_fence="device flush",
        patch=_DEVICE_FLUSH,
        file_patch=_FSYNC,
    ),
)
FLASH = Medium(
    name="flash",
    called="raw flash",
    many="raw flash",
    models={"flash": "pages and erase blocks of raw NAND (the default of a target on flash)"},
    store="program",
    line="device line",
    cells="word",
    change="operation",
    operation=Operation(
        name=flash_operation,
        lines={"program": "page, device line", "erase": "erase block"},
        interrupted={
            "program": "The page cannot be read then, and no order of operations prevents that: let recovery pass over "
            "such a page, and erase its block before the page is programmed again.",
            "erase": "No page of the block can be read or programmed then, and no order of operations prevents that: "
            "let recovery erase such a block again.",
        },
    ),
    advice=Advice(
        no_order="No order",
        whole="program of one page",
        does="writes",
        fixes={"order": "Do B before {until}: an operation on flash is durable when it returns."},
        edited_fence="device flush",
    ),
)
NOR = Medium(
    name="nor",
    called="NOR flash",
    many="NOR flash",
    models={"nor": "units and sectors of NOR flash, or of a memory without erase (the default of a target on it)"},
    store="program",
    line="device line",
    change="operation",
    operation=Operation(
        name=nor_operation,
        lines={"program": "cell, device line", "erase": "cell, device line"},
        interrupted={
            "program": "The unit in flight has a part of the program, and no order of operations prevents that: let "
            "recovery tell a whole record from a torn one, e.g. by a checksum, and pass over the units of a torn one.",
            "erase": "The sector in flight is erased in part, and no order of operations prevents that: let recovery "
            "check all of a sector before it takes the sector for erased, and erase it again.",
        },
    ),
    advice=Advice(
        no_order="No order",
        whole="program of one unit",
        does="writes",
        fixes={"order": "Do B before {until}: an operation on NOR flash is durable when it returns."},
        edited_fence="device flush",
    ),
)
#: A folder of an ordinary file system: its calls are told as they are, and its file systems take the place of models.
FOLDER = Medium(
    name="files",
    called="a folder",
    many="folders",
    models={"files": "files below a folder, under the profiles of file systems"},
    store="call",
    line="sector",
    change="call",
    device=False,
    advice=Advice(no_order="No sync", whole="call", does="writes", fixes={"order": "Sync B before {until}."}),
)
#: Media of the engine's table; the first one is that of a run that names none.
MEDIA = (MEMORY, BLOCK, FLASH, NOR)


def of_model(model: str) -> Medium:
    """The medium that a persistency model is of; memory for a model that nobody knows."""
    return next((medium for medium in (*MEDIA, FOLDER) if model in medium.models), MEMORY)


def named(name: str) -> Medium:
    """The medium of this name. ValueError where there is none."""
    for medium in MEDIA:
        if medium.name == name:
            return medium
    raise ValueError(f"'{name}' is no medium")
