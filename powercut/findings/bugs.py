"""Which findings are one bug: two keys in each finding record, from which reports make groups.

One missing flush shows in many ways: an item is lost here, a bucket is torn there. `bug` of a record has

- `cause`: target, variant, kind of cause, and the identities (`place_identity`) of B and A; null where nobody looked;
- `store`: target, variant, class of invariant, and the identity of the one store that the finding blames, which is the
  lost one that the fewest findings of the run share. It needs no cause, so it says which findings to explain.

Findings with the same `cause` are one bug. One without a cause belongs to those of its `store`, where these have one
cause between them (`powercut_reports.bugs`).
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from powercut.symbols.place_identity import told

_DIGITS = 12
_CLASSES = {
    **dict.fromkeys(("lost-item", "phantom-item", "stale-value", "torn-value", "duplicate-bound"), "contents"),
    **dict.fromkeys(("recovery-failed", "recovery-hang", "unusable", "wild-store"), "working"),
}
_FATES = ("lost", "torn", "persisted")
#: Places of a cause that are named by what they are and not by a line.
_WITHOUT_LINE = "acknowledgement"


def bug_keys(record: dict[str, Any]) -> dict[str, str | None]:
    """The field `bug` of a finding record; the site that it blames is the first of its stores by `blamed`."""
    return {"cause": _cause_key(record), "store": _store_key(record)}


def blamed(stores: Iterable[dict[str, Any]], often: Counter[str]) -> list[dict[str, Any]]:
    """The decisive stores, the one to blame first: lost before torn before persisted, then those that few findings
    share, then those nearest to the crash.

    `often`: how many findings of the run have a store of this identity. What nearly all have in common (the magic of a
    header that was never flushed, a lock) says nothing about one of them.
    """

    def rank(store: dict[str, Any]) -> tuple[int, int, int]:
        fate = _FATES.index(store["fate"]) if store["fate"] in _FATES else len(_FATES)
        return fate, often[told(store.get("identity"))], -int(store["event"])

    return sorted((store for store in stores if store.get("decisive")), key=rank)


def settle(records: Sequence[dict[str, Any]]) -> None:
    """Writes what takes all findings of a run to say: `store_site`, `lost_site` and `bug` of each."""
    often = Counter(name for record in records for name in {told(s.get("identity")) for s in _decisive(record)})
    for record in records:
        ranked = blamed(record.get("stores") or [], often)
        sites = [(store["fate"], store["site"]) for store in ranked if store.get("site")]
        record["store_site"] = next((site for fate, site in sites if fate == "persisted"), None)
        record["lost_site"] = next((site for fate, site in sites if fate in ("lost", "torn")), None)
        record["blamed"] = told(ranked[0].get("identity")) if ranked else None
        record["bug"] = bug_keys(record)


def _decisive(record: dict[str, Any]) -> Iterable[dict[str, Any]]:
    return (store for store in record.get("stores") or [] if store.get("decisive"))


def _store_key(record: dict[str, Any]) -> str:
    invariant = record.get("underlying") or record["invariant"]
    place = record.get("blamed")
    if place is None:
        fault = record.get("fault") or {}
        place = told(fault.get("identity")) if fault.get("identity") else f"after {record['operation']['kind']}"
    return _digest(
        record["target"],
        record["variant"],
        "cut" if record.get("needs_power_cut") is not False else "no cut",
        _CLASSES.get(invariant, invariant),
        place,
    )


def _cause_key(record: dict[str, Any]) -> str | None:
    cause = record.get("cause")
    if not cause or cause["kind"] == "unexplained" or not (cause.get("first") or cause.get("second")):
        return None
    return _digest(record["target"], record["variant"], cause["kind"], *map(_place, (cause["first"], cause["second"])))


def _place(place: dict[str, Any] | None) -> str:
    if place is None:
        return ""
    if place["role"] == _WITHOUT_LINE:
        return str(place["role"])
    return f"{place['role']} {told(place.get('identity')) if place.get('identity') else place.get('site') or ''}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
