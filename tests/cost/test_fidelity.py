"""The figures that the fidelity programs of the build print."""

import subprocess

import pytest

from powercut.base import paths
from powercut.cost import fidelity
from powercut_reports.fidelity import verdict
from tests.real_engine import require_engine

pytestmark = pytest.mark.slow


def test_a_maximum_is_judged_at_the_papers_size_alone() -> None:
    require_engine()
    rows = {row["figure"]: row for row in fidelity.measure("bch")}
    small = rows["Fig. 8: maximum load factor, 4 slots"]
    assert verdict(small) == "ours" and "--paper-size" in small["note"] and 0.9 < small["measured"] < 1
    assert verdict(rows["4.2.6: maximum load factor of the 4-slot BCH"]) == "no", "0.85 fits no size"
    assert verdict(rows["4.2.6: items rehashed by a resize at load 0.85"]) == "yes"


def test_what_no_paper_prints_is_ours() -> None:
    require_engine()
    verdicts = {row["figure"]: verdict(row) for row in fidelity.measure("libcuckoo")}
    assert verdicts == {"maximum load factor": "ours"}


def test_a_program_refuses_what_it_does_not_know() -> None:
    require_engine()
    program = paths.tool("powercut-fidelity-stash")
    done = subprocess.run([str(program), "--papersize"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "") and "--paper-size" in done.stderr
