"""Program mode: any program with a command that uses a pool and a command that recovers from it.

A `Program` is what the command line said, checked: words instead of text, files instead of names. `recording.py` says
what is recorded, `recovery.py` how crash images are judged, and `pools.py` what a pool file must be.
"""

from dataclasses import dataclass, field

from powercut.program.recording import Recording
from powercut.program.recovery import Recovery


@dataclass(frozen=True, kw_only=True)
class Program:
    """A run in program mode. `recording` is None for a trace that was recorded before."""

    name: str
    recording: Recording | None = None
    recovery: Recovery
    notes: tuple[str, ...] = field(default=())
