"""A budget in seconds is shared by all runs of a command: what each gets, and what becomes of what was found."""

import json
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.engine.options import Budget, ExploreOptions
from powercut.runs import batch, rounds, runner
from powercut.runs.outcome import unstarted
from powercut.runs.run_request import Request
from powercut.runs.time_shares import TimeShares
from powercut_records.run import RunRecord
from reports.tests.typed import run_of
from tests.real_engine import require_engine


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_equal_parts_and_what_one_leaves_goes_to_the_others() -> None:
    clock = Clock()
    shares = TimeShares(12.0, 1, clock)
    assert shares.begin(0, waiting=4) == 3.0
    clock.now = 1.0  # it needed one second
    shares.finish(0)
    assert shares.begin(1, waiting=3) == pytest.approx(11 / 3)
    clock.now = 1 + 11 / 3  # it used all
    shares.finish(1)
    assert shares.begin(2, waiting=2) == pytest.approx(11 / 3)


def test_slots_run_side_by_side() -> None:
    clock = Clock()
    shares = TimeShares(12.0, 2, clock)
    assert shares.begin(0, waiting=4) == 6.0
    assert shares.begin(1, waiting=3) == 6.0
    clock.now = 2.0
    shares.finish(0)  # ten seconds of this slot, and six of the other
    assert shares.begin(2, waiting=2) == 8.0


def test_a_run_without_company_has_all_and_never_more() -> None:
    clock = Clock()
    shares = TimeShares(5.0, 4, clock)
    assert shares.begin(0, waiting=1) == 5.0
    clock.now = 9.0
    assert shares.begin(1, waiting=1) == 0.0


def request(**given: Any) -> Request:
    return Request(name="x", slug="x", options=ExploreOptions(**given))


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [
        ([request(budget=Budget(seconds=5)), request(budget=Budget(seconds=5))], 5),
        ([request(budget=Budget(executions=5))], None),
        ([request()], None),
        ([request(budget=Budget(seconds=5), strategy="prefix")], None),
        ([], None),
    ],
)
def test_only_times_are_shared(wanted: list[Request], seconds: float | None) -> None:
    assert rounds.shared_seconds(wanted) == seconds


def judged(out: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    code = main(["run", *arguments, "--out", str(out), "--format", "json", "--explain", "0", "--no-replay"])
    return code, {run["scenario"]: run for run in json.loads((out / "report.json").read_text())["runs"]}


SUBJECT = ("level:published", "--scenario", "update*", "--scenario", "erase")


@pytest.mark.slow
def test_with_time_enough_the_result_is_that_without_a_budget(tmp_path: Path) -> None:
    require_engine()
    code, free = judged(tmp_path / "free", *SUBJECT)
    limited_code, limited = judged(tmp_path / "limited", *SUBJECT, "--budget", "5m", "--jobs", "2")
    assert (code, limited_code) == (ExitCode.FINDINGS, ExitCode.FINDINGS)
    assert list(limited) == list(free)
    for name, run in limited.items():
        assert run["smoke"]["strategy"] == "prefix" and not run["smoke"]["stopped"]
        same = ("verdict", "coverage", "crash_states", "executions", "leaves", "strategy")
        assert [run[field] for field in same] == [free[name][field] for field in same]
        names = [[finding["fingerprint"] for finding in item["findings"]] for item in (run, free[name])]
        assert names[0] == names[1]
    assert sorted(path.name for path in (tmp_path / "limited/findings").iterdir()) == sorted(
        path.name for path in (tmp_path / "free/findings").iterdir()
    )


@pytest.mark.slow
def test_without_time_each_run_was_looked_at_in_program_order(tmp_path: Path) -> None:
    require_engine()
    code, runs = judged(tmp_path / "out", *SUBJECT, "--budget", "1ms")
    assert code in (ExitCode.FINDINGS, ExitCode.INCOMPLETE)
    for run in runs.values():
        assert run["coverage"]["kind"] == "sampled"
        assert run["coverage"]["reason"] == f"the budget of 0.001 s, shared by {len(runs)} runs, was used up"
        assert run["smoke"]["crash_points"] > 0
        assert run["verdict"] == ("inconsistent" if run["findings"] else "consistent")


class Engine:
    """In place of the engine: what each run says in each round, by its name."""

    def __init__(self, said: dict[str, list[dict[str, Any]]]) -> None:
        self.said = {name: list(runs) for name, runs in said.items()}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, asked: Request, context: Any, *, order: int = 0) -> RunRecord:
        self.asked.append((asked.name, asked.options.strategy))
        run = run_of({**unstarted(asked).as_json(), "interrupted": False, **self.said[asked.name].pop(0)})
        run.findings = [context.store.put(finding, order=order) for finding in run.findings]
        return run


def told(*found: str, reason: str | None = None) -> dict[str, Any]:
    """A round: complete, or sampled for a reason."""
    coverage = {"kind": "sampled" if reason else "complete", "covered": "1", "total": "2", "nested_complete": 1}
    listed = [{"fingerprint": name, "invariant": "lost-item", "stores": []} for name in found]
    return {"coverage": {**coverage, "reason": reason}, "findings": listed,
            "verdict": "inconsistent" if found else "consistent"}  # fmt: skip


PREFIX, BUDGET = "strategy prefix samples", "the budget of 1 s was used up"


def in_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, list[dict[str, Any]]], *, budget: float = 60
) -> tuple[dict[str, dict[str, Any]], Engine, Path]:
    engine = Engine(said)
    monkeypatch.setattr(runner, "explore", engine)
    monkeypatch.setattr(rounds, "_LEAST", 1e-9)
    asked = [
        Request(name=name, slug=name, options=ExploreOptions(budget=Budget(seconds=budget)), header={"scenario": name})
        for name in said
    ]
    with runner.open_context(Path("engine"), tmp_path, checkpoints=True) as context:
        outcome = batch.run_all(asked, context, jobs=1)
    return {run["scenario"]: run for run in outcome.runs}, engine, tmp_path / "findings"


def test_who_was_stopped_goes_on_with_what_others_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "quick": [told(reason=PREFIX), told()],
        "long": [told(reason=PREFIX), told(reason=BUDGET), told(reason=BUDGET), told()],
    }
    runs, engine, _ = in_rounds(tmp_path, monkeypatch, said)
    strategies = [("quick", "prefix"), ("long", "prefix"), ("quick", "read-driven")] + [("long", "read-driven")] * 3
    assert engine.asked == strategies
    assert [runs[name]["coverage"]["kind"] for name in said] == ["complete", "complete"]


def test_findings_of_every_round_count_until_a_run_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "random": [told("aaa", reason=PREFIX), told("bbb", reason="strategy random samples")],
        "renamed": [told("ccc", reason=PREFIX), told("ddd")],
    }
    runs, _, folder = in_rounds(tmp_path, monkeypatch, said)
    assert [item["fingerprint"] for item in runs["random"]["findings"]] == ["bbb", "aaa"]
    assert runs["random"]["verdict"] == "inconsistent"
    assert [item["fingerprint"] for item in runs["renamed"]["findings"]] == ["ddd"]
    assert sorted(path.stem for path in folder.iterdir()) == ["aaa", "bbb", "ddd"]


def test_complete_and_clean_against_a_finding_of_smoke_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, _, _ = in_rounds(tmp_path, monkeypatch, {"torn": [told("aaa", reason=PREFIX), told()]})
    assert runs["torn"]["verdict"] == "unknown" and runs["torn"]["error"]["kind"] == "harness"
    assert runner.exit_code(runs["torn"]) is ExitCode.INCOMPLETE


def test_executions_are_of_each_run_and_the_same_for_any_jobs(tmp_path: Path) -> None:
    require_engine()
    seen = []
    for jobs in ("1", "3"):
        code, runs = judged(tmp_path / jobs, *SUBJECT, "--budget", "20x", "--jobs", jobs)
        assert all("smoke" not in run for run in runs.values())
        for run in runs.values():
            run.pop("seconds")
            for finding in run["findings"]:
                for place in ("file", "explain"):  # they name the folder
                    finding.pop(place)
        seen.append((code, runs))
    assert seen[0] == seen[1]
