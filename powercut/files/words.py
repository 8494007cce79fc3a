"""One call on a folder as a line for people, much as strace prints it."""

from powercut.files.calls import (
    ALL_THROUGH,
    BY_MAPPING,
    CONTINUES,
    DATA_THROUGH,
    FOLDER,
    LINK,
    SYNC_RANGE,
    Call,
    Names,
    shown,
)

_NEW = {FOLDER: "new folder", LINK: "new link"}
#: Calls that change a size; all others open a file anew.
_RESIZES = ("truncate", "ftruncate")
#: Flags as their headers name them.
_ALLOCATIONS = {
    1: "FALLOC_FL_KEEP_SIZE",
    2: "FALLOC_FL_PUNCH_HOLE",
    8: "FALLOC_FL_COLLAPSE_RANGE",
    16: "FALLOC_FL_ZERO_RANGE",
    32: "FALLOC_FL_INSERT_RANGE",
    64: "FALLOC_FL_UNSHARE_RANGE",
}
_RANGES = {
    1: "SYNC_FILE_RANGE_WAIT_BEFORE",
    2: "SYNC_FILE_RANGE_WRITE",
    4: "SYNC_FILE_RANGE_WAIT_AFTER",
}
_MAPPINGS = {1: "MS_ASYNC", 2: "MS_INVALIDATE", 4: "MS_SYNC"}


def line_of(call: Call, names: Names) -> str | None:
    """The line of a call that is to be made next; None for a further piece of a write."""
    if call.kind != "link" and names.has_gone(call.inode):
        return None if call.flags & CONTINUES else f"{_line(call, names)}  # inode {call.inode}, which has no name now"
    return _line(call, names)


def _line(call: Call, names: Names) -> str | None:
    path = f'"{names.path(call.inode)}"' if call.inode else ""
    name = f'"{names.below(call.folder, call.name)}"' if call.folder else ""
    match call.kind:
        case "create" if call.flags == LINK:
            return f'{call.by}("{shown(call.data)}" <- {name})  # inode {call.inode}, new link'
        case "create":
            return f"{call.by}({name})  # inode {call.inode}, {_NEW.get(call.flags, 'new file')}"
        case "inode":
            return f"{call.by}(O_TMPFILE)  # inode {call.inode}, without a name"
        case "link":
            return f"{call.by}({path} -> {name})  # inode {call.inode}"
        case "unlink":
            return f"{call.by}({name})  # inode {names.entry(call.folder, call.name)}"
        case "rename":
            arrow = "<->" if call.flags & 1 else "->"
            replaced = names.entry(call.new_folder, call.new_name)
            over = f", in the place of inode {replaced}" if replaced and not call.flags & 1 else ""
            new = names.below(call.new_folder, call.new_name)
            return f'{call.by}({name} {arrow} "{new}")  # inode {names.entry(call.folder, call.name)}{over}'
        case "write":
            return None if call.flags & CONTINUES else _write(call, path)
        case "size" if call.by not in _RESIZES:
            return f"{call.by}({path}, O_TRUNC)  # {call.size} bytes from now on"
        case "size":
            return f"{call.by}({path}, {call.size} bytes from now on)"
        case "allocate":
            mode = f", {_flags(call.flags, _ALLOCATIONS)}" if call.flags else ""
            return f"{call.by}({path}, {call.size} bytes at {call.offset}{mode})"
        case "sync" if call.flags & 15 >= SYNC_RANGE:
            flags = _flags(call.flags >> 4, _RANGES if call.flags & 15 == SYNC_RANGE else _MAPPINGS)
            return f"{call.by}({path}, {call.size} bytes at {call.offset}, {flags})"
        case "sync" | "attributes":
            return f"{call.by}({path})"
        case _:
            return f"{call.by}()"


def _write(call: Call, path: str) -> str:
    size = f"{call.size} byte{'' if call.size == 1 else 's'} at {call.offset}"
    if call.flags & BY_MAPPING:
        return f"store through a mapping of {path}, {size}"
    through = "O_SYNC" if call.flags & ALL_THROUGH else "O_DSYNC" if call.flags & DATA_THROUGH else ""
    return f"{call.by}({path}, {size}{', ' + through if through else ''})"


def _flags(value: int, names: dict[int, str]) -> str:
    unknown = value & ~sum(names)
    words = [name for bit, name in names.items() if value & bit] + ([hex(unknown)] if unknown else [])
    return "|".join(words) or "0"
