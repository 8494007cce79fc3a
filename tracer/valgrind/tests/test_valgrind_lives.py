"""Ways of a program to live and to die, and loads."""

import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from tracer.valgrind.tests.valgrind_runs import Build, Recording, record


@pytest.fixture
def live(build: Build, tmp_path: Path):  # type: ignore[no-untyped-def]
    def run(how: str, *, loads: bool = False) -> Recording:
        pool = tmp_path / "pool"
        return record([build("lives", "-O2"), pool, how], tmp_path, pools=[pool], loads=loads)

    return run


@pytest.mark.parametrize(
    ("how", "status", "end", "stores"),
    [
        ("exit", 42, {"status": 42}, ["store 0 01000000"]),
        ("crash", -11, {"signal": 0}, ["store 0 01000000"]),
        ("signal", 0, {"status": 0}, ["store 0 01000000", "store 64 0a000000"]),
        ("fork", 0, {"status": 0}, ["store 0 01000000", "store 128 03000000"]),
        ("spawn", 0, {"status": 0}, ["store 0 01000000", "store 128 03000000"]),
        ("exec", 42, {"status": 42}, ["store 0 01000000", "store 64 04000000", "store 0 01000000"]),
    ],
)
def test_ends(live, how: str, status: int, end: object, stores: list[str]) -> None:  # type: ignore[no-untyped-def]
    run = live(how)
    assert run.status == status, run.stderr
    assert run.converted["exit"] == end
    assert run.lines("store") == stores
    assert [note["kind"] for note in run.converted["notes"]] == (["fork"] if how in {"fork", "spawn"} else [])
    assert len(run.lines("thread-start")) == 1
    # The stream has stacks of both programs, the replaced one and its successor.
    assert all(event["stack"] for event in run.events if event["kind"] == "store")


def test_a_stream_that_stops_anywhere_still_counts(live, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run = live("fxsave")
    whole = run.stream.read_bytes()
    for size in range(16, len(whole), 61):
        cut = tmp_path / "cut.stream"
        cut.write_bytes(whole[:size])
        convert = [paths.engine(), "convert", "--stream", cut, "--trace", tmp_path / "cut.pct"]
        done = subprocess.run(convert, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        assert '"exit":null' in done.stdout


def test_threads(live) -> None:  # type: ignore[no-untyped-def]
    run = live("threads")
    stores = [(event["thread"], event["offset"]) for event in run.events if event["kind"] == "store"]
    assert stores == [(0, 0), (1, 64), (2, 128), (3, 192)]
    assert len(run.lines("thread-start")) == len(run.lines("thread-end")) == 4


def test_stores_by_helpers_and_string_instructions(live) -> None:  # type: ignore[no-untyped-def]
    run = live("fxsave")
    assert run.status == 0, run.stderr
    written = {byte for event in run.events if event["kind"] == "store" for byte in covered(event)}
    assert set(range(512, 512 + 160)) <= written  # fxsave, at least its registers
    string = [event for event in run.events if int(event.get("flags") or 0) & 4]
    assert [event["flags"] for event in string] == [4]
    # The instruction is one store, although the tool was shown byte after byte.
    assert [(event["offset"], bytes.fromhex(event["bytes"])) for event in string] == [(120, b"0123456789abcdef")]


def covered(event: dict[str, object]) -> range:
    offset, size = event["offset"], len(str(event["bytes"])) // 2
    assert isinstance(offset, int)
    return range(offset, offset + size)


def test_loads_are_recorded_when_asked_for(live) -> None:  # type: ignore[no-untyped-def]
    def loads(recording: Recording) -> list[tuple[int, int]]:
        data, base, at = recording.stream.read_bytes(), recording.converted["pools"][0]["address"], 16
        found = []
        while at < len(data):
            size = int.from_bytes(data[at + 4 : at + 8], "little")
            if data[at] == 8:
                address, length = (int.from_bytes(data[at + 16 + i : at + 24 + i], "little") for i in (0, 8))
                found.append((address - base, length))
            at += 8 + size
        return found

    assert loads(live("loads")) == []
    seen = loads(live("loads", loads=True))
    # The loads are plain ones, the atomic's, and those of write(2).
    assert seen[:2] == [(4, 4), (100, 1)]
    assert (200, 4) in seen
    assert seen[-1] == (300, 5)


@pytest.mark.parametrize("where", ["above", "below"])
def test_callers_on_a_stack_of_the_programs_own(build: Build, tmp_path: Path, where: str) -> None:
    run = record([build("stacks", "-O2"), tmp_path / "pool", where], tmp_path, pools=[tmp_path / "pool"])
    assert run.status == 0, run.stderr
    inner, outer = (event["stack"] for event in run.events if event["kind"] == "store")
    assert len(inner) == len(outer) + 1
    assert len(outer) >= 1
