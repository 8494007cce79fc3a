"""Which of the findings of the minimal case is shown: the earliest crash that loses the least.

A cut inside recovery is harder to picture than one outside, so depth comes first. The engine has taken the least
image for every finding (`replayer/EXPLORER.md`); the place in the history and the counts decide between findings, and
the fingerprint where nothing else does: the same input gives the same answer.
"""

from collections.abc import Iterable
from typing import Any

from powercut.minimise.same_bug import same_bug

Chosen = tuple[int, int, int, int, str, str]


def clearest(found: Iterable[dict[str, Any]], original: dict[str, Any]) -> dict[str, Any] | None:
    """The clearest finding of the bug of `original`; None when none shows it."""
    latest = {record["key"]: record for record in found}  # of one key the last is valid
    return min((record for record in latest.values() if same_bug(record, original)), key=_place, default=None)


def _place(record: dict[str, Any]) -> Chosen:
    point = record["crash_point"]
    pending = sum(store["fate"] != "persisted" for store in record["stores"])
    return (
        int(point.get("depth") or 0),
        int(point["index"]),
        lost(record),
        pending,
        str((record.get("query") or {}).get("text") or ""),
        str(record["fingerprint"]),
    )


def lost(record: dict[str, Any]) -> int:
    """Decisive stores that are lost or torn in a finding's image."""
    return sum(bool(store.get("decisive")) and store["fate"] != "persisted" for store in record["stores"])
