"""EVENTS.md is true: its tables are read as a schema, and sample streams are held against it.

`Schema.problems` takes any stream of the engine, so that a test of the engine can use the same page.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "EVENTS.md"
ROW = re.compile(r"^\| `(?P<owner>\w+)` \| `(?P<name>\w+)(?P<optional>\??)`[^|]* \| `(?P<type>[^`]+)` \|", re.MULTILINE)
HEAD = re.compile(r"^\| (event|object) \| field \| type \| meaning \|$")

Json = Any


def _natural(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _matches(pattern: str) -> Callable[[Json], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


SCALARS: dict[str, Callable[[Json], bool]] = {
    "int": _natural,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "decimal": _matches(r"0|[1-9]\d*"),
    "hex": _matches(r"([0-9a-f]{2})*"),
    "null": lambda value: value is None,
    "any": lambda value: True,
}


@dataclass
class Schema:
    """The page's tables: events and objects, each with the types of its fields."""

    events: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    objects: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    optional: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def read(cls, page: str) -> "Schema":
        schema, table = cls(), None
        for line in page.splitlines():
            if head := HEAD.match(line):
                table = schema.events if head[1] == "event" else schema.objects
            elif (row := ROW.match(line)) and table is not None:
                table[row["owner"]][row["name"]] = row["type"]
                if row["optional"]:
                    schema.optional.add((row["owner"], row["name"]))
            elif line.startswith("| `"):
                raise AssertionError(f"EVENTS.md: this row is no `owner` | `field` | `type` | meaning: {line}")
        schema.objects["Finding"] = schema.events["finding"]
        schema.optional |= {("Finding", name) for owner, name in schema.optional if owner == "finding"}
        return schema

    def problems(self, events: list[Json]) -> list[str]:
        """Returns the faults of a stream, each with its place; empty when the stream keeps to the page."""
        found = [problem for n, event in enumerate(events, 1) for problem in self.event_problems(event, f"line {n}")]
        names = [event.get("event") for event in events]
        if names[:1] != ["hello"]:
            found.append("the first event is not hello")
        if names[-1:] not in (["end"], ["error"]):
            found.append("the last event is neither end nor error")
        found += [f"{once} appears {names.count(once)} times" for once in ("hello", "result") if names.count(once) > 1]
        return found

    def event_problems(self, event: Json, where: str) -> list[str]:
        name = event.get("event")
        if name not in self.events:
            return [f"{where}: no event {name!r} on the page"]
        fields = {key: value for key, value in event.items() if key != "event"}
        return self._fields(fields, name, self.events[name], f"{where}: {name}")

    def _fields(self, value: Json, owner: str, types: dict[str, str], where: str) -> list[str]:
        if not isinstance(value, dict):
            return [f"{where}: not an object"]
        found = [f"{where}: {name} is not on the page" for name in value if name not in types]
        for name, kind in types.items():
            if name in value:
                found += self._value(value[name], kind, f"{where}.{name}")
            elif (owner, name) not in self.optional:
                found.append(f"{where}: {name} is missing")
        return found

    def _value(self, value: Json, kind: str, where: str) -> list[str]:
        if " or " in kind:
            answers = [self._value(value, part, where) for part in kind.split(" or ")]
            return [] if [] in answers else min(answers, key=len)
        if kind == "stack":
            kind = "[(int, int)]"
        if kind in SCALARS:
            return [] if SCALARS[kind](value) else [f"{where}: {value!r} is not {kind}"]
        if kind.startswith('"'):
            return [] if value == kind.strip('"') else [f"{where}: {value!r} is not {kind}"]
        if kind in self.objects:
            return self._fields(value, kind, self.objects[kind], where)
        inner = kind[1:-1]
        if kind[0] == "[" and isinstance(value, list):
            return [p for n, item in enumerate(value) for p in self._value(item, inner, f"{where}[{n}]")]
        if kind[0] == "{" and isinstance(value, dict):
            return [p for name, item in value.items() for p in self._value(item, inner, f"{where}.{name}")]
        if kind[0] == "(" and isinstance(value, list) and len(value) == len(parts := inner.split(", ")):
            return [p for item, part in zip(value, parts, strict=True) for p in self._value(item, part, where)]
        return [f"{where}: {value!r} is not {kind}"]

    def undefined_types(self) -> set[str]:
        """Words in type columns that the page does not explain."""
        types = [kind for table in (self.events, self.objects) for owner in table.values() for kind in owner.values()]
        words = {word for kind in types for word in re.findall(r"\w+", re.sub(r'"[^"]*"', "", kind))}
        return words - SCALARS.keys() - self.objects.keys() - {"or", "stack"}


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def schema(page: str) -> Schema:
    return Schema.read(page)


def _stream(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_type_is_explained_and_every_object_is_used(schema: Schema) -> None:
    assert schema.undefined_types() == set()
    used = " ".join(kind for table in (schema.events, schema.objects) for t in table.values() for kind in t.values())
    assert [name for name in schema.objects if name not in used] == []


def test_the_example_on_the_page(page: str, schema: Schema) -> None:
    examples = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert [schema.event_problems(json.loads(text), "example") for text in examples] == [[]]


def test_sample_streams_keep_to_the_page_and_show_every_event(data: Path, schema: Schema) -> None:
    streams = {path.name: _stream(path) for path in sorted(data.glob("events_*.jsonl"))}
    assert {name: schema.problems(events) for name, events in streams.items()} == {name: [] for name in streams}
    shown = {event["event"] for events in streams.values() for event in events}
    assert shown == schema.events.keys()


def test_findings_of_the_sample_runs_are_findings_of_the_page(sample_runs: list[Json], schema: Schema) -> None:
    """Without what the CLI adds; the reports must be tested with what the engine really sends."""

    def as_sent(value: Json) -> Json:
        if isinstance(value, dict):
            return {name: [[0, 0] for _ in item] if name == "stack" else as_sent(item) for name, item in value.items()}
        return [as_sent(item) for item in value] if isinstance(value, list) else value

    added = {"fingerprint", "file", "store_site", "lost_site", "reproduce"}
    for run in sample_runs:
        for finding in run["findings"]:
            raw = as_sent({name: value for name, value in finding.items() if name not in added})
            assert schema.event_problems(raw, finding["fingerprint"]) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [({"crash_states": 5}, "progress.crash_states: 5 is not decimal"), ({"of": -1}, "progress.of: -1 is not int"),
     ({"more": 1}, "progress: more is not on the page"), ({"seconds": True}, "progress.seconds: True is not number")],
)  # fmt: skip
def test_the_check_itself_finds_what_is_wrong(schema: Schema, change: Json, problem: str) -> None:
    good = {"event": "progress", "crash_points": 1, "of": 2, "crash_states": "3", "executions": 4, "findings": 0,
            "seconds": 0.5}  # fmt: skip
    assert schema.event_problems(good, "x") == []
    assert schema.event_problems({**good, **change}, "x") == [f"x: {problem}"]
    assert schema.event_problems({"event": "progress"}, "x")[0] == "x: progress: crash_points is missing"
