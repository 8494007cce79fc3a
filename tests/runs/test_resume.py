"""A run that is killed, at any moment and as often as it likes, ends with the result of one that was left alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.scenarios import scenario
from tests.real_engine import WALL_CLOCK, Exploration, Subject, explore, record, require_engine
from tests.scenario_texts import scenario_text

pytestmark = pytest.mark.slow

SCENARIO = scenario_text(
    "killed",
    "level",
    'op = "insert", from = 1, to = 60',
    'op = "update", from = 1, to = 60',
    'op = "erase", from = 20, to = 60',
    config="top = 16",
)
CHUNKS = ("--chunk-events", "150", "--jobs", "2")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_engine()
    folder = tmp_path_factory.mktemp("killed")
    subject = Subject(scenario=killed(folder), target="level", variant="hardened", toggle="insert_top_unordered")
    return record(subject, folder)


def killed(folder: Path) -> scenario.Scenario:
    file = folder / "killed.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return scenario.load(file)


def run_until_killed(trace: Path, checkpoint: Path, seconds: float) -> bool:
    """Starts or goes on with the run; False when it ended before it was killed."""
    arguments = ["explore", "--trace", str(trace), *CHUNKS, "--checkpoint", str(checkpoint), "--resume"]
    process = subprocess.Popen([paths.engine(), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def resumed(trace: Path, checkpoint: Path, *options: str) -> Exploration:
    return explore(trace, *CHUNKS, *options, "--checkpoint", str(checkpoint), "--resume")


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments_it_ends_with_the_same_result(trace: Path, tmp_path: Path, seed: int) -> None:
    moments = random.Random(seed)
    began = time.monotonic()
    expected = explore(trace, *CHUNKS)
    whole = time.monotonic() - began
    checkpoint = tmp_path / "run.checkpoint"
    kills = 0
    while run_until_killed(trace, checkpoint, moments.uniform(0.05, 0.7) * whole) and kills < 20:
        kills += 1
    assert resumed(trace, checkpoint).stable() == expected.stable()
    # Nothing is left to explore, and it is said again.
    again = resumed(trace, checkpoint)
    assert again.stable() == expected.stable()
    assert sum(again.result["stats"]["run"].get(name, 0.0) for name in ("fork", "wait")) == 0


def cli_run(folder: Path, *options: str) -> list[str]:
    arguments = ["run", "level:hardened", "--scenario", str(folder / "killed.toml"), "--out", str(folder / "out")]
    return [sys.executable, "-m", "powercut", *arguments, "--format", "json", *options]


def run_record(folder: Path) -> dict[str, Any]:
    """The run's record without what a clock measured, nor how it was asked for."""
    (file,) = (folder / "out" / "runs").glob("*.json")
    run: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    for name in (*WALL_CLOCK, "command"):
        run.pop(name)
    run["recorded"].pop("seconds")
    return run


def test_the_command_goes_on_as_well(tmp_path: Path) -> None:
    require_engine()
    killed(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    run = partial(subprocess.run, env=environment, capture_output=True, text=True, check=False)
    began = time.monotonic()
    first = run(cli_run(tmp_path))
    whole = time.monotonic() - began
    assert first.returncode == ExitCode.CLEAN, first.stderr
    expected = run_record(tmp_path)
    shutil.rmtree(tmp_path / "out")
    for part in (0.5, 0.7, 0.9):
        process = subprocess.Popen(
            cli_run(tmp_path, "--resume"), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(part * whole)
        process.kill()
        process.wait()
    last = run(cli_run(tmp_path, "--resume"))
    assert last.returncode == ExitCode.CLEAN, last.stderr
    assert run_record(tmp_path) == expected
    # Another plan is another run.
    refused = run(cli_run(tmp_path, "--resume", "--seed", "2"))
    assert refused.returncode == ExitCode.USAGE
    assert "without --resume" in refused.stderr


def test_every_torn_end_is_dropped(trace: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "run.checkpoint"
    expected = explore(trace, *CHUNKS, "--checkpoint", str(checkpoint))
    content = checkpoint.read_bytes()
    moments = random.Random(1)
    for length in [0, 1, 5, 60, *(moments.randrange(len(content)) for _ in range(8)), len(content) - 1]:
        checkpoint.write_bytes(content[:length])
        assert resumed(trace, checkpoint).stable() == expected.stable(), f"{length} bytes were left"


def test_another_run_is_not_resumed(trace: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "run.checkpoint"
    explore(trace, *CHUNKS, "--checkpoint", str(checkpoint))
    for option, name in ((("--nested", "0"), "nested"), (("--model", "eadr"), "model"), (("--seed", "7"), "seed")):
        with pytest.raises(UsageError, match=f"differs in {name}.*without --resume"):
            resumed(trace, checkpoint, *option)
    copy = tmp_path / "other.pct"
    other = Subject(scenario=killed(tmp_path), target="level", variant="hardened")
    copy.write_bytes(record(other, tmp_path).read_bytes())
    with pytest.raises(UsageError, match="differs in trace"):
        resumed(copy, checkpoint)


def test_a_file_that_is_no_checkpoint_is_not_overwritten(trace: Path, tmp_path: Path) -> None:
    precious = tmp_path / "thesis.txt"
    precious.write_text("years of work")
    for options in ((), ("--resume",)):
        with pytest.raises(UsageError, match="not a checkpoint"):
            explore(trace, "--checkpoint", str(precious), *options)
    assert precious.read_text() == "years of work"
