"""The cause of a finding, the fix that was tried, and the smallest case, as the page and the text report show them.

The labels are those of the cause: store B is what must be durable first, A what must not persist (or be acknowledged)
before it. The stores of the finding bear the same letters (story.involved).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from powercut_records.finding import Cause, FindingRecord, Fix, Minimal, MinimalOperation, Place, Recheck
from powercut_records.places import SourceLine, own_frame
from powercut_reports import format as fmt
from powercut_reports import story
from powercut_reports.drawing import DrawingView, drawing_view
from powercut_reports.film import Film, film, snippet
from powercut_reports.medium import MEMORY, medium_of

_ROLES = {
    "store": "store",
    "recovery-store": "store of recovery",
    "next-store": "next store",
    "acknowledgement": "acknowledgement",
}
_TITLES = {
    "order": "Missing order",
    "atomicity": "Not atomic",
    "recovery": "Recovery does not cope",
    "functional": "No power cut needed",
    "schedule": "No power cut needed",
    "unexplained": "No cause found",
}


@dataclass(frozen=True)
class PlaceView:
    label: str
    role: str
    place: Place
    extent: str  # "8 bytes at 0x1080, event 592"
    source: tuple[SourceLine, ...]


@dataclass(frozen=True)
class FixLine:
    """A line of the patch that shows the fix; `number` 0 for one that is added."""

    number: int
    text: str

    @property
    def added(self) -> bool:
        return self.number == 0


@dataclass(frozen=True)
class CauseView:
    cause: Cause
    title: str
    explanation: str
    first: PlaceView | None
    second: PlaceView | None
    ordered: bool  # an arrow leads from B to A
    between: str  # what stands between B and A
    source: str  # the other execution that B and A are of; empty: the finding's own
    patch: tuple[FixLine, ...]
    rechecks: tuple[tuple[str, str, Recheck], ...]  # of what, in words, and the verdict itself


@dataclass(frozen=True)
class MinimalView:
    minimal: Minimal
    phases: tuple[tuple[str, bool, tuple[MinimalOperation, ...]], ...]  # name, explored, operations
    shrunk: tuple[str, ...]  # "57 → 4 operations"
    settings: tuple[tuple[str, str, str], ...]  # name, value, value before (empty: the same)
    cut: str
    save: str  # the command that writes the scenario; empty without one
    film: Film | None  # of its finding, as of any other
    drawing: DrawingView | None


def cause_view(finding: FindingRecord) -> CauseView | None:
    cause = finding.cause
    if cause is None:
        return None
    rechecks = []
    if cause.recheck:
        tried = "With the fix" if cause.fix else "With a tried order"
        rechecks.append((tried, recheck_words(cause.recheck), cause.recheck))
        if cause.recheck.whole:
            rechecks.append(("The whole run with the fix", recheck_words(cause.recheck.whole), cause.recheck.whole))
    return CauseView(
        cause=cause,
        title=_TITLES.get(cause.kind, cause.kind),
        explanation=cause.explanation[:1].upper() + cause.explanation[1:],
        first=_place("B", cause.first, finding),
        second=_place("A", cause.second, finding),
        ordered=cause.kind == "order",
        between="must be durable before" if cause.kind == "order" else "and",
        source=story.cause_source(finding),
        patch=_patch(finding, cause.fix) if cause.fix else (),
        rechecks=tuple(rechecks),
    )


def _place(label: str, place: Place | None, finding: FindingRecord) -> PlaceView | None:
    if place is None:
        return None
    parts = []
    medium = medium_of(finding)
    role = _ROLES.get(place.role, place.role).replace("store", medium.change(place.stack))
    if place.size:
        parts.append(medium.changed(place.offset or 0, place.size, place.stack))
    if place.event is not None:
        other = story.cause_source(finding)
        parts.append(
            f"{'call' if finding.files else 'event'} {fmt.grouped(place.event)}" + (f" of {other}" if other else "")
        )
    return PlaceView(label, role, place, ", ".join(parts), _source(finding, place))


def _source(finding: FindingRecord, place: Place) -> tuple[SourceLine, ...]:
    frame = own_frame(place.stack, place.site)
    if frame and frame.source:
        return tuple(frame.source)
    if found := snippet(finding, place.site):
        return found
    number = place.site.rpartition(":")[2]
    return (
        (SourceLine(line=int(number), text=place.source.strip(), focus=True),)
        if place.source and number.isdecimal()
        else ()
    )


#: Fixes that stand before the line that the fix names, and not behind it.
_BEFORE = ("flush-in-reader",)


def _patch(finding: FindingRecord, fix: Fix) -> tuple[FixLine, ...]:
    """Returns the source lines that a fix adds at its line; none if the fix moves a store, or its line is not known."""
    medium = medium_of(finding)
    advice = medium.words.advice
    added = (advice.file_patch if medium.file else advice.patch).get(fix.kind, ())
    first = finding.cause.first if finding.cause else None
    around = tuple(fix.source)
    if not around:
        around = _source(finding, first) if first and first.site == fix.site else snippet(finding, fix.site)
    focus = next((index for index, line in enumerate(around) if line.focus), None)
    if not added or focus is None:
        return ()
    indent = re.match(r"\s*", around[focus].text)
    lead = indent[0] if indent else ""
    end = focus - 1 if fix.kind in _BEFORE else _end_of_statement(around, focus)
    before = [FixLine(line.line, line.text) for line in around[max(0, focus - 1) : end + 1]]
    after = [FixLine(line.line, line.text) for line in around[end + 1 : end + 2]]
    return (*before, *(FixLine(0, lead + text) for text in added), *after)


def _end_of_statement(lines: tuple[SourceLine, ...], focus: int) -> int:
    """The line that ends what begins at `focus`: a call may go on for some lines."""
    for index in range(focus, len(lines)):
        if lines[index].text.rstrip().endswith((";", "}", "{")):
            return index
    return focus


def recheck_words(recheck: Recheck) -> str:
    """ "consistent (complete, 412 states, 9 executions)", with what is still violated.

    A trace may have several bugs: where this one is gone and others are not, it says both.
    """
    facts = [story.coverage_words(recheck.coverage)]
    if recheck.crash_states:
        facts.append(f"{fmt.count_in_a_sentence(recheck.crash_states)} states")
    if recheck.executions is not None:
        facts.append(fmt.plural(recheck.executions, "execution"))
    words = f"{recheck.verdict} ({', '.join(facts)})"
    if recheck.held and recheck.verdict == "inconsistent":
        words += "; this finding is gone, others are not"
    if recheck.remaining:
        words += f"; still violated: {', '.join(recheck.remaining)}"
    return f"{words}. {recheck.note}" if recheck.note else words


def cause_sentences(cause: Cause) -> str:
    """The cause and what to do, for one line of text."""
    fix = cause.fix.sentence if cause.fix else cause.explanation
    return " ".join(part for part in (cause.sentence, fix) if part)


def minimal_view(finding: FindingRecord) -> MinimalView | None:
    minimal = finding.minimal
    if minimal is None:
        return None
    phases: list[tuple[str, bool, list[MinimalOperation]]] = []
    for operation in minimal.operations:
        if not phases or phases[-1][0] != operation.phase:
            phases.append((operation.phase, operation.explored, []))
        phases[-1][2].append(operation)
    before = dict(minimal.config_before)
    kept = dict(minimal.config)
    names = dict.fromkeys([*kept, *before])
    return MinimalView(
        minimal=minimal,
        phases=tuple((name, explored, tuple(members)) for name, explored, members in phases),
        shrunk=tuple(_shrunk(minimal)),
        settings=tuple(
            (name, kept.get(name, "default"), old if (old := before.get(name, "default")) != kept.get(name) else "")
            for name in names
        ),
        cut=story.cut_sentence(minimal.crash_point),
        film=film(minimal.finding) if minimal.finding else None,
        drawing=drawn(minimal.finding) if minimal.finding else None,
        save=f"{finding.reproduce} --save-scenario FILE.toml" if finding.reproduce and minimal.scenario else "",
    )


def drawn(finding: FindingRecord) -> DrawingView | None:
    """The table of a finding, if its record has it."""
    medium = medium_of(finding)
    return drawing_view(finding.drawing, lost_bytes(finding), key=finding.query.key, medium=medium)


def lost_bytes(finding: FindingRecord) -> list[tuple[int, int]]:
    """Returns the losses of the power cut: among the stores that recovery or the query missed, else among all."""
    stores = [store for store in finding.stores if store.fate in ("lost", "torn")]
    stores = [store for store in stores if store.decisive] or stores
    return [(store.offset, store.offset + store.size) for store in stores]


def _shrunk(minimal: Minimal) -> list[str]:
    words = []
    count = len(minimal.operations)
    if minimal.operations_before is not None:
        words.append(f"{fmt.grouped(minimal.operations_before)} → {fmt.plural(count, 'operation')}")
    if minimal.lost is not None and minimal.lost_before is not None and minimal.lost != minimal.lost_before:
        store = (medium_of(minimal.finding) if minimal.finding else MEMORY).words.store
        words.append(f"{fmt.grouped(minimal.lost_before)} → {fmt.plural(minimal.lost, f'lost {store}')}")
    return words


def minimal_words(minimal: Minimal) -> str:
    """ "4 operations of 57: insert(1), insert(2), update(1)", for one line of text."""
    shown = [str(operation) for operation in minimal.operations[:8]]
    more = ["…"] if len(minimal.operations) > len(shown) else []
    of = f" of {fmt.grouped(minimal.operations_before)}" if minimal.operations_before is not None else ""
    return f"{fmt.plural(len(minimal.operations), 'operation')}{of}: {', '.join(shown + more)}"
