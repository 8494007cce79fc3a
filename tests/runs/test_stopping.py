"""Tasks in threads end at a signal, however early it comes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.interruptible import interruptible

#: The first task asks for the signal while the second has not begun, and ends when it is told to stop.
PROGRAM = """
import os, signal, threading
from powercut.runs.stopping import stoppable

begun, told = threading.Event(), threading.Event()

def first():
    begun.set()
    os.kill(os.getpid(), signal.SIGINT)
    return told.wait()

class Tasks(list):
    def __iter__(self):
        yield self[0]
        begun.wait()
        for _ in range(100):  # the handler runs between two of these
            told.wait(0.01)
        yield self[1]

with stoppable(Tasks([first, told.wait]), jobs=2, stop=told.set) as futures:
    print([future.cancelled() or future.result() for future in futures])
"""


def test_a_signal_that_comes_while_tasks_begin_stops_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        preexec_fn=interruptible,
    )
    assert (done.returncode, done.stdout) == (0, "[True, True]\n"), done.stderr
