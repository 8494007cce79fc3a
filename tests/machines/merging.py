"""Helpers of tests of runs on several machines: commands of their own process, and a run's files without times."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from tests.real_engine import WALL_CLOCK
from tests.scenario_texts import scenario_text

#: Findings, several chunks, and less than a second of exploring.
SCENARIO = scenario_text(
    "spread",
    "level",
    'op = "insert", from = 1, to = 40',
    'op = "update", from = 1, to = 40',
    'op = "erase", from = 10, to = 30',
    config="top = 4\nauto_expand = true",
)
#: The published variant has bugs.
COMMAND = ("run", "level:published", "--scenario", "spread.toml", "--chunk-events", "200")
MINIMAL = ("--explain", "0", "--format", "text,html,json,sarif,junit")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "NO_COLOR": "1"}


def powercut(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in `folder`, where the scenario is."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spread.toml").write_text(SCENARIO, encoding="utf-8")
    words = [sys.executable, "-m", "powercut", *arguments]
    return subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(item) for name, item in value.items() if name not in WALL_CLOCK}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def left(folder: Path, done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Exit code, what was printed, every record, finding and report, each as text without what a clock measured."""
    files = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for pattern in ("runs/*.json", "findings/*.json", "report.*", "failures/*/*.json")
        for path in sorted((folder / ".powercut").glob(pattern))
    }
    texts = {
        name: json.dumps(_without_times(json.loads(text))) if name.endswith(".json") else _no_seconds(text)
        for name, text in files.items()
    }
    assert len(texts) > 3, done.stderr
    return {"exit": str(done.returncode), "stdout": _no_seconds(done.stdout), **texts}


def _unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def _no_seconds(text: str) -> str:
    # The page holds the JSON of all runs as well, packed.
    text = re.sub(r'"report":"([^"]*)"', lambda packed: json.dumps(_without_times(_unpacked(packed[1]))), text)
    text = re.sub(r'time="[0-9.]+"', 'time=""', text)
    return re.sub(r"\b[0-9]+(\.[0-9]+)? ?(ms|s|min)\b", "TIME", text)
