"""`--visibility tso`: what threads store is seen late. The pairs `store buffers` show what that changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import powercut
from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.scenarios import plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import ScenarioFile
from powercut.testing.api import InconsistentError
from tests.engine.test_client_choices import any_of, scenario
from tests.real_engine import Subject, explore, planted_bugs, record

BUGS = [bug for bug in planted_bugs() if bug.scenario.bug_id.startswith("turbohash/threads_")]


def judged(kind: str, folder: Path, **options: Any) -> powercut.Result:
    library = paths.library_dir() / "regression" / f"announced_late-{kind}.so"
    threads = [[("lookup", 2)], [("erase", 1)]]
    session = powercut.Session(out=folder)
    return session.check(str(library), [], warmup=[("insert", 1)], threads=threads, complete=True, **options)


def test_a_store_that_is_seen_late_is_no_bug_where_it_is_seen_at_once(real_engine: None, tmp_path: Path) -> None:
    at_once = judged("bug", tmp_path)
    (run,) = at_once.runs
    assert "visibility is sequentially consistent" in run.assumptions
    with pytest.raises(InconsistentError, match="it uses a block that was freed"):
        judged("bug", tmp_path, visibility="tso")
    (run,) = judged("twin", tmp_path, visibility="tso").runs
    assert "visibility is that of x86-TSO; flushes leave a store buffer in their order" in run.assumptions
    assert run.coverage.schedules is not None and run.coverage.schedules.visibility == "tso"


def test_a_scenario_may_ask_for_them() -> None:
    content = {
        "schema": 3,
        "name": "late",
        "summary": "Stores are seen late.",
        "targets": ["turbohash"],
        "phase": [{"name": "at once", "threads": [[{"op": "lookup", "keys": [1]}]] * 2}],
        "search": {"visibility": "tso"},
    }
    made = Scenario(path=Path("late.toml"), content=ScenarioFile.model_validate(content))
    built = plan.build(targets.find("turbohash"), variant="hardened", scenario=made, seed=1)
    assert built["search"]["visibility"] == "tso"
    with pytest.raises(ValueError, match="'visibility', which version 2 does not know; write schema = 3"):
        ScenarioFile.model_validate({**content, "schema": 2})


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.scenario.bug_id)
def test_what_shows_at_once_shows_with_store_buffers(real_engine: None, bug: Subject, tmp_path: Path) -> None:
    """Every schedule without buffers is one in which each store leaves at once."""
    for subject in (bug, bug.without_toggle()):
        at_once, late = (
            explore(record(subject, tmp_path, search={"visibility": visibility})) for visibility in ("sc", "tso")
        )
        assert late.result["coverage"]["schedules"]["complete"]
        assert at_once.invariants <= late.invariants
        frontiers = [found.result["coverage"]["schedules"]["frontiers"] for found in (at_once, late)]
        assert frontiers[0] <= frontiers[1]


@pytest.mark.parametrize("target", ["level", "turbohash", "clevel", "pclht", "cceh", "dash", "cmap", "libcuckoo"])
def test_schemes_are_clean_with_store_buffers(real_engine: None, target: str, tmp_path: Path) -> None:
    operations = [(kind, 1) for kind in ("insert", "update", "erase", "lookup")]
    made = scenario(target, "at_once", [[any_of(operations)]] * 2, alike=True)
    found = explore(
        record(Subject(scenario=made, target=target, variant="hardened"), tmp_path, search={"visibility": "tso"})
    )
    assert found.result["coverage"]["kind"] == "complete"
    assert found.invariants == set()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--visibility", "late"], "unknown visibility 'late'"),
        (["--visibility", "tso", "--model", "eadr"], "and for the model 'adr'. Leave out --model eadr."),
        (["--visibility", "tso", "--search", "recorded"], "in schedules that are searched"),
    ],
)
def test_what_does_not_go_together_is_told(
    real_engine: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], said: str
) -> None:
    command = ["run", "turbohash:hardened", "--client", "2x1", "--scenario", "client_2x1_i1_l1", "--out", str(tmp_path)]
    assert main([*command, *words]) == ExitCode.USAGE
    assert said in capsys.readouterr().err
