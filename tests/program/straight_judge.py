"""Recoveries, checks, dumps and probes as scripts: `programs/straight/judge.c` performs them, and so does `perform`.

A script is a list of instructions: a letter and its numbers. There is no loop, so each ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tests.program import straight_operands
from tests.program.straight_line import WORD, Layout

Instruction = tuple[str | int, ...]
Script = tuple[Instruction, ...]

_MASK = 2**64 - 1
ABORTED, FAULTED = 6, 11  # signals


@dataclass(frozen=True)
class End:
    """How one command ended: by a status or a signal, and what it had printed."""

    code: int
    signal: bool
    printed: bytes


def text_of(script: Script) -> str:
    return ",".join(":".join(map(str, instruction)) for instruction in script)


def perform(script: Script, pool: bytearray) -> End:
    """Runs the script on the pool, which it may change."""
    registers, out, skipped = [0, 0, 0, 0], bytearray(), 0
    for instruction in script:
        if skipped:
            skipped -= 1
            continue
        what, a, b, c, d = (*instruction, 0, 0, 0, 0)[:5]
        assert isinstance(a, int) and isinstance(b, int) and isinstance(c, int) and isinstance(d, int)
        match what:
            case "L":
                registers[a] = number(pool, c, b)
            case "A":
                registers[a] = number(pool, c + registers[b] % 8 * WORD, WORD)
            case "V":
                registers[a] = number(pool, b, WORD) + number(pool, b + WORD, WORD) & _MASK
            case "Y" | "P" | "T":
                registers[a] = sum(byte * place for place, byte in enumerate(pool[b : b + c], 1))
            case "Z":
                words = range(b, b + c * WORD, WORD)
                registers[a] = next((i for i, at in enumerate(words) if not number(pool, at, WORD)), c)
            case "H":
                registers[a] = straight_operands.operated(b, registers[a], pool, c)
            case "U":
                registers[a] = int(number(pool, b, WORD) == c)
            case "K":
                left, right = pool[b : b + d], pool[c : c + d]
                registers[a] = 0 if left == right else 1 if left < right else 2
            case "X":
                registers[a] = number(pool, b, WORD)
                put(pool, b, c, WORD)
            case "O":
                put(pool, a, c, b)
            case "R":
                put(pool, a, registers[b], WORD)
            case "I":
                put(pool, a, number(pool, a, WORD) + b, WORD)
            case "G":
                pool[a : a + b] = bytes([c]) * b
            case "C":
                pool[a : a + c] = bytes(pool[b : b + c])
            case "F":
                pass
            case "J":
                skipped = d if holds(registers[a], b, c) else 0
            case "Q":
                out += b"%d\n" % registers[a]
            case "W":
                out += pool[a : a + b] + b"\n"
            case "D":
                return End(FAULTED if a else ABORTED, True, bytes(out))
            case "E":
                return End(a, False, bytes(out))
            case _:
                raise AssertionError(what)
    return End(0, False, bytes(out))


def number(pool: bytes | bytearray, at: int, size: int) -> int:
    return int.from_bytes(pool[at : at + size], "little")


def put(pool: bytearray, at: int, value: int, size: int) -> None:
    pool[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def holds(left: int, how: int, right: int) -> bool:
    return (left == right, left != right, left < right, left > right)[how]


class Writer:
    """Draws scripts that look for what the program's pool has held at some time."""

    def __init__(self, random: Random, where: Layout, seen: Sequence[bytes]) -> None:
        self.random = random
        self.where = where
        self.seen = seen
        #: How often it looks at the lines that hardly matter.
        self.others = random.choice((0.0, 0.05, 0.3, 0.6))

    def place(self, size: int) -> int:
        """Mostly a word of a line that matters; sometimes across words, lines or pages."""
        random = self.random
        aside = self.where.others and random.random() < self.others
        line = random.choice(self.where.others if aside else self.where.lines)
        at = line + WORD * random.choice((0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7))
        if random.random() < 0.1:
            at += random.randrange(WORD)
        return min(at, self.where.size - size)

    def read(self, register: int) -> tuple[Instruction, int]:
        """An instruction that reads into the register, and what it may have read."""
        random = self.random
        what = random.choices("LVYPTZUKAH", (12, 2, 1, 1, 1, 2, 2, 1, 1, 6))[0]
        instruction: Instruction
        if what == "L":
            size = random.choice((8, 8, 8, 8, 4, 2, 1))
            instruction = ("L", register, size, self.place(size))
        elif what == "V":
            instruction = ("V", register, self.place(16))
        elif what in "YPT":
            size = random.choice((1, 3, 8, 8, 16, 24, 40, 64))
            instruction = (what, register, self.place(size), size)
        elif what == "Z":
            count = random.choice((2, 3, 5, 9))
            instruction = ("Z", register, self.place(WORD * count), count)
        elif what == "U":
            at = self.place(WORD)
            instruction = ("U", register, at, number(random.choice(self.seen), at, WORD))
        elif what == "K":
            size = random.choice((1, 8, 8, 13))
            instruction = ("K", register, self.place(size), self.place(size), size)
        elif what == "H":
            instruction = ("H", register, straight_operands.draw(random), self.place(WORD))
        else:
            instruction = ("A", register, random.randrange(4), self.place(64))
        end = perform((instruction, ("Q", register)), bytearray(random.choice(self.seen)))
        return instruction, int(end.printed)

    def write(self) -> Iterator[Instruction]:
        """A repair: stores, which are flushed or not."""
        random = self.random
        what, at = random.choice("OORIGCX"), self.place(16)
        value = random.choice((0, 1, 2, 3, 0x41, random.getrandbits(16)))
        yield {
            "O": ("O", at, random.choice((8, 8, 4, 2, 1)), value),
            "R": ("R", at, random.randrange(4)),
            "I": ("I", at, value),
            "G": ("G", at, random.choice((3, 8, 16)), value % 256),
            "C": ("C", at, self.place(16), random.choice((5, 8, 16))),
            "X": ("X", random.randrange(4), at - at % WORD, value),
        }[what]
        if random.random() < 0.5:
            yield ("F", at)

    def failure(self) -> Instruction:
        kind = self.random.random()
        return ("D", 0) if kind < 0.08 else ("D", 1) if kind < 0.16 else ("E", self.random.randint(1, 90))

    def refuses(self) -> Iterator[Instruction]:
        """Fails where two or three places hold what each of them has held, maybe not at the same time."""
        count = self.random.choice((2, 2, 3))
        for left in range(count, 0, -1):
            register = self.random.randrange(4)
            read, value = self.read(register)
            yield read
            # Where it does not hold, the reads and jumps that are left are skipped, and the failure.
            yield ("J", register, 1, value, 2 * left - 1)
        yield self.failure()

    def decides(self) -> Iterator[Instruction]:
        """Reads, and does something or leaves it."""
        register = self.random.randrange(4)
        read, value = self.read(register)
        body = list(self.write()) if self.random.random() < 0.7 else [self.read(self.random.randrange(4))[0]]
        yield read
        yield ("J", register, self.random.randrange(4), value, len(body))
        yield from body

    def looks(self) -> Iterator[Instruction]:
        """Reads here and there, whatever comes of it."""
        for _ in range(self.random.randint(2, 7)):
            yield self.read(self.random.randrange(4))[0]

    def recovery(self, *, strict: float) -> Script:
        parts: list[Instruction] = []
        if self.random.random() < 0.4:
            parts += self.looks()
        for _ in range(self.random.randint(1, 6)):
            parts += self.refuses() if self.random.random() < strict else self.decides()
        return tuple(parts)

    def dump(self) -> Script:
        parts: list[Instruction] = []
        for _ in range(self.random.choice((1, 1, 2, 4))):
            if self.random.random() < 0.3:
                parts += self.decides()
            register = self.random.randrange(4)
            read, value = self.read(register)
            parts.append(read)
            if self.random.random() < 0.4:  # the bytes that decide, and not the bytes that are read
                parts += [("J", register, self.random.randrange(4), value, 1), ("L", register, 1, self.where.lines[0])]
            parts.append(("Q", register))
        if self.random.random() < 0.15:
            parts.append(("W", self.place(WORD), WORD))
        return tuple(parts)

    def records(self) -> tuple[Script, Script]:
        """A recovery and a dump for counted records: each that counts has to be there."""
        count, lines = self.where.lines[0], self.where.lines
        recovery: list[Instruction] = [("L", 0, WORD, count)]
        dump: list[Instruction] = [("L", 0, WORD, count), ("Q", 0)]
        for record in range(1, 5):
            value = number(bytes([16 + record]) * WORD, 0, WORD)
            # Only the run knows in which line it lies.
            at = next((a + WORD * record for a in lines if number(self.seen[-1], a + WORD * record, WORD) == value), 0)
            if at:
                recovery += [("J", 0, 2, record, 3), ("L", 1, WORD, at), ("J", 1, 0, value, 1), self.failure()]
                dump += [("J", 0, 2, record, 2), ("L", 1, WORD, at), ("Q", 1)]
        return tuple(recovery), tuple(dump)
