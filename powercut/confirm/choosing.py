"""Which images of a block log are looked at, and in which order: those of the finding's crash point first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random

from powercut.real_fs.block_log import CrashPoint
from powercut_records.files import FilesFinding


@dataclass(frozen=True, kw_only=True)
class Moment:
    """When the power fails, in calls of the program that were made: between two counts, both included."""

    first: int
    last: int
    #: Whether no other moment will do: legal outputs depend on the moment. A command must not fail at any moment.
    alone: bool

    @staticmethod
    def of(files: FilesFinding, *, alone: bool) -> Moment:
        """The moment of a finding: before, during or after its call."""
        before = max(files.call - 1, 0)
        return Moment(
            first=files.call if files.side == "after" else before,
            last=before if files.side == "before" else files.call,
            alone=alone,
        )

    def distance(self, point: CrashPoint) -> int:
        """Calls between the moment and a crash point of the log; 0 for one that is at the moment."""
        first, last = point.instants.start, point.instants.stop - 1
        if self.first <= first and last <= self.last:
            return 0
        return max(first - self.last, self.first - last, 1)


def ordered(points: Sequence[CrashPoint], moment: Moment, random: Random) -> Iterator[CrashPoint]:
    """Crash points without end, as far as there are any: every second one is at the moment, the others are near it
    first. Points of one distance come in a drawn order, again and again."""
    ranked = sorted(points, key=moment.distance)
    groups = [(distance, list(group)) for distance, group in groupby(ranked, key=moment.distance)]
    at = [point for distance, group in groups if distance == 0 for point in group]
    others = [] if moment.alone else [group for distance, group in groups if distance]
    if not at and not others:
        return
    while True:
        for group in others or [[]]:
            random.shuffle(group)
            for point in group or at[:1]:
                if at:
                    yield random.choice(at)
                if group:
                    yield point
