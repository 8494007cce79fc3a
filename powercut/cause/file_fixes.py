"""The cause of a folder's finding: which change must be durable before which, and a sync or an order that mends it.

Nothing is argued. A candidate is put into the trace wherever the program makes the same calls, and all file systems
that were asked for are explored again. Candidates in their order: a sync of the file, of the folder, of both, before
the call that came too early or before the acknowledgement; another order of the two calls. A rewrite in place has one
candidate of its own: the new bytes go to another file, which is synced and takes the name.
"""

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.cores import cores
from powercut.base.errors import PowercutError
from powercut.engine import events
from powercut.engine.options import Budget, ExploreOptions
from powercut.files import run as files_run
from powercut.files.told import Recording, Told
from powercut.program.program import Program
from powercut.runs.run_request import Context
from powercut_records import finding as records
from powercut_records.finding import Cause, Coverage, FindingRecord, Place, Recheck, Store

#: Least seconds of a trial; with less of them none is begun.
_LEAST = 0.2
#: The explanation of a finding that needs no power cut.
WITHOUT_A_CUT = (
    "No sync is missing, and no order is wrong: a program that is killed at this call leaves the same files, and "
    "recovery fails on them."
)
#: Calls that change the bytes of a file; all others change names.
_OF_FILES = ("write", "size", "allocate", "attributes")
#: How the sentence of a fix begins.
_DO = {"reorder": "Make", "through-file": "Let"}
_NOUNS = {"rename": "the rename", "unlink": "the removal", "link": "the link"}

Edit = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A change of the program."""

    kind: str
    #: "fsync of "db.tmp" before the rename"
    words: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, kw_only=True)
class Sides:
    """The two sides of a finding: what was lost, and the call that came too early; None: the acknowledgement did."""

    lost: tuple[Told, ...]
    early: Told | None


@dataclass(kw_only=True)
class _Trial:
    candidate: Candidate
    result: events.Result | None = None
    #: Invariants of findings that are this one still, under whichever file system.
    remaining: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return self.result is not None and all(row.complete for row in self.result.profiles)

    @property
    def held(self) -> bool:
        return self.complete and not self.remaining


def find_cause(
    record: FindingRecord, trace: Path, *, context: Context, folder: Path, seconds: float | None = None
) -> Cause:
    """The `cause` of a finding of `trace`. Edits are left in `folder`. `seconds`: for all trials; None: any number."""
    if record.files and record.files.inner:
        return _of_recovery(record)
    recording = Recording(context.engine_path, trace, interrupt=context.interrupt)
    sides = sides_of(record, recording)
    program = files_run.of_record(record.commands)
    search = _Search(record, recording, sides, program, trace, context, folder, seconds)
    tried = search.trials(list(candidates(recording, sides)))
    best = next((trial for trial in tried if trial.held), None)
    return _described(record, sides, tried, best, list(program.folder.profiles if program.folder else ()))


def _of_recovery(record: FindingRecord) -> Cause:
    """The cause of a finding behind a second cut: no sync of the recorded program mends it."""
    assert record.files is not None and record.files.inner is not None
    whose = "recovery's own" if record.files.inner.life == 1 else "those of recovery or of the continuation"
    explanation = f"Not the recorded calls are at fault, but {whose}. No change of them was tried."
    return Cause(kind="recovery", sentence=record.files.sentence, explanation=explanation)


def sides_of(record: FindingRecord, recording: Recording) -> Sides:
    """The sides of a finding's decisive calls. An early call behind what was lost comes before one ahead of it. Where
    nothing was lost, the call behind the cut was: it came too late."""
    lost = tuple(recording.calls[store.event] for store in record.decisive if store.fate != "persisted")
    there = [recording.calls[store.event] for store in record.decisive if store.fate == "persisted"]
    if not lost and record.files and (following := recording.next_call(record.files)):
        lost = (following,)
    behind = [told for told in there if lost and told.number > lost[0].number]
    early = min(behind, key=_number, default=None) or max(there, key=_number, default=None)
    return Sides(lost=lost, early=early or _name_on_disk(record, recording, lost))


def _name_on_disk(record: FindingRecord, recording: Recording, lost: Sequence[Told]) -> Told | None:
    """The call that gave its name to a file of which data were lost, where the name is on disk. In a file system with
    one order of names no other tree lacks that name alone, so that the call decides nothing by itself."""
    files = {told.inode: told.number for told in lost if told.call and told.call.kind in _OF_FILES}
    named = [recording.calls[store.event] for store in record.stores if store.fate == "persisted"]
    return next((told for told in named if told.folder and told.number > files.get(told.inode, told.number)), None)


def _number(told: Told) -> int:
    return told.number


def candidates(recording: Recording, sides: Sides) -> Iterator[Candidate]:
    """The changes that may mend a finding, the smallest first."""
    early, lost = sides.early, sides.lost
    if (path := _rewritten(sides)) is not None:
        if edits := list(_through(recording, early)):
            yield Candidate(
                kind="through-file", words=f'the rewrite of "{path}" go through another file', edits=tuple(edits)
            )
        return
    if early is not None and lost and early.number < lost[0].number:
        yield _moved(recording, early, lost)
        return
    files = [told for told in lost if told.call and told.call.kind in _OF_FILES]
    folders = [told for told in lost if told.folder] + ([early] if early and early.folder and not files else [])
    # A file that is new is there by its name alone.
    names = folders or [told for told in recording.told if told.folder and told.inode in {each.inode for each in files}]
    none: list[Told] = []
    choices = (("sync-file", files, none), ("sync-folder", none, names), ("sync-both", files or list(lost), names))
    for kind, of_file, of_folder in choices:
        if edits := [*_syncs(recording, of_file, early, "file"), *_syncs(recording, of_folder, early, "folder")]:
            yield Candidate(kind=kind, words=_words(of_file, of_folder, early), edits=tuple(edits))


def _rewritten(sides: Sides) -> str | None:
    """The path of a file that was emptied, and of which later bytes alone are lost: no sync and no order mends that.
    None for all other sides."""
    early = sides.early
    if early is None or not _empties(early) or not sides.lost:
        return None
    later = all(told.inode == early.inode and told.number > early.number for told in sides.lost)
    return early.path if later else None


def _empties(told: Told) -> bool:
    return told.call is not None and (told.call.kind, told.call.size) == ("size", 0)


def _through(recording: Recording, emptied: Told | None) -> Iterator[Edit]:
    """Another file for each time that the program rewrites one so, up to the last change of the new contents.

    New contents end where an operation ends, or the file is emptied again. Nothing is told for a file with several
    names, and for a name that is no UTF-8.
    """
    first: Told | None = None
    last = 0

    def ended() -> Iterator[Edit]:
        if first is not None and first.only_name is not None and last > first.number:
            folder, name = first.only_name
            with suppress(UnicodeDecodeError):
                yield {"through": first.number, "last": last, "folder": folder, "name": name.decode()}

    for told in recording.told:
        again = emptied is not None and told.identity == emptied.identity and _empties(told)
        if again or (not told.number and not told.text.startswith("begin")):
            yield from ended()
            first, last = (told, 0) if again else (None, 0)
        elif first is not None and told.inode == first.inode and told.call and told.call.kind in _OF_FILES:
            last = told.number
    yield from ended()


def _syncs(recording: Recording, lost: Sequence[Told], early: Told | None, what: str) -> Iterator[Edit]:
    """A sync for each time that the program makes these calls, before it makes the one that came too early."""
    ours = {told.identity for told in lost}
    pending: dict[int, Told] = {}
    for told in recording.told:
        if early is not None and told.identity == early.identity and told.number:
            for inode in pending:
                yield {"before": told.number, "sync": what, "inode": inode}
            pending.clear()
        if told.number and told.identity in ours:
            inode = told.folder if what == "folder" else told.inode
            if early is None:
                yield {"after": told.number, "sync": what, "inode": inode}
            pending[inode] = told


def _moved(recording: Recording, early: Told, lost: Sequence[Told]) -> Candidate:
    """The lost calls before the early one, wherever the program makes them behind it."""
    ours, at, edits = {told.identity for told in lost}, 0, []
    for told in recording.told:
        if told.number and told.identity == early.identity:
            at = told.number
        elif told.number and told.identity in ours and at:
            edits.append({"move": told.number, "before": at})
    return Candidate(kind="reorder", words=f"{_noun(lost[0])} before {_noun(early)}", edits=tuple(edits))


def _words(files: Sequence[Told], folders: Sequence[Told], early: Told | None) -> str:
    named = [f'fsync of "{path}"' for path in dict.fromkeys(told.path for told in files)]
    for path in dict.fromkeys(told.folder_path for told in folders):
        named.append("fsync of the folder" if path == "." else f'fsync of the folder "{path}"')
    return f"{' and '.join(named[:3])} before {_noun(early) if early else 'the acknowledgement'}"


def _noun(told: Told) -> str:
    kind = told.call.kind if told.call else ""
    if kind in _NOUNS:
        return _NOUNS[kind] if kind != "unlink" else f'the removal of "{told.path}"'
    return f'the {kind} of "{told.path}"' if kind == "write" else told.text


@dataclass
class _Search:
    record: FindingRecord
    recording: Recording
    sides: Sides
    program: Program
    trace: Path
    context: Context
    folder: Path
    seconds: float | None

    def trials(self, chosen: Sequence[Candidate]) -> list[_Trial]:
        """Tries the candidates until one holds or the time is over."""
        end = None if self.seconds is None else time.monotonic() + self.seconds
        tried: list[_Trial] = []
        for index, candidate in enumerate(chosen):
            left = None if end is None else (end - time.monotonic()) / (len(chosen) - index)
            if left is not None and left < _LEAST:
                break
            tried.append(self._tried(candidate, index, left))
            if tried[-1].held:
                break
        return tried

    def _tried(self, candidate: Candidate, number: int, seconds: float | None) -> _Trial:
        trial = _Trial(candidate=candidate)
        edits = self.folder / f"edits-{number}.json"
        edits.write_text(json.dumps(candidate.edits), encoding="utf-8")
        made = self.record.engine
        options = ExploreOptions(nested=made.nested, seed=made.seed, budget=Budget(seconds=seconds), jobs=cores())
        found: dict[str, events.Finding] = {}
        stream = files_run.explored(
            self.program,
            self.trace,
            options=options,
            engine_path=self.context.engine_path,
            edits=edits,
            interrupt=self.context.interrupt,
            begun=time.monotonic(),
        )
        try:
            for event, _ in stream:
                if isinstance(event, events.Finding):
                    found[event.key] = event
                elif isinstance(event, events.Result):
                    trial.result = event
        except PowercutError:
            return trial  # such as an order that the program cannot have
        trial.remaining = tuple(sorted({event.invariant for event in found.values() if self._is_ours(event)}))
        return trial

    def _is_ours(self, event: events.Finding) -> bool:
        """Whether a finding with the change is the one that is looked at: the same goes wrong, it loses a change that
        this one loses, and the same early call is on disk."""
        if (event.underlying or event.invariant) != (self.record.underlying or self.record.invariant):
            return False
        fates = event.files.calls if event.files else []
        lost = {self.recording.calls[fate.call].identity for fate in fates if fate.decisive and fate.fate != "on-disk"}
        there = {self.recording.calls[fate.call].identity for fate in fates if fate.fate == "on-disk"}
        ours = {told.identity for told in self.sides.lost}
        early = self.sides.early
        return (not ours or not ours.isdisjoint(lost)) and (early is None or early.identity in there)


def _described(
    record: FindingRecord, sides: Sides, tried: Sequence[_Trial], best: _Trial | None, profiles: Sequence[str]
) -> Cause:
    by_call = {store.event: store for store in record.stores}
    first = _place(by_call.get(sides.lost[0].number), sides.lost[0]) if sides.lost else None
    acknowledged = Place(role="acknowledgement", text=f"the program acknowledges {record.operation}".rstrip())
    second = _place(by_call.get(sides.early.number), sides.early) if sides.early else acknowledged
    fix = None
    if best is not None:
        at = second if sides.early else first
        fix = records.Fix(kind=best.candidate.kind, sentence=_mended(best, profiles), site=at.site if at else "")
    return Cause(
        kind="order" if best else "unexplained" if _rewritten(sides) is None else "atomicity",
        first=first,
        second=second if sides.early or first else None,
        sentence="",  # the finding has it
        explanation="" if best else _unmended(sides, tried),
        fix=fix,
        recheck=_recheck(best) if best else None,
    )


def _place(store: Store | None, told: Told) -> Place:
    if store is None:
        return Place(role="next-store", text=told.text, event=told.number)
    return Place(
        role="store",
        text=store.text,
        event=store.event,
        site=store.site if re.search(r":\d+$", store.site) else "",
        function=store.function,
        stack=store.stack,
        identity=store.identity,
    )


def _mended(best: _Trial, profiles: Sequence[str]) -> str:
    """'Add fsync of "db.tmp" before the rename: tried, consistent under ext4, xfs, btrfs.'"""
    do = _DO.get(best.candidate.kind, "Add")
    assert best.result is not None
    clean = [row.profile for row in best.result.profiles if row.verdict == "consistent"]
    if len(clean) == len(profiles):
        return f"{do} {best.candidate.words}: tried, consistent under {', '.join(clean)}."
    return f"{do} {best.candidate.words}: tried, this bug is gone under {', '.join(profiles)}; others are left."


def _unmended(sides: Sides, tried: Sequence[_Trial]) -> str:
    if not tried and (path := _rewritten(sides)) is not None:
        return (
            f'No sync mends a rewrite: "{path}" is emptied before the new bytes are durable. Write the new bytes to '
            f'another file, sync that file, and rename it over "{path}". Nobody has tried this change.'
        )
    if not tried:
        return "No sync and no other order of these calls could be tried."
    failed = list(dict.fromkeys(trial.candidate.words for trial in tried if trial.remaining))
    rest = list(dict.fromkeys(trial.candidate.words for trial in tried if not trial.remaining))
    said = [f"This was tried and does not mend it: {'; '.join(failed)}."] if failed else []
    said += [f"This could not be explored to its end, and proves nothing: {'; '.join(rest)}."] if rest else []
    return " ".join(said)


def _recheck(best: _Trial) -> Recheck:
    assert best.result is not None
    result = best.result
    return Recheck(
        held=True,
        verdict=result.verdict,
        coverage=Coverage.model_validate(result.coverage.model_dump()),
        crash_states=result.crash_states,
        executions=result.executions,
    )
