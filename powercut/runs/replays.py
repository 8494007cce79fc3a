"""Looks first at where earlier runs went wrong: replays the failure database on a fresh trace.

Every entry that fits the run is replayed by the engine's `reproduce`, one start each, before the exploration begins. A
finding that still holds is on disk and announced at once. A reader thus sees an old bug in the first second of a run
that takes minutes.

The exploration decides all the same. A complete exploration has seen the replayed images as well. Its findings are
therefore the run's findings, and an entry that it did not find again is forgotten. Where it was stopped (a budget, an
interruption) a replayed finding stands on its own evidence and joins those of the run. A complete exploration that is
clean although a replay held contradicts it: one of the two is wrong, and the verdict is `unknown`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from powercut.base import scratch
from powercut.base.errors import HarnessError, UsageError
from powercut.engine import engine, events
from powercut.engine.options import step_words
from powercut.findings.collector import as_listed, blank_run
from powercut.findings.failures import Failure, Failures, entry
from powercut.findings.finding_records import make_record
from powercut.findings.run_records import contradict
from powercut.runs import subjects
from powercut.runs.run_request import Context, Request
from powercut_records.finding import FindingRecord
from powercut_records.run import Replayed, RunRecord

STILL_THERE = "still there"
GONE = "gone"
UNDECIDED = "undecided"
#: Wall-clock limit of one step of a replay; what takes longer is left to the exploration.
_WATCHDOG_SECONDS = 30


@dataclass(kw_only=True)
class _Replay:
    failure: Failure
    #: None: this trace does not have the crash state, or the replay broke; `note` says which.
    held: bool | None
    note: str = ""
    record: FindingRecord | None = None


@dataclass
class Replays:
    """The replays of one run: `begin` once its trace is there, `settle` once it is explored."""

    request: Request
    context: Context
    order: int
    #: Name of the run in the database.
    name: str
    _done: list[_Replay] = field(default_factory=list)

    def begin(self, trace: Path) -> None:
        """Replays the database's entries of this run. Only an interruption ends the replays early."""
        database, plan = self._database(), self.request.plan
        if database is None or plan is None or not database.replay:
            return
        loaded = database.load(self.name)
        for warning in loaded.warnings:
            self._say(warning, database)
        options = self.request.options
        fitting = [one for one in loaded.failures if one.is_of(plan, atoms=options.atoms, nested=options.nested)]
        for failure in fitting:
            done = self._replay(failure, trace)
            self._done.append(done)
            if done.record is not None:
                self._say(self._announcement(done.record), database)

    def _say(self, sentence: str, database: Failures) -> None:
        if database.is_news(sentence):
            self.context.listener.announced(self.order, sentence)

    def settle(self, run: RunRecord, *, complete: bool) -> None:
        """Writes `replayed` into the run record, and the run's findings into the database."""
        if self._done:
            self._decide(run, complete=complete)
        database, plan = self._database(), self.request.plan
        if database is None or plan is None:
            return
        for row in run.replayed or []:
            if row.state == GONE or row.now:
                database.forget(self.name, row.fingerprint)
        for finding in run.findings:
            if kept := entry(finding, plan):
                database.keep(self.name, kept)

    def _database(self) -> Failures | None:
        """None for a trace of the user's, and for a subject whose next recording need not be the same."""
        return self.context.failures if self.request.slug and subjects.of(self.request).recorded_alike else None

    def _replay(self, failure: Failure, trace: Path) -> _Replay:
        modules: list[events.Module] = []
        with scratch.file([json.dumps(failure.model_dump())]) as wanted:
            arguments = ["reproduce", "--trace", str(trace), "--finding", wanted]
            arguments += ["--watchdog-seconds", str(_WATCHDOG_SECONDS)]
            arguments += step_words(self.request.options.step_budget)
            try:
                for event, raw in engine.stream(self.context.engine_path, arguments, interrupt=self.context.interrupt):
                    if isinstance(event, events.Modules):
                        modules = event.modules
                    elif isinstance(event, events.Reproduced):
                        record = self._record(raw["finding"], modules, trace) if event.held else None
                        return _Replay(failure=failure, held=event.held, record=record)
            except UsageError:
                return _Replay(failure=failure, held=None, note="the trace does not have this crash state any more")
            except HarnessError as error:
                return _Replay(failure=failure, held=None, note=f"it could not be replayed: {error.what}")
        return _Replay(failure=failure, held=None, note="it could not be replayed: the engine gave no answer")

    def _record(self, raw: dict[str, Any] | None, modules: list[events.Module], trace: Path) -> FindingRecord | None:
        """The finding as it shows now, on disk."""
        if raw is None:
            return None
        run = blank_run({**self.request.options.described(), **self.request.header})
        record = make_record({"event": "finding", **raw}, modules, self.context.symbolizer, run=run)
        record.trace, record.plan = str(trace), self.request.plan
        return self.context.store.put(record, order=self.order)

    def _announcement(self, record: FindingRecord) -> str:
        site = record.lost_site or record.store_site or (record.fault.site if record.fault else "")
        where = f" at {site}" if site else ""
        return f"{self.request.name}: an earlier finding holds: {record.invariant}{where}  {record.file}"

    def _decide(self, run: RunRecord, *, complete: bool) -> None:
        found = {finding.fingerprint: finding for finding in run.findings}
        identities = {
            kept.identity: kept.fingerprint
            for finding in run.findings
            if (kept := entry(finding, self.request.plan or {}))
        }
        run.replayed = [self._row(done, found, identities, complete=complete) for done in self._done]
        held = {done.record.fingerprint: done.record for done in self._done if done.record}
        missed = [record for name, record in held.items() if name not in found]
        if not complete:
            run.findings += [as_listed(record) for record in missed]
            run.verdict = "inconsistent" if run.findings else run.verdict
            return
        if missed and not found:
            contradict(run, "the exploration is clean, but an earlier finding holds on its trace", missed)
            return
        for record in missed:  # the exploration tells of the same states under other names
            self.context.store.withdraw(record.fingerprint, order=self.order)

    def _row(
        self, done: _Replay, found: dict[str, FindingRecord], identities: dict[tuple[str, ...], str], *, complete: bool
    ) -> Replayed:
        """One item of the run record's `replayed`."""
        failure = done.failure
        now = None if failure.fingerprint in found else identities.get(failure.identity)
        if now is None and done.record and done.record.fingerprint in found and failure.fingerprint not in found:
            now = done.record.fingerprint  # its function or its file was renamed
        again = failure.fingerprint in found or now is not None
        state = STILL_THERE if done.held or again else GONE if complete else UNDECIDED
        note = done.note
        if state == UNDECIDED and not note:
            note = "its crash image is clean now, but the run did not cover the rest"
        sites = failure.sites
        return Replayed(
            fingerprint=failure.fingerprint,
            invariant=failure.invariant,
            site=sites[0].rpartition(" ")[2] if sites else "",
            state=state,
            replay="held" if done.held else "not replayed" if done.held is None else "did not hold",
            now=now or "",
            note="" if state == STILL_THERE else note,
        )


def sentence(run: RunRecord) -> str:
    """ "replayed 3 earlier findings: 2 still there, 1 gone"; empty where there were none."""
    rows = run.replayed or []
    if not rows:
        return ""
    states = [row.state for row in rows]
    counts = [f"{states.count(state)} {state}" for state in (STILL_THERE, GONE, UNDECIDED) if state in states]
    return f"replayed {len(rows)} earlier finding{'s' if len(rows) > 1 else ''}: {', '.join(counts)}"
