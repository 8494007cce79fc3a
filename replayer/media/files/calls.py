"""The calls of a recording that change a folder, in the order in which they took effect.

Inode 1 is the folder itself; others have the numbers 2, 3 and so on. A name is an entry of a folder. The JSON form of
a call is its fields without those that have their defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

ROOT = 1

OPS = (
    *("inode", "entry", "create", "link", "unlink", "rename", "write", "size", "allocate"),
    *("sync", "sync-all", "attributes", "begin", "end"),
)
#: `started`: sync_file_range, which makes nothing durable.
SYNCS = ("file", "data", "range", "started")
ALLOCATIONS = ("extend", "keep", "punch", "zero", "zero-keep")


class CallError(ValueError):
    """A call that no program can have made; the message says which one and why."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call. A field that the call does not have is at its default."""

    op: str
    inode: int = 0
    folder: int = 0
    name: str = ""
    to_folder: int = 0  # of a rename
    to_name: str = ""
    exchange: bool = False
    kind: str = "file"  # file, folder, link
    target: str = ""  # of a symbolic link
    offset: int = 0
    length: int = 0  # of a range
    size: int = 0
    data: bytes = b""
    through: str = "none"  # of a write: data (O_DSYNC), all (O_SYNC)
    what: str = "file"  # of a sync
    mode: str = "extend"  # of an allocation

    def to_json(self) -> dict[str, Any]:
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        record["data"] = self.data.hex()
        plain = Call(self.op)
        return {"op": self.op} | {
            name: value for name, value in record.items() if value != ("" if name == "data" else getattr(plain, name))
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Call:
        given = dict(record)
        if unknown := set(given) - {field.name for field in fields(cls)}:
            raise CallError(f"'{sorted(unknown)[0]}' is no field of a call.")
        call = cls(**(given | {"data": bytes.fromhex(given.get("data", ""))}))
        return checked(call)


def checked(call: Call) -> Call:
    """The call itself. CallError for a word that is no word of calls."""
    for value, known, kind in (
        (call.op, OPS, "call"),
        (call.kind, ("file", "folder", "link"), "kind"),
        (call.through, ("none", "data", "all"), "way of writing"),
        (call.what, SYNCS, "sync"),
        (call.mode, ALLOCATIONS, "mode of fallocate that a model knows"),
    ):
        if value not in known:
            raise CallError(f"'{value}' is no {kind}; use {', '.join(known)}.")
    return call


def split(call: Call) -> list[Call]:
    """The effects of a call in their order: a write through O_DSYNC or O_SYNC is a write and a sync of its range."""
    if call.op != "write" or call.through == "none" or not call.data:
        return [call]
    what = "range" if call.through == "data" else "file"
    return [call, Call("sync", call.inode, offset=call.offset, length=len(call.data), what=what)]


def split_all(calls: Iterable[Call]) -> list[Call]:
    return [effect for call in calls for effect in split(call)]
