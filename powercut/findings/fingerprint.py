"""The name of a finding that survives rebuilds and edits beside it.

Two findings are the same when they violate the same invariant of the same scheme and persist and lose the same stores.
They must also agree in the kind of operation, and in the kind of query that shows them. Addresses, offsets, keys, crash
points, event numbers and line numbers are left out: they change when the code around the bug does. A store is named by
its function, the text of its statement and which of that function's statements with this text it is (`place_identity`).
An edit of the statement gives the finding a new name, an edit beside it does not. A finding counted twice is preferred
over two findings counted as one.

The stores are those of the *least image* that shows the finding (replayer/EXPLORER.md, "The least image"). The name
therefore does not depend on how an exploration came to the finding.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from powercut.symbols.function_names import function_name
from powercut.symbols.place_identity import told
from powercut_records.finding import Fault, FindingRecord, Store

DIGITS = 12
_LOST_FIRST = ("lost", "torn", "persisted")


def store_sites(stores: Iterable[Store]) -> list[str]:
    """`fate function file:line` of every decisive store of a finding record, those that were lost first, each once."""
    sites = {
        (store.fate, f"{function_name(store.function or '??')} {store.site or '?'}")
        for store in stores
        if store.decisive
    }
    return [f"{fate} {place}" for fate, place in sorted(sites, key=lambda site: (_rank(site[0]), site[1]))]


def _rank(fate: str) -> int:
    return _LOST_FIRST.index(fate) if fate in _LOST_FIRST else len(_LOST_FIRST)


#: A place's file without its folder, and its function.
Name = tuple[str, str]
#: Other names for places, by the names that they have.
Names = Mapping[Name, Name]
_NO_OTHERS: Names = {}


def name_of(identity: Mapping[str, Any]) -> Name:
    """The name of a place, by its identity."""
    return str(identity.get("file") or ""), str(identity.get("function") or "")


def store_identities(stores: Iterable[Store], names: Names = _NO_OTHERS) -> list[str]:
    """`fate file function text #ordinal` of every decisive store of a finding record, sorted, each once.

    A call on a folder that reached the disk in part is lost: how much of it is there depends on the file system.
    """
    fates = (
        (store, "lost" if store.text and store.fate == "torn" else store.fate) for store in stores if store.decisive
    )
    return sorted({f"{fate} {_told(store.identity, names)}" for store, fate in fates})


def fingerprint(record: FindingRecord, names: Names = _NO_OTHERS) -> str:
    """The fingerprint of a finding record whose stores carry `identity`: 12 hex digits.

    With `names`: the one that it would have if its places had these names.
    """
    parts = [
        record.invariant,
        record.underlying,
        record.target,
        record.operation.kind,
        record.query.kind,
        *store_identities(record.stores, names),
        *_fault(record.fault, names),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


def _fault(fault: Fault | None, names: Names) -> list[str]:
    """A crash of recovery is named by its signal and the place, not by its address."""
    return [fault.signal, _told(fault.identity, names) if fault.identity else ""] if fault else []


def _told(identity: dict[str, Any] | None, names: Names) -> str:
    if identity is None or not names:
        return told(identity)
    file, function = names.get(name_of(identity), name_of(identity))
    return told({**identity, "file": file, "function": function})
