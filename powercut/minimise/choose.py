"""Which of the findings of the minimal case is shown: the earliest crash that loses the least.

A cut inside recovery is harder to picture than one outside, so depth comes first. The engine has taken the least
image for every finding (`replayer/EXPLORER.md`); the place in the history and the counts decide between findings, and
the fingerprint where nothing else does: the same input gives the same answer.
"""

from collections.abc import Iterable

from powercut.minimise.same_bug import same_bug
from powercut_records import files
from powercut_records.finding import FindingRecord

Chosen = tuple[int, int, int, int, str, str]


def clearest(found: Iterable[FindingRecord], original: FindingRecord) -> FindingRecord | None:
    """The clearest finding of the bug of `original`; None when none shows it."""
    latest = {record.key: record for record in found}  # of one key the last is valid
    return min((record for record in latest.values() if same_bug(record, original)), key=_place, default=None)


def _place(record: FindingRecord) -> Chosen:
    point = record.crash_point
    pending = sum(store.fate != "persisted" for store in record.stores)
    return (
        point.depth,
        point.index or 0,
        lost(record),
        pending,
        record.query.text,
        record.fingerprint,
    )


def lost(record: FindingRecord) -> int:
    """Decisive stores that are lost or torn in a finding's image; calls, in a finding's tree."""
    if record.files:
        return sum(call.decisive and call.fate != files.ON_DISK for call in record.files.calls)
    return sum(store.fate != "persisted" for store in record.decisive)
