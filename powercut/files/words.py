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


def line_of(call: Call, names: Names) -> str | None:
    """The line of a call that is to be made next; None for a further piece of a write."""
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
        case "size":
            return f"{call.by}({path}, {call.size} bytes from now on)"
        case "allocate":
            return f"{call.by}({path}, mode {call.flags:#x}, {call.size} bytes at {call.offset})"
        case "sync" if call.flags & 15 >= SYNC_RANGE:
            return f"{call.by}({path}, {call.size} bytes at {call.offset}, flags {call.flags >> 4})"
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
