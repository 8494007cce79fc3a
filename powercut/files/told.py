"""Calls of a recording as findings tell them: their lines and places, their names in fingerprints, and one sentence on
which change reached the disk and which did not.

A call has its number in `powercut view`. Its identity has no numbers and no names that only this recording has made up.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from powercut.engine.engine import Interrupt
from powercut.engine.events import Finding, Module
from powercut.engine.exploring_events import CallFate, FilesFinding
from powercut.files import calls as trace_calls
from powercut.files.calls import CONTINUES, TOLD, Call, Mark, Names
from powercut.files.places import is_of_program
from powercut.files.words import line_of
from powercut_records import files as records
from powercut_records.files import DURABLE, LOST, ON_DISK, PARTLY

#: Durable calls and marks that are told beside each call whose change was not durable.
_NEAR = 2
#: Calls of one finding that are told in all, those near the cut first; decisive ones are always told.
MOST = 60
_FATES = {"on-disk": "persisted", "lost": "lost", "partly": "torn"}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, kw_only=True)
class Told:
    """A call, or a mark in its place: then the number is 0."""

    number: int
    thread: int
    text: str
    #: Modules and offsets of the program's own frames, innermost first.
    stack: tuple[tuple[int, int], ...]
    call: Call | None = None
    #: The change in a sentence: `the data of "db.tmp"`.
    change: str = ""
    #: The inode that was changed, and the folder whose names were.
    inode: int = 0
    folder: int = 0
    path: str = ""
    folder_path: str = ""
    #: The only name of the inode: folder, and name in it; None with several names, or with none.
    only_name: tuple[int, bytes] | None = None
    identity: str = ""


class Recording:
    """The calls of a trace."""

    def __init__(self, engine_path: Path, trace: Path, *, interrupt: Interrupt | None = None) -> None:
        self.modules: list[Module] = []
        #: Why the recording is not whole, one sentence each.
        self.missed: list[str] = []
        #: Calls and marks, in order.
        self.told: list[Told] = []
        self._names = Names()
        self._number = 0
        started = False
        before: set[bytes] = set()
        for found in trace_calls.records(engine_path, trace, contents=False, modules=self.modules, interrupt=interrupt):
            if isinstance(found, Mark):
                self._take_mark(found)
            elif found.kind == "started":
                started, before = True, self._entries()
            elif found.kind == "note":
                if found.flags != TOLD:
                    self.missed.append(found.data.decode("utf-8", "backslashreplace"))
            elif not started:
                self._names.take(found)
            elif found.kind != "ended":
                self._take(found)
        # The modules are known when the trace was read to its end.
        lasting = {name.decode("utf-8", "backslashreplace") for name in before | self._entries()}
        self.told = [self._with_names(each, lasting) for each in self.told]
        self.calls = {each.number: each for each in self.told if each.number}

    def _entries(self) -> set[bytes]:
        return {name for folder in self._names.folders.values() for name in folder}

    def _take_mark(self, mark: Mark) -> None:
        line = mark.line()
        text = "acknowledged" if line == "end OK" else line.replace("begin maintain ", "begin ", 1)
        self.told.append(Told(number=0, thread=mark.thread, text=text, stack=mark.stack))

    def _take(self, call: Call) -> None:
        line = line_of(call, self._names)
        if not (call.kind == "write" and call.flags & CONTINUES):
            self._number += 1
            text = (line or call.by).partition("  # ")[0]
            told = Told(number=self._number, thread=call.thread, text=text, stack=call.stack, call=call)
            self.told.append(self._changing(told, call))
        self._names.take(call)

    def _changing(self, told: Told, call: Call) -> Told:
        """With what the call changes, by the names that there are before it."""
        names = self._names
        moves = call.kind in ("rename", "unlink")
        inode = names.entry(call.folder, call.name) if moves else call.inode
        path = names.below(call.folder, call.name) if call.folder else names.path(inode) if inode else ""
        changes = {
            "write": f'the data of "{path}"',
            "size": f'the size of "{path}"',
            "allocate": f'the room of "{path}"',
            "create": f'the name "{path}"',
            "link": f'the name "{path}"',
            "unlink": f'the removal of "{path}"',
        }
        folder = call.new_folder if call.kind == "rename" else call.folder
        return replace(
            told,
            change=changes.get(call.kind, told.text),
            inode=inode,
            folder=folder,
            path=path,
            folder_path=names.path(folder) if folder else "",
            only_name=names.only(inode),
        )

    def _with_names(self, told: Told, lasting: set[str]) -> Told:
        own = tuple(frame for frame in told.stack if is_of_program(self.modules[frame[0]].path))
        return replace(told, stack=own, identity=_lasting_words(told.text, lasting))

    # --- findings ---------------------------------------------------------------------------------

    def finding(self, event: Finding, raw: dict[str, Any]) -> tuple[Finding, dict[str, Any]]:
        """The event of a finding with its calls told: `stores`, and more in `files` (checker/RUN.md)."""
        assert event.files is not None
        fates = {fate.call: fate for fate in event.files.calls if fate.call in self.calls}
        shown = _chosen(list(fates.values()))
        stores = [self._store(fates[number]) for number in sorted(fates)]
        inner = raw["files"].get("inner")
        said = sentence([self.calls[n] for n in sorted(fates)], fates, self.next_call(event.files))
        if inner:
            stores += [_recovery_store(call, inner) for call in inner["calls"] if call["fate"] in _FATES]
            said = inner_sentence(inner)
        elif raw["files"].get("life", 1) > 1:
            said = f"{said} It shows in the second life, behind the continuation."
        files = {
            **raw["files"],
            "calls": [self._line(self.calls[fate.call], fate) for fate in shown],
            "left_out": len(fates) - len(shown),
            "around": self._around(event.files, {fate.call for fate in shown}, fates.keys()),
            "sentence": said,
        }
        changed = {**raw, "stores": stores, "files": files}
        return Finding.model_validate(changed), changed

    def next_call(self, at: FilesFinding | records.FilesFinding) -> Told | None:
        """The first call that the cut kept from being made, or from being made as a whole."""
        return self.calls.get(at.call + 1 if at.side == "after" else at.call)

    def _store(self, fate: CallFate) -> dict[str, Any]:
        told = self.calls[fate.call]
        size = told.call.size if told.call else 0
        return {
            "event": told.number,
            "offset": 0,
            "size": size,
            "bytes": "",
            "fate": _FATES[fate.fate],
            "decisive": fate.decisive,
            "kind": "call",
            "text": told.text,
            "stack": told.stack,
            "identity": {"file": "", "function": "", "text": told.identity, "ordinal": 0, "by": "call"},
        }

    def _line(self, told: Told, fate: CallFate | None) -> dict[str, Any]:
        return {
            "call": told.number,
            "thread": told.thread,
            "text": told.text,
            "stack": told.stack,
            "fate": fate.fate if fate else DURABLE,
            "decisive": bool(fate and fate.decisive),
        }

    def _around(self, at: FilesFinding, shown: set[int], pending: Collection[int]) -> list[dict[str, Any]]:
        """Durable calls and marks near the calls that are shown and near the cut."""
        cut = at.call - 1 if at.side == "before" else at.call
        places = {number: index for index, told in enumerate(self.told) if (number := told.number)}
        last = max((index for number, index in places.items() if number <= cut), default=len(self.told) - 1)
        wanted: set[int] = set()
        for index in [*(places[number] for number in shown), last]:
            wanted.update(range(max(0, index - _NEAR), min(last, index + _NEAR) + 1))
        found, number = [], 0
        for index, told in enumerate(self.told):
            number = told.number or number
            if index in wanted and not (told.number and number in pending):
                found.append({**self._line(told, None), **({} if told.number else {"behind": number})})
        return found


def _is_of_life(inner: dict[str, Any]) -> bool:
    """Whether the second cut was in the second life; recovery itself was cut otherwise."""
    return bool(inner.get("life", 1) > 1)


def _recovery_store(call: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """A call of recovery, or of the continuation, before the second cut, as a store of the finding."""
    of_continuation = _is_of_life(inner) and call["call"] > inner["of_recovery"]
    text = f"{'continuation' if of_continuation else 'recovery'}: {call['text']}"
    identity = re.sub(r"\d+", "N", text)
    return {
        "event": call["call"],
        "offset": 0,
        "size": 0,
        "bytes": "",
        "fate": _FATES[call["fate"]],
        "decisive": call["decisive"],
        "kind": "call",
        "text": text,
        "stack": [],
        "identity": {"file": "", "function": "", "text": identity, "ordinal": 0, "by": "call"},
    }


def inner_sentence(inner: dict[str, Any]) -> str:
    """Which decisive changes of recovery, or of the second life, reached the disk before the second cut."""
    calls: Sequence[dict[str, Any]] = inner["calls"]
    by_fate = {
        fate: [
            f"{call['text']} (its call {call['call']})" for call in calls if call["decisive"] and call["fate"] == fate
        ]
        for fate in (ON_DISK, PARTLY, LOST)
    }
    ends = ((ON_DISK, "reached the disk"), (PARTLY, "reached the disk in part"), (LOST, "did not reach the disk"))
    clauses = [f"{' and '.join(by_fate[fate][:2])} {end}" for fate, end in ends if by_fate[fate]]
    what = "The power failed again in the second life" if _is_of_life(inner) else "Recovery was cut itself"
    if clauses:
        return f"{what}: {', '.join(clauses)}."
    return f"{what}, and no change of that life had to be lost." if _is_of_life(inner) else f"{what}."


def _chosen(fates: Sequence[CallFate]) -> list[CallFate]:
    """The decisive ones, and those of the others that are nearest to the cut."""
    decisive = [fate for fate in fates if fate.decisive]
    others = sorted((fate for fate in fates if not fate.decisive), key=lambda fate: -fate.call)
    kept = [*decisive, *others[: max(0, MOST - len(decisive))]]
    return sorted(kept, key=lambda fate: fate.call)


def sentence(calls: Sequence[Told], fates: dict[int, CallFate], following: Told | None) -> str:
    """Which decisive changes reached the disk and which did not. `following`: the call behind the cut.

    'rename("db.tmp" -> "db") (call 3) reached the disk, the data of "db.tmp" (call 2) did not.'
    """
    decisive = [told for told in calls if fates[told.number].decisive] or list(calls)
    by_fate = {fate: [told for told in decisive if fates[told.number].fate == fate] for fate in (ON_DISK, PARTLY, LOST)}
    clauses = [f"{_listed(by_fate[ON_DISK])} reached the disk"] if by_fate[ON_DISK] else []
    if by_fate[PARTLY]:
        clauses.append(f"{_listed(by_fate[PARTLY])} reached {'it' if clauses else 'the disk'} in part")
    if by_fate[LOST]:
        clauses.append(f"{_listed(by_fate[LOST])} did not{'' if clauses else ' reach the disk'}")
    if clauses and not by_fate[LOST] and not by_fate[PARTLY] and following is not None:
        clauses.append(f"and {_listed([following])} was still to come")
    text = ", ".join(clauses)
    return f"T{text[1:]}." if text.startswith("the ") else f"{text}." if text else ""


def _listed(calls: Sequence[Told]) -> str:
    said = [f"{told.change} (call {told.number})" for told in calls[:2]]
    if len(calls) > len(said):
        more = len(calls) - len(said)
        said.append(f"{more} more change{'s' if more > 1 else ''}")
    return " and ".join(said) if len(said) < 3 else f"{', '.join(said[:-1])} and {said[-1]}"


def _lasting_words(text: str, lasting: set[str]) -> str:
    """The line without numbers; a name that was there neither before nor after the recording is `*`."""

    def path(match: re.Match[str]) -> str:
        parts = [part if part in lasting or part == "." else "*" for part in match[1].split("/")]
        return f'"{"/".join(parts)}"'

    return re.sub(r"\d+", "N", _QUOTED.sub(path, text))
