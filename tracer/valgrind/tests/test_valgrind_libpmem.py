"""The distribution's libpmem: it takes the path of real hardware, and its annotations add nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from tracer.valgrind.tests.valgrind_runs import PROGRAMS, record


def test_a_flush_without_its_drain_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, pool = tmp_path / "program", tmp_path / "pool"
    subprocess.run(["clang-19", "-g", "-O1", PROGRAMS / "with_libpmem.c", "-o", program, "-lpmem"], check=True)
    monkeypatch.setitem(os.environ, "PMEM_IS_PMEM_FORCE", "1")
    run = record([program, pool], tmp_path, pools=[pool])
    assert run.status == 0, run.stderr
    # The flush is clwb and not clflush, whose stronger order would hide the missing drain. The copy around the cache
    # has none.
    assert run.lines("flush") == ["flush 0 clwb", "flush 64 clwb", "flush 8192 clwb"]
    assert run.lines("fence") == ["fence sfence", "fence sfence"]
    assert sum(len(event["bytes"]) // 2 for event in run.events if event["kind"] == "nt-store") == 512
    # The copy is in two pieces, as without Valgrind: for pmemcheck libpmem copies byte by byte.
    assert run.lines("store")[-2:] == ["store 8204 2c00", "store 8206 0000"]
    # The store before it is flushed and visible, and no fence makes it durable.
    done = subprocess.run(
        [paths.engine(), "dump", "--normal", "--trace", run.trace], check=True, stdout=subprocess.PIPE, text=True
    )
    assert "line 0x0 visible 2a00" in done.stdout
    assert "line 0x40" not in done.stdout
