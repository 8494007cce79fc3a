"""The engine's recorder holds a program before each of its calls on the folder."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from powercut.base import paths

PROGRAM = """\
import os, sys
file = os.open(sys.argv[1] + "/a", os.O_CREAT | os.O_WRONLY)
os.write(file, b"one")
os.fsync(file)
os.rename(sys.argv[1] + "/a", sys.argv[1] + "/b")
"""


@contextmanager
def held(tmp_path: Path) -> Iterator[tuple[Path, socket.socket, subprocess.Popen[bytes]]]:
    folder = tmp_path / "folder"
    folder.mkdir()
    ours, theirs = socket.socketpair()
    asked = [f"--folder={folder}", f"--trace={tmp_path / 'trace'}", f"--report={tmp_path / 'report'}"]
    command = [str(paths.engine()), "record-files", *asked, f"--steps={theirs.fileno()}", "--", sys.executable]
    with ours, subprocess.Popen([*command, "-c", PROGRAM, str(folder)], pass_fds=[theirs.fileno()]) as process:
        theirs.close()
        ours.settimeout(60)
        yield folder, ours, process


def told(ours: socket.socket) -> int | None:
    message = ours.recv(8)
    return int(struct.unpack("<Q", message)[0]) if message else None


@pytest.mark.usefixtures("real_engine")
def test_the_count_of_calls_is_that_of_the_folder(tmp_path: Path) -> None:
    found: dict[int, dict[str, bytes]] = {}
    with held(tmp_path) as (folder, ours, process):
        while (calls := told(ours)) is not None:
            found.setdefault(calls, {path.name: path.read_bytes() for path in folder.iterdir()})
            ours.send(b"\n")
        assert process.wait() == 0
    assert found == {0: {}, 1: {"a": b""}, 2: {"a": b"one"}, 3: {"a": b"one"}, 4: {"b": b"one"}}
    assert json.loads((tmp_path / "report").read_text())["status"] == 0


@pytest.mark.usefixtures("real_engine")
def test_a_program_whose_holder_has_gone_goes_on(tmp_path: Path) -> None:
    with held(tmp_path) as (folder, ours, process):
        assert told(ours) == 0
        ours.close()
        assert process.wait(60) == 0
        assert [path.name for path in folder.iterdir()] == ["b"]
