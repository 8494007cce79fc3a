"""A small share of `make fuzz`: no mutant of any input ends in a signal, a traceback or an exit code but 0 to 3."""

import os
import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from tests.cli import input_mutants

ENGINE_KINDS = ("trace", "plan", "finding", "requests", "edits", "measure", "checkpoint", "log", "stream")


@pytest.mark.parametrize("kind", input_mutants.kinds(), ids=lambda kind: kind.name.replace(" ", "-"))
def test_what_python_reads(kind: input_mutants.Kind, tmp_path: Path) -> None:
    assert input_mutants.run(kind, 25, 3, tmp_path) == 0


@pytest.mark.parametrize("kind", ENGINE_KINDS)
def test_what_the_engine_reads(
    real_engine: None, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    program = paths.build_dir() / "bin" / "powercut-mutants"
    if not os.access(program, os.X_OK):
        pytest.skip(f"{program.name} is not built")
    seeds = tmp_path_factory.getbasetemp() / "mutant-seeds"
    if not seeds.is_dir():
        input_mutants.write_engine_seeds(seeds)
    ended = subprocess.run(
        [program, kind, seeds / kind, "--trace", seeds / "trace", "--count", "150", "--seed", "3", "--keep", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "0 failures" in ended.stdout
