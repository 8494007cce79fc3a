"""A straight-line program recorded and judged by the engine, and what its answer lacks or makes up."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from powercut.base import paths
from powercut.program import run as program_run
from powercut.program import valgrind
from powercut.program.endings import environment
from replayer.reference.program import LINE_SIZE, ProgramError
from tests.program.builds import compiled
from tests.program.straight_judge import Script, Writer, text_of
from tests.program.straight_line import layout, workload
from tests.program.straight_reference import Case, Expected, Reference, Violation, expected

SOURCES = Path(__file__).parent / "programs" / "straight"
_INCLUDE = f"-I{paths.home() / 'targets/include'}"

#: Images of a program at most, and where each of them is run.
MOST_IMAGES, MOST_RUN = 6000, 300


@dataclass(frozen=True)
class Way:
    """How a case is recorded and judged."""

    tracer: str  # of the program: "llvm" or "valgrind"
    judge: str  # build of the commands: "llvm" or "plain"
    reads: str  # "reported", "traced", "both" or "none"
    native_box: int | None
    images: int | None

    def arguments(self) -> list[str]:
        words = ["--report-reads"] if self.reads in ("reported", "both") else []
        words += program_run.tracer() if self.reads in ("traced", "both") else []
        words += [] if self.native_box is None else ["--native-box", str(self.native_box)]
        return words + ([] if self.images is None else ["--images", str(self.images)])

    @property
    def at_once(self) -> bool:
        """Whether the first walk covers each crash point, so that findings come in their order."""
        return self.images is not None and self.images >= 64 * MOST_IMAGES


def draw_way(random: Random) -> Way:
    """Mostly plain programs, whose reads are found by closed pages and instructions that fault."""
    reads = random.choices(("reported", "both", "none", "traced"), (80, 8, 7, 5))[0]
    return Way(
        tracer="valgrind" if random.random() < 0.02 else "llvm",
        judge="plain" if random.random() < 0.75 else "llvm",
        reads=reads,
        native_box=random.choice((None, 0, 8)),
        images=random.choice((64 * MOST_IMAGES, 64 * MOST_IMAGES, None, random.choice((2, 8, 40, 100)))),
    )


def draw_case(random: Random, way: Way) -> tuple[Case, Expected]:
    """A program whose images are few enough to try them all."""
    few = way.reads in ("none", "traced")
    least = 0 if few else random.choice((0, 0, 300, 1000))
    while True:
        where = layout(random)
        drawn = replace(workload(random, where), thread_ends=way.tracer == "valgrind")
        if way.tracer == "valgrind" and any(step.what == "M" for step in drawn.steps):
            continue  # the tool sees the moves of a copy, which the library chooses
        writer = Writer(random, where, list(drawn.visible()))
        if random.random() < 0.4:
            recover, dump = writer.records()
            if random.random() < 0.5:
                recover = (*recover, *writer.recovery(strict=0.0))
        else:
            recover, dump = writer.recovery(strict=random.choice((0.0, 0.3, 0.6))), writer.dump()
        commands: list[tuple[str, Script]] = [("recover", recover)]
        if random.random() < 0.15:
            commands.append(("check", writer.recovery(strict=0.5)))
        if random.random() < 0.85:
            commands.append(("dump", dump))
        if random.random() < 0.15:
            commands.append(("probe", (*writer.write(), *writer.dump())))
        case = Case(drawn, tuple(commands), ordered=random.random() < 0.2)
        try:
            return case, expected(case, most=MOST_RUN if few else MOST_IMAGES, least=least)
        except ProgramError:
            continue


def build(folder: Path) -> None:
    """Both programs, by `powercut cc` and as anybody would build them."""
    words = ["-g", "-Wall", "-Wextra", "-Werror", _INCLUDE]
    # Without optimisation the compiler neither merges nor moves stores.
    for name, level in (("steps", "-O0"), ("judge", "-O2")):
        source = [*words, level, str(SOURCES / f"{name}.c")]
        compiled(folder / f"{name}-llvm", source)
        compiled(folder / f"{name}-plain", ["-gdwarf-4", *source], traced=False)


def record(folder: Path, case: Case, way: Way) -> Path:
    """The trace of the program's run."""
    pool, stream, trace = folder / "pool", folder / "stream", folder / "trace.pct"
    pool.write_bytes(case.workload.initial)
    stream.unlink(missing_ok=True)
    program = folder / ("steps-llvm" if way.tracer == "llvm" else "steps-plain")
    command, variables = [str(program), str(pool), case.workload.script()], environment()
    if way.tracer == "llvm":
        variables |= {"POWERCUT_STREAM": str(stream), "POWERCUT_POOL_FILES": str(pool)}
    else:
        command, variables = valgrind.command(command, stream=stream, pools=[pool], env=variables)
    subprocess.run(command, env=variables, check=True)
    convert = [str(paths.engine()), "convert", "--stream", str(stream), "--trace", str(trace)]
    subprocess.run(convert, check=True, capture_output=True)
    return trace


def recorded_programs(folder: Path, seeds: Iterable[int]) -> Iterator[tuple[int, Way, Case, Expected]]:
    """The seed, the way, the case and the right answer of each program, when its trace is in the folder."""
    for seed in seeds:
        random = Random(seed)
        way = draw_way(random)
        case, right = draw_case(random, way)
        record(folder, case, way)
        yield seed, way, case, right


def command_of(folder: Path, case: Case, way: Way) -> list[str]:
    """The engine's command line that judges the trace."""
    words = [str(paths.engine()), "program", "--trace", str(folder / "trace.pct"), "--model", case.workload.model]
    words += ["--atoms", case.workload.atoms, *(["--ordered"] if case.ordered else []), *way.arguments()]
    for name, script in case.commands:
        words += [f"--{name}", json.dumps([str(folder / f"judge-{way.judge}"), "{image}", text_of(script)])]
    return words


@dataclass(frozen=True)
class Answer:
    """The engine's."""

    result: dict[str, Any]
    findings: list[dict[str, Any]]

    @property
    def covered(self) -> bool:
        """Whether every crash state was looked at. The verdict is not complete where an output was not judged."""
        coverage = self.result["coverage"]
        return bool(coverage["covered"] == coverage["total"])


def judge(folder: Path, case: Case, way: Way) -> Answer:
    variables = {**environment(), "POWERCUT_WORK": ""}
    said = subprocess.run(command_of(folder, case, way), env=variables, capture_output=True, text=True, timeout=300)
    events = [json.loads(line) for line in said.stdout.splitlines()]
    results = [event for event in events if event["event"] == "result"]
    assert results, said.stdout + said.stderr
    return Answer(results[0], [event for event in events if event["event"] == "finding"])


def violation_of(finding: dict[str, Any]) -> Violation:
    step = finding["query"]["text"].split(":")[0].split()[0]
    ended = finding["expected"] == ["exit status 0"]
    return finding["invariant"], step, finding["found"] if ended else "output"


def differences(case: Case, way: Way, right: Expected, answer: Answer) -> list[str]:
    """Results of the engine that the reference does not have, or the other way round."""
    result, covered = answer.result, answer.covered
    told = sorted({(violation_of(finding), finding["crash_point"]["index"]) for finding in answer.findings})
    out = []

    def same(what: str, engine: object, reference: object) -> None:
        if engine != reference:
            out.append(f"{what}: the engine says {engine}, the reference {reference}")

    same("crash points", result["crash_points"], right.points)
    same("crash states", int(result["crash_states"]), right.states)
    same("covered all", int(result["coverage"]["covered"]) == right.states, covered)
    same("complete", result["coverage"]["kind"] == "complete", covered and right.unjudged == 0)
    same("verdict", result["verdict"], "inconsistent" if told else "consistent")
    out += [f"{wrong} is not so at crash point {at}" for wrong, at in told if at not in right.violations.get(wrong, [])]
    out += [text for finding in answer.findings for text in _wrong_image(case, right, finding)]
    if way.images is None or way.images >= right.most_states:
        same("coverage", covered, True)
    if covered:
        same("violations", sorted({wrong for wrong, _ in told}), sorted(right.violations))
        same("outcomes", result["leaves"], len(right.outcomes))
    if covered and way.at_once:
        first = {wrong: min(at for other, at in told if other == wrong) for wrong, _ in told}
        same("first crash points", first, {wrong: points[0] for wrong, points in right.violations.items()})
    return out


def _wrong_image(case: Case, right: Expected, finding: dict[str, Any]) -> list[str]:
    """A finding's image has to be legal, and to show what the finding says."""
    number = finding["crash_point"]["index"]
    if number >= len(right.left):
        return []
    pending, pool, now = right.left[number]
    lines = {line["offset"]: bytes.fromhex(line["bytes"]) for line in finding["image"]}
    if any(content not in pending.get(line, []) for line, content in lines.items()):
        return [f"the image of {violation_of(finding)} at crash point {number} is not legal"]
    image = bytearray(pool)
    for line, content in lines.items():
        image[line : line + LINE_SIZE] = content
    judged = Reference(case)
    shown = judged.violation(judged.outcome(bytes(image)), now)
    return [] if shown == violation_of(finding) else [f"the image of {violation_of(finding)} shows {shown}"]
