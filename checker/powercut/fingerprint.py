"""The name of a finding that survives rebuilds.

Two findings are the same when they violate the same invariant of the same scheme, during the same kind
of operation, shown by the same kind of query, by persisting and losing the same stores of the source.
Addresses, offsets, keys, crash points and event numbers are left out: they change when the code around
the bug does. The line of a store is part of its name, so an edit above it gives the finding a new name:
a finding counted twice is preferred over two findings counted as one.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

DIGITS = 12


def function_name(signature: str) -> str:
    """A demangled name without parameters, template arguments, clones and anonymous namespaces.

    Compilers spell these differently (and add `.cold`, `.llvm.123`) without any change in the source.
    """
    name = re.sub(r"\s*\[clone [^\]]*\]|\.(cold|part|llvm|constprop|isra)(\.\d+)*$", "", signature)
    name = name.replace("(anonymous namespace)::", "")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = name.partition("(")[0].strip()
    return name.rpartition(" ")[2] if " " in name and "operator" not in name else name


def store_sites(stores: Iterable[dict[str, Any]]) -> list[str]:
    """`fate function file:line` of every decisive store of a finding record, sorted, each once."""
    return sorted(
        {
            f"{store['fate']} {function_name(store.get('function') or '??')} {store.get('site') or '?'}"
            for store in stores
            if store.get("decisive")
        }
    )


def fingerprint(record: dict[str, Any]) -> str:
    """The fingerprint of a finding record whose stores carry `site` and `function`: 12 hex digits."""
    query = record.get("query") or {}
    parts = [
        record["invariant"],
        record.get("underlying") or "",
        record["target"],
        record["operation"]["kind"],
        query.get("kind") or "",
        *store_sites(record.get("stores", [])),
        *_fault(record.get("fault")),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


def _fault(fault: dict[str, Any] | None) -> list[str]:
    """A crash of recovery is named by its signal and the place, not by its address."""
    if not fault:
        return []
    return [str(fault.get("signal") or ""), str(fault.get("site") or "")]
