"""Whether a finding has the cause of another one: a cheap check in place of a second search.

A cause of kind `order` whose B is a store says that B was lost. Take another finding that blames the same store. It has
this cause if it lost B at the same place of the source, and is right once B is there. This check takes two images and
one start of the engine; the search that found the cause took hundreds. If the check says no, or the cause is of another
kind, nothing is known of the finding's cause, and the finding gets none.
"""

from pathlib import Path

from powercut.cause.images import VISIBLE, Image, Judge, ending_of, of_finding
from powercut.symbols.place_identity import told
from powercut_records.base import changed
from powercut_records.finding import Cause, FindingRecord

_LINE = 64


def shared(finding: FindingRecord, other: FindingRecord, *, engine_path: Path) -> Cause | None:
    """The cause of `other` as that of `finding`, of a target's run; None where the check does not show it.

    The fix was tried on the other finding, so its re-check stays there.
    """
    cause, trace = other.cause, Path(finding.trace)
    if not cause or cause.kind != "order" or not cause.first or cause.first.role != "store" or not trace.is_file():
        return None
    place = told(cause.first.identity)
    lost = {
        store.offset // _LINE * _LINE
        for store in finding.stores
        if store.fate != "persisted" and told(store.identity) == place
    }
    if not lost or finding.nested_image:
        return None
    image = of_finding(finding)
    there = Image(crash_point=image.crash_point, level=image.level.with_lines(dict.fromkeys(lost, VISIBLE)))
    made = finding.engine
    judge = Judge(engine_path=engine_path, trace=trace, model=made.model, atoms=made.atoms)
    symptom = (finding.underlying or finding.invariant, finding.query.text, ending_of(finding))
    was, now = judge.ask([image, there])
    if symptom not in was.symptoms or not now.legal or symptom in now.symptoms:
        return None
    return changed(cause, recheck=None, shared_with=other.fingerprint)
