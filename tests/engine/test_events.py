"""The event stream as Python reads it: tolerant of the new, strict about what it promises."""

import json
import subprocess
import sys

import pytest

from powercut.base.errors import HarnessError
from powercut.engine import events


def line(**fields: object) -> str:
    return json.dumps(fields)


def test_unknown_events_and_fields_are_ignored() -> None:
    event, raw = events.parse(line(event="tomorrow", x=1))
    assert isinstance(event, events.Unknown)
    assert raw["x"] == 1
    event, raw = events.parse(line(event="hello", version=3, engine="e", command="c", more=[1]))
    assert isinstance(event, events.Hello)
    assert raw["more"] == [1]


#: Eight threads are the first to use a class of events and the class of run records, at the same time.
FIRST_USE = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from powercut.engine import events
from powercut_records.run import RunRecord

ready = threading.Barrier(8)

def used(number):
    ready.wait()
    run = RunRecord.model_validate({"findings": [{"invariant": 7}], "coverage": {"kind": "complete"}})
    return [repr(events.parse(line)[0]) for line in sys.argv[1:]] + [repr(run)]

with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(used, range(8)))
assert all(each == found[0] for each in found), found
assert "Progress(" in found[0][0] and "invariant='7'" in found[0][-1], found[0]
"""


def test_threads_that_are_the_first_to_use_a_class_read_the_same() -> None:
    told = [line(event="progress", crash_points=1, of=2, crash_states=3), line(event="end", exit=1)]
    subprocess.run([sys.executable, "-c", FIRST_USE, *told], check=True)


def test_big_numbers_stay_exact() -> None:
    digits = str(3**400)
    event, _ = events.parse(line(event="progress", crash_points=1, of=2, crash_states=digits))
    assert isinstance(event, events.Progress)
    assert event.crash_states == digits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "has no 'event'"),
        ('{"event": 3}', "has no 'event'"),
        ('{"event": "progress", "of": 2}', "bad field 'crash_points'"),
        ('{"event": "progress", "crash_points": 1, "of": 2, "crash_states": "1e9"}', "bad field 'crash_states'"),
        ('{"event": "hello", "version": 4}', "event stream version 4, this build reads 3"),
    ],
)
def test_what_this_version_does_not_allow_is_a_harness_error(text: str, message: str) -> None:
    with pytest.raises(HarnessError, match="powercut-engine") as caught:
        events.parse(text)
    assert message in str(caught.value)
    assert "make build" in str(caught.value)


def test_events_are_immutable() -> None:
    event, _ = events.parse(line(event="end", exit=0))
    with pytest.raises(ValueError, match="frozen"):
        event.exit = 1  # type: ignore[union-attr]
