"""How many trees a power cut may leave of a recorded folder, at each crash point and under each profile.

The engine counts them (replayer/media/files/PROFILES.md); no recovery runs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from powercut.base import scratch
from powercut.base.errors import UsageError
from powercut.engine import engine, events
from powercut.engine.engine import Interrupt
from powercut.models import profiles
from powercut.models.profiles import Profile

#: The file systems that most people have.
USUAL = ("ext4", "xfs", "btrfs")


@dataclass(frozen=True, kw_only=True)
class CrashPoint:
    """An instant before, during or after a call."""

    side: str
    call: int
    #: The number of distinct trees in decimal digits, which may be thousands; None: counting takes too long.
    trees: str | None

    def place(self) -> str:
        """The instant, for people."""
        return f"{self.side} call {self.call}" if self.call else "at the start"


@dataclass(frozen=True, kw_only=True)
class TreesOfProfile:
    """The crash points of a recording under one profile, in order."""

    profile: str
    crash_points: list[CrashPoint]

    def most(self) -> CrashPoint | None:
        """The first crash point with the most trees, of those whose trees were counted."""
        counted = [point for point in self.crash_points if point.trees is not None]
        return max(counted, key=lambda point: (len(point.trees or ""), point.trees), default=None)

    def uncounted(self) -> int:
        """The number of crash points whose trees were not counted."""
        return sum(point.trees is None for point in self.crash_points)


def chosen(names: str | None) -> list[Profile]:
    """The profiles of a list such as 'ext4,posix', each once; without one, those of the usual file systems. UsageError
    for a name that is none, and for two profiles of one name."""
    words = USUAL if names is None else [word.strip() for word in names.split(",") if word.strip()]
    if not words:
        raise UsageError(
            "no file system was named", where="--fs", next_step=f"Leave it out, or write --fs {','.join(USUAL)}."
        )
    found: dict[str, Profile] = {}
    for word in dict.fromkeys(words):
        profile = profiles.named(word)
        if profile.name in found:
            raise UsageError(
                f"two profiles have the name '{profile.name}'",
                where=f"--fs {word}",
                next_step="Give your own file another name.",
            )
        found[profile.name] = profile
    return list(found.values())


def switches(asked: Sequence[Profile]) -> dict[str, dict[str, str]]:
    """The switches of each profile by its name, in the order asked for."""
    return {profile.name: asdict(profile.switches) for profile in asked}


def profiles_file(chosen: Mapping[str, Mapping[str, str]]) -> AbstractContextManager[str]:
    """A file of switches, as the engine reads them, in the body."""
    return scratch.file([json.dumps({name: dict(value) for name, value in chosen.items()})])


def count(
    engine_path: Path, trace: Path, asked: Sequence[Profile], *, interrupt: Interrupt | None = None
) -> Iterator[TreesOfProfile]:
    """The trees of a recording under each profile. UsageError for what is no recording of a folder."""
    with profiles_file(switches(asked)) as file:
        arguments = ["trees", "--trace", str(trace), "--profiles", file]
        for event, _ in engine.stream(engine_path, arguments, interrupt=interrupt):
            if isinstance(event, events.Trees):
                points = [
                    CrashPoint(side=point.side, call=point.call, trees=point.trees) for point in event.crash_points
                ]
                yield TreesOfProfile(profile=event.profile, crash_points=points)
