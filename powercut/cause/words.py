"""A root cause in sentences, the same in the text report, in HTML and in SARIF. B is `first`, A is `second`.

`device`: the pool is one of this kind. A block device has writes and flushes. Flash has programs and erases, which are
durable when they return. Neither has fences or cache lines.
"""

from functools import partial
from typing import Literal

from powercut_records import places
from powercut_records.finding import Place, Recheck

Device = Literal["", "block", "flash"]
_STORES: dict[Device, str] = {"": "store", "block": "write", "flash": "operation"}
_WHOLE: dict[Device, str] = {
    "": "aligned 8-byte store",
    "block": "write of one atomic write unit",
    "flash": "program of one page",
}

_INTERRUPTED_PROGRAM = (
    "The page cannot be read then, and no order of operations prevents that: let recovery pass over such a page, and "
    "erase its block before the page is programmed again."
)
_INTERRUPTED_ERASE = (
    "No page of the block can be read or programmed then, and no order of operations prevents that: let recovery erase "
    "such a block again."
)


def sentence(kind: str, first: Place | None, second: Place | None, *, device: Device = "") -> str:
    """The cause in one line."""
    if kind == "atomicity" and device == "flash" and (first is None or second is None):
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
    kind: str, first: Place | None, second: Place | None, recheck: Recheck | None, *, device: Device = ""
) -> str:
    """Explains a cause in one or two sentences."""
    store, fence = _STORES[device], "flush" if device else "flush or fence"
    named = partial(_named, store)
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
    if kind == "atomicity" and device == "flash" and (first is None or second is None):
        place = first or second
        erases = place is not None and places.flash_operation(place.stack) == "erase"
        leaves = _INTERRUPTED_ERASE if erases else _INTERRUPTED_PROGRAM
        return f"A power cut can interrupt {named('B', place)}. {leaves}"
    if kind == "atomicity":
        if first and second:
            lack = f"A power cut between {named('A', second)} and {named('B', first)} leaves one without the other."
        else:
            lack = f"A power cut can leave a part of {named('B', first)}."
        none = "No order" if device == "flash" else f"No {fence}"
        return (
            f"{lack} {none} can make that atomic: commit it with one {_WHOLE[device]}, or log it, or "
            "let recovery finish (or undo) what was begun."
        )
    if kind == "recovery":
        since = "" if second is None else f" from {named('A', second)} on"
        if second is not None and _acknowledges(second):
            since = f" from the moment when {second.text}"
        return (
            f"With every {store} persisted the state is wrong{since}, and no later {store} of this run mends it. Order "
            f"is not what is missing: what the code {'writes' if device else 'stores'} is wrong, or recovery does not "
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


def fix_sentence(kind: str, first: Place | None, second: Place | None, *, device: Device = "") -> str:
    """Advises what to do. Kind `flush-in-reader`: A acknowledges in another thread than the thread that stores B."""
    if device == "flash":
        until = "it goes on" if second is None else second.text if _acknowledges(second) else "A"
        return f"Do B before {until}: an operation on flash is durable when it returns."
    if device:
        until = "it goes on" if second is None else second.text if _acknowledges(second) else "A"
        if kind == "reorder":
            return "Write B first, then flush; then write A, and flush again."
        return f"Flush (a file: fsync) after B and before {until}, or force the write B."
    if kind == "reorder":
        return "Store B first, flush its line and fence; then store A, flush it and fence."
    until = "it goes on" if second is None else f"{second.text}" if _acknowledges(second) else "A"
    if kind == "flush-in-reader":
        return (
            "Another thread stores B, and has not made it durable yet: wait until it has, or flush the line of B here "
            f"and fence before {until}."
        )
    if kind == "fence":
        return f"The line of B is flushed, but no fence waits for it: fence before {until}."
    return f"Flush the line of B and fence before {until}."


def _acknowledges(place: Place) -> bool:
    return place.role == "acknowledgement"


def _until(place: Place) -> str:
    return place.text if _acknowledges(place) else "A"


def _named(store: str, label: str, place: Place | None) -> str:
    if place is None:
        return label
    if store == _STORES["flash"]:
        store = places.flash_operation(place.stack)
    return f"{store} {label} ({place.site})" if place.site else f"{store} {label}"
