"""A root cause in sentences, the same in the text report, in HTML and in SARIF. B is `first`, A is `second`.

`medium`: the words and the advice of what the pool is (powercut_reports/records/media.py).
"""

from functools import partial

from powercut_records.finding import Place, Recheck
from powercut_records.media import MEMORY, Medium


def sentence(kind: str, first: Place | None, second: Place | None, *, medium: Medium = MEMORY) -> str:
    """The cause in one line."""
    if kind == "atomicity" and medium.operation and (first is None or second is None):
        return "The power cut interrupts B, and recovery does not cope with what that leaves."
    if kind == "order":
        before = "it" if second is None else _until(second)
        return f"Missing order: B before {before}."
    if kind == "atomicity" and (first is None or second is None):
        return "B must become durable as a whole, and it persists in parts."
    if kind == "atomicity":
        return "A and B must become durable together, and neither order of the two is safe."
    if kind == "recovery":
        return "Nothing that was written is missing: the state is wrong although all of it had persisted."
    if kind == "functional":
        return "No power cut needed: the same goes wrong with every store durable."
    if kind == "schedule":
        return "No power cut needed: the threads go wrong by themselves."
    return "No pair of stores was found whose order explains this."


def explanation(
    kind: str, first: Place | None, second: Place | None, recheck: Recheck | None, *, medium: Medium = MEMORY
) -> str:
    """Returns the meaning of a cause, in one or two sentences."""
    store = medium.change or medium.store
    named = partial(_named, medium)
    if kind == "order" and first is not None:
        lost = named("B", first)
        if second is None:
            text = f"{lost} can be lost."
        elif second.role == "acknowledgement":
            text = f"{lost} can still be lost when {second.text}: its caller was told that it is safe."
        elif first.role == "next-store":
            text = f"{named('A', second)} can be durable while {lost} has not been made yet."
        else:
            text = f"{named('A', second)} can be durable while {lost} is lost."
        if recheck is not None and not recheck.held:
            text += " The suggested order alone does not mend it."
        return text
    if kind == "atomicity" and medium.operation and (first is None or second is None):
        place = first or second
        leaves = medium.operation.interrupted[medium.changed_by(place.stack if place else ())]
        return f"A power cut can interrupt {named('B', place)}. {leaves}"
    if kind == "atomicity":
        if first and second:
            lack = f"A power cut between {named('A', second)} and {named('B', first)} leaves one without the other."
        else:
            lack = f"A power cut can leave a part of {named('B', first)}."
        advice = medium.advice
        return (
            f"{lack} {advice.no_order} can make that atomic: commit it with one {advice.whole}, or log it, or "
            "let recovery finish (or undo) what was begun."
        )
    if kind == "recovery":
        since = "" if second is None else f" from {named('A', second)} on"
        if second is not None and _acknowledges(second):
            since = f" from the moment when {second.text}"
        return (
            f"With every {store} persisted the state is wrong{since}, and no later {store} of this run mends it. Order "
            f"is not what is missing: what the code {medium.advice.does} is wrong, or recovery does not "
            "cope with it."
        )
    if kind == "functional":
        return (
            "No flush, fence or order is missing. The operation stores the wrong thing, or recovery or the query "
            "misreads it: a run that opens the table again and looks shows it."
        )
    if kind == "schedule":
        return (
            "No flush, fence or order of stores is missing. One thread changes data that another thread relies on: the "
            "schedule shows where each was left."
        )
    return "The finding stands on its image; its cause has to be found by hand."


def fix_sentence(kind: str, first: Place | None, second: Place | None, *, medium: Medium = MEMORY) -> str:
    """Returns the advice for a fix. Kind `flush-in-reader`: A acknowledges in another thread than the thread that
    stores B."""
    until = "it goes on" if second is None else second.text if _acknowledges(second) else "A"
    fixes = medium.advice.fixes
    return fixes.get(kind, fixes["order"]).format(until=until)


def _acknowledges(place: Place) -> bool:
    return place.role == "acknowledgement"


def _until(place: Place) -> str:
    return place.text if _acknowledges(place) else "A"


def _named(medium: Medium, label: str, place: Place | None) -> str:
    if place is None:
        return label
    store = medium.changed_by(place.stack)
    return f"{store} {label} ({place.site})" if place.site else f"{store} {label}"
