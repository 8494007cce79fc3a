"""Which chunks are explored together: a task is a range of them, known by a digest of what decides its result."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from powercut.engine.events import Chunks

#: A range has so many crash points at least: about a second of exploring, since the way to it through the trace is
#: walked for each range (docs/performance.md, "Many machines").
LEAST_CRASH_POINTS = 20_000


@dataclass(frozen=True, order=True)
class Range:
    """The chunks from number `first` up to `end`, which is not among them."""

    first: int
    end: int

    def __len__(self) -> int:
        return self.end - self.first

    def __str__(self) -> str:
        return f"{self.first}:{self.end}"


def key_of(identity: dict[str, Any], chunks: Range) -> str:
    """A name for the result: the same for what gives the same result. `identity` is that of a `chunks` event."""
    text = json.dumps([identity, chunks.first, chunks.end], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def share(count: int, *, index: int, of: int) -> Range:
    """The part `index` (from 1) of `count` chunks; empty where there are fewer chunks than parts."""
    return Range(count * (index - 1) // of, count * index // of)


def missing(count: int, done: Iterable[Range]) -> list[Range]:
    """Returns the ranges of `count` chunks that `done` leaves, ascending."""
    out, at = [], 0
    for each in sorted(done):
        if each.first > at:
            out.append(Range(at, each.first))
        at = max(at, each.end)
    return [*out, Range(at, count)] if at < count else out


def crash_points(listed: Chunks, chunks: Range) -> int:
    """How many crash points these chunks have."""
    firsts: Sequence[int] = [*listed.firsts, listed.crash_points]
    return firsts[chunks.end] - firsts[chunks.first]


def cut(listed: Chunks, todo: Iterable[Range], *, parts: int, least: int = LEAST_CRASH_POINTS) -> list[Range]:
    """`todo` in about `parts` ranges of as many crash points each, but never of fewer than `least`."""
    todo = list(todo)
    whole = sum(crash_points(listed, each) for each in todo)
    size = max(least, -(-whole // max(1, parts)))
    out: list[Range] = []
    for each in todo:
        first = each.first
        for chunk in range(each.first, each.end):
            if crash_points(listed, Range(first, chunk + 1)) >= size:
                out.append(Range(first, chunk + 1))
                first = chunk + 1
        if first < each.end:
            out.append(Range(first, each.end))
    return out
