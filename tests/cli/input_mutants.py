"""Mutants of every file that the Python half reads, through its readers (`python -m tests.cli.input_mutants`).

A valid input is changed in its bytes or in its structure, and given to the code of the command that reads it. It must
be taken or be refused with a PowercutError; anything else that is raised is a traceback. Equal seeds give equal
mutants. Inputs of the engine are mutated by `powercut-mutants` (engine/fuzz).
"""

import argparse
import contextlib
import copy
import datetime
import io
import json
import random
import struct
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import PowercutError
from powercut.cli.commands import report
from powercut.engine import engine, events
from powercut.findings import checkpoints, failures, run_records
from powercut.findings.collector import blank_run
from powercut.findings.finding_records import FINDING_VERSION
from powercut.gate import baseline, suppressions
from powercut.gate.gate import open_gate
from powercut.runs import reproduce
from powercut.scenarios import catalog, plan, scenario, targets, toml_text
from powercut.scenarios.toml_text import toml_value
from powercut_reports import text
from powercut_reports.gate_formats import RENDERERS

DATA = Path(__file__).resolve().parents[2] / "reports" / "tests" / "data"
SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
FORMATS = frozenset({"html", *RENDERERS})
#: Every so many run records are rendered in all formats as well; HTML takes a second.
RENDERED_EVERY = 200

_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 63, 64, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, -1e308),
    *("", "x", "x" * 5000, "\0", "\ud800", 'é\n\t"\\'),
    *([], {}, [[]], [1, "two", None], {"a": 1}),
)


FAILURE = {
    "failure": 1,
    "fingerprint": "0123456789ab",
    "invariant": "lost-item",
    "underlying": None,
    "operation": "insert",
    "sites": ["lost f a.cc:1"],
    "target": "level",
    "variant": "published",
    "scenario": "x",
    "plan": {"plan": 1},
    "engine": {"model": "adr", "atoms": "any"},
    "crash_point": {"index": 1, "event": 1, "when": "before sfence", "depth": 0},
    "query": {"kind": "lookup", "text": "lookup(1)"},
    "image": [{"offset": 64, "bytes": "00" * 64, "decided": False}],
    "nested_image": [{"after_return": False, "recovery_stores": [{"offset": 0, "size": 8}], "lines": []}],
}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of everything below a value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        keys = list(item) if isinstance(item, dict) else list(range(len(item)))
        for key in keys:
            yield item, key
            if isinstance(item[key], dict | list):
                waiting.append(item[key])


def change(draw: random.Random, value: Any) -> Any:
    """One to three changes of a JSON value."""
    value = copy.deepcopy(value)
    for _ in range(draw.randint(1, 3)):
        if not isinstance(value, dict | list) or not value or draw.random() < 0.02:
            return draw.choice(_ODD)
        found = list(places(value))
        container, key = draw.choice(found)
        what = draw.randrange(6)
        if what == 0:
            del container[key]
        elif what == 1:
            source, at = draw.choice(found)
            with contextlib.suppress(KeyError, IndexError):
                container[key] = copy.deepcopy(source[at])
        elif what == 2:
            container[key] = deep(draw.choice((3, 90, 101, 250)))
        elif what == 3 and isinstance(container, dict):
            container[draw.choice(("unknown", "", "é", key))] = draw.choice(_ODD)
        elif what == 4 and isinstance(container, list):
            container.insert(draw.randrange(len(container) + 1), copy.deepcopy(container[key]))
        else:
            container[key] = draw.choice(_ODD)
    return value


def change_bytes(draw: random.Random, content: bytes) -> bytes:
    """One to four changes of bytes."""
    out = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(out) + 1)
        what = draw.randrange(6)
        if what == 0:
            del out[at:]
        elif what == 1:
            del out[at : at + draw.randint(1, 20)]
        elif what == 2:
            out[at:at] = bytes(draw.randrange(256) for _ in range(draw.randint(1, 8)))
        elif what == 3:
            begin = draw.randrange(len(out) + 1)
            out[at:at] = out[begin : begin + draw.randint(1, 60)]
        elif what == 4:
            out[at : at + 1] = draw.choice((b"[", b"{", b'"', b"}", b"]", b",", b"=", b"\n", b"\\", b"1" * 5000))
        elif at < len(out):
            out[at] ^= 1 << draw.randrange(8)
    return bytes(out)


class Kind:
    """One kind of input: valid ones, and what reads them."""

    def __init__(self, name: str, seeds: list[Any], suffix: str, read: Callable[[Path, int], object]) -> None:
        self.name = name
        self.seeds = seeds
        self.suffix = suffix
        self.read = read

    def mutant(self, draw: random.Random) -> bytes:
        seed = draw.choice(self.seeds)
        if draw.random() < 0.4:
            return change_bytes(draw, self.written(seed))
        try:
            return self.written(change(draw, seed))
        except RecursionError:  # deeper than this tool can write it
            return b"[" * 5000

    def written(self, value: Any) -> bytes:
        if self.suffix == ".toml":
            return as_toml(value).encode("utf-8", "backslashreplace")
        if self.suffix == ".jsonl" and isinstance(value, list):
            return b"".join(json.dumps(item).encode() + b"\n" for item in value)
        return json.dumps(value).encode()


def as_toml(value: Any) -> str:
    """A value as TOML, as far as it is one."""
    if not isinstance(value, dict):
        return repr(value)
    return "\n".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in value.items()) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in value.items()) + " }"
    return toml_value(value)


def _read_run(path: Path, number: int) -> None:
    run = run_records.load(path)
    with run_records.as_written(path, "a run record here", next_step="."), tempfile.TemporaryDirectory() as folder:
        shown = contextlib.redirect_stdout(io.StringIO())
        with shown, contextlib.redirect_stderr(io.StringIO()):
            formats = FORMATS if number % RENDERED_EVERY == 0 else frozenset({"text", "sarif", "junit", "markdown"})
            report._render([run], Path(folder), formats, frozenset(), open_gate(None, None), as_json=number % 2 == 0)


def _read_finding(path: Path, number: int) -> None:
    content = reproduce.load(path, trusted=True)
    with run_records.as_written(path, "this finding", next_step="."):
        text.render_finding(content, color=False)


def _read_events(path: Path, number: int) -> None:
    # As the engine's pipe is read: what is not UTF-8 was replaced.
    for line in path.read_bytes().decode("utf-8", "replace").splitlines():
        if line.strip():
            events.parse(line)


def _read_recording(path: Path, number: int) -> None:
    checkpoints.Checkpoint(chunks=path, recording=path, parts=path).recorded({"plan": 1}, path)


def kinds() -> list[Kind]:
    """All of them."""
    runs = json.loads((DATA / "sample_runs.json").read_text())
    runs = runs if isinstance(runs, list) else [runs]
    found = [{**blank_finding(), **finding} for run in runs for finding in run["findings"]]
    tables = [{**tomllib.loads(toml_text.render(item.content)), "name": "mutant"} for item in catalog.everything()[::9]]
    tables += [tomllib.loads(path.read_text()) for path in sorted((SCENARIOS / "known_bugs").glob("*.toml"))]
    rules = {
        "suppress": [
            {"fingerprint": "0123456789ab", "reason": "known", "expires": datetime.date(2999, 1, 1)},
            {
                "invariant": "lost-item",
                "target": "level",
                "site": "a.cc:*",
                "reason": "x",
                "expires": datetime.date(2999, 1, 1),
            },
        ]
    }
    streams = [
        [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
        for path in sorted(DATA.glob("events_*.jsonl"))
    ]
    known = json.loads((paths.home() / "docs/examples/ci/powercut-baseline.json").read_text())
    return [
        Kind("run record", [blank_run(run).as_json() for run in runs], ".json", _read_run),
        Kind("finding", found, ".json", _read_finding),
        Kind("baseline", [known], ".json", lambda path, _: baseline.load(path)),
        Kind("suppressions", [rules], ".toml", lambda path, _: suppressions.load(path)),
        Kind("scenario", tables, ".toml", lambda path, _: scenario.load_all(path)),
        Kind("event stream", streams, ".jsonl", _read_events),
        Kind("recording", [{"plan": {"plan": 1}, "recorded": {"event": "recorded"}}], ".json", _read_recording),
        Kind(
            "failure",
            [FAILURE],
            ".json",
            lambda path, _: failures.Failures(folder=path.parent.parent).load(path.parent.name),
        ),
    ]


def blank_finding() -> dict[str, Any]:
    """A finding record with the fields that it must have."""
    return {
        "finding": FINDING_VERSION,
        "fingerprint": "0123456789ab",
        "invariant": "lost-item",
        "target": "level",
        "scenario": "x",
        "crash_point": {"index": 1, "event": 1, "when": "", "depth": 0},
        "image": [],
        "stores": [],
        "trace": None,
        "plan": None,
    }


def binary_stream() -> bytes:
    """The stream of a binary tracer for a small program (tracer/stream/STREAM.md): a record of every type."""
    site, stacked = struct.pack("<II", 0, 0), struct.pack("<II", 0, 1)

    def record(kind: int, payload: bytes = b"", *, code: int = 0, flags: int = 0) -> bytes:
        return struct.pack("<BBHI", kind, code, flags, len(payload)) + payload

    def numbers(*values: int) -> bytes:
        return struct.pack(f"<{len(values)}Q", *values)

    base, key, value = 0x10000, b"k" * 16, b"v" * 15
    records = [
        record(1, numbers(8192) + b"/tmp/pool"),
        record(2, numbers(0, 64) + b"before"),
        record(3, numbers(0, base, 8192, 0)),
        record(11, b"/usr/bin/prog"),
        record(12, numbers(0, 0x1234)),
        record(9, site),
        record(16, site + b"run", code=1),
        record(13, site + struct.pack("<II", 16, 15) + key + value + b"text", code=3),
        record(5, stacked + numbers(base + 128) + key),
        record(5, stacked + numbers(base + 192) + b"12345678", flags=2),
        record(5, stacked + numbers(base + 200) + b"1234", flags=16),
        record(8, site + numbers(base, 8)),
        record(6, site + numbers(base + 128), code=1),
        record(7, site, code=1),
        record(15, site + b"mark"),
        record(18, site + numbers(0, 4096) + b"written"),
        record(20, site + numbers(0, 0, 8192), code=1),
        record(19, site + numbers(0, 4096)),
        record(14, site, code=0),
        record(17, site),
        record(21, b"note", code=1),
        record(4, numbers(base, 8192)),
        record(10, site),
        record(22, struct.pack("<I", 0)),
    ]
    return b"\x89PCS\r\n\x1a\n" + struct.pack("<II", 2, 0) + b"".join(records)


def write_engine_seeds(folder: Path) -> None:
    """Valid inputs of the engine, for `powercut-mutants`: one file for each of its kinds."""
    folder.mkdir(parents=True, exist_ok=True)
    engine_path, trace = paths.engine(), folder / "trace"
    lost = next(item for item in catalog.self_tests() if item.name == "lost_item")
    target = targets.find("patterns")
    content = plan.build(target, variant=lost.bug.variant, scenario=lost, seed=1, toggle=lost.bug.toggle)
    (folder / "plan").write_text(json.dumps(content))
    engine.single(engine_path, ["record", "--plan", str(folder / "plan"), "--trace", str(trace)], events.Recorded)
    explored = ["explore", "--trace", str(trace), "--jobs", "1", "--checkpoint", str(folder / "checkpoint")]
    found = [raw for _, raw in engine.stream(engine_path, explored) if raw["event"] == "finding"]
    finding = {**found[0], "engine": {"model": "adr", "atoms": "any"}}
    (folder / "finding").write_text(json.dumps(finding))
    lines = [{"offset": line["offset"], "bytes": line["bytes"]} for line in finding["image"]]
    asked = {"id": 1, "crash_point": finding["crash_point"]["index"], "rest": "floor", "lines": lines}
    (folder / "requests").write_text(json.dumps(asked))
    dumped = engine.stream(engine_path, ["dump", "--trace", str(trace), "--format", "json"])
    flush = next(raw["index"] for _, raw in dumped if raw.get("kind") == "flush")
    edits = {
        "edits": 1,
        "drop": [flush],
        "insert": [{"after": flush, "flush": {"offset": 64, "size": 64, "kind": "clwb"}, "fence": "sfence"}],
        "recovery": [{"frames": [[0, 4096]], "do": "drop"}],
    }
    (folder / "edits").write_text(json.dumps(edits))
    quantity = {"metric": "fences", "operation": "insert", "command": "", "selector": -1}
    measures = [{"id": 0, "quantity": quantity, "comparison": "<=", "number": 2, "when": [], "unless": ["move.*"]}]
    request = {"selectors": [{"frames": [[0, 4096]], "marks": ["move.*"]}], "measures": measures}
    (folder / "measure").write_text(json.dumps(request))
    (folder / "stream").write_bytes(binary_stream())
    pools = folder / "pools"
    pools.mkdir(exist_ok=True)
    log = ["export-pmemcheck", "--trace", str(trace), "--log", str(folder / "log"), "--pools", str(pools)]
    for _ in engine.stream(engine_path, log):
        pass


def run(kind: Kind, count: int, seed: int, keep: Path) -> int:
    """How many mutants of a kind ended in a traceback; these are kept."""
    failed = 0
    taken = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in" / f"mutant{kind.suffix}"
        path.parent.mkdir()
        for valid in kind.seeds:  # or every mutant would be refused for what is no mutation
            path.write_bytes(kind.written(valid))
            kind.read(path, 1)
        for number in range(count):
            content = kind.mutant(random.Random(f"{seed} {kind.name} {number}"))
            path.write_bytes(content)
            try:
                kind.read(path, number)
                taken += 1
            except PowercutError:
                continue
            except Exception:
                failed += 1
                keep.mkdir(parents=True, exist_ok=True)
                kept = keep / f"{kind.name.replace(' ', '-')}-{number}{kind.suffix}"
                kept.write_bytes(content)
                print(f"FAILURE {kept}", file=sys.stderr)
                traceback.print_exc()
                if failed >= 20:
                    break
    print(f"{kind.name}: {number + 1} mutants, {taken} taken, {failed} failures", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", help="one kind alone")
    parser.add_argument("--engine-seeds", type=Path, metavar="DIR", help="write the seeds of powercut-mutants there")
    parser.add_argument("--keep", type=Path, default=Path("build/mutants"))
    given = parser.parse_args()
    if given.engine_seeds is not None:
        write_engine_seeds(given.engine_seeds)
        return 0
    chosen = [kind for kind in kinds() if given.kind in (None, kind.name)]
    return 1 if sum(run(kind, given.count, given.seed, given.keep) for kind in chosen) else 0


if __name__ == "__main__":
    raise SystemExit(main())
