"""Random programs of calls, and recoveries and continuations that a seed scripts and that change the folder.

With `--nested 1`, and with `--continue`, the verdicts of the engine are those of a brute force.

The reference tells every legal tree of the program. Recovery is recorded on each, and the continuation behind it. The
reference tells what a cut inside of these calls leaves, and recovery runs on all of that.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from powercut.models import profiles
from powercut.models.switches import Switches
from replayer.media.files.calls import Call
from replayer.media.files.programs import Program, generate
from replayer.media.files.real.folder import PAGE
from tests.files.brute_force import Judge, SecondCuts, wrong_lives, wrong_trees
from tests.files.test_random_recoveries import explored, recovery
from tests.files.test_trees_of_recordings import in_bytes, recorded, usable

__all__ = ["recovery"]  # the fixture

#: File systems on which no name leads to an inode that never reached the disk: such a one cannot be laid out.
NAMES = ("ext4", "xfs", "btrfs")
PATHS = ("a", "b")
PROGRAMS, LONG_PROGRAMS = 1, 200


@dataclass
class Case:
    """A program, recorded, and the scripts of its recovery and of its continuation."""

    seed: int
    folder: Path
    recovery: Path
    program: Program
    data: Path
    trace: Path

    def script(self, what: str) -> str:
        seed = f"{what} {self.seed}"
        return f"{seed.split()[-1]}{len(what)} {Random(seed).randint(1, 3)}:2 {' '.join(PATHS)}"

    def engine(self, *, nested: int = 0, more: Sequence[str] = ()) -> dict[str, Any]:
        words = [str(self.recovery), "{image}", *self.script("second cut").split()]
        return explored(self.data, self.trace, words, self.folder, names=NAMES, nested=nested, more=more)

    def judge(self) -> Judge:
        scripts = f"if [ $1 = continue ]; then set -- $2 {self.script('life')}; else set -- $2 "
        scripts += f'{self.script("second cut")}; fi; exec {self.recovery} "$@"'
        return Judge(self.folder / "image", shlex.join(["sh", "-c", scripts, "recovery"]))

    def held(self, result: dict[str, Any], wrong: Callable[[Judge, Sequence[Call], Switches], str]) -> list[str]:
        """Holds the verdicts of the engine against `wrong`, which says what is wrong under a file system."""
        made = [in_bytes(call, PAGE // self.program.page) for call in self.program.calls]
        judge, found = self.judge(), []
        for row, name in zip(result["profiles"], NAMES, strict=True):
            found.append(wrong(judge, made, profiles.named(name).switches))
            verdict = "consistent" if found[-1] == "none" else "inconsistent"
            assert (row["verdict"], row["complete"]) == (verdict, True), (
                f"{name} {self.seed} {self.program} {found[-1]}"
            )
        return found


def second_cuts(case: Case) -> list[str]:
    """The verdicts with cuts inside recovery, which are those of the brute force."""

    def wrong(judge: Judge, made: Sequence[Call], switches: Switches) -> str:
        if any(wrong_trees(made, switches, judge, dumps=False)):
            return "first"
        second = SecondCuts(judge, switches, case.folder / "recovery")
        return "second cut" if any(wrong_trees(made, switches, judge, dumps=False, then=second)) else "none"

    return case.held(case.engine(nested=1), wrong)


def second_lives(case: Case) -> list[str]:
    """The verdicts over two lives, which are those of the brute force, with lives merged and without."""
    words = [str(case.recovery), "{image}", *case.script("life").split()]
    more = ["--continue", json.dumps(words)]

    def wrong(judge: Judge, made: Sequence[Call], switches: Switches) -> str:
        if any(wrong_trees(made, switches, judge, dumps=False)):
            return "first"
        return wrong_lives(made, switches, judge, case.folder / "recovery", dumps=False) or "none"

    merged, each = (case.engine(more=[*more, *option]) for option in ([], ["--no-merge-lives"]))
    told = [
        [(row["verdict"], row["complete"], row["crash_states"]) for row in one["profiles"]] for one in (merged, each)
    ]
    assert told[0] == told[1]
    lives = [one["coverage"]["lives"] for one in (merged, each)]
    assert lives[0]["begun"] >= lives[0]["new"] and lives[1]["begun"] == lives[1]["new"]
    return case.held(merged, wrong)


def _run(
    seeds: range,
    recovery: Path,
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    judged: Callable[[Case], list[str]],
) -> Counter[str]:
    told: Counter[str] = Counter()
    for seed in seeds:
        program = generate(Random(seed))
        if not usable(program):
            continue
        of_seed = folder / str(seed)
        of_seed.mkdir()
        data, trace = recorded(program, of_seed, capfd)
        told.update(judged(Case(seed, of_seed, recovery, program, data, trace)))
    return told


@pytest.mark.parametrize("judged", [second_cuts, second_lives])
def test_random_programs(
    judged: Callable[[Case], list[str]], recovery: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert _run(range(PROGRAMS), recovery, tmp_path, capfd, judged)


@pytest.mark.long
@pytest.mark.parametrize(
    ("judged", "kinds"),
    [(second_cuts, ("first", "second cut", "none")), (second_lives, ("first", "continuation", "second cut", "none"))],
)
def test_many_random_programs(
    judged: Callable[[Case], list[str]],
    kinds: tuple[str, ...],
    recovery: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    told = _run(range(20_000, 20_000 + LONG_PROGRAMS), recovery, tmp_path, capfd, judged)
    assert min(told[kind] for kind in kinds) > 10, told
