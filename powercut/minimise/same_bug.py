"""Whether a finding of a smaller case shows the bug that is being minimised.

The rule:

- The invariant is the same, and for a cut inside recovery the one underneath. Target and known bug are the same by
  construction: no candidate changes them.
- Both need a power cut, or neither does: what goes wrong without one is another bug.
- Where recovery or a query dies, it dies at the same place by the same signal. The stores that led there change with
  the workload, and need not agree.
- Else the stores that decide are at the same places of the source (function and line, as in the fingerprint). At least
  one store is missing (lost or torn). Stores are missing only at places where the original misses something. One place
  of the persisted stores at least must be one of the original's.
- Where nothing is missing and no place is shared because one of the two has none (all that matters was durable: the
  code is wrong without any reordering), the kinds of operation and of query are the same.
- The calls of a program on a folder are what stores are elsewhere. Where nobody knows the line of a call, its place is
  the call's kind with its paths, whose numbers need not agree.

Why not the fingerprint itself: it also names the kind of operation and of query, and *every* decisive store. In a
smaller table fewer stores are pending, and a lookup may show what a walk did; with so strict a rule hardly anything
shrinks. Why not the invariant alone: a scheme with two bugs would hand in the bug that is easier to show. The fix of
the original would then be checked against another bug. Persisted stores say less than missing stores, since more of
them are pending by accident; they may differ as long as the two findings share one.
"""

import re

from powercut.symbols.function_names import function_name
from powercut_records import files
from powercut_records.finding import FindingRecord

_MISSING = frozenset({"lost", "torn", files.LOST, files.PARTLY})
_KEPT = frozenset({"persisted", files.ON_DISK})
_NUMBER, _PATH = re.compile(r"\d+"), re.compile(r'"[^"]*"')


def same_bug(found: FindingRecord, original: FindingRecord) -> bool:
    """True when finding record `found` shows the bug of finding record `original`."""
    if found.invariant != original.invariant or found.underlying != original.underlying:
        return False
    if found.needs_power_cut != original.needs_power_cut:
        return False
    fault, before = _fault(found), _fault(original)
    if fault or before:
        return fault == before
    missing, missing_before = _places(found, _MISSING), _places(original, _MISSING)
    kept, kept_before = _places(found, _KEPT), _places(original, _KEPT)
    if not missing <= missing_before or bool(missing) != bool(missing_before):
        return False
    if kept and kept_before:
        return bool(kept & kept_before)
    return bool(missing) or _asked(found) == _asked(original)


def _asked(record: FindingRecord) -> tuple[str, str]:
    """The kinds of operation and of query."""
    return record.operation.kind, record.query.kind


def _fault(record: FindingRecord) -> tuple[str, str] | None:
    fault = record.fault
    return (fault.signal, fault.site) if fault else None


def _places(record: FindingRecord, fates: frozenset[str]) -> frozenset[str]:
    """`function file:line` of the decisive stores that met one of these fates; of a folder, those of its calls."""
    if record.files:
        return frozenset(_place(call) for call in record.files.calls if call.decisive and call.fate in fates)
    return frozenset(
        f"{function_name(store.function or '??')} {store.site or '?'}"
        for store in record.decisive
        if store.fate in fates
    )


def _place(call: files.FileCall) -> str:
    kind, _, arguments = call.text.partition("(")
    paths = _NUMBER.sub("#", " ".join(_PATH.findall(arguments)))
    return f"{kind} {call.site or paths}"
