"""The benchmark's figures and its page, and how large numbers are shown."""

import json
from typing import Any

import pytest

from powercut import bench
from powercut.exit_codes import ExitCode
from powercut.progress import compact


def test_figures_and_page(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    page = house.root / "docs" / "performance.md"
    assert bench.main(["--repeat", "2", "--json"]) == ExitCode.CLEAN
    values = json.loads(capsys.readouterr().out)
    assert values["executions_per_second"] == round(77 / 0.25)
    assert values["loads_per_execution"] == round(9000 / 77, 2)
    assert values["queries_per_execution"] == round(300 / 77, 2)
    first = page.read_text()
    assert "| executions per second | 308 |" in first
    page.write_text(first.replace("Wanted:", "By hand:"))
    assert bench.main(["--repeat", "1"]) == ExitCode.CLEAN
    assert page.read_text() == first.replace("Wanted:", "By hand:")
    assert "executions per second" in capsys.readouterr().out


def test_bench_without_a_build(house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POWERCUT_ENGINE")
    assert bench.main([]) == ExitCode.USAGE
    assert "not built yet" in capsys.readouterr().err
    assert not (house.root / "docs").exists()


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_345, "12.3k"), (5 * 10**6, "5.0M"), (2 * 10**9, "2.0G"),
     (12 * 10**40, "1.2e41")],
)  # fmt: skip
def test_compact(number: int, text: str) -> None:
    assert compact(number) == text
