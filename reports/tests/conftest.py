"""Samples shared by the report tests, and the browser."""

import json
import os
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

Run = dict[str, Any]


@pytest.fixture(scope="session")
def data() -> Path:
    return DATA


@pytest.fixture
def sample_runs() -> list[Run]:
    """Eight runs of Level hashing: consistent, inconsistent (three findings), unknown, sampled."""
    runs: list[Run] = json.loads((DATA / "sample_runs.json").read_text(encoding="utf-8"))
    return runs


@pytest.fixture
def lost_item(sample_runs: list[Run]) -> Run:
    """A finding with stores, source, timeline, image and contents, as the CLI hands it over."""
    run = next(run for run in sample_runs if run["findings"])
    owner = {name: run[name] for name in ("target", "variant", "scenario")}
    return {**deepcopy(run["findings"][0]), **owner}


@pytest.fixture
def explained(lost_item: Run) -> Run:
    """The finding `lost_item` with sources, drawn table, cause and smallest case, as `powercut run --explain` leaves
    it."""
    more: Run = json.loads((DATA / "explained.json").read_text(encoding="utf-8"))
    # The smallest case's finding is one of the same shape.
    return {**lost_item, **more, "minimal": {**more["minimal"], "finding": {**deepcopy(lost_item), "sources": {}}}}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The distribution's Chromium. Missing: a skip with its reason, a failure in CI."""
    missing = ""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing = "the Python package playwright is missing: run 'make setup'"
    if not missing and not CHROMIUM.exists():
        missing = f"{CHROMIUM} is missing: run 'apt-get install chromium'"
    if missing:
        if os.environ.get("CI"):
            pytest.fail(f"CI must open the report in a browser: {missing}")
        pytest.skip(missing)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_OPTIONS)
        yield chromium
        chromium.close()
