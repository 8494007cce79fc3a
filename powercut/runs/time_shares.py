"""How a time is split over runs that share some slots: equally, and what one leaves goes to those that wait.

A slot is a run at a time. A run that begins is given its part of all the time that the slots still have until the end.
A slot has the time in which it idles, and the time that its running run will not use. Runs that end early thus make the
parts of later ones longer.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class TimeShares:
    """The time until `end` on the `clock`, over `slots`. Used from several threads."""

    end: float
    slots: int
    clock: Callable[[], float] = time.monotonic
    _running: dict[int, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def left(self) -> float:
        """Seconds until the end; 0 when it has passed."""
        return max(0.0, self.end - self.clock())

    def begin(self, run: int, *, waiting: int) -> float:
        """The part, in seconds, of a run that begins now; `waiting` counts it and all that have not begun."""
        with self._lock:
            left = self.left()
            idle = max(1, self.slots - len(self._running))
            after = sum(max(0.0, self.end - max(until, self.clock())) for until in self._running.values())
            share = min(left, (idle * left + after) / max(1, waiting))
            self._running[run] = self.clock() + share
            return share

    def finish(self, run: int) -> None:
        """The run has ended; the rest of its time is there for others."""
        with self._lock:
            self._running.pop(run, None)
