"""Ctrl-C, kill -9 and closed pipes: findings stay, coverage is marked, nothing prints a traceback."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from tests.interruptible import ignored, interruptible

CLI = [sys.executable, "-m", "powercut"]


def start(house: Any, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*CLI, *arguments],
        cwd=house.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=interruptible,
    )


def environment() -> dict[str, str]:
    """The test's environment, in which this very powercut is found."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def wait_for_finding(house: Any) -> Path:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = list((house.out / "findings").glob("*.json"))
        if found:
            return found[0]
        time.sleep(0.02)
    raise AssertionError("the engine's finding never reached the disk")


@pytest.mark.parametrize("budget", [(), ("--budget", "5m")])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_keeps_and_prints_what_was_found(house: Any, number: signal.Signals, budget: tuple[str, ...]) -> None:
    house.scenario("slow_a")
    house.scenario("slow_b")
    process = start(house, "run", "level:published", "--jobs", "1", "--out", "out", "--json", *budget)
    file = wait_for_finding(house)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == ExitCode.FINDINGS
    assert "Traceback" not in err
    assert "Interrupted" in err
    first, second = json.loads(out)["runs"]
    assert first["verdict"] == "inconsistent"
    assert first["findings"][0]["file"] == str(file.relative_to(house.root))
    assert first["coverage"]["kind"] == "sampled"
    assert first["coverage"]["reason"] == "interrupted"
    assert (second["verdict"], second["coverage"]["reason"]) == ("unknown", "interrupted")
    assert (house.out / "report.html").is_file()


def test_a_second_interrupt_says_what_was_judged(house: Any) -> None:
    """It said "Nothing was judged", after runs that had findings on disk."""
    house.scenario("lost_a")
    house.scenario("stubborn")
    process = start(house, "run", "level:published", "--jobs", "1", "--out", "out")
    wait_for_finding(house)
    deadline = time.monotonic() + 30
    while not (house.root / "stubborn-runs").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    begun = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - begun < 10
    assert process.returncode == ExitCode.FINDINGS
    assert "Traceback" not in err
    assert "powercut: interrupted. 1 of 2 runs was judged to the end, 1 has findings." in err
    assert "'powercut report out' shows them." in err


def test_children_of_tests_are_interrupted_where_this_process_ignores_it(house: Any) -> None:
    """`nohup make test &` failed three tests, whose commands ignored the Ctrl-C that they were sent."""
    house.scenario("slow")
    with ignored(signal.SIGINT):
        process = start(house, "run", "level:published", "--out", "out")
    wait_for_finding(house)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == ExitCode.FINDINGS


def on_a_terminal(house: Any, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """The command with a terminal for all it prints, and the other end of that."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [*CLI, *arguments],
        cwd=house.root,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(),
        start_new_session=True,
        preexec_fn=interruptible,
    )
    os.close(theirs)
    return process, ours


def test_a_terminal_that_is_closed_leaves_a_report(house: Any) -> None:
    house.scenario("lost_a")
    house.scenario("slow_b")
    process, terminal = on_a_terminal(house, "run", "level:published", "--jobs", "1", "--out", "out")
    reader = threading.Thread(target=_drain, args=[terminal], daemon=True)
    reader.start()
    deadline = time.monotonic() + 30
    while not list((house.out / "checkpoints").glob("*slow_b*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    for _ in range(2):  # the shell's, and the kernel's
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
    os.close(terminal)
    process.wait(timeout=30)
    assert process.returncode in (ExitCode.FINDINGS, ExitCode.INCOMPLETE)
    record = json.loads((house.out / "runs" / "level-published-slow_b-adr.json").read_text())
    assert record["coverage"]["reason"] == "interrupted"
    assert (house.out / "report.html").is_file()


def test_a_terminal_that_is_closed_while_a_finding_is_told_leaves_a_report(house: Any) -> None:
    """The bars come back onto the terminal behind each finding: on a loaded machine they met one that was gone."""
    house.scenario("lost_a")
    house.scenario("lost_b")
    process, terminal = on_a_terminal(house, "run", "level:published", "--jobs", "1", "--out", "out")
    told = b""
    while b"lost-item" not in told:
        told += os.read(terminal, 4096)
    os.close(terminal)
    assert process.wait(timeout=30) == ExitCode.FINDINGS
    assert len(list((house.out / "runs").iterdir())) == 2
    assert (house.out / "report.html").is_file()


def _drain(terminal: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(terminal, 4096):
            pass


def test_nohup_is_respected(house: Any) -> None:
    house.scenario("slow")
    command = [*CLI, "run", "level:published", "--out", "out"]
    quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen(
        ["nohup", *command], cwd=house.root, env=environment(), preexec_fn=interruptible, **quiet
    )
    wait_for_finding(house)
    process.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert process.poll() is None
    process.terminate()
    assert process.wait(timeout=30) == ExitCode.FINDINGS


def test_findings_are_told_before_their_run_ends(house: Any) -> None:
    house.scenario("slow")
    process = start(house, "run", "level:published", "--out", "out")
    file = wait_for_finding(house)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert process.poll() is None
    assert line.startswith("FOUND: powercut: lost-item") and line.rstrip().endswith(str(file.relative_to(house.root)))
    process.terminate()
    out, _ = process.communicate(timeout=30)
    assert "ERROR: powercut: lost-item" in out


def test_kill_9_of_the_cli_loses_no_finding(house: Any) -> None:
    house.scenario("slow")
    process = start(house, "run", "level:published", "--out", "out")
    file = wait_for_finding(house)
    process.kill()
    process.communicate(timeout=30)
    assert json.loads(file.read_text())["invariant"] == "lost-item"
    assert not list((house.out / "findings").glob(".*"))


def test_a_run_whose_reader_has_gone_goes_on_and_says_what_it_found(house: Any) -> None:
    for number in range(3):
        house.scenario(f"lost_{number}")
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [*CLI, "run", "level:published", "--out", "out"],
        cwd=house.root,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        check=False,
    )
    os.close(writer)
    assert process.returncode == ExitCode.FINDINGS
    assert "Traceback" not in process.stderr
    assert "Exception ignored" not in process.stderr
    assert list((house.out / "findings").glob("*.json"))
    assert (house.out / "report.html").is_file()


def test_a_defect_of_powercut_is_neither_clean_nor_a_finding(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from powercut.cli import main as cli
    from powercut.runs import batch

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    house.scenario("clean")
    monkeypatch.setattr(batch, "run_one", broken)
    assert cli.main(["run", "level:published"]) == ExitCode.INCOMPLETE
    assert "this is a defect of powercut itself" in capsys.readouterr().err
