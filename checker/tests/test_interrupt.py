"""Ctrl-C, kill -9 and closed pipes: findings stay, coverage is marked, nothing prints a traceback."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from powercut.exit_codes import ExitCode

CLI = [sys.executable, "-m", "powercut"]


def start(house: Any, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*CLI, *arguments],
        cwd=house.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
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
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
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


def test_kill_9_of_the_cli_loses_no_finding(house: Any) -> None:
    house.scenario("slow")
    process = start(house, "run", "level:published", "--out", "out")
    file = wait_for_finding(house)
    process.kill()
    process.communicate(timeout=30)
    assert json.loads(file.read_text())["invariant"] == "lost-item"
    assert not list((house.out / "findings").glob(".*"))


def test_closed_pipe_is_silent(house: Any) -> None:
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
    assert process.returncode == ExitCode.INCOMPLETE
    assert "Traceback" not in process.stderr
    assert "Exception ignored" not in process.stderr
    assert list((house.out / "findings").glob("*.json"))


def test_a_defect_of_powercut_is_neither_clean_nor_a_finding(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from powercut import batch, cli

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    house.scenario("clean")
    monkeypatch.setattr(batch, "run_one", broken)
    assert cli.main(["run", "level:published"]) == ExitCode.INCOMPLETE
    assert "this is a defect of powercut itself" in capsys.readouterr().err
