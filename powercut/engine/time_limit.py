"""Engines that have to end by a time: at the end of a budget they are ended at once, whatever they are at."""

import subprocess
import threading
import time
from types import TracebackType
from typing import Self

from powercut.engine.engine import Interrupt, end_at_once


class TimeLimit(Interrupt):
    """An interrupt of the part of a command that has so many seconds. It is also that of the whole command, `parent`.

    A context manager: the time is over with the block at the latest.
    """

    def __init__(self, seconds: float, *, parent: Interrupt | None = None) -> None:
        super().__init__()
        self._parent = parent
        self._end = time.monotonic() + seconds
        self._timer = threading.Timer(max(0.0, seconds), self._expire)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()

    @property
    def requested(self) -> bool:
        """Whether the time is over, or the whole command is interrupted."""
        return super().requested or self._is_interrupted()

    @property
    def expired(self) -> bool:
        """Whether the time is over, and nobody has interrupted the command."""
        return super().requested and not self._is_interrupted()

    def left(self) -> float:
        """Seconds until the end; 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())

    def add(self, process: "subprocess.Popen[str]") -> None:
        """Puts a running engine under this switch and the parent's."""
        super().add(process)
        if self._parent is not None:
            self._parent.add(process)

    def discard(self, process: "subprocess.Popen[str]") -> None:
        """The engine has ended."""
        super().discard(process)
        if self._parent is not None:
            self._parent.discard(process)

    def _is_interrupted(self) -> bool:
        return self._parent is not None and self._parent.requested

    def _expire(self) -> None:
        with self._lock:
            self._requested = True
            running = list(self._running)
        for process in running:
            end_at_once(process)
