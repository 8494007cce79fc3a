"""Every known bug comes to a few operations, or its entry in scenarios/known_bugs says why not."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.corpus import known_bugs as corpus
from powercut.corpus import minimal_cases
from powercut.corpus.known_bugs import shows_site
from powercut.corpus.minimal_cases import Row
from powercut.minimise import Limits
from powercut.minimise.case import Case, Phase
from powercut.minimise.examine import Examiner
from powercut.runs import runner
from powercut.scenarios import catalog
from powercut.scenarios.schema import Minimal
from tests.conftest import House
from tests.minimise.minimising import case, corpus_case, findings_of, phase, words
from tests.real_engine import explore, require_engine


def inserts(*keys: int) -> list[str]:
    return [f"insert {key}" for key in keys]


def small(*phases: Phase, **options: str) -> Case:
    """A case of 8-byte keys and values."""
    return replace(case(*phases, options=options), key_size=8, value_size=8)


#: The smaller cases that the corpus gives by hand.
BY_HAND = {
    "clevel/erase-first-copy": small(
        phase("insert 1", "update 1"),
        phase("update 1", name="cut", explore=False, cut_at="rehash.copied"),
        phase("erase 1", name="erase"),
        interleave="expand_in_search",
        slots="4",
    ),
    "clevel/insert-into-last": small(
        phase(*inserts(98, 874, 994, 1106, 1185, 1540, 2331, 2513, 3828)),
        first="16",
        interleave="expand_unpersisted",
        slots="4",
    ),
    "clevel/insert-not-redone": small(
        phase(*inserts(7, 18, 30, 44, 53), "maintain rehash"),
        auto_rehash="0",
        first="4",
        interleave="expand_in_insert",
        slots="4",
    ),
    "dash/displace-refill-at-once": small(phase(*inserts(4, 10, 12, 27, 32, 1, 33)), balance="off", slots="3"),
    "dash/duplicate-removal-not-flushed": small(
        phase(*inserts(4, 1)),
        phase("insert 10", name="cut", explore=False, cut_at="displace.copied"),
        phase("erase 1", name="erase"),
        slots="1",
    ),
    "level/b2t-token-first": small(phase(*inserts(30, 49, 52, 59, 119, 159, 182, 333, 440)), top="4"),
    "level/insert-after-move-token-first": small(phase(*inserts(16, 52, 154, 220, 317)), top="8"),
    "level/insert-bottom-token-first": small(phase(*inserts(220, 591, 1267, 1557, 1794)), top="16"),
    "level/move-token-first": small(phase(*inserts(23, 71, 89, 156, 169)), top="8"),
    "turbohash/item-log-outlives-shard": replace(
        case(phase("insert 3", "maintain expand"), options={"shards": "4"}), key_size=15
    ),
}


def minimal() -> dict[str, Minimal]:
    """The minimal case of each bug that has one."""
    return {item.bug_id: item.bug.minimal for item in catalog.known_bugs() if item.bug.minimal}


def reasons() -> dict[str, str]:
    return {item.bug_id: item.bug.why_not_fewer for item in catalog.known_bugs()}


def test_there_is_a_reason_for_every_long_case() -> None:
    entries, why = minimal(), reasons()
    writes = "python -m powercut.corpus.minimal_cases SCHEME/BUG --considered 100 --write writes it"
    assert entries.keys() == why.keys(), writes
    assert [bug for bug, entry in entries.items() if entry.after > minimal_cases.FEW and len(why[bug]) < 20] == []
    assert [bug for bug, entry in entries.items() if entry.after <= minimal_cases.FEW and why[bug]] == []


def test_the_page_has_a_row_for_every_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "site" / "MINIMAL.md"
    monkeypatch.setattr(sys, "argv", ["minimal_cases", "--page", str(file)])
    assert minimal_cases.main() == 0
    rows = re.findall(
        r"^\| `([^`]+)` \| ([\w-]+) \| (\d+) \| (\d+) \| `([^`]*)` \| ?([^|]*)\|$", file.read_text(), re.M
    )
    whole = [
        (bug, case.invariant, str(case.before), str(case.after), case.case, reasons()[bug])
        for bug, case in minimal().items()
    ]
    assert sorted((*row[:-1], row[-1].strip()) for row in rows) == sorted(whole)
    assert [row[0] for row in rows] == sorted(minimal())


def test_a_search_that_was_cut_short_says_after_how_many_candidates() -> None:
    short = {bug: why for bug, why in reasons().items() if "cut short" in why}
    assert [bug for bug, why in short.items() if not re.search(r"cut short after \d+ candidates", why)] == []


ENTRIES = """\
schema = 5
targets = ["level"]

[bug.a]
summary = "One."
phase.run.steps = [{ op = "insert", from = 1, to = 2 }]
source = "a test"
expected = ["lost-item"]

[bug.x]
summary = "Other."
like = "a"
source = "a test"
expected = ["lost-item"]
minimal = { invariant = "torn-value", before = 9, after = 9, case = \"""\\
  insert(1) \\
  insert(2)\""" }
why_not_fewer = \"""\\
  Four slots \\
  are full.\"""

[bug.y]
summary = "A third."
like = "a"
source = "a test"
expected = ["leak"]
minimal = { invariant = "leak", before = 2, after = 1, case = "insert(1)" }
"""


def test_a_case_that_is_written_is_read_back_with_its_reason(house: House) -> None:
    file = house.root / "scenarios" / "known_bugs" / "level.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(ENTRIES)
    house.known_bug("alone")
    row = Row(
        bug="level/x", invariant="lost-item", before=60, after=7, operations=["insert(1)"] * 12, config={"top": "2"},
        considered=3, seconds=0.5, complete=True,
    )  # fmt: skip
    catalog.forget()
    minimal_cases.write(
        [row, replace(row, bug="level/a", after=2), replace(row, bug="level/alone", operations=["lookup(1)"])]
    )
    cases = minimal()
    assert {bug: (case.invariant, case.before, case.after) for bug, case in cases.items()} == {
        "level/a": ("lost-item", 60, 2),
        "level/alone": ("lost-item", 60, 7),
        "level/x": ("lost-item", 60, 7),
        "level/y": ("leak", 2, 1),
    }
    assert cases["level/x"].case == "top=2: insert(1) insert(1) insert(1) insert(1) insert(1) … insert(1)"
    assert reasons()["level/x"] == "Four slots are full." and cases["level/alone"].case == "top=2: lookup(1)"
    written = file.read_text()
    assert max(map(len, written.splitlines())) <= 120
    others = [re.sub(r"minimal = \{.*?\}\n", "", text, flags=re.S) for text in (written, ENTRIES)]
    assert others[0] == others[1]

    minimal_cases.write([replace(row, operations=["maintain(expand)"] * 10)])
    assert minimal()["level/x"].case == f"top=2: {' '.join(['maintain(expand)'] * 10)}"
    assert max(map(len, file.read_text().splitlines())) <= 120
    minimal_cases.write([row])
    assert file.read_text() == written
    minimal_cases.write([replace(row, after=5)])
    assert reasons()["level/x"] == "" and minimal()["level/x"].after == 5


@pytest.mark.slow
def test_what_the_corpus_says_of_a_short_bug_is_so() -> None:
    require_engine()
    row = minimal_cases.minimised(corpus_case("pclht/root-not-flushed"), limits=Limits())
    assert row.after == minimal()["pclht/root-not-flushed"].after
    assert row.complete


@pytest.mark.slow
@pytest.mark.parametrize("bug", BY_HAND)
def test_a_case_that_was_made_by_hand_is_smaller_and_shows_the_bug(bug: str, tmp_path: Path) -> None:
    require_engine()
    known = corpus_case(bug).scenario.bug
    finding = corpus.telling(known, findings_of(bug, tmp_path / "run"))
    assert finding is not None
    with runner.open_context(paths.engine(), tmp_path) as context:
        examiner = Examiner(finding, context=context, folder=tmp_path, executions=Limits().executions)
        trace = tmp_path / "by-hand.pct"
        examiner.record(examiner.plan(BY_HAND[bug]), trace)
        # As the corpus tells that a bug is found: another case may need a power cut where this one needs none.
        shown = [item["invariant"] for item in explore(trace).located(context.symbolizer) if shows_site(known, [item])]
    assert shown, words(BY_HAND[bug])
    assert len(BY_HAND[bug].operations) < minimal()[bug].after
    assert "hand" in reasons()[bug]


@pytest.mark.long
def test_every_known_bug_is_as_small_as_the_corpus_says() -> None:
    require_engine()
    entries = minimal()
    rows = minimal_cases.run(minimal_cases.cases([]), jobs=len(os.sched_getaffinity(0)), limits=Limits())
    larger = {row.bug: row.after for row in rows if row.after > entries[row.bug].after}
    assert larger == {}, "write the cases again: python -m powercut.corpus.minimal_cases --write"
