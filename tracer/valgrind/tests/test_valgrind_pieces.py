"""The pieces that one instruction stores are one store of the trace."""

from pathlib import Path

import pytest

from tracer.valgrind.tests.valgrind_runs import Build, record

CONTINUES = 16


def test_lanes_and_rounds_continue_their_store_and_no_other(build: Build, tmp_path: Path) -> None:
    if "avx2" not in Path("/proc/cpuinfo").read_text(encoding="ascii").split():
        pytest.skip("this processor lacks avx2")
    run = record([build("pieces", "-O2"), tmp_path / "pool"], tmp_path, pools=[tmp_path / "pool"])
    assert run.status == 0, run.stderr
    stores = [event for event in run.events if event["kind"] == "store"]
    pieces = [(e["offset"], len(e["bytes"]) // 2, bool(e["flags"] & CONTINUES)) for e in stores]
    assert pieces == [
        *((0, 8, False), (24, 8, True)),
        (88, 8, False),
        (252, 70, False),
        (1024, 8, False),
        (1032, 8, False),
    ]
