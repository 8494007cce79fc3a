"""Finds the two places whose order is missing: B, which is lost, and A, which is there too early.

The idea: the smallest set of lost lines whose return makes the image consistent.

- B: give the image its lost lines back, one, two or three at a time. The smallest set that helps is B. Where not even
  all of them help, nothing that the program had written is missing: then B is what it writes *next*, and the first
  later crash point of the same operation at which everything visible is consistent shows it.
- A: leave B lost and let everything else be as the program saw it. Go back in time, crash point by crash point, as long
  as the image is wrong. A happened just before the first wrong image: A is a store, or the end of an operation that
  told the caller that B is safe. If the image is wrong before B is made, look for A further back. If the image is wrong
  from the first crash point on, A is the end of the operation that stored B.

Both are narrowed from lines to stores: a line persists in program order, so the first store of it that helps is B.

"Helps" means: the finding's symptom is gone, and nothing is wrong there that was not wrong on the finding's image. A
second bug that breaks the same invariant of the same query in another place, such as another crash of recovery, is
another symptom: an image that comes to it is past this one.

Known inaccuracies: sets of more than three lines are not tried, nor more than `MOST_IMAGES` at a time. A cause that
needs two independent losses at once is told by the first set that helps. Only the last cut inside recovery is looked
at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import Literal

from powercut.cause.images import FLOOR, VISIBLE, Answer, Image, Judge, Level, Nested, Symptom, of_finding
from powercut.cause.trace_view import LINE, TraceEvent, TraceView
from powercut_records import finding
from powercut_records.finding import FindingRecord

#: The largest set of lines that is tried, and the most images of one question.
LARGEST_SET = 3
MOST_IMAGES = 4000
#: How many crash points are looked at on each side of the cut.
REACH = 400

Role = Literal["store", "next-store", "recovery-store", "acknowledgement"]


@dataclass(frozen=True, kw_only=True)
class RecoveryStore:
    """A store that recovery made before a cut inside it: a record of `nested_image[].recovery_stores`."""

    record: finding.RecoveryStore

    @property
    def offset(self) -> int:
        return self.record.offset

    @property
    def size(self) -> int:
        return self.record.size

    def lines(self) -> range:
        return range(self.offset // LINE, (self.offset + max(self.size, 1) - 1) // LINE + 1)


Culprit = TraceEvent | RecoveryStore


@dataclass(frozen=True, kw_only=True)
class Culprits:
    """B must be durable before A. `first` and `second` are stores, the one that decides last."""

    first: tuple[Culprit, ...] = ()
    second: tuple[Culprit, ...] = ()
    first_role: Role = "store"
    second_role: Role = "store"
    #: B without A is wrong as well; None where the two are never pending together.
    both_ways: bool | None = None

    @property
    def in_recovery(self) -> bool:
        return self.first_role == "recovery-store"


def find(record: FindingRecord, view: TraceView, judge: Judge) -> Culprits | None:
    """The culprits of a finding of the trace; None when its image does not show it (any more)."""
    image = of_finding(record)
    wanted = (record.underlying or record.invariant, record.query.text)
    shown = judge.ask([image])[0]
    symptom = next((symptom for symptom in shown.symptoms if symptom[:2] == wanted), None)
    if symptom is None:
        return None
    search = _Search(record, view, judge, image, symptom, shown.asked)
    return search.in_recovery() if image.nested else search.in_trace()


class _Search:
    def __init__(
        self,
        record: FindingRecord,
        view: TraceView,
        judge: Judge,
        image: Image,
        symptom: Symptom,
        shown: frozenset[tuple[str, str]],
    ) -> None:
        self.record = record
        self.view = view
        self.judge = judge
        self.image = image
        self.symptom = symptom
        self.shown = shown

    def helps(self, answer: Answer) -> bool:
        return answer.legal and self.symptom not in answer.symptoms and answer.asked <= self.shown

    def of_its_kind(self, answer: Answer) -> bool:
        """Whether the finding's invariant fails there in the same way, whatever was asked.

        The finding's query may have become right before the rest, as for one key of a locked segment that moved away.
        The query may also read differently, as for a region that has another number now.
        """
        return any((invariant, ending) == self.symptom[::2] for invariant, _, ending in answer.symptoms)

    def smallest(self, lines: Sequence[int], make: Callable[[Sequence[int]], Image]) -> tuple[int, ...]:
        """The first and smallest set of lines for which the image helps; empty when there is none."""
        for size in range(1, min(LARGEST_SET, len(lines)) + 1):
            sets = list(islice(combinations(lines, size), MOST_IMAGES))
            answers = self.judge.ask([make(chosen) for chosen in sets])
            for chosen, answer in zip(sets, answers, strict=True):
                if self.helps(answer):
                    return chosen
        return ()

    @cached_property
    def visible(self) -> dict[int, Answer]:
        """Returns the image that the program could read, for each crash point around the cut, by number."""
        here = self.image.crash_point
        return self.judge.between(here - REACH - 1, here + REACH)

    # --- a cut of the program ---------------------------------------------------------------------

    def in_trace(self) -> Culprits:
        lost = [line for line in self.record.image if line.bytes != line.visible]
        lost.sort(key=lambda line: not line.decided)
        offsets = [line.offset for line in lost]

        def returned(lines: Sequence[int]) -> Image:
            return self._with(dict.fromkeys(lines, VISIBLE))

        if not offsets or not self.helps(self.judge.ask([returned(offsets)])[0]):
            return self._next_store()
        chosen = self.smallest(offsets, returned) or tuple(offsets)
        first = tuple(sorted((event for line in chosen for event in self._missing(line)), key=lambda e: e.index))
        second, role = self._ahead(chosen, first)
        return Culprits(
            first=first,
            second=second,
            second_role=role,
            both_ways=self._both_ways(chosen, second) if role == "store" else None,
        )

    def _both_ways(self, lost: Sequence[int], second: Sequence[TraceEvent]) -> bool | None:
        """Whether the image is wrong, too, with B there and A lost."""
        lines = {line.offset for line in self.record.image if line.visible != line.floor}
        ahead = {line * LINE for event in second for line in event.lines()}
        if not ahead or not ahead <= lines - set(lost):
            return None
        image = self._with({**dict.fromkeys(lost, VISIBLE), **dict.fromkeys(ahead, FLOOR)})
        answer = self.judge.ask([image])[0]
        whole = self.judge.ask([self._with(dict.fromkeys([*lost, *ahead], VISIBLE))])[0]
        return answer.legal and not answer.asked <= whole.asked

    def _with(self, lines: dict[int, str]) -> Image:
        return Image(crash_point=self.image.crash_point, level=self.image.level.with_lines(lines))

    def _missing(self, line: int) -> list[TraceEvent]:
        """Returns the lost store of a line that has to return: all stores before it return with it."""
        stores = sorted(
            (
                store
                for store in self.record.stores
                if store.offset // LINE * LINE == line and store.fate != "persisted"
            ),
            key=lambda store: store.event,
        )
        if len(stores) < 2:
            return [self.view.events[store.event] for store in stores]
        content = bytearray.fromhex(str(self.image.level.lines[line]))
        images = []
        for store in stores:
            at = store.offset - line
            content[at : at + store.size] = bytes.fromhex(store.bytes)
            images.append(self._with({line: content.hex()}))
        answers = self.judge.ask(images)
        last = next((number for number, answer in enumerate(answers) if self.helps(answer)), len(stores) - 1)
        return [self.view.events[stores[last].event]]

    def _next_store(self) -> Culprits:
        """Everything visible at the cut is wrong as well: what the program writes next is missing."""
        here, visible = self.image.crash_point, self.visible
        # A later operation's stores are no part of this finding: the program had finished, and the image was wrong.
        end = self.view.underway_until(visible[here].event + visible[here].when.startswith("after"))
        later = [answer for number, answer in visible.items() if number > here and answer.event <= end]
        whole = next((answer for answer in later if not self.of_its_kind(answer)), None)
        second, role = self._ahead((), ())
        if whole is None:
            return Culprits(second=second, second_role=role, first_role="next-store")
        between = self.view.stores_between(visible[here].event, whole.event + 1)
        lines = list(dict.fromkeys(line * LINE for event in between for line in event.lines()))
        images = [Image(crash_point=whole.crash_point, level=Level(lines={line: FLOOR})) for line in lines]
        answers = self.judge.ask(images[:MOST_IMAGES])
        needed = {line for line, answer in zip(lines, answers, strict=False) if self.of_its_kind(answer)}
        first = [event for event in between if not needed or needed & {line * LINE for line in event.lines()}]
        return Culprits(first=tuple(first), second=second, first_role="next-store", second_role=role)

    def _ahead(self, lost: Sequence[int], first: Sequence[TraceEvent]) -> tuple[tuple[TraceEvent, ...], Role]:
        """A: what turned the loss of these lines into a finding."""
        here, visible = self.image.crash_point, self.visible
        points = range(max(here - REACH, 0), here + 1)
        same = [Image(crash_point=p, level=Level(lines={line: self._content(line) for line in lost})) for p in points]
        less = [Image(crash_point=p, level=Level(lines=dict.fromkeys(lost, FLOOR))) for p in points]
        exact, floor = self.judge.ask(same), self.judge.ask(less)
        made = min((event.index for event in first), default=0)

        def wrong(number: int) -> bool:
            answer = exact[number] if exact[number].legal else floor[number]
            if not lost:
                return self.symptom in answer.symptoms
            if visible[points[number]].event <= made:
                # B is not lost there but not made yet, which is no better once A is there.
                return self.symptom in visible[points[number]].symptoms
            return not answer.asked <= visible[points[number]].asked

        if not wrong(len(points) - 1):
            return self._ahead_here(lost), "store"
        number = len(points) - 1
        while number > 0 and wrong(number - 1):
            number -= 1
        turned = visible[points[number]]
        begin, _ = self.view.operation_of(max(turned.event - 1, 0))
        # Phases that are not explored have no crash points: nothing before this operation turned it.
        before = max(visible[points[number] - 1].event if points[number] > 0 else 0, begin)
        stores = self.view.stores_between(before, turned.event + 1)
        chosen = same if exact[number].legal else less
        if turned.event <= made:
            second = self._needed_at(Image(crash_point=turned.crash_point, level=Level()), stores, turned)
        else:
            stores = [event for event in stores if not _touches(event, lost)]
            second = self._needed_at(chosen[number], stores, turned) or self._ahead_in_line(lost)
        if second:
            return second, "store"
        # There is a crash point right behind the end of every operation.
        end = self.view.events[turned.event]
        if end.kind == "op-end" and turned.when.startswith("after"):
            return (end,), "acknowledgement"
        if number == 0 and first:
            # Wrong from the first crash point on, such as after a phase that is not explored: what is certain is that
            # the operation that stored B has returned.
            _, end_of_first = self.view.operation_of(max(event.index for event in first))
            if self.view.events[end_of_first].kind == "op-end" and end_of_first < turned.event:
                return (self.view.events[end_of_first],), "acknowledgement"
        return tuple(stores[-1:]), "store"

    def _ahead_in_line(self, lost: Sequence[int]) -> tuple[TraceEvent, ...]:
        """A in the line of B itself: the first store there that made it wrong, B being stored later, or torn."""
        if len(lost) != 1:
            return ()
        (line,) = lost
        there = next(item for item in self.record.image if item.offset == line)
        kept = sorted(
            (s for s in self.record.stores if s.offset // LINE * LINE == line and s.fate == "persisted"),
            key=lambda store: store.event,
        )
        content = bytearray.fromhex(there.floor)
        images = [self._with({line: content.hex()})]
        for store in kept:
            at = store.offset - line
            content[at : at + store.size] = bytes.fromhex(store.bytes)
            images.append(self._with({line: content.hex()}))
        answers = self.judge.ask(images)
        if not self.helps(answers[0]):
            return ()
        wrong = next((n for n, answer in enumerate(answers) if answer.legal and not self.helps(answer)), None)
        return () if wrong is None else (self.view.events[kept[wrong - 1].event],)

    def _content(self, line: int) -> str:
        return str(self.image.level.lines.get(line, FLOOR))

    def _needed_at(self, image: Image, stores: Sequence[TraceEvent], visible: Answer) -> tuple[TraceEvent, ...]:
        """Returns those of `stores` that lie in the smallest set of lines without which the image is right."""
        lines = list(dict.fromkeys(line * LINE for event in reversed(stores) for line in event.lines()))
        for size in range(1, min(LARGEST_SET, len(lines)) + 1):
            sets = list(islice(combinations(lines, size), MOST_IMAGES))
            images = [
                Image(crash_point=image.crash_point, level=image.level.with_lines(dict.fromkeys(s, FLOOR)))
                for s in sets
            ]
            for chosen, answer in zip(sets, self.judge.ask(images), strict=True):
                if answer.legal and self.symptom not in answer.symptoms and answer.asked <= visible.asked:
                    there = [event for event in stores if _touches(event, chosen)]
                    return self._decisive_last(image, there, chosen)
        return ()

    def _decisive_last(
        self, image: Image, stores: Sequence[TraceEvent], lines: Sequence[int]
    ) -> tuple[TraceEvent, ...]:
        """The stores to these lines, behind all others the first one that makes the image wrong by itself."""
        images, made = [], []
        for line in lines:
            level = image.level.with_lines(dict.fromkeys(lines, FLOOR))
            for event, content in self.view.contents(line, stores[-1].index + 1):
                if event in stores:
                    images.append(Image(crash_point=image.crash_point, level=level.with_lines({line: content})))
                    made.append(event)
        answers = self.judge.ask(images)
        wrong = (event for event, answer in zip(made, answers, strict=True) if self.symptom in answer.symptoms)
        first = min(wrong, key=lambda event: event.index, default=stores[-1])
        return (*(event for event in stores if event != first), first)

    def _ahead_here(self, lost: Sequence[int]) -> tuple[TraceEvent, ...]:
        """A among what is pending at the cut itself: the lines that persisted and should not have."""
        there = [line.offset for line in self.record.image if line.bytes != line.floor and line.offset not in lost]
        chosen = self.smallest(there, lambda lines: self._with(dict.fromkeys(lines, FLOOR)))
        events = [
            self.view.events[store.event]
            for store in self.record.stores
            if store.offset // LINE * LINE in chosen and store.fate != "lost"
        ]
        return tuple(sorted(events, key=lambda event: event.index))

    # --- a cut of recovery ------------------------------------------------------------------------

    def in_recovery(self) -> Culprits:
        nested = self.record.nested_image[-1]
        stores = [RecoveryStore(record=store) for store in nested.recovery_stores]
        touched = list(dict.fromkeys(line * LINE for store in stores for line in store.lines()))

        def last_level(lines: dict[int, str], rest: str | None = None) -> Image:
            *before, last = self.image.nested
            level = last.level.with_lines(lines)
            if rest is not None:
                level = Level(rest=rest, lines=lines)
            changed = Nested(after_return=last.after_return, stores=last.stores, level=level)
            return Image(crash_point=self.image.crash_point, level=self.image.level, nested=(*before, changed))

        everything = last_level({}, rest=VISIBLE)
        second = self.smallest(touched, lambda lines: last_level(dict.fromkeys(lines, FLOOR)))
        ahead = tuple(store for store in stores if _touches(store, second))
        if not self.helps(self.judge.ask([everything])[0]):
            return Culprits(second=ahead or tuple(stores[-1:]), first_role="next-store", second_role="recovery-store")
        first = self.smallest(touched, lambda lines: last_level(dict.fromkeys(lines, VISIBLE)))
        lost = tuple(store for store in stores if _touches(store, first or touched))
        ahead = tuple(store for store in ahead if store not in lost) or tuple(s for s in stores if s not in lost)[-1:]
        return Culprits(first=lost, second=ahead, first_role="recovery-store", second_role="recovery-store")


def _touches(store: Culprit, lines: Sequence[int]) -> bool:
    return any(line * LINE in lines for line in store.lines())
