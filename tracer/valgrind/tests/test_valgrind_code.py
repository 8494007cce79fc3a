"""Flushes are seen where the program executes them, and nowhere else; code is never changed."""

from pathlib import Path

import pytest

from tracer.valgrind.tests.valgrind_runs import Build, record

#: The flushes of code_bytes.c, in the order of execution; the second pool begins at 4096.
FLUSHES = [
    *("flush 64 clflush", "flush 128 clflush"),
    *("flush 256 clwb", "flush 320 clwb", "flush 0 clwb", "flush 448 clwb"),
    *("flush 512 clflushopt", "flush 640 clflushopt"),
    *("flush 768 clwb", "flush 832 clwb", "flush 896 clwb", "flush 960 clwb"),
    *("flush 4096 clwb", "flush 4160 clflushopt"),
    "flush 1024 clwb",
    *("flush 1088 clwb", "flush 1152 clflushopt"),
    *("flush 1216 clflushopt", "flush 1280 clflushopt"),
]


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O2", "-static")])
def test_flushes_in_every_form_and_data_that_looks_like_them(
    build: Build, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    pools = [tmp_path / "one", tmp_path / "two"]
    run = record([build("code_bytes", *flags), *pools], tmp_path, pools=pools)
    # The program compares the bytes of its code with those from its start.
    assert run.status == 0, run.stderr
    assert run.lines("flush") == FLUSHES


def test_the_processor_shows_clwb_and_clflushopt(build: Build, tmp_path: Path) -> None:
    run = record([build("lives", "-O2"), tmp_path / "pool", "cpuid"], tmp_path, pools=[tmp_path / "pool"])
    assert run.status == 0, run.stderr
