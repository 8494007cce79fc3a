"""Recovery's own loads and stores on the crash image, ready for a reader to step through.

A record has the steps of the recovery that follows the last cut, and of the query that showed the finding. A long
execution is told in part (reports/EVENTS.md, `Steps`); where steps are left out, the view says how many.
"""

from __future__ import annotations

from dataclasses import dataclass

from powercut_records.finding import FindingRecord
from powercut_records.steps import RecoveryStep
from powercut_reports import format as fmt
from powercut_reports.film import Source, short_name, snippet
from powercut_reports.medium import Medium, medium_of

_WORDS = (1, 2, 4, 8)  # bytes that are shown as a number too
_FATES = ("lost", "torn", "persisted")  # what says most first
_LINE = 64


@dataclass(frozen=True)
class StepView:
    number: str
    sentence: str  # "Recovery loads 8 bytes at 0x40"
    value: str  # "2a 00 00 00 00 00 00 00 (42)"
    fate: str  # of decisive stores to its line: lost, torn or persisted; else empty
    pending: bool  # on a line that the cut left undecided
    kind: str
    site: str
    function: str
    source: int  # index of StepsView.sources, or -1
    left_out_before: int  # steps between this one and the one before it


@dataclass(frozen=True)
class StepsView:
    steps: tuple[StepView, ...]
    sources: tuple[Source, ...]
    all: int
    start: int  # the step that is shown at first


def steps_view(finding: FindingRecord) -> StepsView | None:
    """None where the record has no steps."""
    if finding.steps is None or not finding.steps.steps:
        return None
    medium = medium_of(finding)
    fates = _fates(finding)
    sources: dict[str, int] = {}
    found: list[Source] = []
    views: list[StepView] = []
    expected = 0
    for step in finding.steps.steps:
        if step.site and step.site not in sources:
            lines = snippet(finding, step.site)
            sources[step.site] = len(found) if lines else -1
            if lines:
                found.append(Source(step.site, lines))
        touched = range(step.offset // _LINE, (step.offset + max(step.size, 1) - 1) // _LINE + 1)
        fate = "" if step.kind == "fence" else min(
            (fates[line] for line in touched if line in fates), key=_FATES.index, default=""
        )  # fmt: skip
        views.append(
            StepView(
                number=fmt.grouped(step.number + 1),
                sentence=_sentence(step, finding, medium),
                value=_value(step),
                fate=fate,
                pending=step.pending,
                kind=step.kind if step.kind in ("load", "store", "flush", "fence") else "other",
                site=step.site,
                function=short_name(step.function),
                source=sources.get(step.site, -1),
                left_out_before=step.number - expected,
            )
        )
        expected = step.number + 1
    telling = next((n for n, view in enumerate(views) if view.fate in ("lost", "torn")), None)
    start = telling if telling is not None else next((n for n, view in enumerate(views) if view.pending), 0)
    return StepsView(tuple(views), tuple(found), finding.steps.all, start)


def _fates(finding: FindingRecord) -> dict[int, str]:
    """The fate of each line that decisive stores are in; the one that says most."""
    fates: dict[int, str] = {}
    for store in finding.decisive:
        for line in range(store.offset // _LINE, (store.offset + max(store.size, 1) - 1) // _LINE + 1):
            known = fates.get(line, store.fate)
            if store.fate in _FATES and known in _FATES:
                fates[line] = min(known, store.fate, key=_FATES.index)
    return fates


def _sentence(step: RecoveryStep, finding: FindingRecord, medium: Medium) -> str:
    who = "Recovery" if step.part != "query" else str(finding.query) or "The query"
    if step.kind == "fence":
        return f"{who} makes a fence ({step.detail})"
    if step.kind == "flush":
        return f"{who} flushes the line at {fmt.offset(step.offset)} ({step.detail})"
    does = {"load": "loads", "store": "stores"}.get(step.kind, step.kind)
    how = " without the cache" if step.detail == "nt" else ""
    return f"{who} {does}{how} {medium.extent(step.offset, step.size)}"


def _value(step: RecoveryStep) -> str:
    if not step.bytes or len(step.bytes) % 2:
        return ""
    pairs = [step.bytes[at : at + 2] for at in range(0, len(step.bytes), 2)]
    shown = " ".join(pairs)
    if step.size > len(pairs):
        return f"{shown} …"
    try:
        number = int.from_bytes(bytes.fromhex(step.bytes), "little")
    except ValueError:
        return shown
    return f"{shown} ({number})" if step.size in _WORDS else shown
