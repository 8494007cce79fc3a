"""A temporary folder goes with its process, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from powercut.base import scratch
from powercut.base.errors import HarnessError
from tests.interruptible import interruptible

HOLDER = """
import time
from powercut.base import scratch
with scratch.folder("powercut-test-") as folder:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "file").write_text("something")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_it_is_there_and_then_gone() -> None:
    with scratch.folder("powercut-test-") as folder:
        (folder / "file").write_text("something", encoding="utf-8")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_process_leaves_none(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=interruptible,
    ) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().decode().strip())
        assert (folder / "deep" / "file").exists()
        os.killpg(holder.pid, number)
        holder.wait(timeout=20)
    deadline = time.monotonic() + 20
    while folder.exists():
        assert time.monotonic() < deadline, f"{folder} is left"
        time.sleep(0.02)


def test_no_place_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(HarnessError, match="no temporary folder"), scratch.folder("powercut-test-"):
        pass


def test_a_file_without_a_name() -> None:
    with scratch.file(["one\n", "two\n"]) as path:
        assert subprocess.run(["cat", path], capture_output=True, check=True).stdout == b"one\ntwo\n"
    assert not os.path.exists(path)
