"""The whole run: all litmus tests and many random programs on each file system, side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from replayer.media.files import litmus

from .guarded_rig import GuardedRig
from .rig import Job, Outside, Result

MAIN = ("ext4", "xfs", "btrfs")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is run; the time grows with the product."""

    programs: int = 200  # random ones
    recordings: int = 5  # of each program
    images: int = 10  # of each recording, at most
    draw: int = 1  # the seed


@dataclass(frozen=True, slots=True)
class WholeRun:
    system: str
    effort: Effort
    tests: list[Result]
    programs: list[Result]
    seconds: float

    @property
    def results(self) -> list[Result]:
        return [*self.tests, *self.programs]

    @property
    def images(self) -> int:
        return sum(result.images for result in self.results)

    @property
    def refused(self) -> int:
        return sum(result.refused for result in self.results)

    @property
    def unsteady(self) -> int:
        return sum(result.unsteady for result in self.results)

    @property
    def legal(self) -> int:
        return sum(result.legal for result in self.results)

    @property
    def seen(self) -> int:
        return sum(result.seen for result in self.results)

    def outside(self) -> list[tuple[Result, Outside]]:
        return [(result, each) for result in self.results for each in result.outside]


def run(system: str, effort: Effort) -> WholeRun:
    """RigError where the rig itself fails."""
    job = Job(recordings=effort.recordings, images=effort.images, draw=effort.draw)
    begin = time.monotonic()
    with GuardedRig(system) as rig:
        tests = [rig.run(replace(job, test=test.name)) for test in litmus.load()]
        programs = [rig.run(replace(job, seed=seed)) for seed in range(effort.programs)]
    return WholeRun(system, effort, tests, programs, time.monotonic() - begin)


def run_all(systems: Sequence[str], effort: Effort) -> list[WholeRun]:
    with ThreadPoolExecutor(len(systems)) as pool:
        return list(pool.map(lambda system: run(system, effort), systems))


def complaints(whole: WholeRun) -> list[str]:
    """Each program with a tree outside of the profile."""
    found: dict[str, list[str]] = {}
    for result, each in whole.outside():
        why = f" {each.messages}" if each.messages else ""
        line = f"{each.tree}{why} at instants {each.instants}, recording {each.recording}, behind entry {each.entries}"
        found.setdefault(f"{whole.system}, {result.name}\n{result.text}", []).append(line)
    return [f"{head}\n  outside of the profile: " + "\n  ".join(lines[:5]) for head, lines in found.items()]
