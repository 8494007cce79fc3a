"""Asks the engine about a case: can it be recorded, how long is its trace, and does it show the bug.

A candidate is explored by one worker, only until the bug shows, and by the engine that has just recorded it: starting
an engine is most of what a small case costs. A candidate that cannot be recorded or explored is not interesting,
whatever the reason. Reasons are a configuration that the target refuses, a full table, or a crash without any power
cut.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.errors import PowercutError
from powercut.engine import engine, events
from powercut.engine.engine import StreamItem
from powercut.engine.options import Budget, ExploreOptions
from powercut.findings.finding_records import make_record
from powercut.minimise.case import Case, plan_of
from powercut.minimise.concrete import of_client
from powercut.minimise.same_bug import same_bug
from powercut.runs.run_request import Context
from powercut.scenarios.plan import BUG_OPTION
from powercut.symbols.symbolize import Symbolizer
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord

#: Seconds after which an operation of a candidate counts as hanging.
_OPERATION_SECONDS = 10
#: Seconds that exploring a candidate may take, far above the time of any simpler candidate. A candidate whose recovery
#: runs wild is given up on any machine. A slow machine would find other cases too late to be of use.
_CANDIDATE_SECONDS = 15.0
#: How the engine names the step that does not fit, in `where` of its error.
_STEP = re.compile(r", phase '(?P<phase>.*)', step (?P<step>\d+)$")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The result of one case."""

    #: Length of its trace; None: it could not be recorded.
    events: int | None = None
    #: The finding that shows the bug; None: it does not show.
    finding: FindingRecord | None = None
    #: Number of the operation that the engine refused, where there is one.
    refused: int | None = None


class Examiner:
    """Records and explores cases of one finding, in a folder of its own."""

    def __init__(self, finding: FindingRecord, *, context: Context, folder: Path, executions: int | None) -> None:
        self.finding = finding
        assert finding.plan is not None
        self.template: dict[str, Any] = of_client(finding.plan, finding.client)
        self.toggle: str | None = self.template["target"]["options"].get(BUG_OPTION)
        self._context = context
        self._folder = folder
        self._executions = executions

    def options_within(self, executions: int | None) -> ExploreOptions:
        """How candidates are explored: as the finding was, with one worker, no deeper than it was found.

        The strategy is `read-driven`, which sees all that the others see.
        """
        used = self.finding.engine
        return ExploreOptions(
            model=used.model,
            atoms=used.atoms,
            nested=self.finding.crash_point.depth,
            seed=used.seed,
            keep_going=self.finding.needs_power_cut,  # else the first of its kind is the wanted one
            budget=Budget(executions=executions, seconds=None if executions is None else _CANDIDATE_SECONDS),
        )

    def plan(self, case: Case) -> dict[str, Any]:
        """The plan of `case`, for the engine."""
        return plan_of(case, self.template, toggle=self.toggle, bug_option=BUG_OPTION)

    def record(self, plan: dict[str, Any], trace: Path) -> events.Recorded:
        """Records a plan; PowercutError when it cannot be recorded."""
        words = ["record", *self._recording(plan, trace)]
        recorded, _ = engine.single(
            self._context.engine_path, words, events.Recorded, interrupt=self._context.interrupt
        )
        assert isinstance(recorded, events.Recorded)
        return recorded

    def findings(self, trace: Path, options: ExploreOptions) -> Iterator[FindingRecord]:
        """Finding records of a trace as they are made; closing the iterator ends the exploration."""
        return (item for item in self._told(["--trace", str(trace)], options) if isinstance(item, FindingRecord))

    def _told(self, of: Sequence[str], options: ExploreOptions) -> Iterator[events.Recorded | FindingRecord]:
        """Yields an exploration's events about its trace, which it may record before, and about its findings."""
        words = ["explore", *of, *options.arguments()]
        if options.budget.seconds is not None:
            words += ["--crash-point-seconds", f"{options.budget.seconds:g}"]  # a budget does not end a crash point
        stream = engine.stream(self._context.engine_path, words, interrupt=self._context.interrupt)
        return told(stream, symbolizer=self._context.symbolizer, wanted=self.finding)

    def __call__(self, case: Case) -> Seen:
        """Records and explores `case`."""
        return self._asked(case, self.options_within(self._executions))

    def unhurried(self, case: Case) -> Seen:
        """Examines without a budget: for the case that is known to show the bug."""
        return self._asked(case, self.options_within(None))

    def _asked(self, case: Case, options: ExploreOptions) -> Seen:
        trace = self._folder / "candidate.pct"
        length: int | None = None
        shown: FindingRecord | None = None
        try:
            with contextlib.closing(self._told(self._recording(self.plan(case), trace), options)) as told:  # type: ignore[type-var]  # a generator
                for item in told:
                    if isinstance(item, events.Recorded):
                        length = item.events
                    elif same_bug(item, self.finding):
                        shown = item
                        break
        except PowercutError as error:
            self._raise_if_absent(error)
            return Seen(events=length, refused=_refused(error, case) if length is None else None)
        return Seen(events=length, finding=shown)

    def _recording(self, plan: dict[str, Any], trace: Path) -> list[str]:
        """Returns the arguments with which the engine records `plan`."""
        file = self._folder / "plan.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        return ["--plan", str(file), "--trace", str(trace), "--operation-timeout", str(_OPERATION_SECONDS)]

    def _raise_if_absent(self, error: PowercutError) -> None:
        """An engine that does not start says nothing about a case."""
        if error.where == str(self._context.engine_path):
            raise error


def told(
    stream: Iterator[StreamItem], *, symbolizer: Symbolizer, wanted: FindingRecord
) -> Iterator[events.Recorded | FindingRecord]:
    """Reads an exploration's events about a trace that it has recorded, and about findings that may be the wanted one.

    Closing the iterator ends the exploration.
    """
    modules: list[events.Module] = []
    run = RunRecord()
    with contextlib.closing(stream) as items:  # type: ignore[type-var]  # a generator, which can be closed
        for event, raw in items:
            if isinstance(event, events.Modules):
                modules = event.modules
            elif isinstance(event, events.Recorded):
                yield event
            elif isinstance(event, events.RunStarted):
                run = RunRecord.model_validate({name: raw[name] for name in _RUN_FIELDS})
            elif isinstance(event, events.Finding) and _may_be(raw, wanted):
                yield make_record(raw, modules, symbolizer, run=run)


def _may_be(raw: dict[str, Any], wanted: FindingRecord) -> bool:
    """Whether a finding need be looked at: symbolising is what costs."""
    return bool(
        raw["invariant"] == wanted.invariant
        and (raw.get("underlying") or "") == wanted.underlying
        and raw.get("needs_power_cut", True) == wanted.needs_power_cut
    )


_RUN_FIELDS = ("target", "variant", "scenario", "model", "strategy", "atoms", "nested", "seed")


def _refused(error: PowercutError, case: Case) -> int | None:
    """The number of the operation that the engine's error names."""
    match = _STEP.search(error.where)
    if match is None:
        return None
    before = 0
    for phase in case.phases:
        if phase.name == match["phase"]:
            return before + int(match["step"]) - 1
        before += len(phase.operations)
    return None
