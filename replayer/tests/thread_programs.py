"""Random programs of two and three threads, on two lines whose words they share."""

from __future__ import annotations

from random import Random

from replayer.reference.program import FENCE_KINDS, FLUSH_KINDS, STORE_OPS, AtomPolicy, Event
from replayer.reference.threads import Threads

POOL_SIZE = 128  # bytes
MAX_STORES = 6  # of which a line takes two to their power
OPS = ("store",) * 5 + ("ntstore",) * 2 + ("flush",) * 4 + ("fence",) * 3 + ("rmw", "cas-fail", "begin", "end")
OPS += ("wait", "load", "store-loaded", "cas", "cas", "add", "lock", "lock")
CHANGES_MEMORY = (*STORE_OPS, "store-loaded", "cas", "add")


def generate(random: Random, *, events: int, buffered: bool = False) -> Threads:
    """`events`: at most so many, and in some programs a lock around a part of each thread.

    `buffered`: what is modelled with store buffers as well.
    """
    count = random.choice((2, 2, 3))
    threads: list[list[Event]] = [[] for _ in range(count)]
    stored = [bytes(8)]  # what words may hold
    stores = 0
    for number in range(random.randint(count, events)):
        thread = random.randrange(count)
        op = random.choice(OPS)
        op = "store" if buffered and op == "ntstore" else op
        stores += op in CHANGES_MEMORY
        if op in CHANGES_MEMORY and stores > MAX_STORES:
            continue
        event = _event(random, op, threads[thread], thread, number, stored)
        if event is not None:
            threads[thread].append(event)
            stored += [event.data] if len(event.data) == 8 else []
    if random.random() < 0.3:
        for thread, steps in enumerate(threads):
            _lock_a_part(random, thread, steps)
    policy: AtomPolicy = "any" if buffered else random.choice(("any", "any", "ascending"))
    return Threads(random.choice(("adr", "adr", "eadr")), policy, tuple(map(tuple, threads)), POOL_SIZE)


def _event(random: Random, op: str, before: list[Event], thread: int, number: int, stored: list[bytes]) -> Event | None:
    """The next event of a thread that has done `before`."""
    addr = random.choice((0, 0, 8, 64))
    if op == "flush":
        return Event(op, thread, random.choice((0, 64)), kind=random.choice(FLUSH_KINDS))
    if op == "fence":
        return Event(op, thread, kind=random.choice(FENCE_KINDS))
    if op in STORE_OPS:
        size = 8 if op == "rmw" else random.choice((8, 8, 4, 16))
        return Event(op, thread, addr, bytes([number + 1]) * size)
    if op in ("wait", "cas"):
        data = bytes([number + 1]) * 8 if op == "cas" else b""
        return Event(op, thread, addr, data, expected=random.choice(stored))
    if op == "add":
        return Event(op, thread, addr, random.choice((b"\x01", b"\xff" * 8, bytes([number + 1]) * 8)))
    if op == "load":
        return Event(op, thread, addr, size=random.choice((8, 8, 4)))
    if op == "store-loaded":
        sizes = [event.size for event in before if event.op == "load"]
        return Event(op, thread, addr, size=sizes[-1]) if sizes else Event("load", thread, addr, size=8)
    if op == "lock":
        held = sum(event.lock == "m" for event in before) % 2
        return Event("unlock" if held else "lock", thread, lock="m")
    return Event(op, thread)


def _lock_a_part(random: Random, thread: int, steps: list[Event]) -> None:
    """A lock that all threads take: at random alone, two seldom meet at one."""
    first = random.randint(0, len(steps))
    steps.insert(random.randint(first, len(steps)), Event("unlock", thread, lock="l"))
    steps.insert(first, Event("lock", thread, lock="l"))
