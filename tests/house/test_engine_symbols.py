"""Symbols that the engine's executable offers to the libraries that it loads (engine/exports.map)."""

from __future__ import annotations

import subprocess

from powercut.base import paths

#: The C++ library asks the processor itself for these (tracer/world/virtual_world.cc).
STAND_INS = {"_ZNSt13random_device9_M_getvalEv"}


def test_no_template_of_a_target_is_bound_to_the_engine(real_engine: None) -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(paths.engine())], capture_output=True, text=True, check=True
    ).stdout
    offered = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    assert "malloc" in offered
    assert {name for name in offered if name.startswith("_Z")} <= STAND_INS
