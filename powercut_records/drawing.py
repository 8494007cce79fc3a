"""The table of a finding as the scheme itself draws it (targets/ABI.md, "Drawing"): before, and as recovery left it."""

from __future__ import annotations

from powercut_records.base import Record, Text


class CellState(Record):
    kind: Text = ""  # item, empty or word
    offset: int = 0
    size: int = 0
    text: Text = ""
    key: Text = ""
    value: Text = ""
    write: int | None = None  # which of the values written to the key, from 1; 0: nobody wrote it
    count: int | None = None  # of a counter: the part of the sum that is here

    @property
    def shown(self) -> str:
        """ "17 v2", "17 +3", "empty", "1101" """
        if self.kind == "item" or self.dead:
            return f"{_clipped(self.key)} {self.version}".strip()
        return self.text if self.kind == "word" else ""

    @property
    def dead(self) -> bool:
        """An item is there, and does not count."""
        return self.kind == "empty" and bool(self.key)

    @property
    def version(self) -> str:
        if self.dead and self.count == 0:
            return self.text  # a mark
        if self.count is not None:
            return f"{self.count:+}"
        return "" if self.write is None else f"v{self.write}" if self.write else "torn"

    @property
    def said(self) -> str:
        """In a sentence."""
        if self.kind == "word":
            return self.text or "nothing"
        if self.dead:
            why = f" ({self.text})" if self.text and self.text != self.version else ""
            return f"key {self.key} {self.version}".rstrip() + f", which does not count{why}"
        if self.kind == "item" and self.count is not None:
            return f"key {self.key} {self.version}" + (f" ({self.text})" if self.text else "")
        if self.kind != "item":
            return f"empty ({self.text})" if self.text else "empty"
        if self.write == 0:
            known = self.key.isalnum() and not self.key.startswith("0x")
            return f"key {self.key} with a value that nobody wrote" if known else "an item with bytes that are no key"
        which = f" with the {_ordinal(self.write)} value written to it" if self.write else ""
        return f"key {self.key}{which}"


class Cell(Record):
    name: Text = ""  # number of the slot, or name of the word
    before: CellState | None = None
    after: CellState | None = None


class Bucket(Record):
    bucket: int = 0  # number in the group
    cells: list[Cell] = []


class Group(Record):
    name: Text = ""
    buckets: list[Bucket] = []


class Drawing(Record):
    groups: list[Group] = []
    after: bool = True  # false: recovery gave no table
    left_out: int = 0  # buckets
    differing_left_out: int = 0


def _clipped(key: str) -> str:
    return key if len(key) <= 10 else f"{key[:8]}…"


def _ordinal(number: int | None) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number or 0, f"{number}th")
