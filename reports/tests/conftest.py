"""Samples shared by the report tests, and the browser."""

import json
import os
from collections.abc import Callable, Iterator
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
Open = Callable[..., Any]


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


#: Options of a page that can be changed while it lives, as a page has them that names none.
CHANGED = {"color_scheme": "light", "reduced_motion": "null"}


@pytest.fixture(scope="session")
def kept_page(browser: Any) -> Any:
    """The page that tests use one after another. A new page would cost each test a process of Chromium's."""
    return browser.new_context().new_page()


@pytest.fixture
def open_address(browser: Any, kept_page: Any) -> Iterator[Open]:
    """Opens addresses of files. At the end nothing may have been logged, thrown or asked for outside of `own`.

    The first page of a test is the kept one. A page is new if it is to be `fresh`, or if it has options that Chromium
    takes only when it makes a page.
    """
    complaints: list[str] = []
    contexts = []
    free = [kept_page]

    def page_with(viewport: dict[str, int], fresh: bool, options: dict[str, Any]) -> Any:
        if free and not fresh and options.keys() <= CHANGED.keys():
            page = free.pop()
            page.set_viewport_size(viewport)
            page.emulate_media(media="null", **{**CHANGED, **options})
            return page
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        return context.new_page()

    def logged(message: Any) -> None:
        complaints.append(f"console: {message.text}")

    def thrown(error: Any) -> None:
        complaints.append(f"error: {error}")

    def asked(dialog: Any) -> None:
        complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open_(
        address: str, *, viewport: dict[str, int], own: str = "file:", fresh: bool = False, **options: Any
    ) -> Any:
        # The page itself, and what it makes in memory, are its own.
        def requested(request: Any) -> None:
            if not request.url.startswith((own, "data:", "blob:")):
                complaints.append(f"request: {request.url}")

        page = page_with(viewport, fresh, options)
        watching = {"console": logged, "pageerror": thrown, "dialog": asked, "request": requested}
        for event, watcher in watching.items():
            page.on(event, watcher)
            if page is kept_page:
                watched.append((event, watcher))
        page.goto(address)
        return page

    watched: list[tuple[str, Any]] = []
    yield open_
    for event, watcher in watched:
        kept_page.remove_listener(event, watcher)
    if watched:
        kept_page.evaluate("window.localStorage.clear(), window.sessionStorage.clear()")
        kept_page.goto("about:blank")
    for context in contexts:
        context.close()
    assert complaints == []
