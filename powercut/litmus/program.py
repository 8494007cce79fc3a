"""A litmus test: a few instructions, a power cut at a stated point, and the exact set of outcomes.

The file format is described in `replayer/litmus/README.md`. This module parses it, turns it into requests for
`powercut-engine model`, and projects answers onto the named locations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.base.user_files import parse_toml, text_of

LINE = 64
STORES = {"store": "store", "ntstore": "ntstore", "memcpy": "store", "rmw": "rmw", "movdir64b": "ntstore"}
PIECES = ("store", "ntstore", "memcpy")  # may continue the store before them
FLUSHES = ("clwb", "clflushopt", "clflush")
FENCES = ("sfence", "mfence", "lock")
KEYS = {"name", "source", "model", "atoms", "needs", "locations", "program", "allowed", "states"}
PROBE_THREAD = 63  # fences never, so that its non-temporal probes stay pending

Outcome = tuple[tuple[str, int], ...]  # (location, value), sorted by location
Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Location:
    """A little-endian integer of `size` bytes at pool offset `addr`, within one line."""

    addr: int
    size: int

    @property
    def line(self) -> int:
        return self.addr - self.addr % LINE


@dataclass(frozen=True, slots=True)
class LitmusTest:
    path: Path
    name: str
    source: str
    model: str
    atoms: str
    needs: str | None  # what the recorder does not model; such a test is listed, never run
    locations: Mapping[str, Location]
    events: tuple[dict[str, Any], ...]  # the whole program
    cut: int  # the power fails before this event
    in_flight: bool  # ... while the store `cut - 1` is landing
    allowed: frozenset[Outcome]
    states: int | None  # byte-distinct images at the cut, where the author counted them

    def plain(self) -> Request:
        """The program up to the cut, whose last crash point is the cut."""
        return self._request(self.events[: self.cut])

    def probed(self) -> Request:
        """The same with a pending byte in every line, so that the answer also lists lines with one candidate.

        A probe is a non-temporal store to a byte that nothing else touches, by a thread that never fences: it is in
        or out independently of everything else, so what the named locations may hold does not change.
        """
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
        per_line = []
        for line in sorted({self.locations[name].line for name in names}):
            here = [name for name in names if self.locations[name].line == line]
            contents = [bytes.fromhex(text) for text in point["lines"].get(str(line), [])] or [self._newest(line)]
            per_line.append({tuple((name, self._value(name, content)) for name in here) for content in contents})
        return frozenset(tuple(sorted(pair for part in parts for pair in part)) for parts in product(*per_line))

    def _request(self, events: tuple[dict[str, Any], ...], *, closed: bool = True) -> Request:
        end = [{"op": "end"}] if closed and not self.in_flight else []
        pool = 1 + max(place.line for place in self.locations.values()) // LINE
        return {"model": self.model, "atoms": self.atoms, "pool_size": pool * LINE, "events": [*events, *end]}

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


def load(folder: Path) -> list[LitmusTest]:
    """Every test of the folder, by file name."""
    tests = [parse(path) for path in sorted(folder.glob("*.toml"))]
    if not tests:
        raise UsageError("no litmus test (*.toml) here", where=str(folder), next_step="Restore replayer/litmus.")
    return tests


def parse(path: Path) -> LitmusTest:
    """One test; a usage error that names the file and the fault."""
    try:
        return _build(path, parse_toml(text_of(path)))
    except KeyError as error:
        what = f"{error} is missing or not declared"
    except (OSError, AttributeError, TypeError, ValueError, OverflowError) as error:
        what = str(error)
    raise UsageError(what, where=str(path), next_step="The format is in replayer/litmus/README.md.")


def _build(path: Path, record: Mapping[str, Any]) -> LitmusTest:
    if unknown := set(record) - KEYS:
        raise ValueError(f"unknown key {sorted(unknown)}; known are {sorted(KEYS)}.")
    if record.get("needs", "tso") != "tso":
        raise ValueError(f"needs = '{record['needs']}' is unknown; only 'tso' is.")
    if record["name"] != path.stem:
        raise ValueError(f"name = '{record['name']}' differs from the file's name.")
    locations = {name: _location(name, place) for name, place in record["locations"].items()}
    events: list[dict[str, Any]] = []
    cut, in_flight = None, False
    for text in _lines(record["program"]):
        if text in ("crash", "crash during"):
            if cut is not None:
                raise ValueError("two crashes in one program; write two tests.")
            cut, in_flight = len(events), text == "crash during"
        else:
            events.append(_event(text, locations))
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
    )


def _lines(program: str) -> Iterator[str]:
    for line in program.splitlines():
        if text := line.split("#")[0].strip():
            yield " ".join(text.split())


def _location(name: str, place: Mapping[str, int]) -> Location:
    if unknown := set(place) - {"line", "at", "size"}:
        raise ValueError(f"location {name}: unknown key {sorted(unknown)}; known are line, at, size.")
    offset, size = place.get("at", 0), place.get("size", 8)
    if offset < 0 or size < 1 or offset + size > LINE or place["line"] < 0:
        raise ValueError(f"location {name}: must lie within one line of {LINE} bytes.")
    return Location(place["line"] * LINE + offset, size)


def _event(text: str, locations: Mapping[str, Location]) -> dict[str, Any]:
    """`T0: store x 1` and the like; see the README."""
    if text in ("begin", "end"):
        return {"op": text}
    head, _, rest = text.partition(":")
    words = rest.split()
    if not head[:1] == "T" or not head[1:].isdigit() or not words:
        raise ValueError(
            f"program: cannot read '{text}'. Write 'T0: store x 1', 'T1: clwb x', 'begin', 'end' or 'crash'."
        )
    thread, op, arguments = int(head[1:]), words[0], words[1:]
    continues = op == "and" and arguments[:1] and arguments[0] in PIECES
    if continues:
        op, arguments = arguments[0], arguments[1:]
    if op in STORES and len(arguments) >= 2:
        data = _bytes(arguments[1:], locations[arguments[0]].size)
        event = {"op": STORES[op], "thread": thread, "addr": locations[arguments[0]].addr, "bytes": data.hex()}
        flags = {"memcall": op == "memcpy", "continues": continues, "direct": op == "movdir64b"}
        return event | {name: True for name, is_set in flags.items() if is_set}
    if op in FLUSHES and len(arguments) == 1:
        return {"op": "flush", "thread": thread, "addr": locations[arguments[0]].addr, "kind": op}
    if op in FENCES and not arguments:
        return {"op": "fence", "thread": thread, "kind": op}
    if op == "cas-fail" and len(arguments) == 1 and arguments[0] in locations:
        return {"op": "cas-fail", "thread": thread}  # a failed one stores nothing; the location is for the reader
    raise ValueError(f"program: '{text}' is no instruction")


def _bytes(values: list[str], size: int) -> bytes:
    """`store x 1 2` writes two neighbours as one store, each as wide as the location x."""
    return b"".join(int(value, 0).to_bytes(size, "little") for value in values)


def _outcome(text: str, locations: Mapping[str, Location]) -> Outcome:
    pairs = [pair.partition("=") for pair in text.split()]
    for name, _, _ in pairs:
        if name not in locations:
            raise ValueError(f"allowed: '{text}' names {name}, which is no location.")
    return tuple(sorted((name, int(value, 0)) for name, _, value in pairs))
