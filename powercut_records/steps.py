"""Loads and stores of recovery, and of the query that showed a finding, on the crash image (reports/EVENTS.md)."""

from __future__ import annotations

from powercut_records.base import Name, Record, Text


class RecoveryStep(Record):
    number: int = 0  # from 0, among all
    part: Text = ""  # recovery or query
    kind: Text = ""  # load, store, flush or fence
    detail: Text = ""  # of a flush or a fence its kind; "nt" of a non-temporal store
    offset: int = 0
    size: int = 0
    bytes: Text = ""  # hex: the value; shortened where size is larger
    pending: bool = False  # on a line that the cut left undecided
    site: Name = ""
    function: Name = ""


class RecoverySteps(Record):
    all: int = 0  # that there were; the list may leave some out
    steps: list[RecoveryStep] = []
