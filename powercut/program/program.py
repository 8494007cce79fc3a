"""Program mode: any program with a command that uses a pool and a command that recovers from it.

A `Program` is what the command line said, checked: words instead of text, files instead of names. `recording.py` says
what is recorded, `recovery.py` how crash images are judged, and `pools.py` what a pool file must be.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from powercut.program.options import SECTOR_SIZES
from powercut.program.recording import Recording
from powercut.program.recovery import Recovery


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder that is judged in the place of pools, and the file systems that it may lie on."""

    path: Path
    #: The switches of each profile by its name, in the order asked for.
    profiles: Mapping[str, Mapping[str, str]]
    #: Bytes that the disk writes as a whole.
    sector_size: int = SECTOR_SIZES[0]

    def described(self) -> dict[str, object]:
        """As it stands in records."""
        profiles = {name: dict(value) for name, value in self.profiles.items()}
        return {"folder": str(self.path), "profiles": profiles, "sector_size": self.sector_size}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A run in program mode. `recording` is None for a trace that was recorded before."""

    name: str
    recording: Recording | None = None
    recovery: Recovery
    #: None: the program keeps its data in pools.
    folder: Folder | None = None
    notes: tuple[str, ...] = field(default=())
