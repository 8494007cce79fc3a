"""The programs of targets/pmdk: as programs, and explored in program mode with the Valgrind tool."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from powercut import paths

MAPS = ("pmdk-tx-map", "pmdk-atomic-map")
#: The library flushes lines, as on persistent memory, and does not call msync.
ENVIRONMENT: Mapping[str, str] = {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}


def program(name: str) -> Path:
    path = paths.build_dir() / "bin" / name
    if not path.exists():
        pytest.skip(f"{name}: not built; run 'make build'")
    return path


def call(*arguments: str | Path, expect: int = 0) -> str:
    """What a command printed."""
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", MAPS)
def test_pool_is_consistent_for_pmempool(name: str, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    call(program(name), "create", pool)
    call(program(name), "run", pool, "--ops", "300")
    assert "consistent" in call("pmempool", "check", "-v", pool)
    items = int(call(program(name), "check", pool).split()[0])
    assert items == len(call(program(name), "dump", pool).splitlines()) > 50


@pytest.mark.parametrize("name", MAPS)
def test_pool_from_pmempool_is_taken(name: str, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    layout = name.replace("pmdk", "powercut")
    call("pmempool", "create", "obj", f"--layout={layout}", "--size=8M", pool)
    call(program(name), "run", pool, "--ops", "40")
    call(program(name), "check", pool)
    assert "consistent" in call("pmempool", "check", "-v", pool)


@pytest.mark.parametrize("name", MAPS)
def test_runs_from_one_pool_write_the_same_bytes(name: str, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    call(program(name), "create", pool)
    copies = [tmp_path / "first", tmp_path / "second"]
    for copy in copies:
        shutil.copy(pool, copy)
        call("setarch", "--addr-no-randomize", program(name), "run", copy, "--ops", "60")
    assert copies[0].read_bytes() == copies[1].read_bytes()
    assert copies[0].read_bytes() != pool.read_bytes()


@pytest.mark.parametrize("name", MAPS)
def test_bad_input_is_named(name: str, tmp_path: Path) -> None:
    pool, junk = tmp_path / "pool", tmp_path / "junk"
    assert "No such file" in call(program(name), "check", pool, expect=1)
    junk.write_bytes(b"x" * (8 << 20))
    assert f"{name}: " in call(program(name), "check", junk, expect=1)
    call(program(name), "create", pool)
    other = next(other for other in MAPS if other != name)
    assert "wrong layout" in call(program(other), "check", pool, expect=1)
    assert "--bug" in call(program(name), "run", pool, "--bug", "nonsense", expect=2)
    assert "No such file" in call(program(name), "run", pool, "--ops", tmp_path / "ops", expect=2)
