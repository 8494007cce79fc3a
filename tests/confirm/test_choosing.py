"""Images near the finding's crash point come first."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from powercut.confirm.choosing import Moment, ordered
from powercut.real_fs.block_log import CrashPoint
from powercut_records.files import FilesFinding


def point(entries: int, first: int, last: int) -> CrashPoint:
    return CrashPoint(entries, range(first, last + 1))


@pytest.mark.parametrize(
    ("side", "call", "moment"),
    [("before", 3, (2, 2)), ("during", 3, (2, 3)), ("after", 3, (3, 3)), ("before", 0, (0, 0))],
)
def test_the_moment_of_a_finding_in_calls_that_were_made(side: str, call: int, moment: tuple[int, int]) -> None:
    found = Moment.of(FilesFinding(side=side, call=call), alone=False)
    assert (found.first, found.last) == moment


def test_a_crash_point_within_another_call_is_not_at_the_moment() -> None:
    moment = Moment(first=3, last=3, alone=False)
    points = [point(1, 3, 3), point(2, 3, 4), point(3, 2, 3), point(4, 5, 6), point(5, 0, 0)]
    assert [moment.distance(each) for each in points] == [0, 1, 1, 2, 3]
    during = Moment(first=2, last=3, alone=True)
    assert [during.distance(each) for each in points[:4]] == [0, 1, 0, 2]


def test_every_second_point_is_at_the_moment_and_near_ones_come_before_far_ones() -> None:
    points = [point(n, n, n) for n in range(9)]
    moment = Moment(first=4, last=4, alone=False)
    drawn = list(islice(ordered(points, moment, Random(1)), 16))
    assert drawn[::2] == [points[4]] * 8
    assert [moment.distance(each) for each in drawn[1::2]] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert set(drawn) == set(points)


def test_where_no_other_moment_will_do_there_is_no_other() -> None:
    points = [point(n, n, n) for n in range(9)]
    only = Moment(first=4, last=4, alone=True)
    assert set(islice(ordered(points, only, Random(1)), 20)) == {points[4]}
    assert list(ordered(points, Moment(first=20, last=20, alone=True), Random(1))) == []


def test_a_program_that_has_fewer_calls_is_looked_at_as_well() -> None:
    points = [point(n, n, n) for n in range(3)]
    drawn = list(islice(ordered(points, Moment(first=9, last=9, alone=False), Random(1)), 3))
    assert drawn == [points[2], points[1], points[0]]
