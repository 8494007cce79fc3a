"""The finding's commands on a mounted image, one after the other, and the end of what they leave running."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from powercut.confirm.outcomes import Step

SECONDS_TO_DIE = 5


def run(
    commands: Sequence[tuple[str, Sequence[str]]], *, cwd: str, environment: Mapping[str, str], seconds: float
) -> list[Step]:
    """The steps up to the first that does not end well."""
    found = []
    for name, words in commands:
        step = _run(name, words, cwd=cwd, environment=environment, seconds=seconds)
        found.append(step)
        if step.status != 0:
            break
    return found


def _run(name: str, words: Sequence[str], *, cwd: str, environment: Mapping[str, str], seconds: float) -> Step:
    with subprocess.Popen(
        words,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Step(name=name, status=None)
    return Step(name=name, status=process.returncode, output=printed.decode("utf-8", "surrogateescape"))


def end_all_but(kept: int) -> None:
    """Ends every process that this one has started or adopted, except one."""
    end = time.monotonic() + SECONDS_TO_DIE
    while (left := _children() - {kept}) and time.monotonic() < end:
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(process, 0)


def _children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        found.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return found
