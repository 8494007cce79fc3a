"""A litmus test: a few instructions, when the power fails, and the exact set of outcomes.

A test has either one interleaving and a power cut at a stated point, or threads: every schedule, and every instant of
it. Each medium keeps its tests in files by topic (`replayer/media/<medium>/litmus/<topic>.toml`); `replayer/LITMUS.md`
is their format. This module parses the files, turns each test into requests for `powercut-engine model`, and projects
answers onto the named locations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.base.user_files import parse_toml, text_of
from powercut.litmus.instructions import LINE, Event, Location, event_of, location_of, nor_event_of, thread_events_of
from powercut_records.media import MEDIA, of_model

KEYS = {"name", "source", "model", "part", "atoms", "needs", "schedules", "locations", "program", "allowed", "states"}
UNREADABLE = -1  # the value of a location that cannot be read
PROBE_THREAD = 63  # fences never, so that its non-temporal probes stay pending

Outcome = tuple[tuple[str, int], ...]  # (location, value), sorted by location
Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LitmusTest:
    path: Path
    name: str
    source: str
    model: str
    atoms: str
    needs: str | None  # what is seen in no recorded order
    locations: Mapping[str, Location]
    events: tuple[Event, ...]  # the whole program; of threads, in the order of the file
    cut: int  # the power fails before this event
    in_flight: bool  # ... while the store `cut - 1` is landing
    allowed: frozenset[Outcome]
    states: int | None  # byte-distinct images at the cut, where the author counted them
    part: Mapping[str, str] | None  # parameters of NOR flash, whose programs and erases are told
    threads: tuple[tuple[Event, ...], ...] | None  # each in its order, where every schedule is meant

    def every_schedule(self) -> Request:
        """The program of threads, which the power may fail in at any instant."""
        visibility = "sc" if self.needs is None else "tso"
        request = {"model": self.model, "atoms": self.atoms, "pool_size": self._pool(), "visibility": visibility}
        return request | {"threads": self.threads or by_thread(self.events)}

    def left(self, answer: Mapping[str, Any]) -> frozenset[Outcome]:
        """The outcomes over the observed locations of all that the power cuts of a program of threads leave.

        Where a file tells one interleaving, those behind the last operation's end.
        """
        told = sum(event["op"] in ("begin", "end") for event in self.events)
        after = [frontier for frontier in answer["frontiers"] if len(frontier["history"]) == told]
        return frozenset(outcome for frontier in after for outcome in self.project(frontier))

    @property
    def is_in_scope(self) -> bool:
        """Whether the engine models the buffers that the program needs: store buffers, but no write-combining ones."""
        return self.needs is None or all(event["op"] != "ntstore" for event in self.events)

    @property
    def in_every_schedule(self) -> bool:
        return self.threads is not None or self.needs is not None

    def plain(self) -> Request:
        """The program up to the cut, whose last crash point is the cut."""
        return self._request(self.events[: self.cut])

    def probed(self) -> Request:
        """Returns the program with a pending byte in every line, so that the answer also lists lines with one
        candidate.

        A probe is a non-temporal store to a byte that nothing else touches, by a thread that never fences: it is in
        or out independently of everything else, so what the named locations may hold does not change.
        A device's flush is everybody's, so there a probe would show nothing.
        """
        if of_model(self.model).device:
            return self.plain()
        probes = [
            {"op": "ntstore", "thread": PROBE_THREAD, "addr": byte, "bytes": "ff"}
            for line in sorted({place.line for place in self.locations.values()})
            if (byte := self._untouched_byte(line)) is not None
        ]
        return self._request((*probes, *self.events[: self.cut]))

    def whole(self) -> Request | None:
        """The program with what follows the cut, or None when nothing does."""
        return self._request(self.events, closed=False) if self.cut < len(self.events) else None

    def project(self, point: Mapping[str, Any]) -> frozenset[Outcome]:
        """The outcomes over the observed locations at one crash point: the product over lines."""
        names = sorted({name for outcome in self.allowed for name, _ in outcome})
        if self.part is not None:
            return frozenset(tuple((name, self._of_image(name, image)) for name in names) for image in point["images"])
        per_line = []
        for line in sorted({self.locations[name].line for name in names}):
            here = [name for name in names if self.locations[name].line == line]
            contents = [bytes.fromhex(text) for text in point["lines"].get(str(line), [])] or [self._newest(line)]
            per_line.append({tuple((name, self._value(name, content)) for name in here) for content in contents})
        return frozenset(tuple(sorted(pair for part in parts for pair in part)) for parts in product(*per_line))

    def _request(self, events: tuple[Event, ...], *, closed: bool = True) -> Request:
        end = [{"op": "end"}] if closed and not self.in_flight else []
        request = {"model": self.model, "atoms": self.atoms, "pool_size": self._pool(), "events": [*events, *end]}
        return request if self.part is None else request | {"part": self.part, "pool_size": self._device()}

    def _pool(self) -> int:
        return LINE + max(place.line for place in self.locations.values())

    def _device(self) -> int:
        """The bytes of the sectors that have a location."""
        assert self.part is not None
        sector = int(self.part["sector"])
        return sector + max(place.addr // sector * sector for place in self.locations.values())

    def _of_image(self, name: str, image: str) -> int:
        """The value of a location in the content of a device; UNREADABLE if one of its bytes cannot be read."""
        place = self.locations[name]
        digits = image[2 * place.addr : 2 * (place.addr + place.size)]
        return UNREADABLE if "x" in digits else int.from_bytes(bytes.fromhex(digits), "little")

    def _value(self, name: str, content: bytes) -> int:
        place = self.locations[name]
        return int.from_bytes(content[place.addr - place.line :][: place.size], "little")

    def _newest(self, line: int) -> bytes:
        # A line with one candidate holds everything, since "all of it persisted" is legal at any instant.
        content = bytearray(LINE)
        for event in self.events[: self.cut]:
            for offset, byte in enumerate(bytes.fromhex(event.get("bytes", ""))):
                if line <= event["addr"] + offset < line + LINE:
                    content[event["addr"] + offset - line] = byte
        return bytes(content)

    def _untouched_byte(self, line: int) -> int | None:
        stores = [(event["addr"], len(event["bytes"]) // 2) for event in self.events if "bytes" in event]
        places = [(place.addr, place.size) for place in self.locations.values()]
        taken = {addr + i for addr, size in stores + places for i in range(size)}
        return next((byte for byte in range(line, line + LINE) if byte not in taken), None)


def by_thread(events: Sequence[Event]) -> tuple[tuple[Event, ...], ...]:
    """The events of each thread in their order; an operation is the first one's."""
    count = 1 + max((event.get("thread", 0) for event in events), default=-1)
    return tuple(tuple(event for event in events if event.get("thread", 0) == thread) for thread in range(count))


def load(media: Path) -> list[LitmusTest]:
    """Every test of every medium in the folder, by name."""
    folders = [media / medium.name / "litmus" for medium in MEDIA]
    tests = [test for folder in folders for path in sorted(folder.glob("*.toml")) for test in parse(path)]
    if not tests:
        where = str(media / "*" / "litmus")
        raise UsageError("no litmus test (*.toml) here", where=where, next_step="Restore replayer/media.")
    names = Counter(test.name for test in tests)
    if twice := [test for test in tests if names[test.name] > 1]:
        raise _refusal(f"two tests have the name '{twice[0].name}'", twice[0].path, twice[0].name)
    return sorted(tests, key=lambda test: test.name)


def parse(path: Path) -> list[LitmusTest]:
    """The tests of one file; a usage error that names the file, the test and the fault."""
    name = None
    try:
        record = parse_toml(text_of(path))
        if set(record) != {"test"}:
            raise ValueError("a file of litmus tests holds [[test]] tables and nothing else.")
        tests = []
        for table in record["test"]:
            name = table.get("name")
            tests.append(_build(path, table))
        return tests
    except KeyError as error:
        what = f"{error} is missing or not declared"
    except (OSError, AttributeError, TypeError, ValueError, OverflowError) as error:
        what = str(error)
    raise _refusal(what, path, name)


def _refusal(what: str, path: Path, name: str | None) -> UsageError:
    where = str(path) if name is None else f"{path}, {name}"
    return UsageError(what, where=where, next_step="The format is in replayer/LITMUS.md.")


def _build(path: Path, record: Mapping[str, Any]) -> LitmusTest:
    if unknown := set(record) - KEYS:
        raise ValueError(f"unknown key {sorted(unknown)}; known are {sorted(KEYS)}.")
    if record.get("needs", "tso") != "tso":
        raise ValueError(f"needs = '{record['needs']}' is unknown; only 'tso' is.")
    locations = {name: location_of(name, place) for name, place in record["locations"].items()}
    if record.get("schedules", "all") != "all":
        raise ValueError(f"schedules = '{record['schedules']}' is unknown; only 'all' is.")
    events: list[Event] = []
    cut, in_flight = None, False
    for text in _lines(record["program"]):
        if "schedules" in record:
            events += thread_events_of(text, locations)
        elif text in ("crash", "crash during"):
            if cut is not None:
                raise ValueError("two crashes in one program; write two tests.")
            cut, in_flight = len(events), text == "crash during"
        elif "part" in record:
            events.append(nor_event_of(text, locations))
        else:
            events.append(event_of(text, locations))
    allowed = frozenset(_outcome(text, locations) for text in record["allowed"])
    if len(allowed) != len(record["allowed"]) or len({tuple(n for n, _ in outcome) for outcome in allowed}) != 1:
        raise ValueError("allowed: outcomes must be distinct, at least one, and name the same locations.")
    return LitmusTest(
        path=path,
        name=record["name"],
        source=str(record["source"]).strip(),
        model=record["model"],
        atoms=record.get("atoms", "any"),
        needs=record.get("needs"),
        locations=locations,
        events=tuple(events),
        cut=len(events) if cut is None else cut,
        in_flight=in_flight,
        allowed=allowed,
        states=int(record["states"]) if "states" in record else None,
        threads=_threads(events, record) if "schedules" in record else None,
        part=_part(record["part"]) if "part" in record else None,
    )


def _part(record: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a part, each as a word; the judges know which there are."""
    if "sector" not in record:
        raise ValueError("part: the size of a sector is missing, in bytes.")
    return {name: str(value) for name, value in record.items()}


def _threads(events: list[Event], record: Mapping[str, Any]) -> tuple[tuple[Event, ...], ...]:
    """The events of each thread in their order."""
    if "states" in record:
        raise ValueError("states: there are many instants, so no number of images at the cut.")
    threads = by_thread(events)
    if len(threads) < 2 or not all(threads):
        raise ValueError("program: threads are T0, T1 and so on, at least two, each with an instruction.")
    for thread, steps in enumerate(threads):
        held: set[str] = set()
        for lock, op in ((step["lock"], step["op"]) for step in steps if "lock" in step):
            if (op == "lock") == (lock in held):
                state = "already holds" if op == "lock" else "does not hold"
                raise ValueError(f"program: 'T{thread}: {op} {lock}': the thread {state} it.")
            held ^= {lock}
    return threads


def _lines(program: str) -> Iterator[str]:
    for line in program.splitlines():
        if text := line.split("#")[0].strip():
            yield " ".join(text.split())


def _outcome(text: str, locations: Mapping[str, Location]) -> Outcome:
    pairs = [pair.partition("=") for pair in text.split()]
    for name, _, _ in pairs:
        if name not in locations:
            raise ValueError(f"allowed: '{text}' names {name}, which is no location.")
    return tuple(sorted((name, int(value, 0)) for name, _, value in pairs))
