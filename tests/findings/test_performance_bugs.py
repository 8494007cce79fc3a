"""Rows of performance bugs: a useless flush is told by the line that asked for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from powercut.engine.events import Module, Modules, PerformanceBug, Persisting
from powercut.findings.collector import Collector
from powercut.findings.store import FindingStore
from powercut.symbols.symbolize import Frame, Symbolizer

FUNCTIONS = {
    7: ("persist", "flush.c"), 8: ("store_it", "map.c"), 9: ("pflush", "pflush.c"), 10: ("pflush_all", "pflush.c"),
    40: ("insert", "map.c"), 41: ("insert", "map.c"), 50: ("erase", "map.c"), 60: ("close_it", "map.c"),
}  # fmt: skip


class Known(Symbolizer):
    """A frame's offset is its line."""

    def stack(self, modules: Any, frames: Any, *, fault: bool = False) -> list[Frame]:
        return [
            Frame(function=name, file=file, line=line, column=0, module="m", offset=line, inlined=False)
            for _, line in frames
            for name, file in [FUNCTIONS[line]]
        ]


def rows(
    folder: Path,
    *found: tuple[str, int, list[int]],
    stores: list[int] | None = None,
    flushes: list[list[int]] | None = None,
) -> list[tuple[str, int, str]]:
    collector = Collector({}, plan=None, order=0, store=FindingStore(folder), symbolizer=Known())
    collector.add(Modules(event="modules", modules=[Module(path="m", build_id="")]), {})
    if flushes:
        traced = {"stores": [[0, line] for line in stores or []]}
        raw = {"event": "persisting", **traced, "flushes": [[[0, line] for line in stack] for stack in flushes]}
        collector.add(Persisting.model_validate(raw), raw)
    for kind, count, lines in found:
        raw = {"event": "performance_bug", "kind": kind, "count": count, "stack": [[0, line] for line in lines]}
        collector.add(PerformanceBug.model_validate(raw), raw)
    return [(row.kind, row.count, row.site) for row in collector.finish().performance_bugs]


def test_call_stacks_with_one_site_are_one_row(tmp_path: Path) -> None:
    told = rows(
        tmp_path,
        ("redundant-flush", 2, [7, 40]),
        ("redundant-flush", 1, [7, 50]),
        ("redundant-flush", 3, [7, 40, 50]),
        ("redundant-fence", 1, [7, 40]),
    )
    assert told == [
        ("redundant-flush", 5, "map.c:40"), ("redundant-flush", 1, "map.c:50"), ("redundant-fence", 1, "map.c:40"),
    ]  # fmt: skip


def test_a_store_is_told_by_its_own_line(tmp_path: Path) -> None:
    """A helper that stores is where the flush is missing, whatever it is called."""
    assert rows(tmp_path, ("never-persisted", 1, [7, 40])) == [("never-persisted", 1, "flush.c:7")]


def test_a_flush_helper_of_any_name_is_told_by_its_callers(tmp_path: Path) -> None:
    """`pflush` and `pflush_all` are in no list of names: they never store, they flush, and two places call each."""
    stacks = [[9, 40], [9, 10, 50], [9, 10, 41]]
    told = rows(tmp_path, *(("redundant-flush", 1, stack) for stack in stacks), stores=[8, 40, 41, 50], flushes=stacks)
    assert told == [
        ("redundant-flush", 1, "map.c:40"), ("redundant-flush", 1, "map.c:50"), ("redundant-flush", 1, "map.c:41"),
    ]  # fmt: skip


def test_a_function_that_stores_or_has_one_caller_is_no_flush_helper(tmp_path: Path) -> None:
    """A function that stores as well is code of its own, and the only caller of a function is as good a place as it."""
    stacks = [[9, 40], [9, 50], [60, 41]]
    told = rows(tmp_path, *(("redundant-flush", 1, stack) for stack in stacks), stores=[9, 40], flushes=stacks)
    assert told == [("redundant-flush", 2, "pflush.c:9"), ("redundant-flush", 1, "map.c:60")]
