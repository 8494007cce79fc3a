"""Random straight-line programs over a small pool: what `programs/straight/steps.c` is told to do, and what the
reference (`replayer/reference`) makes of it.

The events are taken from the script, not from the trace: what records the program is judged as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random

from replayer.reference.program import LINE_SIZE, AtomPolicy, Event, Model, Program

#: `steps.c` has room for so many.
MAX_STEPS = 48
WORD = 8

_STORES = {"S": "store", "M": "store", "N": "ntstore", "X": "rmw"}
_FLUSHES = {"w": "clwb", "o": "clflushopt", "f": "clflush"}
_FENCES = {"s": "sfence", "m": "mfence"}
_MARKS = {"B": "begin", "E": "end"}


@dataclass(frozen=True)
class Step:
    """A store, a library copy, a non-temporal store or an exchange; a flush, a fence or a mark."""

    what: str
    at: int = 0
    data: bytes = b""

    def text(self) -> str:
        return f"{self.what}:{self.at}:{self.data.hex()}" if self.data else f"{self.what}:{self.at}"

    def event(self) -> Event:
        if op := _STORES.get(self.what):
            return Event(op, 0, self.at, self.data, memcall=self.what == "M")
        if kind := _FLUSHES.get(self.what):
            return Event("flush", 0, self.at, kind=kind)
        if kind := _FENCES.get(self.what):
            return Event("fence", kind=kind)
        return Event(_MARKS[self.what])


@dataclass(frozen=True)
class Workload:
    """A program on a pool that holds `initial`."""

    model: Model
    atoms: AtomPolicy
    initial: bytes
    steps: tuple[Step, ...]
    #: The Valgrind tool records the end of the thread, so that a mark is never the last event of a trace.
    thread_ends: bool = False

    def script(self) -> str:
        return ",".join(step.text() for step in self.steps)

    @cached_property
    def made(self) -> tuple[Event, ...]:
        """Events that leave the initial content, durable, in a pool of zeroes: a line is one store that is not torn."""
        lines = [(at, self.initial[at : at + LINE_SIZE]) for at in range(0, len(self.initial), LINE_SIZE)]
        stores = [Event("ntstore", 0, at, line, direct=True) for at, line in lines if any(line)]
        return (*stores, Event("fence", kind="sfence")) if stores else ()

    @cached_property
    def program(self) -> Program:
        events = (*self.made, *(step.event() for step in self.steps))
        return Program(self.model, self.atoms, events, len(self.initial))

    def visible(self) -> Iterator[bytes]:
        """Contents that the program sees: at first, and after each step."""
        memory = bytearray(self.initial)
        yield bytes(memory)
        for step in self.steps:
            memory[step.at : step.at + len(step.data)] = step.data
            yield bytes(memory)


@dataclass(frozen=True)
class Layout:
    """Which lines a program works on: `lines` matter, `others` are stored to and hardly looked at."""

    size: int
    lines: tuple[int, ...]
    others: tuple[int, ...]


def layout(random: Random) -> Layout:
    """Lines beside each other, at both sides of a page's end, and far apart."""
    size = random.choice((4096, 8192, 12288))
    edges = (0, LINE_SIZE, size - LINE_SIZE, size - 2 * LINE_SIZE, 4096 - LINE_SIZE, 4096, 2048)
    known = sorted({at for at in edges if at < size})
    chosen = random.sample(known, min(len(known), random.randint(3, 6)))
    cut = random.randint(1, 3)
    return Layout(size, tuple(chosen[:cut]), tuple(chosen[cut:]))


def workload(random: Random, where: Layout) -> Workload:
    """Anything in any order, or operations that first write a record and then say that it is there."""
    initial = bytearray(where.size)
    if random.random() < 0.4:
        for _ in range(random.randint(1, 4)):
            at = random.choice(where.lines + where.others) + random.randrange(0, LINE_SIZE, WORD)
            initial[at : at + WORD] = _value(random, WORD)
    steps = _records(random, where) if random.random() < 0.6 else _anything(random, where)
    model: Model = "eadr" if random.random() < 0.1 else "adr"
    atoms: AtomPolicy = random.choice(("any", "any", "any", "ascending", "byte"))
    return Workload(model, atoms, bytes(initial), tuple(steps[:MAX_STEPS]))


def _value(random: Random, size: int) -> bytes:
    """Small numbers, or the same byte again and again; now and then all of them differ."""
    kind = random.random()
    if kind < 0.5:
        return random.randint(0, 3).to_bytes(1, "little").ljust(size, b"\0")
    if kind < 0.85:
        return bytes([random.choice((1, 2, 0x41, 0x7F, 0xFF))]) * size
    return random.randbytes(size)


def _store(random: Random, where: Layout, line: int) -> Step:
    what = random.choices("SMNX", (12, 2, 3, 1))[0]
    size = {
        "S": random.choice((8, 8, 8, 8, 4, 2, 1, 16, 16)),
        "M": random.randint(1, 20),
        "N": random.choice((4, 8, 8, 16)),
        "X": 8,
    }[what]
    grain = size if what in "NX" else WORD if random.random() < 0.85 else 1
    at = line + random.randrange(0, LINE_SIZE, grain)
    return Step(what, min(at, where.size - size), _value(random, size))


def _flush(random: Random, line: int) -> Step:
    return Step(random.choice("wwoof"), line + random.randrange(0, LINE_SIZE))


def _fence(random: Random) -> Step:
    return Step(random.choice("sssm"))


def _aside(random: Random, where: Layout) -> Iterator[Step]:
    """Stores to lines that hardly matter, which multiply the images."""
    for _ in range(random.choice((0, 1, 3, 5)) if where.others else 0):
        line = random.choice(where.others)
        yield _store(random, where, line)
        if random.random() < 0.1:
            yield _flush(random, line)


def _anything(random: Random, where: Layout) -> list[Step]:
    steps = []
    marked = inside = False
    for _ in range(random.randint(5, 26)):
        kind, line = random.random(), random.choice(where.lines)
        if kind < 0.5:
            steps.append(_store(random, where, line))
        elif kind < 0.65:
            steps.append(_flush(random, line))
        elif kind < 0.76:
            steps.append(_fence(random))
        elif kind < 0.9:
            steps += _aside(random, where)
        else:
            marked, inside = True, not inside
            steps.append(Step("B" if inside else "E"))
    if marked and inside and random.random() < 0.7:
        steps.append(Step("E"))
    return steps


def _records(random: Random, where: Layout) -> list[Step]:
    """The first word of the first line counts the records, each a word; some of the flushes and fences are missing."""
    careless = random.choice((0.0, 0.0, 0.1, 0.4))
    count, steps = where.lines[0], []

    def durable(line: int) -> Iterator[Step]:
        if random.random() >= careless:
            yield _flush(random, line)
        if random.random() >= careless:
            yield _fence(random)

    for number in range(1, random.randint(2, 5)):
        line = random.choice(where.lines)
        at = line + WORD * number
        steps += [*_aside(random, where), Step("B"), Step("S", at, bytes([16 + number]) * WORD)]
        steps += [*_aside(random, where), *durable(line)]
        steps += [Step("S", count, number.to_bytes(WORD, "little")), *durable(count), Step("E")]
    return steps
