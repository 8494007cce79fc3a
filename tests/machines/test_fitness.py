"""A machine that could answer differently is refused with a sentence that says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.machines.fitness import Facts, cpu_features, difference, facts
from powercut.scenarios import targets

HERE = Facts(
    powercut="1",
    engine="aa11",
    target="bb22",
    cpu=("avx2", "clwb", "erms"),
    modules=(("powercut-engine", "aa11", "555555554000"), ("libc.so.6", "cc33", "7ffff7a00000")),
    page=4096,
    fixed=True,
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"powercut": "2"}, "it has powercut 2, and this is 1"),
        ({"engine": "ee"}, "its engine is another build (build id ee, here aa11)"),
        ({"target": ""}, "its target library is another build (build id none, here bb22)"),
        ({"cpu": ("avx2", "avx512f", "erms")}, "its CPU lacks clwb and has avx512f more"),
        ({"cpu": ("avx2",)}, "its CPU lacks clwb, erms"),
        (
            {"modules": (HERE.modules[0], ("libc.so.6", "dd44", "7ffff7a00000"))},
            "it loads other builds of libc.so.6",
        ),
        (
            {"modules": (HERE.modules[0], ("libc.so.6", "cc33", "7ffff7b00000"))},
            "its address layout is another one (libc.so.6)",
        ),
        ({"fixed": False}, "its addresses are random (personality ADDR_NO_RANDOMIZE is forbidden there)"),
        ({"page": 65536}, "its address layout is another one (pages)"),
    ],
)
def test_the_reason_is_a_sentence(change: dict[str, Any], said: str) -> None:
    there = replace(HERE, **change)
    assert difference(HERE, there) == said
    assert there.digest != HERE.digest


def test_a_machine_is_fit_for_itself(tmp_path: Path) -> None:
    assert difference(HERE, replace(HERE)) == ""
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nflags\t\t: fpu clwb avx2 arch_capabilities\nflags : other\n")
    assert cpu_features(info) == ("avx2", "clwb")


def test_two_starts_of_the_engine_say_the_same(real_engine: None) -> None:
    library = str(targets.find("level").library)
    first = facts(paths.engine(), library)
    assert first == facts(paths.engine(), library)
    assert first.engine and first.target and first.cpu
    assert {"powercut-engine", "libpowercut-level.so"} <= {name for name, _, _ in first.modules}
