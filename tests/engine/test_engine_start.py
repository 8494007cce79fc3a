"""An engine starts at fixed addresses, and what else is started beside it does not."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from pathlib import Path

import pytest

from powercut.base.errors import EngineDied
from powercut.engine import engine


def moves() -> bool:
    """Whether a process that is started now has its memory at random addresses."""
    said = subprocess.run(["cat", "/proc/self/personality"], capture_output=True, text=True, check=True).stdout
    return not int(said, 16) & 0x0040000


def test_addresses_are_fixed_for_what_is_started_meanwhile_and_by_this_thread() -> None:
    before = moves()
    elsewhere: list[bool] = []
    with engine._fixed_addresses():
        assert not moves()
        thread = threading.Thread(target=lambda: elsewhere.append(moves()))
        # A new thread has what its maker has; one that was there before keeps its own.
        thread.start()
        thread.join()
    assert moves() == before
    assert elsewhere == [False]


def test_a_thread_beside_it_keeps_its_own() -> None:
    before = moves()
    entered, looked = threading.Event(), threading.Event()
    told: list[bool] = []

    def other() -> None:
        entered.wait(20)
        told.append(moves())
        looked.set()

    thread = threading.Thread(target=other)
    thread.start()
    with engine._fixed_addresses():
        entered.set()
        assert looked.wait(20)
    thread.join()
    assert told == [before]


def test_a_system_that_forbids_it_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forbids:
        @staticmethod
        def personality(wanted: ctypes.c_ulong) -> int:
            del wanted
            return -1

    monkeypatch.setattr(engine, "_LIBC", Forbids)
    with engine._fixed_addresses():
        assert isinstance(moves(), bool)


def test_an_engine_is_given_what_it_would_start_itself_again_for(tmp_path: Path) -> None:
    """base/repeatable_process.cc looks for these two."""
    script = tmp_path / "engine"
    script.write_text(
        f'#!/bin/sh\necho "$LD_BIND_NOW $(cat /proc/$$/personality)" >{tmp_path}/told\n', encoding="utf-8"
    )
    script.chmod(0o755)
    with pytest.raises(EngineDied):
        list(engine.stream(script, ["x"]))
    bound, personality = (tmp_path / "told").read_text(encoding="utf-8").split()
    assert (bound, int(personality, 16) & 0x0040000) == ("1", 0x0040000)
