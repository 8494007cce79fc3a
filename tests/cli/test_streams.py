"""Standard streams that are closed or full: one sentence and exit code 2, before any work is done."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from tests.cli.test_interrupt import environment


def shell(house: Any, redirected: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command with a redirection that only a shell can make."""
    command = shlex.join([sys.executable, "-m", "powercut", *arguments])
    return subprocess.run(
        ["sh", "-c", f"{command} {redirected}"],
        cwd=house.root, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("redirected", "said"),
    [
        (">&-", "standard output is closed"),
        (">/dev/full", "standard output is full"),
        ("2>&-", "standard error is closed"),
        ("2>/dev/full", "standard error is full"),
        (">&- 2>&-", ""),
        ("1</dev/null", "standard output cannot be written to"),
    ],
)
def test_a_stream_that_takes_nothing_is_refused_before_any_work(house: Any, redirected: str, said: str) -> None:
    """It ended with a traceback and "a defect of powercut itself", or with exit code 0, after all the work."""
    house.scenario("lost_one")
    answer = shell(house, redirected, "run", "level:published", "--out", "out")
    assert answer.returncode == ExitCode.USAGE
    told = answer.stdout + answer.stderr
    assert told.count("\n") == (1 if said else 0), told
    assert said in told
    assert not house.out.exists()


def test_a_closed_standard_input_is_an_empty_one(house: Any) -> None:
    house.scenario("clean_one")
    assert shell(house, "<&-", "run", "level:published", "--out", "out").returncode == ExitCode.CLEAN


def test_a_file_that_may_not_grow_is_no_defect_of_powercut(house: Any) -> None:
    """RLIMIT_FSIZE, here for what is printed alone."""
    house.scenario("clean_one")
    assert shell(house, "> whole.txt", "list", "scenarios").returncode == ExitCode.CLEAN
    words = shlex.join([sys.executable, "-m", "powercut", "--help"])
    answer = subprocess.run(
        ["sh", "-c", f"ulimit -f 1; {words} > short.txt"],
        # Unbuffered, Python itself loses what a short write leaves.
        cwd=house.root, env={**environment(), "PYTHONUNBUFFERED": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.returncode == ExitCode.USAGE
    assert "standard output took no more (File too large)" in answer.stderr
    assert "defect" not in answer.stderr
    assert "Traceback" not in answer.stderr
