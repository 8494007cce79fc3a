"""A run on a folder and its finding, in every form in which people and machines read them."""

import json
from typing import Any

import pytest

from powercut_records.files import FileCall, FilesFinding, Tree, TreePath
from powercut_records.finding import CrashPoint, FindingRecord, Query, Store
from powercut_records.places import Frame
from powercut_records.run import RunRecord
from powercut_reports import files_contents, files_view, html, story, text
from powercut_reports.gate_formats import RENDERERS


def file(path: str, content: bytes, **more: Any) -> TreePath:
    return TreePath(path=path, size=len(content), head=content[:256].hex(), digest=content.hex()[:8] or "none", **more)


def call(number: int, line: str, fate: str = "durable", *, decisive: bool = False, site: str = "") -> FileCall:
    return FileCall(call=number, text=line, fate=fate, decisive=decisive, site=site)


def store(number: int, line: str, fate: str, site: str) -> Store:
    frame = Frame(function="save", file=site.partition(":")[0], line=int(site.partition(":")[2]))
    return Store(event=number, text=line, fate=fate, decisive=True, kind="call", site=site, stack=[frame])


WRITE, RENAME = 'write("db.tmp", 16 bytes at 0)', 'rename("db.tmp" -> "db")'
SENTENCE = f'{RENAME} (call 8) reached the disk, the data of "db.tmp" (call 7) did not.'


@pytest.fixture
def run() -> RunRecord:
    files = FilesFinding(
        profiles=["ext4", "xfs"],
        side="before",
        call=10,
        calls=[
            call(7, WRITE, "lost", decisive=True, site="save.c:12"),
            call(8, RENAME, "on-disk", decisive=True, site="save.c:14"),
            call(9, 'write("log", 1 byte at 0)', "partly"),
        ],
        around=[call(1, 'mkdir("a")'), call(6, 'openat("db.tmp")'), FileCall(behind=8, text="end OK")],
        sentence=SENTENCE,
        visible=Tree(paths=[file("db", b"colour = red\nsize = 9\n"), file("\x1b[31m", b"")], others=3),
        met=Tree(paths=[file("db", bytes(22))], others=3),
        left=Tree(paths=[file("db", bytes(22)), TreePath(path="link", kind="link", target="db")], others=3),
    )
    finding = FindingRecord(
        fingerprint="0123456789ab", target="save", scenario="./save run data", model="files", files=files,
        invariant="recovery-failed", message="Recovery fails.", found="exit status 1",
        query=Query(kind="program", text="recover: ./save check data"),
        crash_point=CrashPoint(index=3, event=10, when="before call 10"),
        stores=[store(7, WRITE, "lost", "save.c:12"), store(8, RENAME, "persisted", "save.c:14")],
        lost_site="save.c:12", store_site="save.c:14", file=".powercut/findings/0123456789ab.json",
    )  # fmt: skip
    return RunRecord.model_validate(
        {
            "run": 2, "target": "save", "scenario": "./save run data", "model": "files", "seed": 1,
            "verdict": "inconsistent", "crash_states": "96", "findings": [finding],
            "coverage": {"kind": "complete", "covered": "96", "total": "96"},
            "profiles": [
                {"profile": "ext4", "verdict": "inconsistent", "complete": True, "crash_states": "96", "findings": 1},
                {"profile": "xfs", "verdict": "inconsistent", "complete": False, "findings": 1, "reason": "the budget"},
                {"profile": "btrfs", "verdict": "consistent", "complete": True, "crash_states": "40"},
            ],
            "program": {"name": "save", "folder": "/data", "recover": ["./save", "check", "data"]},
        }
    )  # fmt: skip


def test_the_text_has_the_calls_in_order_and_the_trees_beside_each_other(run: RunRecord) -> None:
    told = text.render_finding(run.findings[0], color=False)
    begin, end = told.index("    1  mkdir"), told.index("  Legal under ext4 and xfs.")
    assert told[begin:end].splitlines() == [
        '    1  mkdir("a")                                     durable',
        "    …  4 calls whose changes were durable",
        '    6  openat("db.tmp")                               durable',
        '  > 7  write("db.tmp", 16 bytes at 0)      save.c:12  lost',
        '  > 8  rename("db.tmp" -> "db")            save.c:14  on disk',
        "       end OK",
        '    9  write("log", 1 byte at 0)                      partly',
        f"  {SENTENCE}",
    ]
    assert "    db        22 bytes               22 bytes, zeroes    22 bytes, zeroes" in told
    assert "    link      absent                 absent              link to db" in told
    assert "    3 other paths are the same in all three." in told
    assert "\x1b" not in told


def test_the_text_begins_with_the_table_of_file_systems(run: RunRecord) -> None:
    lines = text.render_run(run, color=False).splitlines()
    assert lines[:5] == [
        "save  ./save run data  (seed 1)",
        "  file system  verdict                     crash points  crash states  bugs",
        "  ext4         inconsistent, complete      0             96            1",
        "  xfs          inconsistent, not complete  0             not counted   1     (the budget)",
        "  btrfs        consistent, complete        0             40            0",
    ]


def test_one_sentence_tells_the_finding(run: RunRecord) -> None:
    assert story.story(run.findings[0]) == (
        f"During this run the power was cut before call 10 (crash point 3); {SENTENCE.removesuffix('.')}; "
        "recover: ./save check data then ended with exit status 1."
    )
    assert story.verdict_words(run) == "inconsistent (ext4, xfs), consistent (btrfs)"


def test_the_page_has_calls_trees_and_the_bytes_that_differ(run: RunRecord) -> None:
    page = html.render([run], title="t")
    assert page.count('<tr class="lost decisive">') == page.count('<tr class="on-disk decisive">') == 1
    assert "<mark>colour = red</mark>" in page  # zeroes are told in words beside it
    assert page.count("22 bytes, zeroes") == 2
    assert "not counted" in page and "(the budget)" in page
    assert "\x1b" not in page


def test_lines_of_text_are_marked_where_they_differ() -> None:
    old, new = file("f", b"a = 1\nb = 2\n"), file("f", b"a = 1\nb = 3\nc = 4\n")
    cells = files_contents.cells([new, old, None])
    assert [[(line.spans[0].text, line.spans[0].differs) for line in cell.lines] for cell in cells] == [
        [("a = 1", True), ("b = 3", True), ("c = 4", True)],
        [("a = 1", True), ("b = 2", True)],
        [],
    ]
    both = files_contents.cells([new, old])
    assert [line.spans[0].differs for line in both[0].lines] == [False, True, True]


def test_bytes_of_a_part_have_their_offsets_and_say_how_much_is_left() -> None:
    part = TreePath(path="f", size=5000, head=bytes(range(16)).hex(), head_offset=4096, digest="a")
    other = TreePath(path="f", size=5000, head=bytes([0] * 15 + [9]).hex(), head_offset=4096, digest="b")
    first, second = files_contents.cells([part, other])
    assert [line.label for line in first.lines] == ["0x1000", "0x1008"]
    assert [(span.text, span.differs) for span in first.lines[0].spans] == [
        ("00", False),
        ("01 02 03 04 05 06 07", True),
    ]
    assert second.more == "from byte 4,096 on, 888 more bytes"


def test_a_file_of_the_same_size_with_other_bytes_says_so() -> None:
    rows = files_view.path_rows(
        FilesFinding(
            visible=Tree(paths=[file("f", b"ab")]),
            met=Tree(paths=[file("f", b"cd")]),
            left=Tree(paths=[file("f", b"ab")]),
        )
    )
    assert [row.words for row in rows] == [("2 bytes", "2 bytes, other bytes", "2 bytes")]


@pytest.mark.parametrize("form", sorted(RENDERERS))
def test_machines_are_pointed_at_the_call_in_the_code(run: RunRecord, form: str) -> None:
    made = RENDERERS[form]([run])
    assert "save.c" in made
    assert "did not" in made
    if form == "sarif":
        (result,) = json.loads(made)["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 12}
        flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
        assert [step["importance"] for step in flow] == ["essential", "essential", "important", "essential"]
        assert flow[0]["location"]["message"]["text"] == f"call 7: {WRITE}: lost"
        assert result["properties"]["fileSystems"] == {
            "ext4": "inconsistent",
            "xfs": "inconsistent",
            "btrfs": "consistent",
        }
    if form == "github":
        assert made.startswith("::error file=save.c,line=12,")
