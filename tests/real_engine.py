"""Helpers of the tests of the real engine: recording a scenario, exploring the trace, reading the results."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.errors import PowercutError
from powercut.engine import engine
from powercut.engine.events import Module
from powercut.findings.finding_records import make_record, performance_bug
from powercut.scenarios import catalog, plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.symbols.symbolize import Symbolizer
from powercut_records.finding import FindingRecord
from powercut_records.run import PerformanceBug, RunRecord
from tests.once import made_once

Json = dict[str, Any]
#: Fields of events that say how long something took, or how much of it there was to do at some moment.
WALL_CLOCK = frozenset({"seconds", "exploring_seconds", "stats"})
VARIANTS = ("published", "hardened")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One recorded run: a scenario on a target. A `variant` of None is the target's first."""

    scenario: Scenario
    target: str
    variant: str | None
    toggle: str | None = None

    @property
    def id(self) -> str:
        return "-".join(part for part in (self.scenario.name, self.variant, self.toggle) if part)

    def without_toggle(self) -> Subject:
        return replace(self, toggle=None)


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """The answer of `powercut-engine explore`."""

    events: list[Json]
    dump: str | None = None

    @property
    def result(self) -> Json:
        return next(event for event in self.events if event["event"] == "result")

    @property
    def findings(self) -> list[Json]:
        """The findings, each key once, as it was told last (at its earliest crash point)."""
        return list({event["key"]: event for event in self.events if event["event"] == "finding"}.values())

    def located(self, symbolizer: Symbolizer) -> list[FindingRecord | PerformanceBug]:
        """Findings and performance bugs as records, with their lines of source."""
        (*_, last) = (event["modules"] for event in self.events if event["event"] == "modules")
        modules = [Module.model_validate(module) for module in last]
        (run,) = (event for event in self.events if event["event"] == "run")
        performance_bugs = [event for event in self.events if event["event"] == "performance_bug"]
        return [
            *(make_record(event, modules, symbolizer, run=RunRecord.model_validate(run)) for event in self.findings),
            *(performance_bug(event, modules, symbolizer) for event in performance_bugs),
        ]

    @property
    def invariants(self) -> set[str]:
        names = {event["invariant"] for event in self.findings}
        return names | {event["underlying"] for event in self.findings if event.get("underlying")}

    def stable(self, *, ignoring: frozenset[str] = frozenset()) -> list[Json]:
        """Events without progress and times, which differ from run to run; findings in the order of their keys."""
        kept = [event for event in self.events if event["event"] not in ("progress", "finding")]
        kept += sorted(self.findings, key=lambda event: str(event["key"]))
        return [{k: v for k, v in event.items() if k not in WALL_CLOCK | ignoring} for event in kept]


def require_engine() -> None:
    try:
        paths.engine()
    except PowercutError as error:
        pytest.skip(f"powercut-engine: {error.paragraph()}")


def plan_of(subject: Subject) -> Json:
    """Returns the plan of a run, as the engine gets it."""
    target = targets.find(subject.target)
    variant = subject.variant or target.default_variants[0]
    return plan.build(target, variant=variant, scenario=subject.scenario, seed=1, toggle=subject.toggle)


def record(subject: Subject, folder: Path, *, search: Json | None = None) -> Path:
    """Records the run into `folder` and returns the trace. `search`: what else the plan of a race says of schedules."""
    content = plan_of(subject)
    if search is not None and "search" in content:
        content["search"] |= search
    plan_file, trace = folder / f"{subject.id}.json", folder / f"{subject.id}.pct"
    plan_file.write_text(json.dumps(content), encoding="utf-8")
    _run(["record", "--plan", str(plan_file), "--trace", str(trace)])
    return trace


def explore(trace: Path, *arguments: str, strategy: str = "read-driven", dump: bool = False) -> Exploration:
    """Explores a trace. With `dump`, every distinct (crash point, depth, query, result) is kept as a line."""
    given = ["explore", "--trace", str(trace), "--strategy", strategy, *arguments]
    if not dump:
        return Exploration(events=list(_run(given)))
    path = trace.with_suffix(f".{strategy}.results")
    events = list(_run([*given, "--dump-results", str(path)]))
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return Exploration(events=events, dump=text)


def recorded_once(subject: Subject, folder: Path) -> tuple[Path, Exploration]:
    """The trace of a run and what exploring it came to, made by the first test that asks for it in
    `folder` (conftest.session_folder).

    Scenarios that differ in their names alone share one run.
    """
    told = plan_of(subject)
    told["scenario"]["name"] = ""
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def make(made: Path) -> None:
        trace = record(subject, made)
        content = {"trace": str(trace), "events": explore(trace).events}
        (made / "explored.json").write_text(json.dumps(content), encoding="utf-8")

    kept = made_once(folder / f"{subject.target}-{digest[:24]}", make) / "explored.json"
    content = json.loads(kept.read_text(encoding="utf-8"))
    return Path(content["trace"]), Exploration(events=content["events"])


@dataclass(frozen=True, order=True, kw_only=True)
class BadAnswer:
    """A line of --dump-violations, without the version of the obligation."""

    query: str
    result: str


@dataclass(frozen=True, kw_only=True)
class BadAnswers:
    """Wrong answers of a run, by the versions of the obligation: after one power cut, and after one or more."""

    first: dict[BadAnswer, set[int]]
    any: dict[BadAnswer, set[int]]


def bad_answers(trace: Path, *arguments: str, strategy: str = "read-driven") -> BadAnswers:
    """Explores a trace and collects every distinct bad answer, before the oracle leaves out repeated ones.

    Unlike a dump of all results, this leaves the explorer free to ask only what is new.
    """
    path = trace.with_suffix(f".{strategy}.violations")
    path.unlink(missing_ok=True)
    list(_run(["explore", "--trace", str(trace), "--strategy", strategy, *arguments, "--dump-violations", str(path)]))
    return _bad_answers_in(path)


def results_and_bad_answers(trace: Path, *arguments: str) -> tuple[Exploration, BadAnswers]:
    """One exploration that asks everything: its dump of all results, and every bad answer among them."""
    path = trace.with_suffix(".violations")
    path.unlink(missing_ok=True)
    return explore(trace, *arguments, "--dump-violations", str(path), dump=True), _bad_answers_in(path)


def _bad_answers_in(path: Path) -> BadAnswers:
    """Reads what --dump-violations wrote, and removes the file."""
    found = BadAnswers(first={}, any={})
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        match = re.fullmatch(r"(first|nested) (.*) (\d+) ([0-9a-f]*)", line)
        assert match is not None, line
        depth, query, version, result = match.groups()
        bad = BadAnswer(query=query, result=result)
        found.any.setdefault(bad, set()).add(int(version))
        if depth == "first":
            found.first.setdefault(bad, set()).add(int(version))
    path.unlink(missing_ok=True)
    return found


def trace_events(trace: Path) -> list[Json]:
    """The records of a trace, in order."""
    events = _lines(["dump", "--format", "json", "--trace", str(trace)])
    return [event for event in events if event["event"] == "trace_event"]


def _run(arguments: list[str]) -> list[Json]:
    return [raw for _, raw in engine.stream(paths.engine(), arguments)]


def _lines(arguments: list[str]) -> list[Json]:
    """For commands whose events are no part of the package's own vocabulary."""
    done = subprocess.run([paths.engine(), *arguments], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def level_scenarios() -> Iterator[Scenario]:
    """The core scenarios of Level hashing with one thread, without those for every map."""
    for item in catalog.core("level"):
        if item.content.targets == ["level"] and item.content.race is None:
            yield item


def planted_bugs() -> Iterator[Subject]:
    """Every planted bug in its own scenario: the bug corpus's, then the self-tests'."""
    for item in [*catalog.known_bugs(), *catalog.self_tests()]:
        yield Subject(scenario=item, target=item.scheme, variant=item.bug.variant, toggle=item.bug.toggle)


def known_good() -> Iterator[Subject]:
    for item in catalog.known_good():
        for target in item.content.targets:
            yield Subject(scenario=item, target=target, variant=None)
