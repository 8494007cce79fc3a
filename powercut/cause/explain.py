"""Findings made ready to act on: the smallest case that shows each, its root cause, and a fix that was tried.

This comes after a run: its findings are on disk already, and are written again with the fields `minimal`, `cause`,
`bug` and `drawing` (checker/RUN.md). Drawings are cheap: more findings have one than are explained. A bug is explained
once. The first finding that blames a store (`bugs`) is explained; other findings get its cause if a cheap check
confirms it (`shared_cause`), else none. A bug of several runs is explained in the first of these runs. The explained
findings thus do not depend on how many runs go on at a time.
"""

import itertools
import math
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from powercut import minimise
from powercut.base import scratch
from powercut.base.errors import PowercutError
from powercut.base.output_files import write_json
from powercut.base.user_files import json_of
from powercut.cause import find_cause, unexplained
from powercut.cause.schedule import has_threads, schedule_alone
from powercut.cause.shared_cause import shared
from powercut.engine import drawing, engine
from powercut.engine.time_limit import TimeLimit
from powercut.findings import run_records, steps
from powercut.findings.bugs import bug_keys
from powercut.runs import subjects
from powercut.runs.reproduce import load
from powercut.runs.run_request import Context
from powercut_records.base import changed
from powercut_records.finding import Cause, FindingRecord, Minimal
from powercut_records.run import RunRecord

#: Findings that are explained unless --explain says otherwise: of each run, and of one variant of a target.
DEFAULT_MOST = 3
DEFAULT_MOST_OF_VARIANT = 4
#: A command that judges more variants than these explains one finding of each: causes of a hundred bugs took as long as
#: exploring them. A report names the command that looks for each other cause.
MANY_VARIANTS = 8
#: Where the traces of minimal cases are kept: OUT/minimal/<fingerprint>/
FOLDER = "minimal"
#: Findings of a run that are checked for the cause of another one.
MOST_SHARED = 64
#: Limits for one finding after a run. A search that ends at them says so, and 'powercut explain' goes on.
_SECONDS = 60.0
LIMITS = minimise.Limits(considered=120, seconds=_SECONDS)
#: Limits for a finding that needs no power cut: operation and answer say most, and a debugger finds the rest.
FUNCTIONAL_LIMITS = minimise.Limits(considered=30, seconds=10.0)
#: Seconds of a budget; with less of them nothing is begun.
LEAST = 0.5
NO_TIME = "The budget was used up before it could be looked for; 'powercut explain' takes the time that it needs."
#: For the listener: explanations are no runs.
_ORDER = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Name:
    """The identity of a finding that several runs may show."""

    fingerprint: str
    target: str
    variant_name: str
    model: str

    @property
    def variant(self) -> tuple[str, str]:
        return self.target, self.variant_name


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The smallest case and the cause of a finding; None, or a reason, for one that cannot be had."""

    minimal: Minimal | None = None
    cause: Cause | None = None

    def fields(self) -> dict[str, Any]:
        """As a finding record has them."""
        return {"minimal": self.minimal, "cause": self.cause}


@dataclass(kw_only=True)
class Explainer:
    """Explains the findings of one command's runs: `most` of each, and no more than `most_of_variant` of a variant.

    A context manager: at its end, what was begun `ahead` and is not wanted any more is dropped.
    """

    context: Context
    most: int
    most_of_variant: int | None = None
    jobs: int = 1
    #: Seconds that exploring and explaining may take together; None: any number.
    budget: float | None = None
    _until: float | None = None
    _reckoned: bool = False
    _known: dict[Name, Explanation] = field(default_factory=dict)
    #: The explained finding of each group of findings that blame one store, under each model.
    _told: dict[tuple[str, str], FindingRecord] = field(default_factory=dict)
    _count: Counter[tuple[str, str]] = field(default_factory=Counter)
    _orders: Iterator[int] = field(default_factory=lambda: itertools.count(_ORDER))
    #: Explanations begun before their run's turn; their groups, and how many of each variant.
    _ahead: dict[Name, Future[Explanation]] = field(default_factory=dict)
    _ahead_groups: set[tuple[str, str]] = field(default_factory=set)
    _ahead_count: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __enter__(self) -> Self:
        if self.budget is not None:
            self._until = time.monotonic() + self.budget
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max_workers=self.jobs)

    def ahead(self, runs: Sequence[RunRecord]) -> None:
        """Begins what `run` will ask of these runs, which come next and in this order.

        Most runs have one finding to explain: one after the other would leave all jobs but one idle. Findings of a
        group that has one begun wait for their turn, since they may get its cause. `run` may not ask for all that is
        begun, where a variant has explanations enough; what it keeps does not depend on it.
        """
        for run in runs:
            if run.interrupted:
                continue
            self._reckon(run)
            for finding in self._chosen(_counting(run)):
                if _group(finding) in self._ahead_groups or _group(finding) in self._told:
                    continue
                self._ahead_groups.add(_group(finding))
                name = _name(finding)
                if finding.cause or name in self._known or name in self._ahead:
                    continue
                if self._may_explain(name, self._ahead_count):
                    self._ahead[name] = self._begin(finding)

    def run(self, run: RunRecord) -> None:
        """Explains and draws findings of a run record, and writes them and the record again.

        Left alone are those that do not count. A program's workload is not ours to shorten, and its pool not to draw.
        """
        if run.interrupted or self.most == 0:
            return
        self._reckon(run)
        counting = _counting(run)
        in_engine = subjects.of_record(run).in_engine
        news = in_engine and self._draw(counting[: drawing.MOST], run)
        # One of the cache is explained already.
        news |= in_engine and self._share(counting)
        chosen = self._chosen(counting)
        news |= self._explain([finding for finding in chosen if not finding.cause])
        self._told |= {_group(finding): finding for finding in chosen if finding.cause}
        news |= in_engine and self._share(counting)
        if news:
            write_json(Path(run.file), run.as_json())

    def _explain(self, chosen: Sequence[FindingRecord]) -> bool:
        new = {_name(finding): finding for finding in chosen if _name(finding) not in self._known}
        allowed = {name: finding for name, finding in new.items() if self._may_explain(name, self._count)}
        begun = {name: self._ahead.get(name) or self._begin(finding) for name, finding in allowed.items()}
        self._known |= {name: explanation.result() for name, explanation in begun.items()}
        known = [finding for finding in chosen if _name(finding) in self._known]
        for finding in known:
            _put(finding, **self._known[_name(finding)].fields())
        return bool(known)

    def _chosen(self, counting: Sequence[FindingRecord]) -> list[FindingRecord]:
        """The first finding of each group, no more than `most`."""
        first = {_group(finding): finding for finding in reversed(counting)}
        return [finding for finding in counting if first[_group(finding)] is finding][: self.most]

    def _may_explain(self, name: Name, count: Counter[tuple[str, str]]) -> bool:
        """Counts one more of its variant, where there may be one."""
        if self.most_of_variant is not None and count[name.variant] >= self.most_of_variant:
            return False
        count[name.variant] += 1
        return True

    def _begin(self, finding: FindingRecord) -> Future[Explanation]:
        return self._pool.submit(self._explained, next(self._orders), finding)

    def _share(self, counting: Sequence[FindingRecord]) -> bool:
        """Gives findings the cause of the one that was explained for their group, where a check shows it."""
        open_ = [finding for finding in counting if not finding.cause and _group(finding) in self._told]
        news = False
        for finding in open_[:MOST_SHARED]:
            other = self._told[_group(finding)]
            if other is finding or self.context.interrupt.requested or self._left() < LEAST:
                continue
            try:
                cause = shared(finding, other, engine_path=self.context.engine_path)
            except PowercutError:
                continue  # nothing is known of its cause, then
            if cause is not None:
                _put(finding, cause=cause)
                news = True
        return news

    def _draw(self, chosen: Sequence[FindingRecord], run: RunRecord) -> bool:
        wanted = run.trace and self._left() >= LEAST
        new = [finding for finding in chosen if "drawing" not in finding.model_fields_set] if wanted else []
        trace, engine_path = Path(run.trace), self.context.engine_path
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            replays = pool.map(lambda finding: drawing.replay(finding, trace, engine_path=engine_path), new)
            for finding, shown in zip(new, replays, strict=True):
                finding.drawing = shown.drawing
                if shown.steps is not None:
                    finding.steps = steps.placed(shown.steps, shown.modules, self.context.symbolizer)
                    finding.sources = steps.with_sources(finding.sources, finding.steps)
                told = {"drawing": finding.drawing, "steps": finding.steps, "sources": finding.sources}
                _write_again(Path(finding.file), **told)
        return bool(new)

    def _reckon(self, run: RunRecord) -> None:
        """Reckons how much of the budget exploring has left. The budget may have begun before this command."""
        if self.budget is not None and not self._reckoned:
            left = time.monotonic() + self.budget - (run.seconds or 0.0)
            self._until = left if self._until is None else min(self._until, left)
            self._reckoned = True

    def _left(self) -> float:
        """Seconds of the budget; as many as anybody wants where there is none."""
        return math.inf if self._until is None else self._until - time.monotonic()

    def _explained(self, order: int, finding: FindingRecord) -> Explanation:
        left = self._left()
        seconds = min(_SECONDS, left)
        if seconds < LEAST:
            return Explanation(cause=unexplained(NO_TIME))
        self.context.listener.started(order, f"explaining {finding.fingerprint}")
        usual = LIMITS if finding.needs_power_cut else FUNCTIONAL_LIMITS
        limits = replace(usual, seconds=min(seconds, usual.seconds or seconds))
        try:
            if math.isinf(left):
                return explained(_on_disk(Path(finding.file)), context=self.context, limits=limits)
            with TimeLimit(left, parent=self.context.interrupt) as end:
                try:
                    hurried = replace(self.context, interrupt=end)
                    return explained(_on_disk(Path(finding.file)), context=hurried, limits=limits)
                except (engine.Interrupted, PowercutError):
                    if not end.expired:
                        raise
                    return Explanation(cause=unexplained(NO_TIME))
        except engine.Interrupted:
            return Explanation()
        finally:
            self.context.listener.ended(order)


def _counting(run: RunRecord) -> list[FindingRecord]:
    counting = [finding for finding in run.findings if finding.counts]
    # A run that ended at a finding that needs no power cut has that one to explain: the others wait until it is mended.
    return [finding for finding in counting if not (run.functional and finding.needs_power_cut)]


def _name(finding: FindingRecord) -> Name:
    return Name(
        fingerprint=finding.fingerprint,
        target=finding.target,
        variant_name=finding.variant,
        model=finding.model,
    )


def _group(finding: FindingRecord) -> tuple[str, str]:
    """The findings that blame one store; each finding by itself in a record of before there were groups."""
    return finding.bug.store or finding.fingerprint, finding.model


def _put(finding: FindingRecord, **fields: Any) -> None:
    """Completes a finding of a run record, and its own record on disk."""
    for name, value in fields.items():
        setattr(finding, name, value)
    finding.bug = bug_keys(finding)
    _write_again(Path(finding.file), **fields, bug=finding.bug)


def _on_disk(file: Path) -> FindingRecord:
    return FindingRecord.model_validate(json_of(file))


def _write_again(file: Path, **fields: Any) -> None:
    record = _on_disk(file)
    if any(getattr(record, name) != value for name, value in fields.items()):
        write_json(file, changed(record, **fields).as_json())


def explained(record: FindingRecord, *, context: Context, limits: minimise.Limits = LIMITS) -> Explanation:
    """The smallest case and the cause of a finding record with its plan."""
    found = _minimal(record, context, limits)
    whole = Path(record.trace) if record.trace else None
    shown, trace = (found.finding, found.trace) if found else (record, whole)
    with scratch.folder("powercut-explain-") as folder:
        try:
            if trace is None or not trace.is_file():
                return Explanation()
            if shown.needs_power_cut and has_threads(shown):
                shown, trace = schedule_alone(shown, trace, context=context, folder=folder)
                whole = None
            cause = find_cause(
                shown,
                trace,
                context=context,
                folder=folder,
                whole=whole if found and whole != trace else None,
                seconds=limits.seconds,
            )
        except PowercutError as error:
            cause = unexplained(f"It could not be looked for: {error.what}.")
    return Explanation(minimal=_drawn(found, context) if found else None, cause=cause)


def _drawn(found: minimise.Minimal, context: Context) -> Minimal:
    """The field `minimal`, with the table of its finding."""
    minimal = found.record()
    if minimal.finding is not None:
        minimal.finding.drawing = drawing.draw(minimal.finding, found.trace, engine_path=context.engine_path)
    return minimal


def _minimal(record: FindingRecord, context: Context, limits: minimise.Limits) -> minimise.Minimal | None:
    """A case that does not shrink, or shows something else when it is recorded again, is left as it is."""
    folder = context.out / FOLDER / record.fingerprint
    try:
        return minimise.minimise(record, context=context, folder=folder, limits=limits)
    except PowercutError:
        shutil.rmtree(folder, ignore_errors=True)
        return None


def explain_file(file: Path, *, context: Context, trusted: bool = False) -> FindingRecord:
    """Explains a finding that lies on disk, and writes it again, as well as the run records beside it."""
    record = load(file, trusted=trusted)
    asked = subjects.of_record(record).to_explain(record, file)
    fields = explained(asked, context=context, limits=minimise.Limits()).fields()
    record = changed(record, **fields)
    record.bug = bug_keys(record)
    write_json(file, record.as_json())
    for path in sorted((context.out / "runs").glob("*.json")):
        run = run_records.load(path)
        same = [item for item in run.findings if _name(item) == _name(record)]
        for item in same:
            item.minimal, item.cause, item.bug = record.minimal, record.cause, record.bug
        if same:
            write_json(path, run.as_json())
    return record
