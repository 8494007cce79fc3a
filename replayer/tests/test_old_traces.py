"""Traces of older versions say what they always said.

In version 4 the converter had decided what a call on a file is. Version 5 has no calls on trees.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from powercut.base import paths

DATA = Path(__file__).resolve().parents[1] / "media" / "testdata"


def engine(*words: str | Path) -> str:
    done = subprocess.run([paths.engine(), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def version(trace: Path) -> int:
    return int.from_bytes(trace.read_bytes()[8:12], "little")


@pytest.mark.usefixtures("engine_model")  # skips where no engine is built
@pytest.mark.parametrize("before", [4, 5])
@pytest.mark.parametrize("name", ["device", "memory"])
def test_a_trace_of_calls_says_what_the_old_trace_of_their_events_says(name: str, before: int, tmp_path: Path) -> None:
    """The stream writes, grows, shrinks and syncs a file; an earlier converter wrote the old trace of this stream."""
    old, new = DATA / f"{name}.v{before}.pct", tmp_path / "new.pct"
    engine("convert", "--stream", DATA / f"{name}.stream", "--trace", new)
    assert (version(old), version(new)) == (before, 6)
    events = engine("dump", "--trace", old)
    assert events.count("\n") > 30 and "store" in events and "cut" in events
    assert engine("dump", "--trace", new) == events
    assert new.read_bytes() != old.read_bytes()
