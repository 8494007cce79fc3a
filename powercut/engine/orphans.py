"""Ends the processes that a killed engine leaves behind; they come to the command.

An engine ends all processes that it, or the code that it ran, has started. Only a killed engine cannot. Processes that
had put themselves into a session of their own then go to the next subreaper above. One such process is the guardian of
the engine's crash images (checker/subjects/program/processes/guardian.h), which removes the images and ends by itself.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from powercut.engine import supervisor

_PR_SET_CHILD_SUBREAPER = 36
_SECONDS = 2.0
_GUARDIAN = b"powercut-guard"


@contextmanager
def ended() -> Iterator[None]:
    """Around a command that has this process for itself: when the body ends, no descendant is left."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, MemoryError):  # where even /proc cannot be read, the kernel is left to it
            _end_all(time.monotonic() + _SECONDS)


def _end_all(deadline: float) -> None:
    while (left := supervisor.descendants()) and time.monotonic() < deadline:
        for pid in left:
            if not _guards(pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _guards(pid: int) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:
        return file.read().strip() == _GUARDIAN
    return False
