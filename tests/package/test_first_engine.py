"""The small engine that `make run` builds first: it has all that a first finding takes, and says what it lacks."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths

ENGINE = "powercut-engine-first"


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build folder as the first step of `make run` leaves it: the small engine, one scheme, and what they load."""
    built, build = paths.build_dir(), tmp_path / "build"
    for name in (f"bin/{ENGINE}", "lib/libpowercut-level.so", "lib/libpowercut_rt.so", "lib/libpowercut_decode.so"):
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(built / name, build / name)
    monkeypatch.setenv("POWERCUT_BUILD", str(build))
    monkeypatch.setenv("POWERCUT_ENGINE", str(build / "bin" / ENGINE))
    return build


@pytest.mark.slow
def test_the_small_engine_finds_and_explains(alone: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("run", "level:published", "--scenario", "insert_move_bottom", "--out", str(out), "--json")
    done = subprocess.run(
        (sys.executable, "-m", "powercut", *words), env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    (record,) = (out / "findings").glob("*.json")
    finding: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    assert finding["cause"]["kind"] == "atomicity"
    assert finding["drawing"]
    assert len(list((out / "minimal").iterdir())) == 1


def test_the_small_engine_says_what_it_lacks() -> None:
    done = subprocess.run((paths.tool(ENGINE), "audit"), capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    assert done.returncode == 2
    assert said["what"] == "the small engine of a first finding has no command 'audit'"
    assert said["next"] == "Run 'make build', which builds the whole engine, and unset POWERCUT_ENGINE."
