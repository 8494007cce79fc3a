"""`python -m replayer.tests.long_run --programs 100000 --seed 1`: engine against reference, at length.

Run it from the project's folder. Exit status 0 when all agree, 1 when some differ; the first differences are shown.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from random import Random

from powercut.base import paths
from powercut.base.errors import PowercutError
from replayer.reference.media import answer
from replayer.tests.engine import EngineModel, disagreement
from replayer.tests.programs import generate

MAX_SHOWN = 5
PROGRESS_EVERY = 10_000


@dataclass(slots=True)
class Report:
    seed: int
    programs: int = 0
    crash_points: int = 0
    states: int = 0
    differing: int = 0
    differences: list[str] = field(default_factory=list)  # the first MAX_SHOWN

    def summary(self) -> str:
        return (
            f"seed {self.seed}: {self.programs} programs, {self.crash_points} crash points, {self.states} states, "
            f"{self.differing} programs differ"
        )


def compare(engine: EngineModel, *, programs: int, seed: int, max_atoms: int = 8, progress: bool = False) -> Report:
    report, random = Report(seed), Random(seed)
    while report.programs < programs:
        program = generate(random, max_atoms=max_atoms)
        expected = answer(program)
        difference = disagreement(program, engine.answer(program), expected)
        report.programs += 1
        report.crash_points += len(expected["crash_points"])
        report.states += sum(int(point["states"]) for point in expected["crash_points"])
        if difference is not None:
            report.differing += 1
            if len(report.differences) < MAX_SHOWN:
                report.differences.append(difference)
        if progress and report.programs % PROGRESS_EVERY == 0:
            print(report.summary(), file=sys.stderr)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the engine's persistency models with the reference.")
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-atoms", type=int, default=10, help="atoms per line (the work is exponential in it)")
    options = parser.parse_args()
    try:
        with EngineModel(paths.engine()) as engine:
            report = compare(
                engine, programs=options.programs, seed=options.seed, max_atoms=options.max_atoms, progress=True
            )
    except PowercutError as error:
        print(error.paragraph(), file=sys.stderr)
        return error.exit_code
    for difference in report.differences:
        print(difference, file=sys.stderr)
    print(report.summary())
    return 1 if report.differing else 0


if __name__ == "__main__":
    sys.exit(main())
