"""A mutant of the engine: how it is built in front of a build's libraries, and which suite notices it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from powercut.base import paths

SECONDS = 600  # for one suite; a mutant that hangs it is detected as well
ROOMS = ("base", "record", "view", "replayer", "checker", "commands")  # those whose tests run in seconds
PROGRAMS = ("bin/powercut-engine", *(f"bin/powercut_{room}_test" for room in ROOMS))
SUITES = ("gtests", "edits", "schedules", "corpus", "litmus", "agreement")  # of the explorer, the quick ones first
ALL_SUITES = (*SUITES, "trees", "calls", "nor")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """`old` stands exactly once in `file`; `new` takes its place. One of `suites` must notice."""

    name: str
    file: str
    old: str
    new: str
    suites: tuple[str, ...] = SUITES


def make(mutant: Mutant, build: Path, out: Path) -> None:
    """Builds the engine and the tests that have the mutant in them into `out`/bin."""
    source = paths.home() / mutant.file
    text = source.read_text(encoding="utf-8")
    count = text.count(mutant.old)
    assert count == 1, f"{mutant.file} has {mutant.old!r} {count} times; bring the mutant up to date"
    # The mutated file keeps its name, so that the two differ in nothing else.
    mutated = out / source.name
    mutated.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    compiled = mutated.with_suffix(".o")
    database = json.loads(run(["ninja", "-C", str(build), "-t", "compdb"]))
    command = next(shlex.split(e["command"]) for e in database if e["file"] == str(source) and " -c " in e["command"])
    room = re.search(r"/(powercut_\w+)\.dir/", command[command.index("-o") + 1])
    assert room is not None, command
    library = f"lib/lib{room[1]}.a"
    # A mutant may leave a variable or parameter unused.
    run([*_given(command, {"-o": str(compiled), "-c": str(mutated)}), "-Wno-error"], folder=build)
    (out / "bin").mkdir()
    (out / "lib").symlink_to(build / "lib")
    for program in PROGRAMS:
        text = run(["ninja", "-C", str(build), "-t", "commands", "-s", program]).strip().splitlines()[-1]
        words = shlex.split(text.split("&&")[1])
        if library not in words:  # the replayer's tests, for one, have nothing of the checker, and can notice nothing
            continue
        # An object is taken before a library's member of the same symbols is looked for.
        words.insert(words.index("-o"), str(compiled))
        run(_given(words, {"-o": str(out / program)}), folder=build)
    assert (out / PROGRAMS[0]).exists(), f"the engine has nothing of {mutant.file}"


def _given(command: Sequence[str], replace: dict[str, str]) -> list[str]:
    """`command` with other arguments to some of its options."""
    out = list(command)
    for option, argument in replace.items():
        out[out.index(option) + 1] = argument
    return out


def detected_by(out: Path, suites: Sequence[str]) -> str | None:
    """The first test that fails with the programs in `out`/bin, suite by suite."""
    for suite in suites:
        if failure := _failure(suite, out):
            return f"{suite}: {failure}"
    return None


def _failure(suite: str, out: Path) -> str | None:
    environment = os.environ | {
        "POWERCUT_ENGINE": str(out / "bin" / "powercut-engine"),
        "POWERCUT_BUILD": str(paths.build_dir()),
        "LD_LIBRARY_PATH": str(out / "lib"),
        "RC_PARAMS": "seed=2026 max_success=300",
    }
    pytest_files = {
        "edits": ["tests/engine/test_edit.py"],
        "corpus": ["tests/corpus/test_known_bugs.py"],
        "schedules": [
            "tests/engine/test_racing_words.py",
            "tests/engine/test_schedules.py",
            "tests/engine/test_client_choices.py",
        ],
        "litmus": [
            "replayer/tests/test_litmus.py",
            "replayer/tests/test_engine_agrees.py",
            "replayer/tests/test_engine_agrees_on_threads.py",
        ],
        "agreement": ["tests/engine/test_strategies_agree.py"],
        "trees": ["replayer/tests/test_engine_agrees_on_files.py", "tests/files/test_trees_of_recordings.py"],
        "calls": ["tracer/calls/tests", "tests/files"],
        "nor": ["replayer/tests/test_engine_agrees_on_nor.py"],
    }
    if suite == "gtests":
        linked = [out / program for program in PROGRAMS if program.endswith("_test") and (out / program).exists()]
        commands = [[str(program), "--gtest_brief=1"] for program in linked]
    else:
        commands = [[sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *pytest_files[suite]]]
    for command in commands:
        try:
            done = subprocess.run(
                command, cwd=paths.home(), env=environment, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"no end within {SECONDS} s"
        if done.returncode != 0:
            named = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "[  FAILED  ]", "ERROR"))]
            return named[0][:200] if named else f"exit status {done.returncode}"
    return None


def run(command: Sequence[str], *, folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout
