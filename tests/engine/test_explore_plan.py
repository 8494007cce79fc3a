"""`explore --plan` is `record`, and then `explore`, by one engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

from powercut.base import paths
from powercut.engine import engine
from powercut.scenarios import catalog
from tests import real_engine as engines
from tests.real_engine import Exploration, Subject


def test_it_tells_what_two_engines_tell(real_engine: None, tmp_path: Path) -> None:
    scenario = next(item for item in catalog.core("level") if item.name == "insert_move_bottom")
    trace = engines.record(Subject(scenario=scenario, target="level", variant="published"), tmp_path)
    apart = engines.explore(trace).stable()
    plan, again = trace.with_suffix(".json"), tmp_path / "again.pct"
    words = ["explore", "--plan", str(plan), "--trace", str(again)]
    together = Exploration(events=[raw for _, raw in engine.stream(paths.engine(), words)])
    recorded = [event for event in together.stable() if event["event"] == "recorded"]
    assert [event["trace"] for event in recorded] == [str(again)]
    assert [event for event in together.stable() if event["event"] != "recorded"] == apart
    assert any(event["event"] == "finding" for event in apart)
    assert again.read_bytes() == trace.read_bytes()


def test_what_cannot_be_recorded_is_not_explored(real_engine: None, tmp_path: Path) -> None:
    words = ["explore", "--plan", str(tmp_path / "none.json"), "--trace", str(tmp_path / "a.pct")]
    done = subprocess.run([paths.engine(), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert '"event":"error"' in done.stdout and '"event":"run"' not in done.stdout
    assert not (tmp_path / "a.pct").exists()
