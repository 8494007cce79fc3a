"""A judge of exported logs: the rules by which pmreorder 1.12 reads a log and replays it, written anew and stricter.

pmreorder is in no package registry, so this module stands in for it. Where pmreorder would stop with an exception, or
would silently read something else than was written, the module raises Refused. Sources of the rules are pmreorder's
opscontext.py (splitting, START and STOP), operationfactory.py (markers), memoryoperations.py (fields), statemachine.py
(barriers) and binaryoutputhandler.py (files). The module shares no code with the engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4096
_NUMBER = re.compile(r"0x[0-9a-f]+")


class Refused(Exception):
    """pmreorder would not take this log as it is."""


@dataclass(kw_only=True)
class Store:
    address: int
    value: bytes
    trace: list[str]
    flushed: bool = False

    def overlaps(self, address: int, size: int) -> bool:
        return self.address < address + size and address < self.address + len(self.value)


@dataclass(kw_only=True)
class File:
    path: Path
    base: int
    size: int
    bytes: bytearray


@dataclass(kw_only=True)
class Replay:
    """The result of a log; `files` hold the contents that pmreorder leaves: all stores that were flushed and fenced."""

    files: list[File] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    barriers: int = 0
    sections: list[str] = field(default_factory=list)


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise Refused(f"'{text}' is no number as pmemcheck writes it")
    return int(text, 16)


def entries(text: str) -> list[str]:
    """The operations: what lies between the last element with START and the last with STOP in it."""
    elements = text.split("|")
    start = stop = 0
    for index, element in enumerate(elements):
        if "START" in element:
            start = index
        elif "STOP" in element:
            stop = index
    if start != 0 or elements[0] != "START":
        raise Refused(f"the log begins at element {start}: '{elements[start][:60]}'")
    if stop != len(elements) - 1 or elements[stop] != "STOP\n":
        raise Refused(f"the log ends at element {stop} of {len(elements)}")
    return elements[start + 1 : stop]


def replay(log: Path) -> Replay:
    """Reads the whole log and carries out its barriers. Raises Refused."""
    done = Replay()
    open_sections: list[str] = []
    pending: list[Store] = []
    state = "init"
    for element in entries(log.read_text(encoding="utf-8")):
        word, *fields = element.split(";")
        if word == "REGISTER_FILE":
            _register(done, fields)
        elif word == "STORE":
            store = _store(done, fields)
            pending.append(store)
            done.stores.append(store)
            state = "dirty" if state == "init" else state
        elif word == "FLUSH":
            address, size = (_number(text) for text in fields)
            for store in pending:
                store.flushed = store.flushed or store.overlaps(address, size)
            state = "flush"
        elif word == "FENCE" and not fields:
            if state == "flush":
                for store in pending:
                    if store.flushed:
                        _write(done, store)
                pending = [store for store in pending if not store.flushed]
                done.barriers += 1
                state = "init"
        else:
            _section(element, open_sections, done)
    return done


def _register(done: Replay, fields: list[str]) -> None:
    name, base, size, offset = fields
    path = Path(name)
    if _number(offset) != 0:
        raise Refused(f"{name}: pmreorder ignores the offset {offset}")
    content = bytearray(path.read_bytes()) if path.is_file() else bytearray()
    if not content:
        raise Refused(f"{name}: no file that could be mapped")
    if len(content) < _number(size):
        raise Refused(f"{name}: {len(content)} bytes, registered with {size}")
    done.files.append(File(path=path, base=_number(base), size=_number(size), bytes=content))


def _store(done: Replay, fields: list[str]) -> Store:
    address, value, size, *trace = fields
    # Raises OverflowError where the value does not fit, like pmreorder.
    store = Store(
        address=_number(address), value=_number(value).to_bytes(_number(size), byteorder="little"), trace=trace
    )
    if not 1 <= len(store.value) <= 8:
        raise Refused(f"a store of {size} bytes: pmreorder would keep it whole, hardware tears it")
    if not any(file.base <= store.address < file.base + file.size for file in done.files):
        raise Refused(f"a store at {address}, in no registered file")
    return store


def _write(done: Replay, store: Store) -> None:
    for file in done.files:
        if store.overlaps(file.base, file.size):
            start = store.address - file.base
            # The page is synchronised after each store, through Python's mmap, which knows the file's size.
            if start // PAGE * PAGE + PAGE > len(file.bytes):
                raise Refused(f"{file.path}: the page of a store ends behind the file of {len(file.bytes)} bytes")
            file.bytes[start : start + len(store.value)] = store.value


def _section(element: str, open_sections: list[str], done: Replay) -> None:
    # The words are looked up as class names first: "STORE" -> Store, but "store.BEGIN" -> none.
    if element.lower().capitalize() in {"Fence", "Store", "Flush", "Register_file", "Rangeable", "Stacktrace"}:
        raise Refused(f"'{element}' is not an operation of this form")
    if element.endswith(".BEGIN"):
        open_sections.append(element.removesuffix(".BEGIN"))
        done.sections.append(open_sections[-1])
    elif element.endswith(".END"):
        if not open_sections or open_sections.pop() != element.removesuffix(".END"):
            raise Refused(f"cannot cross markers: {element}")
    else:
        raise Refused(f"incorrect marker format {element}, suffix is missing")
