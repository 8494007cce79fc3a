"""Running foreign commands: how the commands ended, their output, and that no process is left."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from powercut.engine.engine import Interrupt, Interrupted
from powercut.engine.supervise import Ended, StartError, supervised
from powercut.engine.supervisor import Capture
from tests.interruptible import ignored
from tests.program.program_mode import processes


def run(tmp_path: Path, *command: str, timeout: float | None = 20, **options: Any) -> Ended:
    with supervised(command, cwd=tmp_path, environment=os.environ, timeout=timeout, **options) as ended:
        return ended


def test_status_signal_and_output(tmp_path: Path) -> None:
    assert run(tmp_path, "true").status == 0
    ended = run(tmp_path, "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (ended.status, ended.how(), ended.stopped) == (3, "exit status 3", None)
    assert (ended.stdout.lines(), ended.stderr.lines()) == (["out"], ["err"])
    assert run(tmp_path, "sh", "-c", "kill -SEGV $$").how() == "signal SIGSEGV"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_a_command_does_not_ignore_what_powercut_ignores(tmp_path: Path, number: signal.Signals) -> None:
    """A program was recorded with SIGINT ignored, where powercut was started in the background of a script."""
    with ignored(number):
        assert run(tmp_path, "sh", "-c", f"kill -{number} $$; echo survived").status == -number


def test_it_runs_in_its_folder_without_input(tmp_path: Path) -> None:
    assert run(tmp_path, "pwd").stdout.lines() == [str(tmp_path)]
    assert run(tmp_path, "cat").stdout.lines() == []


def test_output_that_is_wanted_whole_is_in_files(tmp_path: Path) -> None:
    folder = tmp_path / "output"
    folder.mkdir()
    ended = run(
        tmp_path, "sh", "-c", "echo out; echo err >&2; head -c 200000 /dev/zero; echo; echo last", output=folder
    )
    assert (folder / "stdout").read_bytes() == b"out\n" + bytes(200_000) + b"\nlast\n"
    assert (folder / "stderr").read_bytes() == b"err\n"
    assert (ended.stdout.lines()[0], ended.stdout.lines()[-1], ended.stderr.lines()) == ("out", "last", ["err"])
    assert len(ended.stdout.head) + len(ended.stdout.tail) + ended.stdout.dropped == 200_010


def test_long_output_keeps_its_ends(tmp_path: Path) -> None:
    output = run(tmp_path, "sh", "-c", "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last").stdout
    assert len(output.head) + len(output.tail) + output.dropped == 6 + 3_000_000 + 1 + 5
    assert output.dropped > 2_900_000
    shown = output.shown()
    assert (shown[0], shown[-1]) == ("first", "last")
    assert sum(map(len, shown)) < 2000


@pytest.mark.parametrize("sizes", [[5], [32768], [32769], [1, 40000, 1], [40000, 40000], [20000] * 5])
def test_what_is_kept_is_the_beginning_and_the_end(sizes: list[int]) -> None:
    capture, whole = Capture(), b""
    for number, size in enumerate(sizes):
        piece = bytes([number + 1]) * size
        capture.add(piece)
        whole += piece
    assert bytes(capture.head) == whole[: len(capture.head)]
    assert bytes(capture.tail) == whole[len(whole) - len(capture.tail) :]
    assert len(capture.head) + len(capture.tail) == min(len(whole), 2 * 32768)


def test_a_driver_feeds_the_command(tmp_path: Path) -> None:
    ended = run(tmp_path, "cat", driver=["sh", "-c", "echo a; echo b; echo no >&2; exit 4"])
    assert ended.stdout.lines() == ["a", "b"]
    assert (ended.driver_status, ended.driver_stderr.lines()) == (4, ["no"])
    assert run(tmp_path, "head", "-n1", driver=["yes"]).stdout.lines() == ["y"]


def test_what_is_left_behind_is_named_and_ended(tmp_path: Path) -> None:
    mark = f"{os.getpid()}.25"
    # Out of the session, out of the group, and without a parent.
    ended = run(tmp_path, "sh", "-c", f"(setsid sleep {mark} &) ; sleep {mark} & exit 0")
    assert sorted(ended.left) == [f"sleep {mark}"] * 2
    assert processes(mark) == []


def test_one_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    begun = time.monotonic()
    ended = run(tmp_path, "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", timeout=0.1)
    assert (ended.stopped, ended.how()) == ("timeout", "signal SIGKILL")
    assert time.monotonic() - begun < 6


def test_an_interruption_ends_it(tmp_path: Path) -> None:
    interrupt = Interrupt()
    threading.Timer(0.2, interrupt.request).start()
    with pytest.raises(Interrupted):
        run(tmp_path, "sleep", "30", interrupt=interrupt)


def test_what_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file"):
        run(tmp_path, "/no/such/program")
    with pytest.raises(StartError, match="No such file"):
        run(tmp_path, "cat", driver=["/no/such/driver"])


def test_the_scratch_folder_stays_while_all_is_well(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    run(tmp_path, "true", scratch=scratch)
    assert scratch.is_dir()
