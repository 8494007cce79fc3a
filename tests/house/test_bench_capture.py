"""The benchmark of recording: its figures, and a small case on which it must count right."""

from typing import Any

import pytest

from powercut.base import paths
from powercut.base.errors import PowercutError
from powercut.base.exit_codes import ExitCode
from tools.bench import capture as bench_capture


def cost(seconds: float, events: int = 0, file_bytes: int = 0, raw_bytes: int = 0) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "cpu_seconds": 2 * seconds,
        "peak_kib": 100,
        "events": events,
        "file_bytes": file_bytes,
        "raw_bytes": raw_bytes,
    }


def test_figures() -> None:
    figures = bench_capture.figures(
        {
            "native": cost(2.0),
            "native_no_flush": cost(1.0),
            "recorded": cost(3.0, events=600, file_bytes=3000),
            "read": cost(0.5, events=600, raw_bytes=6000),
            "stores_native": cost(0.1),
            "stores_tenth": cost(0.4, events=10),
            "stores": cost(4.0, events=100),
            "stores_read": cost(1.0, events=100),
        }
    )
    assert figures["recorded_to_native"] == 1.5
    assert figures["recorded_to_native_no_flush"] == 3.0
    assert figures["events_per_second"] == 200
    assert figures["stores_per_second"] == 25
    assert figures["stores_per_second_cpu"] == 12
    assert figures["read_events_per_second"] == 1200
    assert (figures["file_bytes_per_event"], figures["raw_bytes_per_event"]) == (5.0, 10.0)


@pytest.mark.parametrize("operations", [1, 256, 257, 1_000_000])
def test_the_table_takes_every_insert_without_growing(operations: int) -> None:
    top = bench_capture.case(operations)["config"]["top"]
    assert operations <= 4 * top
    assert top == 64 or operations > 2 * top


def test_without_a_build(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_capture.main([]) == ExitCode.USAGE
    assert "not built yet" in capsys.readouterr().err


def test_a_small_case() -> None:
    try:
        paths.tool(bench_capture.PROGRAM)
    except PowercutError as error:
        pytest.skip(f"{bench_capture.PROGRAM}: {error.paragraph()}")
    values = bench_capture.measure(operations=2000, stores=10_000, repeat=1)
    # An insert is recorded as its begin and end, and at least two stores, flushes and fences.
    assert values["events"] > 8 * 2000
    # Nothing about time is asserted: tests share their machine.
    assert values["recorded_seconds"] > 0
    assert 0 < values["raw_bytes_per_event"] <= 16
