"""`powercut litmus`: holds the engine's persistency models to the litmus suite.

Each test is asked of the engine and of the brute-force reference (`replayer/reference`); both must give the exact
set of outcomes in the file. Tests of files are asked of the engine and of a reference of their own, under every
profile of a file system.
Tests that need a store buffer are asked with one; those that need a write-combining buffer as well are listed as out
of scope and counted nowhere else.

Exit status: 0 all passed, 1 a test failed, 2 the suite is malformed or the engine missing, 3 a judge broke down.
"""

from __future__ import annotations

import json as json_format
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, PowercutError
from powercut.base.exit_codes import ExitCode
from powercut.litmus.program import LitmusTest, Outcome, Request, load
from powercut.models import profiles

REFERENCE = [sys.executable, "-m", "replayer.reference"]
#: It judges the reference of files by the tests of files; behind it the engine may stand, which is judged then.
FILES = [sys.executable, "-m", "replayer.media.files"]
TIMEOUT_SECONDS = 120

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    test: str
    judge: str
    message: str


def run(json: bool, *, suite: Path | None = None) -> int:
    """Runs the suite, prints the result, and returns the exit status."""
    try:
        tests = load(suite or suite_dir())
        scope = [test for test in tests if test.is_in_scope]
        judges = {"engine": [str(paths.engine()), "model"], "reference": REFERENCE}
        failures = [failure for name, command in judges.items() for failure in check(scope, name, command)]
        of_files, files = check_files([str(paths.engine())]) if suite is None else ([], 0)
    except PowercutError as error:
        print(error.paragraph(), file=sys.stderr)
        return error.exit_code
    out_of_scope = [test.name for test in tests if not test.is_in_scope]
    threaded = [test.name for test in scope if test.in_every_schedule]
    buffered = [test.name for test in scope if test.needs is not None]
    failed = {failure.test for failure in failures}
    failed_files = {failure.test for failure in of_files}
    for failure in (*failures, *of_files):
        print(f"FAILED {failure.test} ({failure.judge}): {failure.message}", file=sys.stderr)
    if json:
        result = {
            "passed": len(scope) - len(failed),
            "failed": len(failed),
            "with_threads": len(threaded),
            "with_store_buffers": len(buffered),
            "out_of_scope": out_of_scope,
            "files": {"passed": files - len(failed_files), "failed": len(failed_files), "profiles": profiles.names()},
            "failures": [asdict(failure) for failure in (*failures, *of_files)],
        }
        print(json_format.dumps(result))
    else:
        for name in out_of_scope:
            print(f"out of scope (needs a write-combining buffer): {name}", file=sys.stderr)
        print(
            f"litmus: {len(scope) - len(failed)} passed, {len(failed)} failed, {len(out_of_scope)} out of scope; "
            f"of those judged, {len(threaded)} in every schedule of their threads, {len(buffered)} with store buffers"
        )
        print(
            f"files: {files - len(failed_files)} passed, {len(failed_files)} failed, "
            f"each under {len(profiles.names())} profiles"
        )
    return ExitCode.FINDINGS if failed or failed_files else ExitCode.CLEAN


def suite_dir() -> Path:
    return paths.home() / "replayer" / "media"


def check(tests: Sequence[LitmusTest], judge: str, command: Sequence[str]) -> list[Failure]:
    """Asks one judge all tests in one process."""
    asked = [requests_of(test) for test in tests]
    answers = iter(ask(judge, command, [request for requests in asked for request in requests]))
    failures = []
    for test, requests in zip(tests, asked, strict=True):
        message = judge_all(test, [next(answers) for _ in requests])
        if message is not None:
            failures.append(Failure(test.name, judge, message))
    return failures


def check_files(engine: Sequence[str], command: Sequence[str] = FILES) -> tuple[list[Failure], int]:
    """The failures of the tests of files under every profile, by both judges, and the number of tests."""
    failures: list[Failure] = []
    tests = 0
    for judge, words in (("engine", [*command, *engine]), ("reference", command)):
        answers = ask(f"{judge} of files", words, [{"profile": name} for name in profiles.names()])
        failures += [Failure(test, judge, fault) for answer in answers for test, fault in answer["faults"]]
        tests = answers[0]["tests"]
    return failures, tests


def requests_of(test: LitmusTest) -> list[Request]:
    """The question to a judge about one test."""
    if test.in_every_schedule:
        return [test.every_schedule()]
    whole = test.whole()
    return [test.plain(), test.probed(), *([whole] if whole is not None else [])]


def judge_all(test: LitmusTest, answers: Sequence[Answer]) -> str | None:
    """Why the answers to `requests_of(test)` are wrong, or None when they are right."""
    if test.in_every_schedule:
        return judge_threads(test, answers[0])
    plain, probed, *whole = answers
    return judge_one(test, plain, probed, whole[0] if whole else None)


def ask(judge: str, command: Sequence[str], requests: Sequence[Request]) -> list[Answer]:
    """One answer per request, in order. A judge that breaks down is a harness error: nothing passed."""
    where, by_hand = f"litmus {judge}", f"Run '{' '.join(command)}' by hand; it reads programs as JSON lines."
    text = "".join(json_format.dumps(request) + "\n" for request in requests)
    try:
        process = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, cwd=paths.home(), timeout=TIMEOUT_SECONDS
        )
        answers: list[Answer] = [json_format.loads(line) for line in process.stdout.splitlines()]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"no readable answer: {error}", where=where, next_step=by_hand) from error
    if process.returncode != 0 or len(answers) != len(requests):
        what = f"exit status {process.returncode}, {len(answers)} answers to {len(requests)} programs"
        message = process.stderr.strip() or "no message"
        raise HarnessError(f"{what} ({message})", where=where, next_step=by_hand)
    return answers


def judge_one(test: LitmusTest, plain: Answer, probed: Answer, whole: Answer | None) -> str | None:
    """Why the answers are wrong, or None when they are right."""
    try:
        at_cut = _point(test, plain, "after", len(test.plain()["events"]) - 1)
        seen = test.project(at_cut)
        if seen != test.allowed:
            return _difference(test.allowed, seen)
        behind_probes = test.project(_point(test, probed, "after", len(test.probed()["events"]) - 1))
        if behind_probes != test.allowed:
            return f"with a probe in every line: {_difference(test.allowed, behind_probes)}"
        if test.states is not None and at_cut["states"] != str(test.states):
            return f"{at_cut['states']} states, expected {test.states}"
        for point in whole["crash_points"] if whole is not None else []:
            if point.get("before") == test.cut and (again := test.project(point)) != test.allowed:
                return f"as crash point 'before {test.cut}' of the whole program: {_difference(test.allowed, again)}"
    except (KeyError, TypeError, ValueError) as error:
        return f"cannot read the answer ({type(error).__name__}: {error}): {plain}"
    return None


def judge_threads(test: LitmusTest, answer: Answer) -> str | None:
    """The question to a judge about a test with threads."""
    try:
        left = test.left(answer)
    except (KeyError, TypeError, ValueError) as error:
        return f"cannot read the answer ({type(error).__name__}: {error}): {answer}"
    return None if left == test.allowed else _difference(test.allowed, left)


def _point(test: LitmusTest, answer: Answer, side: str, index: int) -> Mapping[str, Any]:
    """The cut is the last crash point; in flight, the first one with its index. In the middle of an operation on NOR
    flash the cut is any of its crash points."""
    if test.part is not None and test.in_flight:
        middle = [point for point in answer["crash_points"] if point.get("during") == index]
        images = sorted({image for point in middle for image in point["images"]})
        return {"images": images, "states": str(sum(int(point["states"]) for point in middle))}
    points: list[Mapping[str, Any]] = [point for point in answer["crash_points"] if point.get(side) == index]
    if not points:
        raise ValueError(f"no crash point {side} event {index}")
    return points[0] if test.in_flight else points[-1]


def _difference(expected: frozenset[Outcome], seen: frozenset[Outcome]) -> str:
    parts = []
    if missed := expected - seen:
        parts.append(f"legal but missed: {_show(missed)}")
    if illegal := seen - expected:
        parts.append(f"reported but illegal: {_show(illegal)}")
    return "; ".join(parts)


def _show(outcomes: frozenset[Outcome]) -> str:
    return ", ".join(" ".join(f"{name}={value:#x}" for name, value in outcome) for outcome in sorted(outcomes))
