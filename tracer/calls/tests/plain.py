"""Recorded calls in the plain language of litmus tests: one call a line, paths for names, a letter for a sector."""

from collections.abc import Iterable

from powercut.files.calls import (
    ALL_THROUGH,
    BY_MAPPING,
    CONTINUES,
    DATA_THROUGH,
    FILE,
    FOLDER,
    LINK,
    SECTOR,
    SYNC_DATA,
    SYNC_FILE,
    SYNC_RANGE,
    Call,
    Mark,
    Names,
)

_ALLOCATIONS = {0: "allocate", 1: "allocate-keep", 3: "punch", 16: "zero", 17: "zero-keep"}


def plain(calls: Iterable[Call | Mark]) -> list[str]:
    """The calls of the program, and its marks; calls of the tree at the start are left out."""
    names = Names()
    started = False
    out: list[str] = []
    for call in calls:
        if isinstance(call, Mark):
            out.append(call.line())
            continue
        if call.kind == "started":
            started = True
        elif started and call.kind not in ("note", "ended"):
            if call.kind == "write" and call.flags & CONTINUES:
                out[-1] = _longer(out[-1], call)
            else:
                out.append(_line(call, names))
        names.take(call)
    return out


def _line(call: Call, names: Names) -> str:
    path = names.path(call.inode).replace("inode ", "t")
    name = names.below(call.folder, call.name) if call.folder else ""
    match call.kind:
        case "inode":
            return f"tmpfile t{call.inode}"
        case "create":
            if call.flags == LINK:
                return f"symlink {call.data.decode()} {name}"
            return f"{ {FILE: 'creat', FOLDER: 'mkdir'}[call.flags] } {name}"
        case "link":
            return f"link {path} {name}"
        case "unlink":
            return f"{'rmdir' if names.kinds[names.entry(call.folder, call.name)] == FOLDER else 'unlink'} {name}"
        case "rename":
            verb = "exchange" if call.flags & 1 else "rename"
            return f"{verb} {name} {names.below(call.new_folder, call.new_name)}"
        case "write":
            verb = "store" if call.flags & BY_MAPPING else "pwrite"
            through = {0: "", DATA_THROUGH: " dsync"}.get(call.flags & (DATA_THROUGH | ALL_THROUGH), " sync")
            return f"{verb} {path} {_sectors(call.offset)} {_letters(call.data)}{through}"
        case "size":
            return f"truncate {path} {_sectors(call.size)}"
        case "allocate":
            return f"{_ALLOCATIONS[call.flags]} {path} {_sectors(call.offset)} {_sectors(call.size)}"
        case "sync":
            what, flags = call.flags & 15, call.flags >> 4
            if what in (SYNC_FILE, SYNC_DATA):
                return f"{'fsync' if what == SYNC_FILE else 'fdatasync'} {path}"
            verb = "sync_file_range" if what == SYNC_RANGE else "msync"
            return f"{verb} {path} {_sectors(call.offset)} {_sectors(call.size)} {flags}"
        case "sync-all":
            return "sync"
        case _:
            return f"{call.kind} {path}"


def _sectors(count: int) -> str:
    return str(count // SECTOR) if count % SECTOR == 0 else f"{count}B"


def _letters(data: bytes) -> str:
    pieces = [data[at : at + SECTOR] for at in range(0, len(data), SECTOR)]
    if len(data) % SECTOR or any(len(set(piece)) > 1 for piece in pieces):
        return f"{len(data)}B"
    letters = "".join("0" if piece[0] == 0 else chr(piece[0]) for piece in pieces)
    return letters if len(letters) <= 16 else f"{letters[0]}*{len(letters)}"


def _longer(line: str, call: Call) -> str:
    """The line of a write with a further piece of the same letter."""
    before, _, count = line.rpartition("*")
    return f"{before}*{int(count) + len(call.data) // SECTOR}"
