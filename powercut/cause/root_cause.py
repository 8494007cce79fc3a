"""The root cause of a finding, and a fix that was tried: the field `cause` of a finding record (checker/RUN.md).

Which two places belong together is found on the finding's image (`culprits.py`). Whether a flush, a fence or another
order mends the bug is not argued but tried: the fix is applied to the trace and the whole trace is explored again. If
the fixed trace still fails, repeat: find the next root cause and add its fix, a few times. If one finding needs B
before A and the next one A before B, no order is right. The two must become durable together, which no flush can do.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from powercut.base.errors import UsageError
from powercut.cause import file_fixes
from powercut.cause.culprits import Culprit, Culprits, RecoveryStore, find
from powercut.cause.fixes import Fix, apply, candidates, stored_first
from powercut.cause.images import Deadline, Judge, ending_of
from powercut.cause.trace_view import TraceEvent, TraceView, read
from powercut.cause.words import explanation, fix_sentence, sentence
from powercut.engine.options import Budget, ExploreOptions
from powercut.findings.store import FindingStore
from powercut.runs import runner, subjects
from powercut.runs.run_request import Context, Request, Silent
from powercut.symbols import source
from powercut.symbols.function_names import function_name
from powercut.symbols.symbolize import Frame, of_record
from powercut_records import finding as records
from powercut_records import media, places
from powercut_records.base import changed
from powercut_records.finding import Cause, FindingRecord, Place, Recheck
from powercut_records.places import SourceLine
from powercut_records.run import RunRecord

#: Fixes that are put on top of each other before the search gives up.
ROUNDS = 8
#: Fields by which a record names a store of recovery.
_OF_STORE = ("site", "function", "stack", "offset", "size", "identity")
#: Executions that one exploration with a fix may take.
BUDGET = 50_000
#: Bytes of a line of the pool, and events of one operation on flash from its first store to its last.
_LINE, _STORES_OF_OPERATION = 64, 6

#: Other findings that one fix is looked at for, before it counts as not mending.
MOST_OTHERS = 8
#: Note on a fix after which other bugs of the same kind are still there.
OTHER_BUGS = "Findings of the same kind remain; they lose other stores, and have causes of their own."
#: Note on a fix whose trace was not explored to its end.
NOT_COMPLETE = "A fix was tried, but the exploration with it was not complete ({reason}): it proves nothing."

#: Kind of a fix that belongs to the thread that relies on B, and not to the thread that stores B.
IN_READER = "flush-in-reader"
#: Note on the re-check of such a fix: nobody knows what the reader's flush would find in other schedules.
IN_THIS_SCHEDULE = "The re-check made B durable where it is stored, before it was read in this schedule."

#: Note on a fix that changes an order: the stores of recovery cannot be moved, since its loads would not see it.
NOT_IN_RECOVERY = "Recovery stores at the same lines, in the order that it has; cuts inside it were not re-checked."

Kind = Literal["order", "atomicity", "recovery", "functional", "schedule", "unexplained"]
#: The key by which a reader would call two findings one and the same thing going wrong.
Class = tuple[str, str, str, str]


def class_of(record: FindingRecord) -> Class:
    """Invariant, kind of query, kind of operation, and where recovery or the query died, if it did."""
    return (
        record.underlying or record.invariant,
        record.query.kind,
        record.operation.kind,
        ending_of(record),
    )


@dataclass(kw_only=True)
class _Attempt:
    """A trace with all fixes so far, and the result of exploring it."""

    trace: Path
    fixes: list[Fix] = field(default_factory=list)
    run: RunRecord = field(default_factory=RunRecord)
    remaining: list[FindingRecord] = field(default_factory=list)
    note: str = ""

    @property
    def complete(self) -> bool:
        return runner.is_complete(changed(self.run, verdict="consistent"))

    @property
    def held(self) -> bool:
        return bool(self.fixes) and not self.remaining and self.complete


def find_cause(
    record: FindingRecord,
    trace: Path,
    *,
    context: Context,
    folder: Path,
    whole: Path | None = None,
    seconds: float | None = None,
) -> Cause:
    """The `cause` of a finding of `trace`. Traces with fixes are left in `folder`.

    `whole`: the trace of the whole run that the finding was minimised from; the fix is tried on it too.
    `seconds`: that it may take where the commands of a program judge; HarnessError when they are not enough. Where a
    target is judged, one exploration may take a fixed part of them.
    """
    if not record.needs_power_cut:
        kind: Kind = "schedule" if record.by_schedule else "functional"
        return _of_no_store(kind, file_fixes.WITHOUT_A_CUT if record.files else explanation(kind, None, None, None))
    if record.files is not None:
        return file_fixes.find_cause(record, trace, context=context, folder=folder, seconds=seconds)
    return _Search(record, trace, context, folder, Deadline(seconds=seconds)).cause(whole)


def unexplained(why: str) -> Cause:
    """The `cause` of a finding whose cause could not be looked for."""
    return _of_no_store("unexplained", why)


def _of_no_store(kind: Kind, why: str) -> Cause:
    return Cause(
        kind=kind,
        first=None,
        second=None,
        sentence=sentence(kind, None, None),
        explanation=why,
        fix=None,
        recheck=None,
    )


class _Search:
    def __init__(self, record: FindingRecord, trace: Path, context: Context, folder: Path, deadline: Deadline) -> None:
        self.record = record
        self.deadline = deadline
        self.trace = trace
        self.folder = folder
        self.context = replace(
            context, out=folder, store=FindingStore(folder), listener=Silent(), checkpoints=False, resume=False,
            mark=lambda run: None,
        )  # fmt: skip
        self.subject = subjects.of_record(record)
        made = record.engine
        self.options = ExploreOptions(
            model=made.model,
            atoms=made.atoms,
            nested=made.nested,
            seed=made.seed,
        )
        self.medium = media.of_model(made.model)
        self.count = 0
        #: How many findings of other invariants the trace at hand has without any fix, by class.
        self.others: Counter[Class] = Counter()

    def cause(self, whole: Path | None) -> Cause:
        view = self.view(self.trace)
        base = self.explored(self.trace)
        known = {class_of(item) for item in base.findings} - {class_of(self.record)}
        culprits = find(self.record, view, self.judge(self.trace))
        if culprits is None or not (culprits.first or culprits.second):
            return self.described("unexplained", Culprits(), view, None, None)
        if self.medium.device and culprits.in_recovery:  # no edit of a trace flushes it there: an order cannot be tried
            return self.described("unexplained", culprits, view, None, None)
        kind, attempt = self.mended(culprits, view, known, _Attempt(trace=self.trace))
        if not attempt.held and (alone := self.mended_alone(culprits, view, known, base)):
            kind, attempt = "order", alone
        if attempt.fixes and not attempt.complete and not attempt.remaining:
            return unexplained(NOT_COMPLETE.format(reason=attempt.run.coverage.reason))
        recheck = rechecked(attempt) if attempt.fixes else None
        if recheck is not None and whole is not None and kind == "order":
            kind, there = self.on_whole(attempt.fixes, whole, known)
            if there and not self.mends(there, culprits):
                kind = "atomicity"
            if kind != "order":
                recheck = rechecked(there) if there else None
            elif there is not None:
                attempt, recheck.whole = there, rechecked(there)
        return self.described(kind, culprits, view, attempt, recheck)

    def mended(self, culprits: Culprits, view: TraceView, known: set[Class], best: _Attempt) -> tuple[Kind, _Attempt]:
        """Puts fix on fix until nothing new is wrong, or two fixes contradict each other."""
        now: Culprits | None = culprits
        orders: set[tuple[object, object]] = set()
        for _ in range(ROUNDS):
            if now is None:
                break
            order = (_paths(now.first, view), _paths(now.second, view))
            if (order[1], order[0]) in orders:
                return "atomicity", best
            if order in orders:
                # In spite of the fix that puts them in order.
                return "atomicity", best
            orders.add(order)
            tried = self.best_of(candidates(now, view), best, view, known)
            if tried is None:
                break
            best = tried
            if best.held:
                return ("order" if self.mends(best, culprits) else "atomicity"), best
            if class_of(self.record)[0] == "leak" and culprits.first_role == "next-store":
                # Naming blocks before they are allocated, or freeing them before they are let go, leaks nothing and is
                # worse. Not every target's checks see this fault, so more moves are no evidence.
                return "atomicity", best
            if not best.remaining:
                break
            view = self.view(best.trace)
            now = find(best.remaining[0], view, self.judge(best.trace))
        if not best.fixes and culprits.first and culprits.second and not stored_first(culprits):
            # A comes first and cannot be put behind B: they store to the same bytes, or the program ends between them.
            return "atomicity", best
        if culprits.first_role == "next-store":
            return ("atomicity" if culprits.first else "recovery"), best
        if culprits.both_ways or (best.fixes and not culprits.second):
            return "atomicity", best
        mended = best.fixes and class_of(self.record) not in {class_of(item) for item in best.remaining}
        return ("order" if mended else "unexplained"), best

    def mended_alone(self, culprits: Culprits, view: TraceView, known: set[Class], base: RunRecord) -> _Attempt | None:
        """Returns a fix after which this finding is gone and only other bugs of its kind remain; else None.

        Another bug was there before, and loses other stores. A finding belongs to this bug if only the fix has brought
        it, or if it loses a store that the fix is about. For example, B before A mends one half of what must be atomic,
        and A before B the other half. Only a flush or a fence is taken for such a fix: another order of the stores
        moves findings, too.
        """
        if culprits.first_role != "store" or not stored_first(culprits):
            return None
        before = {item.fingerprint for item in base.findings} - {self.record.fingerprint}
        ours = _paths(culprits.first, view) | _paths(culprits.second, view)
        for fix in candidates(culprits, view):
            attempt = self.all_of([fix], self.trace, known)
            if attempt is None or not attempt.complete or len(attempt.remaining) > MOST_OTHERS:
                continue
            if any(item.fingerprint not in before for item in attempt.remaining):
                continue
            now = self.view(attempt.trace)
            judge = self.judge(attempt.trace)
            if all(_apart(find(item, now, judge), now, ours) for item in attempt.remaining):
                attempt.remaining, attempt.note = [], OTHER_BUGS
                return attempt
        return None

    def best_of(self, chosen: Sequence[Fix], before: _Attempt, view: TraceView, known: set[Class]) -> _Attempt | None:
        """The first of the fixes that holds, else the last that could be applied."""
        tried: _Attempt | None = None
        for fix in chosen:
            if fix.block and tried:
                break  # A can be moved alone.
            edits = fix.edits(view)
            if not edits:
                continue
            trace = self.next_file()
            try:
                apply(edits, before.trace, trace, engine_path=self.context.engine_path)
            except UsageError:
                continue  # Such as a store that would pass another one to the same bytes: no such program.
            tried = self.tried(trace, [*before.fixes, fix], known)
            if tried.held:
                break
        return tried

    def tried(self, trace: Path, applied: list[Fix], known: set[Class]) -> _Attempt:
        """Explores a trace with fixes. Stores of recovery stay in their order (`NOT_IN_RECOVERY`)."""
        attempt = _Attempt(trace=trace, fixes=applied, run=self.explored(trace))
        attempt.remaining = [item for item in attempt.run.findings if class_of(item) not in known]
        reordered = {path[0] for fix in applied if fix.kind == "reorder" for path in fix.second}
        if attempt.remaining and all(_repeats(item, reordered) for item in attempt.remaining):
            attempt.run = self.explored(trace, nested=0)
            attempt.remaining = [item for item in attempt.run.findings if class_of(item) not in known]
            attempt.note = NOT_IN_RECOVERY
        return attempt

    def on_whole(self, wanted: Sequence[Fix], whole: Path, known: set[Class]) -> tuple[Kind, _Attempt | None]:
        """Tries these fixes on the trace that the finding was minimised from, and adds others where they do not hold.

        A case of one item may be mended by an order that loses another item as soon as there are two.
        """
        before = self.explored(whole)
        if before.coverage.kind != "complete":
            return "order", None
        mine = class_of(self.record)
        classes = {class_of(item) for item in before.findings}
        # The minimal case may get there by another operation.
        ours = {mine} if mine in classes else {item for item in classes if item[:2] == mine[:2]}
        known = known | classes - ours
        # A finding that breaks the same invariant may be this finding, moved.
        self.others = Counter(class_of(item) for item in before.findings if class_of(item)[0] != mine[0])
        attempt = self.all_of(wanted, whole, known)
        if attempt is None:
            # By other calls, too: they are mended where they are.
            attempt = _Attempt(trace=whole, remaining=[item for item in before.findings if class_of(item) in ours])
        if attempt.remaining:
            view = self.view(attempt.trace)
            culprits = find(attempt.remaining[0], view, self.judge(attempt.trace))
            if culprits is not None and (culprits.first or culprits.second):
                kind, more = self.mended(culprits, view, known, attempt)
                if kind in ("order", "atomicity"):
                    return kind, more
        return "order", attempt if attempt.fixes else None

    def mends(self, attempt: _Attempt, culprits: Culprits) -> bool:
        """Whether an attempt after which the finding is gone has mended it.

        Where A is only what the program stores next, to store it first moves findings about: nothing is mended as long
        as there are findings of a class that had fewer before.
        """
        if culprits.first_role == "store":
            return True
        left = Counter(class_of(item) for item in attempt.run.findings)
        return attempt.run.verdict != "unknown" and left <= self.others

    def all_of(self, wanted: Sequence[Fix], trace: Path, known: set[Class]) -> _Attempt | None:
        """A trace with all these fixes; None where one of them fits nowhere."""
        for fix in wanted:
            edits = fix.edits(self.view(trace))
            if not edits:
                return None
            before, trace = trace, self.next_file()
            try:
                apply(edits, before, trace, engine_path=self.context.engine_path)
            except UsageError:
                return None
        return self.tried(trace, list(wanted), known)

    # --- parts --------------------------------------------------------------------------------------

    def view(self, trace: Path) -> TraceView:
        view = read(trace, engine_path=self.context.engine_path, symbolizer=self.context.symbolizer)
        return replace(view, edits_reach_recovery=self.subject.in_engine, medium=self.medium)

    def judge(self, trace: Path) -> Judge:
        return Judge(
            engine_path=self.context.engine_path,
            trace=trace,
            model=self.options.model,
            atoms=self.options.atoms,
            subject=self.subject,
            deadline=self.deadline,
            interrupt=self.context.interrupt,
        )

    def next_file(self) -> Path:
        self.count += 1
        return self.folder / f"fixed-{self.count}.pct"

    def explored(self, trace: Path, *, nested: int | None = None) -> RunRecord:
        self.count += 1
        options = self.options if nested is None else replace(self.options, nested=nested)
        seconds = self.deadline.part(self.subject.part_of_search)
        options = replace(options, budget=Budget(executions=BUDGET, seconds=seconds))
        request = Request(
            name="fix",
            slug=f"explored-{self.count}",
            options=options,
            trace=trace,
            program=self.subject.program,
            claims=False,
        )
        return runner.run_one(request, self.context)

    def described(
        self,
        kind: Kind,
        culprits: Culprits,
        view: TraceView,
        attempt: _Attempt | None,
        recheck: Recheck | None,
    ) -> Cause:
        first = self.place(culprits.first, culprits.first_role, view)
        second = self.place(culprits.second, culprits.second_role, view)
        _tell_apart(first, second)
        if kind == "atomicity" and self.medium.operation and _of_one_operation(first, second):
            second = None
        fix = None
        if attempt and attempt.fixes and kind == "order":
            tried = attempt.fixes[0]
            kept: str = tried.kind
            if _relied_on(culprits) and self.medium.advice.by_readers:
                kept = IN_READER
                if recheck is not None:
                    recheck.note = " ".join(part for part in (recheck.note, IN_THIS_SCHEDULE) if part)
            site = self.site_of_fix(kept, tried, first, second, view)
            file, _, line = site.rpartition(":")
            fix = records.Fix(
                kind=kept,
                sentence=fix_sentence(kept, first, second, medium=self.medium),
                site=site,
                source=[SourceLine.model_validate(row) for row in _around(file, line)],
                steps=len(attempt.fixes),
            )
        return Cause(
            kind=kind,
            first=first,
            second=second,
            sentence=sentence(kind, first, second, medium=self.medium),
            explanation=explanation(kind, first, second, recheck, medium=self.medium),
            fix=fix,
            recheck=recheck,
        )

    def site_of_fix(self, kind: str, tried: Fix, first: Place | None, second: Place | None, view: TraceView) -> str:
        """The line that a fix is made at: for a fence that of the flush before it, for a reader its return."""
        if kind == IN_READER:
            return second.site if second else ""
        if kind == "fence":
            begin = first.event if first and first.event is not None else 0
            behind = [edit["after"] for edit in tried.edits(view).insert if edit["after"] >= begin]
            if behind:
                return view.place(view.events[behind[0]].stack).site or ""
        return first.site if first else ""

    def place(self, stores: Sequence[Culprit], role: str, view: TraceView) -> Place | None:
        """The store that decides last stands for all stores."""
        if not stores:
            return None
        store = stores[-1]
        if isinstance(store, RecoveryStore):
            found = Place.model_validate({name: getattr(store.record, name) for name in _OF_STORE})
            found.event, found.bytes = None, ""
            found.text = next((line.text.strip() for f in found.stack for line in f.source if line.focus), "")
        else:
            place = view.place(store.stack)
            found = Place(
                site=place.site or "",
                function=place.function,
                stack=[_with_source(frame) for frame in place.frames],
                identity=place.identity.record() if place.identity else None,
                event=store.index,
                bytes=store.bytes,
                text=place.text,
                offset=store.offset if store.stores else None,
                size=store.size if store.stores else None,
            )
        found.role, found.source, found.count = role, found.text, len(stores)
        if role == "acknowledgement" and isinstance(store, TraceEvent):
            found.text = self.acknowledges(store, view)
        return found

    def acknowledges(self, end: TraceEvent, view: TraceView) -> str:
        begin = view.events[max(view.operation_of(end.index - 1)[0], 0)]
        asked = self.record.operation
        earlier = (self.record.crash_point.event or 0) > end.index + 1
        if self.record.commands.ack:
            return f"the program acknowledges {'an earlier operation' if earlier else repr(asked.text)}"
        if earlier:
            return f"an earlier {begin.code} returns"
        return f"{asked if begin.code == asked.kind else begin.code or 'the operation'} returns"


def rechecked(attempt: _Attempt) -> Recheck:
    """`recheck`: what exploring the trace with all fixes showed."""
    run = attempt.run
    return Recheck(
        held=attempt.held,
        verdict=run.verdict,
        coverage=run.coverage,
        crash_states=run.crash_states,
        executions=run.executions,
        remaining=sorted({item.invariant for item in attempt.remaining}),
        note=attempt.note,
        whole=None,
    )


def _repeats(record: FindingRecord, paths: set[str]) -> bool:
    """Whether a finding is of a cut inside recovery that had made a store at one of these places."""
    return any(
        f"{function_name(frame.function)} {of_record(frame).place}" in paths
        for nested in record.nested_image
        for store in nested.recovery_stores
        for frame in store.stack
    )


def _around(file: str, line: str) -> Sequence[dict[str, Any]]:
    return (source.context(file, int(line)) or []) if file and line.isdecimal() else []


def _relied_on(culprits: Culprits) -> bool:
    """Whether an operation of one thread returned while what another one had stored could still be lost."""
    stored, returned = (
        {event.thread for event in side if isinstance(event, TraceEvent)} for side in (culprits.first, culprits.second)
    )
    return culprits.second_role == "acknowledgement" and bool(stored) and returned.isdisjoint(stored)


def _of_one_operation(first: Place | None, second: Place | None) -> bool:
    """Whether both are stores of one program or erase on flash: of the same line, one right after the other."""
    if first is None or second is None or None in (first.event, second.event, first.offset, second.offset):
        return False
    assert first.event is not None and second.event is not None
    assert first.offset is not None and second.offset is not None
    near = abs(first.event - second.event) <= _STORES_OF_OPERATION
    return first.role == second.role == "store" and near and first.offset // _LINE == second.offset // _LINE


def _tell_apart(first: Place | None, second: Place | None) -> None:
    """Two stores of one helper are told by their callers: by the outermost lines of the program that differ."""
    if first is None or second is None or not first.site or first.site != second.site:
        return
    # Not by those of the driver, which differ when the two stores are of two operations.
    ours, theirs = (
        [frame for frame in place.stack if frame.module == place.stack[0].module and of_record(frame).belongs_to_user]
        for place in (first, second)
    )
    for one, other in zip(reversed(ours), reversed(theirs), strict=False):
        if (one.file, one.line) != (other.file, other.line):
            for place, frame in ((first, one), (second, other)):
                place.site = f"{frame.file}:{frame.line}"
                place.function = function_name(frame.function)
                place.source = source.line(frame.file, frame.line).strip()
                if place.role != "acknowledgement":
                    place.text = place.source
            return


def _with_source(frame: Frame) -> places.Frame:
    lines = source.context(frame.file, frame.line) if frame.file and frame.belongs_to_user else None
    return places.Frame.model_validate({**frame.record(), "source": lines} if lines else frame.record())


def _apart(culprits: Culprits | None, view: TraceView, ours: frozenset[tuple[str, ...]]) -> bool:
    """Whether culprits are known, and they lose no store of `ours`."""
    if culprits is None:
        return False
    lost = _paths(culprits.first, view) or _paths(culprits.second, view)
    return bool(lost) and not lost & ours


def _paths(stores: Iterable[Culprit], view: TraceView) -> frozenset[tuple[str, ...]]:
    """Names for the culprits when two causes are compared; recovery's stores have names of their own."""
    return frozenset(
        ("recovery", store.record.site) if isinstance(store, RecoveryStore) else view.place(store.stack).path
        for store in stores
    )
