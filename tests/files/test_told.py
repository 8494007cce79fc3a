"""Calls of a finding as people are told them: lines, fates, a sentence, and names that another recording has too."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.cause import file_fixes
from powercut.cause.file_fixes import Sides
from powercut.engine.events import Finding, parse
from powercut.files import record
from powercut.files.told import Recording
from powercut.findings.finding_records import make_record
from powercut.findings.fingerprint import fingerprint
from powercut.symbols.symbolize import Symbolizer
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord
from tests.real_engine import require_engine

_SAVES = """
import os, tempfile
folder = "data"
for number in range({saves}):
    handle, name = tempfile.mkstemp(dir=folder, prefix="db.", suffix=".tmp")
    os.write(handle, b"x" * 700)
    os.close(handle)
    os.rename(name, "data/db")
"""
#: The calls of a save: openat, write, rename.
OPEN, WRITE, RENAME = 1, 2, 3


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    require_engine()
    monkeypatch.chdir(tmp_path)

    def made(script: str) -> Recording:
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        (folder / "mine").write_bytes(b"mine")
        record.record(["python3", "-c", script], folder, tmp_path / "run.pct")
        return Recording(paths.engine(), tmp_path / "run.pct")

    return made


def found(recording: Recording, fates: Sequence[tuple[int, str, bool]], *, call: int) -> FindingRecord:
    """The record of a finding whose calls have these fates."""
    tree = {"paths": [], "others": 0}
    calls = [{"call": number, "fate": fate, "decisive": decisive} for number, fate, decisive in fates]
    files = {"profiles": ["ext4"], "side": "before", "call": call, "calls": calls}
    files |= dict.fromkeys(("met", "visible", "left"), tree)
    event, raw = parse(
        json.dumps(
            {
                "event": "finding",
                "key": "k",
                "invariant": "recovery-failed",
                "message": "It fails.",
                "operation": {"kind": ""},
                "query": {"kind": "program"},
                "files": files,
            }
        )
    )
    assert isinstance(event, Finding)
    _, told = recording.finding(event, raw)
    with Symbolizer() as symbolizer:
        return make_record(told, recording.modules, symbolizer, run=RunRecord(nested=0, seed=1))


def test_a_finding_says_which_change_reached_the_disk_and_which_did_not(recording: Any) -> None:
    calls = recording(_SAVES.format(saves=1))
    assert [told.text.partition("(")[0] for told in calls.told] == ["openat", "write", "rename"]
    finding = found(calls, [(WRITE, "lost", True), (RENAME, "on-disk", True)], call=4)
    assert finding.files is not None
    name = calls.calls[WRITE].path
    assert finding.files.sentence == (
        f'rename("{name}" -> "db") (call 3) reached the disk, the data of "{name}" (call 2) did not.'
    )
    assert [(call.call, call.fate) for call in finding.files.calls] == [(2, "lost"), (3, "on-disk")]
    assert [(call.call, call.fate) for call in finding.files.around] == [(1, "durable")]
    assert [(store.event, store.fate, store.site) for store in finding.decisive] == [
        (2, "lost", f'write("{name}", 700 bytes at 0)'),
        (3, "persisted", f'rename("{name}" -> "db")'),
    ]


def test_a_fingerprint_has_neither_numbers_nor_names_of_one_recording(recording: Any) -> None:
    calls = recording(_SAVES.format(saves=2))
    first = found(calls, [(WRITE, "lost", True), (RENAME, "on-disk", True)], call=4)
    second = found(calls, [(WRITE + 3, "lost", True), (RENAME + 3, "on-disk", True)], call=7)
    assert fingerprint(first) == fingerprint(second)
    assert first.bug == second.bug
    part = found(calls, [(WRITE, "partly", True), (RENAME, "on-disk", True)], call=4)
    assert fingerprint(part) == fingerprint(first)
    other = found(calls, [(WRITE, "on-disk", True), (RENAME, "lost", True)], call=4)
    assert fingerprint(other) != fingerprint(first)
    # The temporary names are other ones; the place is the same.
    again = found(recording(_SAVES.format(saves=1)), [(WRITE, "lost", True), (RENAME, "on-disk", True)], call=4)
    assert fingerprint(again) == fingerprint(first)


def test_a_cut_between_two_calls_names_the_one_that_was_still_to_come(recording: Any) -> None:
    calls = recording("import os\nos.mkdir('data/a')\nos.mkdir('data/b')\nos.rmdir('data/a')")
    finding = found(calls, [(1, "on-disk", True)], call=3)
    assert finding.files is not None
    assert (
        finding.files.sentence
        == 'The name "a" (call 1) reached the disk, and the removal of "a" (call 3) was still to come.'
    )
    assert file_fixes.sides_of(finding, calls) == Sides(lost=(calls.calls[3],), early=calls.calls[1])


def test_the_name_of_lost_data_is_to_blame_where_no_other_tree_lacks_it_alone(recording: Any) -> None:
    calls = recording(_SAVES.format(saves=2))
    fates = [(WRITE, "lost", True), (RENAME, "on-disk", False), (WRITE + 3, "lost", False), (RENAME + 3, "lost", True)]
    finding = found(calls, fates, call=7)
    assert file_fixes.sides_of(finding, calls).early == calls.calls[RENAME]


def test_many_calls_are_left_out_and_decisive_ones_never(recording: Any) -> None:
    calls = recording("import os\nfor n in range(100): os.mkdir(f'data/{n}')")
    fates = [(number, "lost", number in (1, 2)) for number in range(1, 101)]
    files = found(calls, fates, call=100).files
    assert files is not None
    assert len(files.calls) + files.left_out == 100
    assert [call.call for call in files.calls][:3] == [1, 2, 43]
    assert files.sentence == 'The name "0" (call 1) and the name "1" (call 2) did not reach the disk.'


def edits(calls: Recording, lost: int, early: int | None) -> dict[str, list[dict[str, Any]]]:
    sides = Sides(lost=(calls.calls[lost],), early=calls.calls[early] if early else None)
    return {made.words: list(made.edits) for made in file_fixes.candidates(calls, sides)}


def test_fixes_stand_wherever_the_program_makes_the_same_calls(recording: Any) -> None:
    calls = recording(_SAVES.format(saves=2))
    name, inodes = calls.calls[WRITE].path, [calls.calls[WRITE].inode, calls.calls[WRITE + 3].inode]
    made = edits(calls, WRITE, RENAME)
    assert [*made] == [
        f'fsync of "{name}" before the rename',
        "fsync of the folder before the rename",
        f'fsync of "{name}" and fsync of the folder before the rename',
    ]
    assert made[f'fsync of "{name}" before the rename'] == [
        {"before": 3, "sync": "file", "inode": inodes[0]},
        {"before": 6, "sync": "file", "inode": inodes[1]},
    ]


def test_a_change_that_was_acknowledged_is_synced_where_it_is_made(recording: Any) -> None:
    calls = recording(_SAVES.format(saves=2))
    made = edits(calls, RENAME, None)
    assert made["fsync of the folder before the acknowledgement"] == [
        {"after": 3, "sync": "folder", "inode": 1},
        {"after": 6, "sync": "folder", "inode": 1},
    ]


def test_a_change_that_came_too_late_is_moved(recording: Any) -> None:
    calls = recording("import os\nos.mkdir('data/a')\nos.mkdir('data/b')\nos.rmdir('data/a')")
    assert edits(calls, 3, 1) == {'the removal of "a" before mkdir("a")': [{"move": 3, "before": 1}]}


def test_a_file_that_was_emptied_is_written_through_another_file_and_no_sync_is_tried(recording: Any) -> None:
    calls = recording(
        "import os\nfor size in (0, 0, 700):\n os.truncate('data/mine', size)\n open('data/mine', 'r+').write('x')"
    )
    assert edits(calls, 2, 1) == {
        'the rewrite of "mine" go through another file': [
            {"through": 1, "last": 2, "folder": 1, "name": "mine"},
            {"through": 3, "last": 6, "folder": 1, "name": "mine"},
        ]
    }
    assert [*edits(calls, 6, 5)] == ['the write of "mine" before truncate("mine", 700 bytes from now on)']
