"""Drawings of real findings: each scheme's table before and after, and a replay that a drawing leaves as it was."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.engine import drawing, engine, events
from powercut.symbols import source
from reports.tests.typed import finding_of
from tests.real_engine import Json, explore, planted_bugs, record

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_engine")]

#: One known bug of each way to lay a table out; every scheme draws what it walks by targets/common/conformance_test.cc.
BUGS = {
    "insert-token-first": "bch",
    "key-before-value": "cceh",
    "insert-unordered": "clevel",
    "b2t-token-first": "level",
}


PLAIN = paths.home() / "build" / "lib" / "plain"
SYMBOL = "powercut_target_draw"


def test_every_scheme_draws_its_table() -> None:
    libraries = {library.stem.removeprefix("libpowercut-"): library for library in PLAIN.glob("libpowercut-*.so")}
    schemes = {target.parent.name for target in (paths.home() / "targets").glob("*/target.cc")}
    assert schemes <= set(libraries), "build all targets first: make build"
    assert [name for name in sorted(schemes) if not hasattr(ctypes.CDLL(str(libraries[name])), SYMBOL)] == []


def replayed(trace: Path, finding: Json, *more: str) -> Json:
    path = trace.with_name("finding.json")
    path.write_text(json.dumps(finding), encoding="utf-8")
    arguments = ["reproduce", "--trace", str(trace), "--finding", str(path), *more]
    return engine.single(paths.engine(), arguments, events.Reproduced)[1]


def items(drawn: Json, when: str) -> set[tuple[str, int, str, str]]:
    return {
        (
            group["name"],
            bucket["bucket"],
            cell["name"],
            cell[when]["key"] + str(cell[when].get("value", cell[when].get("count"))),
        )
        for group in drawn["groups"]
        for bucket in group["buckets"]
        for cell in bucket["cells"]
        if cell[when] and cell[when]["kind"] == "item"
    }


def without_stacks(value: Any) -> Any:
    """An event as a record: in an event stacks are no frames."""
    if isinstance(value, dict):
        return {name: without_stacks(item) for name, item in value.items() if name != "stack"}
    return [without_stacks(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("bug", "target"), BUGS.items())
def test_a_finding_is_drawn_and_replays_as_without(bug: str, target: str, tmp_path: Path) -> None:
    subject = next(s for s in planted_bugs() if s.scenario.name == bug and s.target == target)
    trace = record(subject, tmp_path)
    findings = explore(trace).findings
    assert findings
    told = 0
    for finding in findings[:6]:
        plain, with_drawing = replayed(trace, finding), replayed(trace, finding, "--draw")
        drawn = with_drawing.pop("drawing")
        assert "drawing" not in plain and with_drawing == plain, "a drawing changes nothing"
        picture = drawing.draw(finding_of(without_stacks(finding)), trace, engine_path=paths.engine())
        assert picture is not None and drawn == picture.as_json()
        assert items(drawn, "before"), "the table with everything persisted has items"
        told += drawn["after"] and items(drawn, "before") != items(drawn, "after")
    assert told, "of some finding the picture shows the difference"


def test_a_double_count_is_drawn_in_both_segments(tmp_path: Path) -> None:
    subject = next(s for s in planted_bugs() if s.scenario.name == "merged_not_raised" and s.target == "mdb_l")
    trace = record(subject, tmp_path)
    finding = next(f for f in explore(trace).findings if f["invariant"] == "double-count")
    drawn = replayed(trace, finding, "--draw")["drawing"]
    parts = [
        (group["name"].partition(",")[0], cell["after"]["count"])
        for group in drawn["groups"]
        for bucket in group["buckets"]
        for cell in bucket["cells"]
        if cell["after"] and cell["after"]["kind"] == "item" and cell["after"]["key"] == str(finding["query"]["key"])
    ]
    assert {name for name, _ in parts} == {"data segment", "change segment"}
    assert finding["found"] == f"sum {sum(count for _, count in parts)}"


def test_what_cannot_be_drawn_costs_nothing(tmp_path: Path) -> None:
    missing = finding_of({"crash_point": {}})
    assert drawing.draw(missing, tmp_path / "gone.pct", engine_path=paths.engine()) is None
    (tmp_path / "bad.pct").write_bytes(b"no trace")
    assert drawing.draw(missing, tmp_path / "bad.pct", engine_path=paths.engine()) is None
    assert (
        drawing.draw(finding_of({"program": {"name": "x"}}), tmp_path / "bad.pct", engine_path=paths.engine()) is None
    )


def test_the_lines_around_sites_each_once(tmp_path: Path) -> None:
    file = tmp_path / "a.cc"
    file.write_text("".join(f"line {n}\n" for n in range(1, 13)), encoding="utf-8")
    table = source.table([f"{file}:2", f"{file}:4", "", f"{file}:12", f"{file}:99", "gone.cc:1", "nonsense"])
    assert list(table) == [str(file)]
    assert list(table[str(file)]) == [*range(1, 8), *range(9, 13)]
    assert table[str(file)][4] == "line 4"
