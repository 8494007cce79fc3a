"""Random programs, small enough for the brute force and dense enough for rules to meet.

One generator serves Hypothesis (whose `Random` records and shrinks every choice) and the long run (a seeded one).
Addresses cluster on a few words, or stores would seldom overlap; no line gets more atoms than `max_atoms`.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from replayer.reference.atoms import split
from replayer.reference.program import FENCE_KINDS, FLUSH_KINDS, LINE_SIZE, AtomPolicy, Event, Model, Program

MAX_EVENTS = 14
OPS = ("store",) * 6 + ("ntstore",) * 3 + ("memcall",) * 2 + ("rmw", "cas-fail") + ("flush",) * 4 + ("fence",) * 4
OPS += ("begin", "end", "direct", "piece", "piece")
SIZES = (8,) * 6 + (1, 2, 4, 5) + (16,) * 2 + (12, 24, 32, 64)


def generate(random: Random, *, max_atoms: int = 8) -> Program:
    model: Model = random.choice(("adr", "adr", "eadr"))
    policy: AtomPolicy = random.choice(("any", "any", "ascending", "byte"))
    lines, threads = random.randint(1, 4), random.randint(1, 2)
    pool = lines * LINE_SIZE
    atoms: Counter[int] = Counter()
    events: list[Event] = []
    for _ in range(random.randint(1, MAX_EVENTS)):
        event = _event(random, pool, threads, len(events))
        if event.op == "piece":
            piece = _piece(random, pool, events[-1]) if events else None
            if piece is None:
                continue
            event = piece
        if event.data:
            wanted = atoms + Counter(atom.line for atom in split(event, 0, policy))
            if max(wanted.values()) > max_atoms:
                continue  # dropped rather than the whole program: cheap, and the rest stays dense
            atoms = wanted
        events.append(event)
    return Program(model, policy, tuple(events), pool)


def _event(random: Random, pool: int, threads: int, number: int) -> Event:
    op = random.choice(OPS)
    thread = random.randrange(threads)
    if op in ("begin", "end", "piece"):
        return Event(op)
    if op == "direct":
        data = bytes([number + 1]) * LINE_SIZE
        return Event("ntstore", thread, random.randrange(0, pool, LINE_SIZE), data, direct=True)
    if op == "cas-fail":
        return Event("cas-fail", thread)
    if op == "fence":
        return Event("fence", thread, kind=random.choice(FENCE_KINDS))
    if op == "flush":
        return Event("flush", thread, random.randrange(pool), kind=random.choice(FLUSH_KINDS))
    size = random.choice((1, 2, 3, 5, 7, 9, 11, 15) if op == "memcall" else (1, 4, 8) if op == "rmw" else SIZES)
    addr = _address(random, pool, size)
    # Values differ from store to store, mostly: equal ones test that images are counted, not choices.
    data = bytes([random.choice((number + 1, number + 1, number + 1, 1, 0))] * size)
    if op == "memcall":
        return Event("store", thread, addr, data, memcall=True)
    return Event(op, thread, addr, data)


def _piece(random: Random, pool: int, before: Event) -> Event | None:
    """A further piece of the store before it: behind a gap, next to it, over its end, or anywhere."""
    if before.op not in ("store", "ntstore") or before.direct:
        return None
    size = random.choice((1, 2, 4, 4, 8, 8, 16))
    end = before.addr + len(before.data)
    addr = min(max(0, random.choice((end, end + 4, end + 8, end - 4, _address(random, pool, size)))), pool - size)
    data = bytes([(before.data[0] + 1) % 256]) * size
    return Event(before.op, before.thread, addr, data, memcall=before.memcall, continues=True)


def _address(random: Random, pool: int, size: int) -> int:
    line = random.randrange(0, pool, LINE_SIZE)
    addr = line + random.choice((0, 0, 0, 8, 8, 16, 4, 5, 10, 52, 56, 60, 63))
    if op_shift := random.choice((0, 0, 0, 1)):
        addr += op_shift * random.randrange(8)
    return min(addr, pool - size)
