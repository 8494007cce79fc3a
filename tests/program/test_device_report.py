"""Reports of a finding on a device: sectors, writes and syncs, in words of the user's file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.compile import cc
from tests.program.program_mode import Kv

STORE = paths.home() / "docs" / "examples" / "log-store" / "store.c"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kv:
    """A folder with the example, which has the bug."""
    words = ["-O1", "-g", "-DBUG", str(STORE), "-o", str(tmp_path / "store")]
    subprocess.run(cc.build_command(words, cxx=False), check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return Kv(tmp_path, monkeypatch, capsys)


SETUP = ["--setup", "./store create store.log"]
RUN = ["run", *SETUP, "--record", "./store run store.log", "--recover", "./store check store.log"]


def test_a_finding_speaks_of_sectors_its_fix_is_a_sync_and_it_is_reproduced(store: Kv) -> None:
    answer = store.cli(*RUN, "--device", "store.log", "--format", "text,html")
    assert answer.code == 1
    assert "Device: " in answer.out and "(2,560 bytes in sectors of 512 bytes)" in answer.out
    assert "Flush (a file: fsync) after B and before A, or force the write B." in answer.out
    assert "Re-checked with the fix: consistent (complete" in answer.out
    assert "sector 0 (0x0 of the file)" in answer.out and "sector 1 (0x200 of the file)" in answer.out
    page = (store.folder / ".powercut" / "report.html").read_text()
    assert "sector 1 (0x200 of the file): the old content" in page
    assert "sector 0 (0x0 of the file): what was written last" in page
    assert "fsync(file);" in page
    (file,) = (store.folder / ".powercut" / "findings").glob("*.json")
    record = json.loads(file.read_text())
    assert (record["cause"]["kind"], record["cause"]["recheck"]["held"]) == ("order", True)
    again = store.cli("reproduce", str(file), "--image-out", "image")
    assert (again.code, "The finding holds." in again.err) == (1, True)
    # The header counts one entry, and there is none: the file has the size that it had then.
    image = (store.folder / "image").read_bytes()
    assert (image[8], image[512:]) == (1, bytes(len(image) - 512))


def test_a_trace_of_a_device_is_explored_later_under_its_own_model(store: Kv) -> None:
    recorded = store.cli(
        "record", *SETUP, "--record", "./store run store.log", "--device", "store.log", "-o", "run.pct"
    )
    assert recorded.code == 0, recorded
    answer = store.cli("explore", "run.pct", "--recover", "./store check store.log", "--json")
    assert (answer.code, answer.run["model"]) == (1, "block")
    assert "says nothing" in store.refused(
        "explore", "run.pct", "--recover", "./store check {image}", "--model", "eadr"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--device", "store.log", "--pool", "store.log"], "a device beside pools"),
        (["--device", "store.log", "--model", "eadr"], "the model 'eadr' says nothing"),
        (["--device", "store.log", "--tracer", "pmemcheck"], "does not record system calls"),
        (["--device", "store.log", "--threads", "scheduled"], "are not scheduled"),
        (["--device", "store.log", "--sector-size", "1000"], "1000 is none of 512, 4096"),
        (["--device", "store.log", "--sector-size", "4096", "--atomic-unit", "2"], "more than a page"),
        (["--pool", "store.log", "--atomic-unit", "2"], "sectors belong to a device"),
        (["--device", "."], "this is a folder"),
        (["--device", "other.log"], "the set-up did not make"),
        (["--device", "o.log", "--setup", "sh -c ': > o.log; exec ./store create store.log'"], "never wrote to"),
        (["--pool", "store.log", "--model", "block"], "this target's is memory"),
    ],
)
def test_what_cannot_be_is_refused_in_a_paragraph(store: Kv, options: list[str], told: str) -> None:
    assert told in store.refused(*RUN, *options)
