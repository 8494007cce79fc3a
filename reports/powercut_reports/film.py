"""A finding as a film strip: every step of its story in order, and what each line involved held after it.

A step is an event of the timeline (one fence may settle several lines), a power cut, a store of recovery, or the wrong
answer. The chart (timeline.py) gives each its column. Without JavaScript the steps are a table.

Known limit: the flushes and fences of a recovery are not part of a record, so its stores change no line's state here;
what the second cut left of them is in its image.
"""

from __future__ import annotations

from dataclasses import dataclass

from powercut_records.finding import FindingRecord, TimelineEvent
from powercut_records.places import SourceLine, own_frame
from powercut_reports import format as fmt
from powercut_reports import story, timeline
from powercut_reports.medium import Medium, medium_of

_AROUND = 3  # lines of source before and after a step's


@dataclass(frozen=True)
class LineState:
    """`state`: dirty, flushed, durable, then persisted, lost or torn; empty before the line's first event."""

    state: str
    touched: bool  # by this step


@dataclass(frozen=True)
class Step:
    x: int  # of its column in the chart
    kind: str  # store, flush, fence, cut, recovery, answer
    what: str  # "store of 8 bytes", "power cut"
    event: str  # "592"; empty after the power cut
    site: str
    function: str
    source: int  # index of Film.sources, or -1
    lines: tuple[LineState, ...]  # one for each track of the chart
    fate: str  # of a store: persisted, lost, torn, or empty

    @property
    def sentence(self) -> str:
        """The step for people who hear it."""
        numbered = f"Event {self.event}: {self.what}" if self.event else self.what[:1].upper() + self.what[1:]
        fate = f"; the power cut will {_FATES[self.fate]}" if self.fate in _FATES else ""
        return f"{numbered}{fate}."


_FATES = {"lost": "take it", "torn": "take a part of it", "persisted": "leave it"}


@dataclass(frozen=True)
class Source:
    site: str
    lines: tuple[SourceLine, ...]


@dataclass(frozen=True)
class Film:
    chart: timeline.Timeline
    steps: tuple[Step, ...]
    sources: tuple[Source, ...]
    start: int  # the step that is shown at first: the power cut


def snippet(finding: FindingRecord, site: str) -> tuple[SourceLine, ...]:
    """The source around "file:line"; empty when the record does not have it."""
    file, _, number = site.rpartition(":")
    rows = finding.sources.get(file, {})
    if number.isdecimal() and int(number) in rows:
        at = int(number)
        near = range(at - _AROUND, at + _AROUND + 1)
        return tuple(SourceLine(line=line, text=rows[line], focus=line == at) for line in near if line in rows)
    # Records of earlier versions have the source of stores and faults only, in their frames.
    for frames in [store.stack for store in finding.stores] + ([finding.fault.stack] if finding.fault else []):
        frame = own_frame(frames, site)
        if frame and frame.site == site and frame.source:
            return tuple(frame.source)
    return ()


def short_name(function: str) -> str:
    """ "Table::Fill" of "powercut::level::Table::Fill(unsigned char const*) const"; templates are left as they are."""
    name = function.partition("(")[0]
    return "::".join(name.split("::")[-2:]) if name and "<" not in name else function


class _Sources:
    """Each site once, in the order of the steps."""

    def __init__(self, finding: FindingRecord) -> None:
        self._finding = finding
        self._index: dict[str, int] = {}
        self.found: list[Source] = []

    def of(self, site: str) -> int:
        if site not in self._index:
            lines = snippet(self._finding, site) if site else ()
            self._index[site] = len(self.found) if lines else -1
            if lines:
                self.found.append(Source(site, lines))
        return self._index[site]


def film(finding: FindingRecord) -> Film | None:
    """None when the finding has no timeline."""
    chart = timeline.build(finding)
    if chart is None:
        return None
    sources = _Sources(finding)
    steps = [*_events(finding, chart, sources)]
    start = len(steps)
    steps += _after(finding, chart, sources, steps[-1].lines if steps else ())
    return Film(chart, tuple(steps), tuple(sources.found), start)


def _events(finding: FindingRecord, chart: timeline.Timeline, sources: _Sources) -> list[Step]:
    by_number: dict[int, list[tuple[int, TimelineEvent]]] = {}
    states = ["" for _ in chart.tracks]
    for track, line in enumerate(chart.lines):
        for event in line.events:
            by_number.setdefault(event.event, []).append((track, event))
    fates = {store.event: store.fate for store in finding.stores}
    letters = {store.event: group.label for group in story.involved(finding) for store in group.stores}
    steps = []
    for number, members in sorted(by_number.items()):
        touched = {track for track, _ in members}
        for track, event in members:
            states[track] = event.state
        first = members[0][1]
        if number not in chart.columns:
            continue  # folded away: only its state is kept
        shape = timeline.shape(first.kind)
        steps.append(
            Step(
                x=chart.columns[number],
                kind=shape,
                what=_what(shape, members, letters.get(number, ""), medium_of(finding)),
                event=fmt.grouped(number),
                site=first.place,
                function=short_name(first.function),
                source=sources.of(first.place),
                lines=tuple(LineState(state, track in touched) for track, state in enumerate(states)),
                fate=fates.get(number, ""),
            )
        )
    return steps


def _what(shape: str, members: list[tuple[int, TimelineEvent]], letter: str, medium: Medium) -> str:
    first = members[0][1]
    if shape != "store":
        return first.detail or first.kind
    sizes = [int(word) for _, event in members for word in event.detail.split()[:1] if word.isdecimal()]
    how = " ".join(filter(None, ("non-temporal" if first.kind == "nt-store" else "", medium.words.store, letter)))
    return f"{how} of {medium.size(sum(sizes))}" if sizes else how


def _after(
    finding: FindingRecord, chart: timeline.Timeline, sources: _Sources, last: tuple[LineState, ...]
) -> list[Step]:
    """The power cut and the steps after it."""
    before = last or (LineState("", False),) * len(chart.tracks)
    left = tuple(
        LineState(track.fate or (line.state if line.state == "durable" else ""), bool(track.fate))
        for track, line in zip(chart.tracks, before, strict=True)
    )
    still = tuple(LineState(line.state, False) for line in left)
    lost = finding.lost_site or next((s.place for s in finding.stores if s.fate == "lost" and s.decisive), "")

    def step(x: int, kind: str, what: str, lines: tuple[LineState, ...], site: str, function: str = "") -> Step:
        return Step(x, kind, what, "", site, short_name(function), sources.of(site), lines, "")

    steps = [step(chart.crash_x, "cut", f"the power is cut {story.cut_sentence(finding.crash_point)}", left, lost)]
    site, medium = "", medium_of(finding)
    for later in chart.later:
        if later.store is None:
            when = "right after recovery" if later.after_return else "again, inside recovery"
            steps.append(step(later.x, "cut", f"the power is cut {when}", still, site))
            continue
        site = later.store.place
        earlier = fmt.plural(later.folded, f"earlier {medium.words.store}")
        missing = f" (after {earlier})" if later.folded else ""
        what = f"recovery {medium.words.store}s {medium.extent(later.store.offset, later.store.size)}{missing}"
        lines = tuple(LineState(line.state, track == later.track) for track, line in enumerate(still))
        steps.append(step(later.x, "recovery", what, lines, site, later.store.function))
    frame = own_frame(finding.fault.stack, finding.fault.site) if finding.fault else None
    where = (frame.site, frame.function) if frame else ("", "")
    return [*steps, step(chart.end_x, "answer", story.answer_sentence(finding), still, *where)]
