"""The benchmarks' figures, page and charts. Nothing about time is asserted: tests share their machine."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli.progress import compact
from tools.bench import (
    bugs as bench_bugs,
)
from tools.bench import (
    length as bench_length,
)
from tools.bench import (
    main as bench,
)
from tools.bench import (
    page as bench_page,
)
from tools.bench import (
    pending as bench_pending,
)
from tools.bench import (
    process as bench_process,
)
from tools.bench.plot import Panel, number, svg

REPOSITORY = Path(__file__).parents[2]


def page_with(house: Any, *sections: str) -> Path:
    page = Path(house.root) / "docs" / "performance.md"
    page.parent.mkdir()
    page.write_text("".join(f"Before.\n<!-- {name}: begin -->\n<!-- {name}: end -->\nAfter.\n" for name in sections))
    return page


def test_figures_and_page(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = page_with(house, "rate")
    assert bench.main(["--only", "rate", "--repeat", "2", "--json"]) == ExitCode.CLEAN
    values = json.loads(capsys.readouterr().out)["rate"]
    assert values["executions_per_second"] == round(77 / 0.25)
    assert values["loads_per_execution"] == round(9000 / 77, 2)
    assert values["queries_per_execution"] == round(300 / 77, 2)
    first = page.read_text()
    assert "| executions per second | 308 |" in first
    page.write_text(first.replace("Before.", "By hand."))
    assert bench.main(["--only", "rate", "--repeat", "1"]) == ExitCode.CLEAN
    assert page.read_text() == first.replace("Before.", "By hand.")
    assert "executions per second" in capsys.readouterr().out


def test_bench_without_a_build(house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POWERCUT_ENGINE")
    assert bench.main(["--only", "rate"]) == ExitCode.USAGE
    assert "not built yet" in capsys.readouterr().err


def test_the_page_has_a_place_for_every_section(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "performance.md").read_text(encoding="utf-8")
    page = tmp_path / "performance.md"
    page.write_text(text, encoding="utf-8")
    for name in bench.SECTIONS:
        bench_page.write_section(page, name, "measured")
    with pytest.raises(UsageError, match="no place for 'other'"):
        bench_page.write_section(page, "other", "measured")


def test_table() -> None:
    rows = [["a|b", 1234567, 0.1234, True], ["c", 1, 1234.5, False]]
    assert bench_page.table(["name", "n", "x", "good"], rows).splitlines() == [
        "| name | n | x | good |",
        "| --- | ---: | ---: | --- |",
        "| a\\|b | 1,234,567 | 0.123 | yes |",
        "| c | 1 | 1,234 | no |",
    ]


@pytest.mark.parametrize("log_y", [True, False])
def test_charts_are_well_formed_and_repeatable(log_y: bool) -> None:
    panel = Panel(
        title="a < b", x="n", series={"one": [(10, 0.5), (1000, 40)], "two": [(10, 1), (1000, 1)]}, log_y=log_y
    )
    text = svg([panel, panel], description="x & y")
    assert text == svg([panel, panel], description="x & y")
    root = ElementTree.fromstring(text)
    lines = root.findall(".//{*}polyline")
    assert len(lines) == 4
    for line in lines:
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= 400
            assert 0 <= y <= 280


def test_labels_of_ticks() -> None:
    assert [number(value) for value in (0.1, 50.0, 10_000.0, 1e6)] == ["0.1", "50", "10k", "1M"]


def test_ratios_of_lengths() -> None:
    def row(mix: str, operations: int, seconds: float, **more: Any) -> dict[str, Any]:
        names = {count: name for name, count in bench_length.SIZES.items()}
        base = {"scenario": f"ycsb-{mix}-{names[operations]}", "mix": mix, "operations": operations, "crash_points": 1}
        base |= {
            "crash_states": "1",
            "executions": 1,
            "query_runs": 1,
            "record_seconds": 0.1,
            "seconds": seconds,
            "cpu_seconds": 2.0,
        }
        return {**base, "peak_mib": 10, "verdict": "consistent", "coverage": "complete", **more}

    rows = [row("load", 10_000, 1.0), row("a", 10_000, 2.0), row("load", 100_000, 9.0), row("a", 100_000, 22.0)]
    rows.append(row("load", 10_000, 99.0, scenario="ycsb-load-10k, dynamic search"))
    text = bench_length.markdown({"rows": rows})
    assert "| load | 100k / 10k | 9 | 1 | 1 |" in text
    assert "| a | 100k / 10k | 11 | 1 | 1 |" in text
    assert "99" in text
    # Two panels of four points: the last row is of another kind.
    assert bench_length.chart({"rows": rows}).count("<circle") == 8


def test_memory_of_all_processes_is_seen(real_engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_pending, "OPERATIONS", 600)
    monkeypatch.setattr(bench_pending, "LINES", (0, 100))
    monkeypatch.setattr(bench_process, "_SAMPLE_SECONDS", 0.002)
    few, many, lock = bench_pending.measure(jobs=1)["rows"]
    for row in (few, many, lock):
        assert (row["verdict"], row["coverage"]) == ("consistent", "complete")
        assert row["executions"] == few["executions"]
    # Each of the lines doubles the images of every crash point.
    assert many["digits_of_states"] - few["digits_of_states"] == 30
    # On a busy machine so short a run may end before its first sample.
    assert many["peak_mib"] > 0 or any(bench_pending.measure(jobs=1)["rows"][1]["peak_mib"] > 0 for _ in range(5))


def test_a_planted_bug_of_each_kind_is_found_in_a_run(real_engine: None) -> None:
    rows = list(bench_bugs.rows(200, jobs=1, only=["leak_new_level", "update_two_writes"]))
    assert [(row["toggle"], row["met"], row["found"]) for row in rows] == [
        ("leak_new_level", "in the phases before", True),
        ("update_two_writes", "throughout", True),
    ]


@pytest.mark.long
@pytest.mark.parametrize("item", bench_bugs.long_bugs(100_000), ids=lambda item: item.bug.toggle)
def test_a_planted_bug_is_found_in_a_long_run(item: bench_bugs.LongBug, real_engine: None) -> None:
    row = bench_bugs.row(item, jobs=2, budget=None, twins={})
    assert row["found"], row


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_345, "12.3k"), (5 * 10**6, "5.0M"), (2 * 10**9, "2.0G"),
     (12 * 10**40, "1.2e41")],
)  # fmt: skip
def test_compact(number: int, text: str) -> None:
    assert compact(number) == text
