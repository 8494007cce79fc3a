"""Puts the events of one exploration together into a run record (checker/RUN.md)."""

from pathlib import Path
from typing import Any

from powercut.base.errors import HarnessError
from powercut.engine import events
from powercut.findings import bugs
from powercut.findings.findings import FindingStore, canonical_order, make_record, symbolised
from powercut.symbols.symbolize import Symbolizer

RUN_VERSION = 2
INTERRUPTED = "interrupted"


def blank_run(header: dict[str, Any]) -> dict[str, Any]:
    """A run record that has judged nothing yet."""
    return {
        "run": RUN_VERSION,
        "target": "",
        "variant": "",
        "scenario": "",
        "model": "",
        "strategy": "",
        "seed": 0,
        "nested": 0,
        "atoms": "",
        "paper": "",
        "summary": "",
        "events": 0,
        "crash_points": 0,
        "crash_states": "0",
        "executions": 0,
        "queries": 0,
        "query_runs": 0,
        "loads": 0,
        "leaves": 0,
        "maxima": {},
        "verdict": "unknown",
        "coverage": {"kind": "sampled", "covered": "0", "total": None, "nested_complete": None, "reason": "not run"},
        "assumptions": [],
        "not_checked": {},
        "seconds": 0.0,
        "exploring_seconds": 0.0,
        "stats": {},
        "findings": [],
        "replayed": None,
        "canary": None,
        "since": None,
        "smoke": None,
        "performance_bugs": [],
        "claims": [],
        "program": None,
        "recorded": None,
        "trace": None,
        "command": "",
        "interrupted": False,
        "error": None,
        **header,
    }


_RESULT_FIELDS = (
    *("verdict", "events", "crash_points", "crash_states", "executions", "queries", "query_runs", "loads"),
    *("leaves", "seconds", "exploring_seconds", "stats", "assumptions", "not_checked"),
)


class Collector:
    """Takes events as they arrive; every finding is on disk before `add` returns."""

    def __init__(
        self, header: dict[str, Any], *, plan: dict[str, Any] | None, order: int, store: FindingStore,
        symbolizer: Symbolizer,
    ) -> None:  # fmt: skip
        self._run = blank_run(header)
        self._plan = plan
        self._order = order
        self._store = store
        self._symbolizer = symbolizer
        self._modules: list[events.Module] = []
        self._by_key: dict[str, dict[str, Any]] = {}
        self._progress: events.Progress | None = None
        self._result: events.Result | None = None

    @property
    def plan(self) -> dict[str, Any] | None:
        """What the trace was recorded from, as far as it is known."""
        return self._plan

    @property
    def finding_count(self) -> int:
        """Distinct findings so far."""
        return len({record["fingerprint"] for record in self._by_key.values()})

    def finding(self, event: events.Finding) -> dict[str, Any]:
        """The record of a finding that was added, as it is on disk now."""
        return self._by_key[event.key]

    def recorded(self, raw: dict[str, Any], trace: Path) -> None:
        """The trace was recorded for this run."""
        kept = {name: value for name, value in raw.items() if name not in ("event", "program")}
        self._run["recorded"] = kept
        self._run["trace"] = str(trace)
        if "program" in raw:
            self._run["program"] = {**(self._run["program"] or {}), **raw["program"], "pools": raw["pools"]}

    def add(self, event: events.Event, raw: dict[str, Any]) -> None:
        """Takes one event of the stream."""
        if isinstance(event, events.Modules):
            self._modules = event.modules
        elif isinstance(event, events.RunStarted):
            self._started(event)
        elif isinstance(event, events.Progress):
            self._progress = event
        elif isinstance(event, events.Finding):
            self._found(event, raw)
        elif isinstance(event, events.PerformanceBug):
            item = symbolised(raw, self._modules, self._symbolizer)
            self._run["performance_bugs"].append({name: value for name, value in item.items() if name != "event"})
        elif isinstance(event, events.Result):
            self._result = event

    def _started(self, event: events.RunStarted) -> None:
        if not self._run["program"]:
            # A program is called what its user calls it.
            self._run.update(target=event.target, variant=event.variant, scenario=event.scenario)
        self._run.update(
            model=event.model,
            strategy=event.strategy,
            seed=event.seed,
            nested=event.nested,
            atoms=event.atoms,
            events=event.events,
        )
        self._plan = self._plan or event.plan

    def _found(self, event: events.Finding, raw: dict[str, Any]) -> None:
        record = make_record(raw, self._modules, self._symbolizer, run=self._run)
        record["trace"] = self._run["trace"]
        record["plan"] = self._plan
        if self._run["program"]:
            record["program"] = self._run["program"]
        name = record["fingerprint"]
        before = self._by_key.pop(event.key, None)
        rivals = [other for other in self._by_key.values() if other["fingerprint"] == name]
        best = min([*rivals, record], key=canonical_order)
        if best is record:
            record = self._store.put(record, order=self._order)
        self._by_key[event.key] = record
        if before is not None and before["fingerprint"] != name and not self._has(before["fingerprint"]):
            self._store.withdraw(before["fingerprint"], order=self._order)

    def _has(self, name: str) -> bool:
        return any(record["fingerprint"] == name for record in self._by_key.values())

    def finish(self, *, error: HarnessError | None = None, interrupted: bool = False) -> dict[str, Any]:
        """The run record. Without a `result` event it is `unknown` (or inconsistent) and sampled."""
        run = self._run
        if self._result is not None and self._result.withdrawn:
            self._withdraw()
        run["findings"] = self._settled()
        if self._result is not None:
            self._judged(self._result)
        else:
            self._partial(INTERRUPTED if interrupted else "the harness failed")
        if run["findings"]:
            # A finding stands on its own evidence, whatever else went wrong.
            run["verdict"] = "inconsistent"
        elif run["verdict"] == "inconsistent" and error is None:
            error = HarnessError(
                "the engine judged the run inconsistent but reported no finding",
                where="powercut-engine",
                next_step="This is a defect of powercut; please report it with the trace.",
            )
        if error is not None:
            run["error"] = error.described()
        if not run["findings"] and (error is not None or self._result is None):
            run["verdict"] = "unknown"
        # A run that was complete when the interruption came stays so.
        if interrupted and run["coverage"]["kind"] != "complete":
            run["interrupted"] = True
            run["coverage"] = {**run["coverage"], "kind": "sampled", "reason": INTERRUPTED}
        return run

    def _withdraw(self) -> None:
        """Takes back all findings, from disk as well."""
        for name in {record["fingerprint"] for record in self._by_key.values()}:
            self._store.withdraw(name, order=self._order)
        self._by_key.clear()

    def _settled(self) -> list[dict[str, Any]]:
        """One record a fingerprint, the canonical one, each with its file as it is on disk."""
        best: dict[str, dict[str, Any]] = {}
        for record in sorted(self._by_key.values(), key=canonical_order):
            best.setdefault(record["fingerprint"], record)
        bugs.settle(list(best.values()))
        settled = [self._store.put(record, order=self._order) for record in best.values()]
        return [
            {name: value for name, value in record.items() if name not in ("plan", "program")} for record in settled
        ]

    def _judged(self, result: events.Result) -> None:
        self._run.update({name: getattr(result, name) for name in _RESULT_FIELDS})
        self._run["coverage"] = result.coverage.model_dump()
        self._run["maxima"] = {name: self._placed(most) for name, most in result.maxima.items()}
        if unseen := (self._run["program"] or {}).get("notes"):
            missed = self._run["not_checked"]
            self._run["not_checked"] = {**missed, "notes": [*unseen, *missed.get("notes", [])]}

    def _placed(self, most: dict[str, Any]) -> dict[str, Any]:
        """A maximum with the site of its stack instead of the frames."""
        item = symbolised(most, self._modules, self._symbolizer)
        return {name: value for name, value in item.items() if name != "stack"}

    def _partial(self, reason: str) -> None:
        if self._progress is not None:
            self._run.update(
                crash_points=self._progress.crash_points,
                crash_states=self._progress.crash_states,
                executions=self._progress.executions,
                seconds=self._progress.seconds,
            )
        self._run["coverage"] = {
            "kind": "sampled",
            "covered": self._run["crash_states"],
            "total": None,
            "nested_complete": None,
            "reason": reason,
        }
