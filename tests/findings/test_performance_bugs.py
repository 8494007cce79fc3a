"""Rows of performance bugs: a useless flush is told by the line that asked for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from powercut.engine.events import Module, Modules, PerformanceBug
from powercut.findings.collector import Collector
from powercut.findings.store import FindingStore
from powercut.symbols.symbolize import Frame, Symbolizer

FUNCTIONS = {7: ("persist", "flush.c"), 8: ("store_it", "map.c"), 40: ("insert", "map.c"), 50: ("erase", "map.c")}


class Known(Symbolizer):
    """A frame's offset is its line."""

    def stack(self, modules: Any, frames: Any, *, fault: bool = False) -> list[Frame]:
        return [
            Frame(function=name, file=file, line=line, column=0, module="m", offset=line, inlined=False)
            for _, line in frames
            for name, file in [FUNCTIONS[line]]
        ]


def rows(folder: Path, *found: tuple[str, int, list[int]]) -> list[tuple[str, int, str]]:
    collector = Collector({}, plan=None, order=0, store=FindingStore(folder), symbolizer=Known())
    collector.add(Modules(event="modules", modules=[Module(path="m", build_id="")]), {})
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
