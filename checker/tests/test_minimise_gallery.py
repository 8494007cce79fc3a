"""Every known bug comes to a few operations, or its row in scenarios/known_bugs/MINIMAL.md says why not."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import replace

import pytest

from checker.tests.minimising import gallery_case
from checker.tests.real_engine import require_engine
from powercut import paths
from powercut.minimise import Limits, gallery
from powercut.minimise.gallery import Row


def known_bugs() -> list[str]:
    """The ids of the gallery, from its files."""
    files = (paths.scenario_dir() / "known_bugs").glob("*/*/*.toml")
    return sorted({tomllib.loads(file.read_text())["known_bug"]["id"] for file in files})


def test_the_page_has_a_reason_for_every_long_case() -> None:
    entries = gallery.entries()
    assert entries.keys() <= set(known_bugs())
    assert [bug for bug, entry in entries.items() if entry.after > gallery.FEW and len(entry.reason) < 20] == []
    assert [bug for bug, entry in entries.items() if entry.after <= gallery.FEW and entry.reason] == []
    assert len(re.findall(r"^\| `", gallery.page().read_text(), re.MULTILINE)) == len(entries)


def test_a_row_that_is_written_is_read_back_with_its_reason() -> None:
    row = Row(
        bug="level/x", invariant="lost-item", before=60, after=7, operations=["insert(1)"] * 12, config={"top": "2"},
        considered=3, seconds=0.5, complete=True,
    )  # fmt: skip
    empty = gallery.render([row], "")
    (line,) = (line for line in empty.splitlines() if line.startswith("| `level/x`"))
    assert "`top=2: insert(1) insert(1)" in line and "… insert(1)`" in line
    with_reason = empty.replace(line, line.removesuffix("|") + "Four slots are full. |")
    other = replace(row, bug="level/a", after=2)
    again = gallery.render([row, other], with_reason)
    assert [(match["id"], match["after"], match["reason"].strip()) for match in gallery._ROW.finditer(again)] == [
        ("level/a", "2", ""),
        ("level/x", "7", "Four slots are full."),
    ]
    assert gallery.render([other], with_reason) == again
    short = gallery.render([replace(row, after=5)], with_reason)
    assert "Four slots" not in short


@pytest.mark.slow
def test_what_the_page_says_of_a_short_bug_is_so() -> None:
    require_engine()
    row = gallery.minimised(gallery_case("pclht/root-not-flushed"), limits=Limits())
    assert row.after == gallery.entries()["pclht/root-not-flushed"].after
    assert row.complete


@pytest.mark.long
def test_every_known_bug_is_as_small_as_the_page_says() -> None:
    require_engine()
    entries = gallery.entries()
    rows = gallery.run(gallery.cases([]), jobs=len(os.sched_getaffinity(0)), limits=Limits())
    assert sorted(entries) == known_bugs()
    larger = {row.bug: row.after for row in rows if row.after > entries[row.bug].after}
    assert larger == {}, "write the page again: python -m powercut.minimise.gallery --write"
