"""Which findings are one bug: two keys in each finding record, from which reports make groups.

One missing flush shows in many ways: an item is lost here, a bucket is torn there. `bug` of a record has

- `cause`: target, variant, kind of cause, and the identities (`place_identity`) of B and A; null where nobody looked;
- `store`: target, variant, class of invariant, and the identity of the one store that the finding blames. A finding
  blames its lost store that the fewest findings of the run share. It needs no cause, so it says which findings to
  explain.

Findings with the same `cause` are one bug. One without a cause belongs to those of its `store`, where these have one
cause between them (`powercut_reports.bugs`).
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from powercut.symbols.place_identity import told
from powercut_records.finding import BugKeys, FindingRecord, Place, Store

_DIGITS = 12
_CLASSES = {
    **dict.fromkeys(("lost-item", "phantom-item", "stale-value", "torn-value", "duplicate-bound"), "contents"),
    **dict.fromkeys(("lost-increment", "double-count"), "contents"),
    **dict.fromkeys(("use-after-free", "double-free"), "memory"),
    **dict.fromkeys(("recovery-failed", "recovery-hang", "unusable", "wild-store"), "working"),
}
_FATES = ("lost", "torn", "persisted")
#: Places of a cause that are named by their kind and not by a line.
_WITHOUT_LINE = "acknowledgement"


def bug_keys(record: FindingRecord) -> BugKeys:
    """The field `bug` of a finding record; the site that it blames is the first of its stores by `blamed`."""
    return BugKeys(cause=_cause_key(record), store=_store_key(record))


def blamed(stores: Iterable[Store], often: Counter[str]) -> list[Store]:
    """The decisive stores, the one to blame first: lost before torn before persisted, then those that few findings
    share, then those nearest to the crash.

    `often`: how many findings of the run have a store of this identity. A store that nearly all findings share (the
    magic of a header that was never flushed, a lock) says nothing about any of them.

    Among calls on a folder the first one is to blame that did not reach the disk as a whole. Later ones are often
    missing for the only reason that they would have hidden the damage.
    """

    def rank(store: Store) -> tuple[int, int, int]:
        fate = _FATES.index(store.fate) if store.fate in _FATES else len(_FATES)
        if store.text:
            return int(store.fate == "persisted"), 0, store.event
        return fate, often[told(store.identity)], -store.event

    return sorted((store for store in stores if store.decisive), key=rank)


def settle(records: Sequence[FindingRecord]) -> None:
    """Writes what takes all findings of a run to say: `store_site`, `lost_site` and `bug` of each."""
    often = Counter(name for record in records for name in {told(store.identity) for store in record.decisive})
    for record in records:
        ranked = blamed(record.stores, often)
        sites = [(store.fate, store.site) for store in ranked if store.site]
        record.store_site = next((site for fate, site in sites if fate == "persisted"), "")
        record.lost_site = next((site for fate, site in sites if fate in ("lost", "torn")), "")
        record.blamed = told(ranked[0].identity) if ranked else ""
        record.bug = bug_keys(record)


def _store_key(record: FindingRecord) -> str:
    invariant = record.underlying or record.invariant
    place = record.blamed
    if not place:
        died = record.fault and record.fault.identity
        place = told(died) if died else f"after {record.operation.kind}"
    return _digest(
        record.target,
        record.variant,
        "cut" if record.needs_power_cut else "no cut",
        _CLASSES.get(invariant, invariant),
        place,
    )


def _cause_key(record: FindingRecord) -> str:
    cause = record.cause
    if not cause or cause.kind == "unexplained" or not (cause.first or cause.second):
        return ""
    return _digest(record.target, record.variant, cause.kind, *map(_place, (cause.first, cause.second)))


def _place(place: Place | None) -> str:
    if place is None:
        return ""
    if place.role == _WITHOUT_LINE:
        return place.role
    return f"{place.role} {told(place.identity) if place.identity else place.site}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
