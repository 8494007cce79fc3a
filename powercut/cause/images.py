"""Asks what recovery and every query make of crash images that we name: the question behind each step of a root
cause."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from powercut.base import scratch
from powercut.engine import engine
from powercut.runs.subjects import LIBRARY, Subject
from powercut_records.finding import FindingRecord

#: A line as the program last wrote it, or with no more than what is certainly durable.
VISIBLE: Literal["visible"] = "visible"
FLOOR: Literal["floor"] = "floor"

#: The query of recovery itself, by its text.
RECOVERY = "recovery"

#: An invariant, the query that showed its violation, and how recovery or the query ended where it did not answer: what
#: two bugs that break the same invariant of the same query differ in.
Symptom = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Level:
    """The contents of the lines that are pending at one cut: those of `lines` by offset, the others as `rest` says.

    A content is `VISIBLE`, `FLOOR`, or the line's 64 bytes in hex digits.
    """

    rest: str = VISIBLE
    lines: Mapping[int, str] = field(default_factory=dict)

    def with_lines(self, lines: Mapping[int, str]) -> "Level":
        """Returns this level with other contents for some lines."""
        return Level(rest=self.rest, lines={**self.lines, **lines})

    def as_json(self) -> dict[str, Any]:
        return {
            "rest": self.rest,
            "lines": [{"offset": offset, "bytes": content} for offset, content in sorted(self.lines.items())],
        }


@dataclass(frozen=True, kw_only=True)
class Nested:
    """A cut inside recovery: after these stores (offset, size) of it, or after it returned."""

    after_return: bool
    stores: tuple[tuple[int, int], ...]
    level: Level

    def as_json(self) -> dict[str, Any]:
        return {
            "after_return": self.after_return,
            "stores": [list(item) for item in self.stores],
            **self.level.as_json(),
        }


@dataclass(frozen=True, kw_only=True)
class Image:
    """One crash image: the contents at a crash point, and at each cut of recovery after it."""

    crash_point: int
    level: Level
    nested: tuple[Nested, ...] = ()

    def as_json(self, number: int) -> dict[str, Any]:
        return {
            "id": number,
            "crash_point": self.crash_point,
            **self.level.as_json(),
            "nested": [item.as_json() for item in self.nested] or None,
        }


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The result of an image. An image that no power cut can leave is not legal, and has no symptoms."""

    legal: bool
    crash_point: int
    event: int
    when: str
    symptoms: frozenset[Symptom]

    @property
    def asked(self) -> frozenset[tuple[str, str]]:
        """The invariants and queries of the symptoms, however an execution ended."""
        return frozenset((invariant, query) for invariant, query, _ in self.symptoms)


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """When the search must be over: `seconds` from now, or never."""

    seconds: float | None = None
    begun: float = field(default_factory=time.monotonic)

    def left(self) -> float | None:
        """Seconds, never quite none: the engine itself refuses a question that comes too late."""
        return None if self.seconds is None else max(self.begun + self.seconds - time.monotonic(), 0.001)

    def part(self, of_all: float | None) -> float | None:
        """Seconds: this part of all of them, however many are left; None: all that are left."""
        return self.left() if of_all is None or self.seconds is None else self.seconds * of_all


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Asks the engine about images of one trace, many at a time."""

    engine_path: Path
    trace: Path
    model: str
    atoms: str
    #: The judge of images, which may take long.
    subject: Subject = LIBRARY
    deadline: Deadline = field(default_factory=Deadline)
    interrupt: engine.Interrupt | None = None

    def ask(self, images: Sequence[Image]) -> list[Answer]:
        """The answers, in the order of the images."""
        if not images:
            return []
        order = sorted(range(len(images)), key=lambda number: images[number].crash_point)
        answers = dict(self._asked(images[n].as_json(n) for n in order))
        return [answers[number] for number in range(len(images))]

    def between(self, first: int, last: int) -> dict[int, Answer]:
        """Returns the image that the program could read, at each crash point of [first, last] that the trace has."""
        request = {"id": 0, "crash_point": [max(first, 0), last], **Level().as_json(), "nested": None}
        return {answer.crash_point: answer for _, answer in self._asked([request])}

    def _asked(self, requests: Iterable[dict[str, Any]]) -> list[tuple[int, Answer]]:
        with scratch.file(json.dumps(request) + "\n" for request in requests) as requested:
            stream = self._stream(["--trace", str(self.trace.absolute()), "--requests", requested])
            return [(raw["id"], _answer(raw)) for _, raw in stream if raw["event"] == "judged"]

    def _stream(self, arguments: list[str]) -> Iterator[engine.StreamItem]:
        arguments += ["--model", self.model, "--atoms", self.atoms]
        seconds = self.deadline.left()
        return self.subject.judge(self.engine_path, arguments, seconds=seconds, interrupt=self.interrupt)


def _answer(raw: dict[str, Any]) -> Answer:
    return Answer(
        legal=raw["legal"],
        crash_point=raw["crash_point"],
        event=raw["crash_event"],
        when=raw["when"],
        symptoms=frozenset(
            (
                item["underlying"] or item["invariant"],
                item["query"],
                _ending(item["query"], item["found"], item.get("fault")),
            )
            for item in raw["violations"]
        ),
    )


def ending_of(record: FindingRecord) -> str:
    """How recovery or the query of a finding record ended, as in a symptom."""
    fault = record.fault
    places = None
    if fault and (fault.signal or fault.text or record.invariant == "wild-store"):
        # One return address may be several inlined frames.
        places = list(dict.fromkeys((frame.module, frame.offset) for frame in fault.stack))
    return _ending(record.query.text, record.found, places)


def _ending(query: str, found: str, fault: Iterable[Sequence[Any]] | None) -> str:
    if fault is not None:
        return " < ".join(f"{module}+0x{offset:x}" for module, offset in fault)
    return found if query == RECOVERY else ""


def of_finding(record: FindingRecord) -> Image:
    """The image that shows a finding."""
    return Image(
        crash_point=record.crash_point.index or 0,
        level=Level(lines={line.offset: line.bytes for line in record.image}),
        nested=tuple(
            Nested(
                after_return=nested.after_return,
                stores=tuple((store.offset, store.size) for store in nested.recovery_stores),
                level=Level(lines={line.offset: line.bytes for line in nested.lines}),
            )
            for nested in record.nested_image
        ),
    )
