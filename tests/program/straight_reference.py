"""Expected results of program mode on a straight-line program, by brute force: each command is performed on every legal
image of every crash point, and nothing is known of a command's reads.

The images are the reference's (`replayer/reference`); the rules for outputs are those of
`docs/program-contents.md`: after a crash the output is that of the operations which had ended, or that of the one in
flight as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from replayer.media.memory.reference import Adr, Eadr
from replayer.reference.crashes import Contents
from replayer.reference.media import crash_points
from replayer.reference.program import LINE_SIZE, Event, ProgramError
from tests.program.straight_judge import ABORTED, Script, perform
from tests.program.straight_line import Workload

#: Pieces of a line that may be lost or not: subsets of more take too long.
MOST_OPEN = 9


@dataclass(frozen=True)
class Case:
    """A program, and the commands that judge it: the name of each step with its script, in the order of the runs."""

    workload: Workload
    commands: tuple[tuple[str, Script], ...]
    ordered: bool = False


@dataclass(frozen=True)
class Outcome:
    """Results of the commands on an image: how the last one ended, and the output of the dump and the probes."""

    step: int
    code: int
    signal: bool
    printed: tuple[bytes, ...]

    @property
    def good(self) -> bool:
        return not self.signal and self.code == 0

    @property
    def end(self) -> str:
        if self.signal:
            return "died of " + ("SIGABRT" if self.code == ABORTED else "SIGSEGV")
        return f"exit status {self.code}"


#: Invariant, step, and how the step ended, or "output". Which probe it is makes no difference.
Violation = tuple[str, str, str]


@dataclass(frozen=True)
class Instant:
    """The marked operations: how many have begun, and whether the last one is in flight."""

    begun: int
    inside: bool

    @property
    def settled(self) -> int:
        return self.begun - self.inside


@dataclass
class Expected:
    """The results that the engine must find."""

    points: int = 0
    states: int = 0
    images: int = 0
    most_states: int = 0  # of a crash point
    #: Crash points at which commands print and nobody knows what they may print.
    unjudged: int = 0
    outcomes: set[Outcome] = field(default_factory=set)
    #: By violation, the numbers of the crash points that show it.
    violations: dict[Violation, list[int]] = field(default_factory=dict)
    #: For each crash point: contents of its pending lines, the visible content, and the operations.
    left: list[tuple[Contents, bytes, Instant]] = field(default_factory=list)


class Reference:
    """The commands of a case on whole images."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.known: dict[bytes, Outcome] = {}
        #: Output that is right after so many operations.
        self.after: dict[int, list[Outcome]] = {}
        self._observe()

    def outcome(self, image: bytes) -> Outcome:
        if known := self.known.get(image):
            return known
        pool, out = bytearray(image), None
        printed: list[bytes] = []
        for number, (name, script) in enumerate(self.case.commands):
            end = perform(script, pool)
            out = Outcome(number, end.code, end.signal, tuple(printed))
            if not out.good:
                break
            if name in ("dump", "probe"):
                printed.append(end.printed)
            out = Outcome(number, end.code, end.signal, tuple(printed))
        assert out is not None
        self.known[image] = out
        return out

    def _observe(self) -> None:
        """Runs the commands on what is visible when the first operation begins, and whenever one has ended."""
        begun, inside = 0, False
        visible = b""
        steps = [None, *self.case.workload.steps]
        for step, visible in zip(steps, self.case.workload.visible(), strict=True):
            if step is None or step.what not in "BE":
                continue
            if step.what == "B" and begun == 0:
                self._look(0, visible)
            begun, inside = begun + (step.what == "B"), step.what == "B"
            if not inside:
                self._look(begun, visible)
        if inside:  # an operation that never ended may have happened
            self._look(begun, visible)

    def _look(self, operations: int, visible: bytes) -> None:
        outcome = self.outcome(visible)
        if outcome.printed:
            self.after.setdefault(operations, []).append(outcome)

    def violation(self, outcome: Outcome, now: Instant) -> Violation | None:
        """Returns the fault of an outcome; None where it is right."""
        right = self._legal(now)
        for at in range(len(outcome.printed) if right else 0):
            right = [
                one for one in right if len(one.printed) <= at or self._alike(one.printed[at], outcome.printed[at])
            ]
            if not right:
                invariant = "lost-item" if self._earlier(outcome, at, now) else "structure"
                return invariant, self._printing()[at], "output"
        if outcome.good:
            return None
        step = self.case.commands[outcome.step][0]
        refuses = step in ("check", "probe") and not outcome.signal
        return "structure" if refuses else "recovery-failed", step, outcome.end

    def unjudged(self, now: Instant) -> bool:
        """Whether an operation has begun, and what the commands may print is not known."""
        return bool(self._printing()) and now.begun > 0 and not self._legal(now)

    def _printing(self) -> list[str]:
        return [name for name, _ in self.case.commands if name in ("dump", "probe")]

    def _legal(self, now: Instant) -> list[Outcome]:
        if now.begun == 0:
            return []
        wanted = [now.settled, now.begun] if now.inside else [now.settled]
        if any(operations not in self.after for operations in wanted):
            return []  # of two legal outputs one that is not known may be any
        return [outcome for operations in wanted for outcome in self.after[operations]]

    def _alike(self, left: bytes, right: bytes) -> bool:
        return left == right if self.case.ordered else sorted(left.split(b"\n")) == sorted(right.split(b"\n"))

    def _earlier(self, outcome: Outcome, at: int, now: Instant) -> bool:
        def same(one: Outcome) -> bool:
            pairs = zip(one.printed[: at + 1], outcome.printed[: at + 1], strict=False)
            return len(one.printed) > at and all(self._alike(*pair) for pair in pairs)

        return any(same(one) for operations in range(now.settled) for one in self.after.get(operations, []))


def _cached(broken: type[Adr]) -> type[Adr]:
    """The model, with the contents of a line computed once as long as nothing happens to it."""

    class Cached(broken):  # type: ignore[misc, valid-type]
        def contents(self, line: int) -> list[bytes]:
            now = self.durable_now()
            atoms = [atom for atom in self.visible if atom.line == line]
            key = (line, tuple(atoms), frozenset(atom for atom in atoms if atom in now))
            known: dict[object, list[bytes]] = self.__dict__.setdefault("known", {})
            if key not in known:
                if len(atoms) - len(key[2]) > MOST_OPEN:
                    raise ProgramError("too many pieces of a line are undecided")
                known[key] = super().contents(line)
            return known[key]

    return Cached


def expected(case: Case, *, most: int, least: int = 0, model: type[Adr] | None = None) -> Expected:
    """The answer. ProgramError where there are more images than `most`, or no crash point has `least` of them.

    `model` replaces the rules for what a line may hold.
    """
    workload, out = case.workload, Expected()
    made = len(workload.made)
    rules = model or (Eadr if workload.model == "eadr" else Adr)
    points = crash_points(workload.program, _cached(rules)(workload.program))
    points = [point for point in points if point.index >= made]
    if workload.thread_ends and workload.steps[-1].what == "E":
        points.append(points[-1])  # the end of the trace
    out.points = len(points)
    out.states = sum(point.states for point in points)
    out.most_states = max(point.states for point in points)
    if out.states > most or out.most_states < least:
        raise ProgramError(f"{out.states} images are too many, or too few")
    judged, visible = Reference(case), list(workload.visible())
    for number, point in enumerate(points):
        done = point.index - made + (point.side == "after")
        now = _instant(workload.program.events[made : made + done])
        pool = visible[done]  # what has one legal content holds what is visible
        out.left.append((point.lines, pool, now))
        out.unjudged += judged.unjudged(now)
        shown = set()
        for image in images(point.lines, pool):
            outcome = judged.outcome(image)
            out.outcomes.add(outcome)
            if wrong := judged.violation(outcome, now):
                shown.add(wrong)
        for wrong in shown:
            out.violations.setdefault(wrong, []).append(number)
    out.images = len(judged.known)
    return out


def _instant(events: tuple[Event, ...]) -> Instant:
    begun = sum(event.op == "begin" for event in events)
    return Instant(begun, begun > sum(event.op == "end" for event in events))


def images(pending: Contents, pool: bytes) -> Iterator[bytes]:
    """Every content of each pending line with every one of the others."""
    image = bytearray(pool)
    for contents in itertools.product(*pending.values()):
        for line, content in zip(pending, contents, strict=True):
            image[line : line + LINE_SIZE] = content
        yield bytes(image)
