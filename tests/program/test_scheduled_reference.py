"""The schedules of a program leave the images that every instant of every interleaving within the bound leaves.

Random programs of the reference (`replayer/reference/threads.py`) are run by a program that does their steps. The crash
points of the trace are led through the reference's own models. They must leave the images that the reference finds at
all instants of all interleavings with so many preemptions: none too few, none too many.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from powercut.base import paths
from replayer.media.memory.reference import Adr, Eadr
from replayer.reference.program import LINE_SIZE, Event, Program
from replayer.reference.threads import Frontier, Instant, Threads, explored, made
from replayer.tests.thread_programs import generate
from tests.program.builds import compiled

SOURCE = Path(__file__).parent / "programs" / "threads" / "steps.cc"
PROGRAMS = 80
LONG_PROGRAMS = 5_000

_ONE, _TWO = b"\1" * 8, b"\2" * 8


def _threads(*threads: list[Event]) -> Threads:
    numbered = (tuple(replace(event, thread=number) for event in events) for number, events in enumerate(threads))
    return Threads("adr", "any", tuple(numbered), 128)


#: Programs in which one kind of event has to be a place to switch at.
DIRECTED = {
    "fence": _threads(
        [Event("store", 0, 0, _ONE), Event("store", 0, 64, _TWO), Event("flush", 0, 64, kind="clwb"),
         Event("fence", kind="sfence")],
        [Event("load", 1, 0, size=8), Event("store-loaded", 1, 8, size=8)],
    ),
    "clflush": _threads(
        [Event("store", 0, 0, _ONE), Event("store", 0, 64, _TWO), Event("flush", 0, 64, kind="clflush")],
        [Event("load", 1, 0, size=8), Event("store-loaded", 1, 8, size=8)],
    ),
    "ntstore": _threads(
        [Event("store", 0, 0, _ONE), Event("ntstore", 0, 64, _TWO), Event("fence", kind="sfence")],
        [Event("load", 1, 0, size=8), Event("store-loaded", 1, 8, size=8)],
    ),
    "load": _threads(
        [Event("store", 0, 0, _ONE)],
        [Event("load", 1, 0, size=8), Event("store-loaded", 1, 64, size=8), Event("load", 1, 0, size=8),
         Event("store-loaded", 1, 72, size=8)],
    ),
    "store": _threads(
        [Event("store", 0, 0, _ONE), Event("store", 0, 0, _TWO)],
        [Event("load", 1, 0, size=8), Event("store-loaded", 1, 64, size=8)],
    ),
    "rmw": _threads(
        [Event("rmw", 0, 0, _ONE), Event("rmw", 0, 0, _TWO)],
        [Event("load", 1, 0, size=8), Event("store-loaded", 1, 64, size=8)],
    ),
    "line": _threads(
        [Event("store", 0, 64, _ONE), Event("store", 0, 0, _ONE)],
        [Event("load", 1, 64, size=8), Event("store-loaded", 1, 72, size=8), Event("store", 1, 8, _TWO)],
    ),
    "lock": _threads(
        [Event("lock", lock="l"), Event("store", 0, 0, _ONE), Event("unlock", lock="l"), Event("store", 0, 64, _ONE)],
        [Event("lock", lock="l"), Event("load", 1, 0, size=8), Event("store-loaded", 1, 8, size=8),
         Event("unlock", lock="l")],
    ),
    "begin and end": _threads(
        [Event("begin"), Event("store", 0, 0, _ONE), Event("end")], [Event("begin"), Event("end")]
    ),
}  # fmt: skip

Images = frozenset[tuple[tuple[tuple[str, int], ...], tuple[bytes, ...]]]
_LETTERS = {"store": "S", "store-loaded": "T", "ntstore": "N", "rmw": "R", "add": "A", "cas": "C", "load": "L"}
_LETTERS |= {"cas-fail": "X", "lock": "K", "unlock": "U", "begin": "B", "end": "E"}
_KINDS = {"clwb": "w", "clflushopt": "o", "clflush": "f", "sfence": "s", "mfence": "m", "lock": "X"}
_EMPTY = bytes(LINE_SIZE)


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built."""
    program = tmp_path_factory.mktemp("steps") / "steps"
    compiled(program, ["-O1", "-g", "-std=c++20", "-pthread", SOURCE], cxx=True)
    return program


def drawn(random: Random, *, events: int) -> Threads:
    """A program that can be run: without waits, which may never end, and with stores that are instructions."""
    while True:
        program = generate(random, events=events)
        all_events = [event for thread in program.threads for event in thread]
        crooked = any(e.op == "ntstore" and len(e.data) == 16 and e.addr % 16 for e in all_events)
        # The program takes no lock twice, and gives back what it takes.
        taken = {e.lock: sum(other.lock == e.lock for other in all_events) for e in all_events if e.lock}
        open_lock = any(sum(e.lock == lock for e in thread) % 2 for thread in program.threads for lock in taken)
        if any(e.op == "wait" for e in all_events) or crooked or open_lock or len(program.threads) > 2:
            continue
        return Threads(program.model, "any", program.threads, program.pool_size)


def _step(event: Event) -> str:
    if event.op in ("flush", "fence"):
        return f"{_KINDS[event.kind]}:{event.addr}"
    letter = _LETTERS[event.op]
    if event.op in ("lock", "unlock"):
        return f"{letter}:{'lm'.index(event.lock)}"
    data = event.data.hex() or "00" * event.size
    fields = [letter, str(event.addr), data, event.expected.hex()]
    return ":".join(fields).rstrip(":")


def recorded(steps: Path, program: Threads, folder: Path, *, preemptions: int) -> tuple[dict[str, Any], Images]:
    """The search's own words, and the images at the crash points of its trace."""
    pool, trace = folder / "pool", folder / "steps.pct"
    pool.unlink(missing_ok=True)
    lists = [",".join(map(_step, thread)) or "-" for thread in program.threads]
    engine = str(paths.engine())
    words = [engine, "record-schedules", "--command", json.dumps([str(steps), str(pool), *lists])]
    words += ["--cwd", str(folder), "--pool", str(pool), "--trace", str(trace), "--model", program.model]
    words += ["--preemptions", str(preemptions)]
    answer = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout
    (told,) = (json.loads(line) for line in answer.splitlines() if '"scheduled"' in line)
    assert (told["status"], told["stalled"]) == (0, ""), told
    dump = subprocess.run([engine, "dump", "--format", "json", "--trace", str(trace)], check=True, capture_output=True)
    return told["schedules"], frozenset(images_of_trace(map(json.loads, dump.stdout.splitlines()), program))


def images_of_trace(events: Iterator[dict[str, Any]], program: Threads) -> Iterator[tuple[Any, Any]]:
    """The images at each crash point of a tree, by the reference's models."""
    path: list[dict[str, Any]] = []
    in_tree = False
    for event in events:
        kind = event.get("kind")
        if kind == "fork":
            in_tree = True
        elif kind == "back":
            del path[event["events"] :]
        elif kind == "crash-point":
            yield from _left(path, program)
        elif in_tree and kind not in ("searched", None):
            path.append(event)


def _left(path: list[dict[str, Any]], program: Threads) -> Iterator[tuple[Any, Any]]:
    none = Program(program.model, "any", (), program.pool_size)
    model = Eadr(none) if program.model == "eadr" else Adr(none)
    history = []
    last = None
    for index, event in enumerate(path):
        thread, kind = event["thread"] - 2, event["kind"]
        last = None
        if kind in ("store", "nt-store"):
            op = "store" if kind == "store" else "ntstore"
            last = Event(op, thread, event["offset"], bytes.fromhex(event["bytes"]))
            model.apply(last, index)
        elif kind == "flush":
            model.apply(Event("flush", thread, event["offset"], kind=event["code"]), index)
        elif kind == "fence":
            model.apply(Event("fence", thread, kind="sfence"), index)
        elif kind in ("op-begin", "op-end"):
            history.append((kind.removeprefix("op-"), thread))
    if isinstance(model, Eadr) and last is not None:
        model.in_flight = model.last_store
    lines = [model.contents(line) for line in range(0, program.pool_size, LINE_SIZE)]
    for image in itertools.product(*lines):
        yield tuple(history), image


def images_of_reference(program: Threads, *, preemptions: int) -> Images:
    """The images at every instant of every interleaving with so many preemptions."""
    nothing = (0,) * len(program.threads)
    none = Program(program.model, "any", (), program.pool_size)
    model = Eadr(none) if program.model == "eadr" else Adr(none)
    waiting = [(Instant(program, model, nothing, (b"",) * len(nothing), ()), -1, preemptions)]
    seen: set[object] = set()
    images: set[tuple[Any, Any]] = set()
    known: dict[Any, Any] = {}
    while waiting:
        now, last, left = waiting.pop()
        if (key := (now.key(), last, left)) in seen:
            continue
        seen.add(key)
        images.update(_images(now.frontier(known), program))
        following = list(now.following(made))
        goes_on = any(event.thread == last for event in following)
        for event in following:
            costs = goes_on and event.thread != last
            if costs and not left:
                continue
            then = now.after(event)
            for frontier in then.in_flight(event, known):
                images.update(_images(frontier, program))
            waiting.append((then, event.thread, left - costs))
    return frozenset(images)


def _images(frontier: Frontier, program: Threads) -> Iterator[tuple[Any, Any]]:
    lines = dict(frontier.lines)
    contents = [lines.get(line, {_EMPTY}) for line in range(0, program.pool_size, LINE_SIZE)]
    return ((frontier.history, image) for image in itertools.product(*contents))


def disagreement(steps: Path, program: Threads, folder: Path, *, preemptions: int) -> str | None:
    """Images that the search misses or makes up; None where there are none."""
    told, left = recorded(steps, program, folder, preemptions=preemptions)
    right = images_of_reference(program, preemptions=preemptions)
    if not told["complete"]:
        return f"not complete: {told['reason']}\n{program.to_json()}"
    if left == right:
        return None
    counts = f"misses {len(right - left)} of {len(right)}, makes up {len(left - right)}"
    return f"{preemptions} preemptions: {counts}:\n{program.to_json()}"


def test_the_bound_is_no_bound_when_it_is_high() -> None:
    program = DIRECTED["load"]
    every = {image for frontier in explored(program).all for image in _images(frontier, program)}
    assert images_of_reference(program, preemptions=20) == every
    assert images_of_reference(program, preemptions=0) < every


@pytest.mark.parametrize("preemptions", [0, 1, 2])
@pytest.mark.parametrize("name", DIRECTED)
def test_a_switch_is_where_it_has_to_be(steps: Path, tmp_path: Path, name: str, preemptions: int) -> None:
    assert disagreement(steps, DIRECTED[name], tmp_path, preemptions=preemptions) is None


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))])
def test_random_programs(steps: Path, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    for _ in range(PROGRAMS // 4):
        preemptions = random.choice((0, 1, 2, 3))
        assert disagreement(steps, drawn(random, events=6), tmp_path, preemptions=preemptions) is None


@pytest.mark.long
def test_many_random_programs(steps: Path, tmp_path: Path) -> None:
    random = Random(2026)
    for _ in range(LONG_PROGRAMS):
        preemptions = random.choice((0, 1, 2, 3))
        assert disagreement(steps, drawn(random, events=8), tmp_path, preemptions=preemptions) is None
