"""Uses a report in Chromium as readers of many bugs do: first screen, filters, sorting, stale links, definitions."""

import runpy
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from powercut_reports import html
from reports.tests.test_page_parts import STEPS
from reports.tests.typed import runs_of

pytestmark = pytest.mark.browser

Raw = dict[str, Any]
Open = Callable[..., Any]
large_report = runpy.run_path(str(Path(__file__).parent / "large_report.py"))["runs"]
NODES = """() => {
    const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
    let count = 0;
    while (walker.nextNode()) {
        count += 1;
    }
    return count;
}"""


@pytest.fixture
def open_page(open_address: Open, tmp_path: Path) -> Open:
    """Writes a report and opens it; at the end nothing may have been logged or thrown."""

    def open_report(runs: list[Raw], address: str = "", **options: Any) -> Any:
        path = html.write_report(runs_of(runs), tmp_path, title="Report under test")
        return open_address(path.as_uri() + address, **{"viewport": {"width": 1400, "height": 900}, **options})

    return open_report


def wait_until(page: Any, holds: str) -> None:
    """Not `wait_for_function`, which evaluates text in the page, as its policy forbids."""
    for _ in range(200):
        if page.evaluate(holds):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {holds}")


def with_findings(runs: list[Raw]) -> Raw:
    return deepcopy(next(run for run in runs if run["findings"]))


def test_a_single_run_shows_its_finding_on_the_first_screen(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page([with_findings(sample_runs)])
    for part in ("#bugs tbody tr", "#run-4-1 summary, #run-1-1 summary", "#run-1-1 .story", "#run-1-1 .reproduce"):
        box = page.locator(part).first.bounding_box()
        assert box and box["y"] + box["height"] <= 900, part


@pytest.mark.slow
def test_a_page_of_ninety_nine_bugs_is_small_and_is_searched(open_page: Open) -> None:
    page = open_page(large_report(99))
    assert page.evaluate(NODES) <= 3000
    assert page.locator("#bugs tbody tr").count() == 99 and page.locator("#bugs tbody tr:visible").count() == 12
    # In a call stack of one kind of finding: none of it is in the page.
    word = "segment.cc"
    assert page.locator(f"text={word}").count() == 0
    page.fill("#filter", word)
    wait_until(page, "/ findings?$/.test(document.getElementById('shown').textContent)")
    found = page.locator("#bugs tbody tr:visible").count()
    assert 0 < found < 99
    assert page.locator("#bugs-title").inner_text() == f"{found} of 99 bugs"
    page.click("#clear")
    assert page.locator("#bugs-title").inner_text() == "99 bugs"
    page.click("#all-bugs")
    assert page.locator("#bugs tbody tr:visible").count() == 99


def test_a_bug_of_a_large_page_is_reached_by_its_link(open_page: Open) -> None:
    page = open_page(large_report(45))
    link = page.locator("#bugs tbody tr a").nth(11)
    name = link.get_attribute("href")
    link.click()
    page.wait_for_selector(f"{name}", state="attached")
    finding = page.locator("details.finding", has=page.locator(name))
    finding.locator(".stores, .verdict-pair").first.wait_for()
    assert finding.get_attribute("open") is not None


def test_a_filter_is_of_the_bugs_and_of_the_matrix(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    rows, tiles = page.locator("#bugs tbody tr:visible"), page.locator("#matrix .tile:visible")
    before = rows.count()
    page.select_option("select[name=invariant]", "not-idempotent")
    wait_until(page, "document.getElementById('shown').textContent.startsWith('1 of')")
    assert (rows.count(), tiles.count()) == (1, 1) and before > 1


def test_a_filter_leaves_the_name_of_the_target(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    assert page.locator("#matrix tbody tr").count() > 1
    # The first row of the target goes, and its name stood in that row alone.
    first = page.locator("#matrix tbody tr td.name").first.inner_text()
    others = page.locator("select[name=variant] option").all_inner_texts()
    page.select_option("select[name=variant]", next(name for name in others if name not in ("all", first)))
    wait_until(page, "document.getElementById('shown').textContent !== ''")
    names = page.locator("#matrix tbody tr:visible .row-target:not(.visually-hidden)")
    assert names.count() == 1 and names.inner_text() == "level"


def test_a_stale_link_says_so(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs, "#finding-123456789abc")
    notice = page.locator("#notice")
    assert notice.is_visible() and "This report has no finding 123456789abc" in notice.inner_text()
    page.locator("#bugs tbody a").first.click()
    wait_until(page, "document.getElementById('notice').hidden")


def test_tables_sort(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    sites = page.locator("#bugs tbody td.site")
    page.click("#bugs th:has-text('Place') button")
    ascending = sites.all_inner_texts()
    assert ascending == sorted(ascending, key=str.lower) and len(ascending) > 1
    assert page.locator("#bugs th[aria-sort=ascending]").inner_text().startswith("Place")
    page.click("#bugs th:has-text('Place') button")
    assert sites.all_inner_texts() == sorted(ascending, key=str.lower, reverse=True)
    page.click("#matrix th:has-text('Findings in') button")
    counts = [int(text.split()[0]) for text in page.locator("#matrix tbody td.number").all_inner_texts()]
    assert counts == sorted(counts, reverse=True), "numbers begin with the largest"


def test_a_word_has_its_definition_on_hover_and_by_keyboard(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page([with_findings(sample_runs)])
    word = page.locator(".term:text-is('Leaves')").first
    word.hover()
    assert page.locator("#tip").is_visible() and "way through recovery" in page.locator("#tip").inner_text()
    page.mouse.move(1, 1)
    assert not page.locator("#tip").is_visible()
    word.focus()
    assert page.locator("#tip").is_visible() and word.get_attribute("aria-describedby") == "tip"
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_a_reader_steps_through_recovery(open_page: Open, explained: Raw) -> None:
    page = open_page([{"verdict": "inconsistent", "findings": [{**explained, "steps": STEPS}]}])
    steps = page.locator("#run-1-1-steps")
    steps.locator("[data-go=first]").click()
    assert steps.locator(".film-step").inner_text().startswith("Recovery loads 8 bytes at 0x0")
    assert steps.locator(".film-value").inner_text() == "01 00 00 00 00 00 00 00 (1)"
    page.keyboard.press("ArrowRight")
    assert steps.locator(".film-step").inner_text().startswith("Recovery flushes the line at 0x40 (clwb)")
    page.keyboard.press("ArrowLeft")
    assert steps.locator(".film-count").inner_text() == "1 of 3"
