"""Break the engine on purpose and see a test fail.

Each mutant is one string of one source file replaced. Only that file is compiled again, with the command that the
build used for it, and linked in front of the build's own libraries into programs of its own: nothing in the build
folder or in the sources changes. A mutant that every suite passes is a gap in the tests.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from powercut import paths

pytestmark = pytest.mark.long

SECONDS = 600  # for one suite; a mutant that hangs it is detected as well


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """`old` stands exactly once in `file`; `new` takes its place."""

    name: str
    file: str
    old: str
    new: str


MUTANTS = (
    Mutant(
        name="overlap-closure-forgotten",
        file="replayer/models/line_log.cc",
        old="if (overlaps(store.atoms[a], stores_[j].atoms[b])) force(j, uint64_t{1} << b, policy);",
        new="",
    ),
    Mutant(
        name="fence-makes-later-stores-durable",
        file="replayer/models/line_log.cc",
        old="const bool durable = store.non_temporal ? store.thread == thread : has && store.event <= covered;",
        new="const bool durable = store.non_temporal ? store.thread == thread : has && store.event <= covered + 1;",
    ),
    Mutant(
        name="torn-stores-only-ascending",
        file="replayer/models/line_log.cc",
        old="if (n > 1 && policy == AtomPolicy::kAscending) {",
        new="if (n > 1) {",
    ),
    Mutant(
        name="no-crash-point-before-clflush",
        file="replayer/models/adr.cc",
        old="return static_cast<FlushKind>(event.code) == FlushKind::kClflush && pending_",
        new="return false && pending_",
    ),
    Mutant(
        name="store-does-not-hide-the-medium",
        file="replayer/executor.cc",
        old="u.diff &= ~mask;",
        new="",
    ),
    Mutant(
        name="deciding-overwrites-what-was-stored",
        file="replayer/executor.cc",
        old="write_line(u.set->line, first, ~u.written);",
        new="write_line(u.set->line, first, ~uint64_t{0});",
    ),
    Mutant(
        name="undo-keeps-decisions",
        file="replayer/executor.cc",
        old="undecided_[decided_.back().index] = decided_.back().old;",
        new="",
    ),
    Mutant(
        name="no-cut-after-recovery",
        file="replayer/explorer.cc",
        old="if (auto cut = executor_->cut_after_recovery()) cuts.push_back(std::move(*cut));",
        new="",
    ),
    Mutant(
        name="changed-line-not-noticed",
        file="replayer/query_memory.cc",
        old="changed.insert(changed.end(), touched_before_.begin(), touched_before_.end());",
        new="",
    ),
    Mutant(
        name="exhaustive-skips-the-last-content",
        file="replayer/strategies/exhaustive.cc",
        old="++digits[i] == pending[i]->contents.size()",
        new="++digits[i] + 1 >= pending[i]->contents.size()",
    ),
    Mutant(
        name="frontier-keeps-old-candidates",
        file="replayer/frontier.cc",
        old="lines_[line] = std::move(entry);",
        new="if (at == lines_.end()) lines_[line] = std::move(entry);",
    ),
    Mutant(
        name="unfinished-operations-must-have-happened",
        file="checker/native/history.cc",
        old="key.possible = kAbsent;",
        new="key.acknowledged = kAbsent;",
    ),
    Mutant(
        name="lost-items-are-legal",
        file="checker/native/invariants.cc",
        old="if (key.legal(kAbsent)) return std::nullopt;",
        new="return std::nullopt;",
    ),
    Mutant(
        name="one-copy-too-many-is-legal",
        file="checker/native/invariants.cc",
        old="if (copies.size() > traits.copy_bound) {",
        new="if (copies.size() > traits.copy_bound + 1) {",
    ),
)
PROGRAMS = ("bin/powercut-engine", "bin/powercut_replayer_test", "bin/powercut_checker_test")
SUITES = ("gtests", "gallery", "litmus", "agreement")  # the quick ones first


@pytest.fixture(scope="session")
def build() -> Path:
    folder = paths.build_dir()
    if shutil.which("ninja") is None or not (folder / "build.ninja").is_file():
        pytest.skip(f"ninja: no build folder in {folder} to make mutants from")
    _run(["ninja", "-C", str(folder), *PROGRAMS])
    return folder


def test_unbroken_engine_passes_every_suite(build: Path, tmp_path: Path) -> None:
    """Otherwise the suites would detect anything."""
    (tmp_path / "bin").mkdir()
    for program in PROGRAMS:
        shutil.copy2(build / program, tmp_path / program)
    (tmp_path / "lib").symlink_to(build / "lib")
    assert detected_by(tmp_path) is None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_detected(mutant: Mutant, build: Path, tmp_path: Path) -> None:
    make(mutant, build, tmp_path)
    by = detected_by(tmp_path)
    print(f"\n{mutant.name}: {by or 'SURVIVED'}")
    assert by is not None, f"every test passes with {mutant.file} changed: {mutant.old!r} -> {mutant.new!r}"


def make(mutant: Mutant, build: Path, out: Path) -> None:
    """Builds the programs with the mutant in them into `out`/bin."""
    source = paths.home() / mutant.file
    text = source.read_text(encoding="utf-8")
    count = text.count(mutant.old)
    assert count == 1, f"{mutant.file} has {mutant.old!r} {count} times; bring the mutant up to date"
    # The mutated file keeps its name, so that the two differ in nothing else.
    mutated = out / source.name
    mutated.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    compiled = mutated.with_suffix(".o")
    database = json.loads(_run(["ninja", "-C", str(build), "-t", "compdb"]))
    command = next(shlex.split(e["command"]) for e in database if e["file"] == str(source) and " -c " in e["command"])
    # A mutant may leave a variable or parameter unused.
    _run([*_given(command, {"-o": str(compiled), "-c": str(mutated)}), "-Wno-error"], folder=build)
    (out / "bin").mkdir()
    (out / "lib").symlink_to(build / "lib")
    for program in PROGRAMS:
        text = _run(["ninja", "-C", str(build), "-t", "commands", "-s", program]).strip().splitlines()[-1]
        words = shlex.split(text.split("&&")[1])
        library = f"lib/libpowercut_{Path(mutant.file).parts[0]}.a"
        if library not in words:  # the replayer knows nothing of the checker
            shutil.copy2(build / program, out / program)
            continue
        # An object is taken before a library's member of the same symbols is looked for.
        words.insert(words.index("-o"), str(compiled))
        _run(_given(words, {"-o": str(out / program)}), folder=build)


def _given(command: Sequence[str], replace: dict[str, str]) -> list[str]:
    """`command` with other arguments to some of its options."""
    out = list(command)
    for option, argument in replace.items():
        out[out.index(option) + 1] = argument
    return out


def detected_by(out: Path) -> str | None:
    """The first test that fails with the programs in `out`/bin, suite by suite."""
    for suite in SUITES:
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
        "gallery": ["checker/tests/test_gallery.py"],
        "litmus": ["replayer/tests/test_litmus.py", "replayer/tests/test_engine_agrees.py"],
        "agreement": ["checker/tests/test_strategies_agree.py"],
    }
    if suite == "gtests":
        commands = [[str(out / program), "--gtest_brief=1"] for program in PROGRAMS if program.endswith("_test")]
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


def _run(command: Sequence[str], *, folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout
