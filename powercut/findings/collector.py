"""Puts the events of one exploration together into a run record (checker/RUN.md)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from powercut.base.errors import HarnessError
from powercut.engine import events
from powercut.findings import bugs, profiles
from powercut.findings.finding_records import canonical_order, make_record, performance_bug, symbolised
from powercut.findings.store import FindingStore
from powercut.symbols.flush_helpers import FlushOnly, flush_only
from powercut.symbols.store_functions import of_event
from powercut.symbols.symbolize import Symbolizer
from powercut_records.base import changed, without
from powercut_records.files import ProfileVerdict
from powercut_records.finding import Coverage, FindingRecord
from powercut_records.program import Program
from powercut_records.run import NotChecked, PerformanceBug, RunError, RunRecord, StoreFunction

RUN_VERSION = 2
INTERRUPTED = "interrupted"
#: Fields of a recording that the run record has in another form.
_STORES = ("store_functions", "stores_never_reached")


def blank_run(header: Mapping[str, Any]) -> RunRecord:
    """A run record that has judged nothing yet. All of its fields are written."""
    nothing = dict.fromkeys(("seed", "nested", "events", "crash_points", "executions", "leaves"), 0)
    coverage = {"kind": "sampled", "covered": "0", "total": None, "nested_complete": None, "reason": "not run"}
    fields = {"run": RUN_VERSION, "crash_states": "0", "seconds": 0.0, **nothing, "coverage": coverage, **header}
    record = RunRecord.model_validate(fields)
    record.model_fields_set.update(RunRecord.model_fields.keys() - {"file"})
    return record


def as_listed(finding: FindingRecord) -> FindingRecord:
    """A finding as it stands in a run record: without what all findings of the run have in common."""
    return without(finding, "plan", "program")


_RESULT_FIELDS = (
    *("verdict", "events", "crash_points", "crash_states", "executions", "queries", "query_runs", "loads"),
    *("leaves", "seconds", "exploring_seconds", "stats", "assumptions", "functional"),
)


class Collector:
    """Takes events as they arrive; every finding is on disk before `add` returns."""

    def __init__(
        self, header: Mapping[str, Any], *, plan: dict[str, Any] | None, order: int, store: FindingStore,
        symbolizer: Symbolizer,
    ) -> None:  # fmt: skip
        self._run = blank_run(header)
        self._plan = plan
        self._order = order
        self._store = store
        self._symbolizer = symbolizer
        self._modules: list[events.Module] = []
        self._by_key: dict[str, FindingRecord] = {}
        self._by_place: dict[tuple[str, str], PerformanceBug] = {}  # kind and site
        self._progress: events.Progress | None = None
        self._result: events.Result | None = None
        self._flushes = FlushOnly((), ())
        self._stores: dict[str, Any] = {}  # of the recording: which stores it reached

    @property
    def plan(self) -> dict[str, Any] | None:
        """Returns the source of the trace, as far as it is known."""
        return self._plan

    @property
    def finding_count(self) -> int:
        """Distinct findings so far."""
        return len({record.fingerprint for record in self._by_key.values()})

    def finding(self, event: events.Finding) -> FindingRecord:
        """The record of a finding that was added, as it is on disk now."""
        return self._by_key[event.key]

    def recorded(self, raw: dict[str, Any], trace: Path) -> None:
        """The trace was recorded for this run."""
        kept = {name: value for name, value in raw.items() if name not in ("event", "program", *_STORES)}
        self._stores = {name: raw[name] for name in _STORES if raw.get(name) is not None}
        self._run.recorded = kept
        self._run.trace = str(trace)
        if "program" in raw:
            known = self._run.commands.as_json()
            self._run.program = Program.model_validate({**known, **raw["program"], "pools": raw["pools"]})

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
        elif isinstance(event, events.Persisting):
            self._flushes = flush_only(event.stores, event.flushes, self._modules, self._symbolizer)
        elif isinstance(event, events.PerformanceBug):
            self._does_nothing(raw)
        elif isinstance(event, events.Result):
            self._result = event

    def _started(self, event: events.RunStarted) -> None:
        run = self._run
        # A program has the name that its user gives to it.
        for name in ("target", "variant", "scenario"):
            setattr(run, name, getattr(run, name) or getattr(event, name))
        for name in ("model", "strategy", "seed", "nested", "atoms", "events"):
            setattr(run, name, getattr(event, name))
        self._plan = self._plan or event.plan

    def _does_nothing(self, raw: dict[str, Any]) -> None:
        """A flush, fence or store that does nothing, by one call stack. Call stacks with one site are one row."""
        row = performance_bug(raw, self._modules, self._symbolizer, flushes=self._flushes)
        if row is None:
            return
        known = self._by_place.setdefault((row.kind, row.site), row) if row.site else row
        if known is not row:
            known.count += row.count
            known.of += row.of
        else:
            self._run.performance_bugs.append(row)

    def _found(self, event: events.Finding, raw: dict[str, Any]) -> None:
        record = make_record(raw, self._modules, self._symbolizer, run=self._run)
        record.trace = self._run.trace
        record.plan = self._plan
        if self._run.program:
            record.program = self._run.program
        name = record.fingerprint
        before = self._by_key.pop(event.key, None)
        rivals = [other for other in self._by_key.values() if other.fingerprint == name]
        best = min([*rivals, record], key=canonical_order)
        for rival in rivals:
            profiles.join(rival, record)
        if best is record:
            record = self._store.put(record, order=self._order)
        self._by_key[event.key] = record
        if before is not None and before.fingerprint != name and not self._has(before.fingerprint):
            self._store.withdraw(before.fingerprint, order=self._order)

    def _has(self, name: str) -> bool:
        return any(record.fingerprint == name for record in self._by_key.values())

    def finish(self, *, error: HarnessError | None = None, interrupted: bool = False) -> RunRecord:
        """The run record. Without a `result` event it is `unknown` (or inconsistent) and sampled."""
        run = self._run
        if self._result is not None and self._result.withdrawn:
            self._withdraw(self._result)
        rows = self._result.profiles if self._result is not None else []
        profiles.note({row.profile: row.keys for row in rows}, self._by_key)
        run.findings = self._settled()
        if self._result is not None:
            self._judged(self._result)
        else:
            self._partial(INTERRUPTED if interrupted else "the run was not finished")
        if run.findings:
            # A finding stands on its own evidence, whatever else went wrong.
            run.verdict = "inconsistent"
        elif run.verdict == "inconsistent" and error is None:
            error = HarnessError(
                "the engine judged the run inconsistent but reported no finding",
                where="powercut-engine",
                next_step="This is a defect of powercut; please report it with the trace.",
            )
        if error is not None:
            run.error = RunError.model_validate(error.described())
        if not run.findings and (error is not None or self._result is None):
            run.verdict = "unknown"
        # A run that was complete when the interruption came stays so.
        if interrupted and run.coverage.kind != "complete":
            run.interrupted = True
            run.coverage = changed(run.coverage, kind="sampled", reason=INTERRUPTED)
        told = [ProfileVerdict.model_validate(row.model_dump(exclude={"keys"})) for row in rows]
        profiles.settle(run, judged=told)
        return run

    def _withdraw(self, result: events.Result) -> None:
        """Takes back all findings. Their files, which people may have been told of, say that they do not count."""
        why = next((note for note in result.not_checked.get("notes", []) if note), "the run cannot be trusted")
        for name in {record.fingerprint for record in self._by_key.values()}:
            self._store.set_aside(name, order=self._order, why=why)
        self._by_key.clear()

    def _settled(self) -> list[FindingRecord]:
        """One record a fingerprint, the canonical one, each with its file as it is on disk."""
        best: dict[str, FindingRecord] = {}
        for record in sorted(self._by_key.values(), key=canonical_order):
            best.setdefault(record.fingerprint, record)
        bugs.settle(list(best.values()))
        # A bug that needs no power cut comes first: until it is mended, the others mean little.
        told = sorted(best.values(), key=lambda record: record.needs_power_cut)
        return [as_listed(self._store.put(record, order=self._order)) for record in told]

    def _judged(self, result: events.Result) -> None:
        run = self._run
        for name in _RESULT_FIELDS:
            setattr(run, name, getattr(result, name))
        run.coverage = Coverage.model_validate(result.coverage.model_dump())
        run.maxima = {name: self._placed(most) for name, most in result.maxima.items()}
        run.not_checked = NotChecked.model_validate(result.not_checked)
        run.not_checked.stores_never_reached = self._unreached(result)
        if run.commands.notes:
            run.not_checked.notes = [*run.commands.notes, *run.not_checked.notes]

    def _unreached(self, result: events.Result) -> list[StoreFunction] | None:
        """The functions with stores that neither the recording nor the exploration reached; None: nobody knows."""
        if "store_functions" in self._stores:
            recording = self._stores["store_functions"]
            exploring = result.store_functions or {"reached": [], "missed": []}
            missed = of_event([*recording["missed"], *exploring["missed"]])
            missed -= of_event([*recording["reached"], *exploring["reached"]])
        else:
            first, second = (raw.get("stores_never_reached") for raw in (self._stores, result.not_checked))
            if first is None or second is None:
                return None
            missed = of_event(first) & of_event(second)
        return [StoreFunction.model_validate(function.record()) for function in sorted(missed)]

    def _placed(self, most: dict[str, Any]) -> dict[str, Any]:
        """A maximum with the site of its stack instead of the frames."""
        item = symbolised(most, self._modules, self._symbolizer)
        return {name: value for name, value in item.items() if name != "stack"}

    def _partial(self, reason: str) -> None:
        if self._progress is not None:
            for name in ("crash_points", "crash_states", "executions", "seconds"):
                setattr(self._run, name, getattr(self._progress, name))
        self._run.coverage = Coverage(
            kind="sampled", covered=self._run.crash_states, total="", nested_complete=None, reason=reason
        )
