"""A long loop is no hang: what exceeds the step budget is unknown, and the report says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import powercut
from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.cli.main import main
from powercut.engine import options
from powercut.testing.api import UnknownError

#: Recovery sums up 1 MiB, byte by byte.
POOL = 1_114_112


def library() -> str:
    path = paths.library_dir() / "regression" / "checksum_of_pool-twin.so"
    if not path.exists():
        pytest.skip("the pairs of targets/regression are not built (ninja powercut_regression)")
    return str(path)


def test_a_sum_over_a_mebibyte_is_no_hang(real_engine: None, tmp_path: Path) -> None:
    session = powercut.Session(out=tmp_path)
    session.check(library(), [("insert", 1)], pool=POOL, nested=0, complete=True)


def test_what_exceeds_the_step_budget_is_unknown(real_engine: None, tmp_path: Path) -> None:
    session = powercut.Session(out=tmp_path)
    with pytest.raises(UnknownError, match="raise --step-budget"):
        session.check(library(), [("insert", 1)], pool=POOL, nested=0, step_budget=100_000)
    session.check(library(), [("insert", 1)], pool=POOL, nested=0, step_budget=3_000_000)


def test_a_step_budget_is_a_positive_number() -> None:
    with pytest.raises(UsageError, match="0 is not a step budget"):
        options.ExploreOptions(step_budget=0)
    assert main(["run", "patterns", "--step-budget", "0"]) == 2


def test_the_engine_is_given_the_step_budget() -> None:
    words = options.ExploreOptions(step_budget=7).arguments()
    assert words[words.index("--step-budget") + 1] == "7"
    assert "--step-budget" not in options.ExploreOptions().arguments()
