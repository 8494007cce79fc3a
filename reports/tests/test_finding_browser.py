"""The page of a finding in Chromium: the film strip by buttons, keys and slider, copying, the page without script."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from powercut_reports import html
from reports.tests.typed import runs_of

pytestmark = pytest.mark.browser

Raw = dict[str, Any]
Open = Callable[..., Any]


@pytest.fixture
def open_finding(open_address: Open, tmp_path: Path, sample_runs: list[Raw], explained: Raw) -> Open:
    """A report whose one finding is `explained`; at the end nothing may have been logged."""

    def open_report(**options: Any) -> Any:
        run = next(run for run in sample_runs if run["findings"])
        path = html.write_report(runs_of([{**run, "findings": [explained]}]), tmp_path / "out", title="One finding")
        return open_address(path.as_uri() + "#run-1-1", **{"viewport": {"width": 1200, "height": 900}, **options})

    return open_report


FILM = "#run-1-1-film"


def at(page: Any) -> tuple[int, int]:
    shown, _, count = page.locator(f"{FILM} .film-count").inner_text().partition(" of ")
    return int(shown), int(count)


def step_text(page: Any) -> str:
    return str(page.locator(f"{FILM} .film-step").inner_text())


def test_the_film_starts_at_the_power_cut(open_finding: Open) -> None:
    page = open_finding()
    shown, count = at(page)
    assert shown == count - 1, "the answer comes after it"
    assert step_text(page).startswith("The power is cut before sfence, at event 1,234")
    assert "pc_memcpy(slot.value" in page.locator(f"{FILM} .film-source .focus").inner_text(), "the lost store"
    assert page.locator(f"{FILM} .film-lines .lost").count() == 2
    assert page.locator(f"{FILM} .film-step").get_attribute("aria-live") == "polite"


def test_buttons_step_through_the_story(open_finding: Open) -> None:
    page = open_finding()
    go = {name: page.locator(f"{FILM} [data-go={name}]") for name in ("first", "back", "on", "last")}
    go["first"].click()
    assert at(page)[0] == 1 and step_text(page).startswith("Event 1,102: store of")
    assert go["first"].get_attribute("aria-disabled") == "true"
    go["on"].click()
    assert step_text(page) == "Event 1,103: clwb."
    assert "pc_clwb" in page.locator(f"{FILM} .film-source .focus").inner_text()
    states = page.locator(f"{FILM} .film-lines li").all_inner_texts()
    assert [state.split()[1] for state in states].count("flushed") == 1
    go["last"].click()
    assert at(page)[0] == at(page)[1] and step_text(page).startswith("Lookup(17) then answered")
    assert go["last"].get_attribute("aria-disabled") == "true"


def test_every_step_says_what_the_table_says(open_finding: Open) -> None:
    page = open_finding()
    rows = page.locator(f"{FILM} .film-table tbody tr")
    page.click(f"{FILM} [data-go=first]")
    for index in range(rows.count()):
        cells = rows.nth(index).locator("td")
        assert step_text(page) == cells.nth(0).text_content()
        shown = [text.split()[1] for text in page.locator(f"{FILM} .film-lines li").all_inner_texts()]
        assert shown == [cells.nth(n).text_content() for n in range(2, cells.count())]
        assert page.locator(f"{FILM} tr[aria-current]").count() == 1
        x = rows.nth(index).get_attribute("data-x")
        assert page.locator(f"{FILM} .playhead").get_attribute("transform") == f"translate({x} 0)"
        if index + 1 < rows.count():
            page.click(f"{FILM} [data-go=on]")


def test_arrow_keys_home_and_end(open_finding: Open) -> None:
    page = open_finding()
    page.locator(f"{FILM} [data-go=on]").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    assert at(page)[0] == 1
    for expected in (2, 3):
        page.keyboard.press("ArrowRight")
        assert at(page)[0] == expected
    page.keyboard.press("ArrowLeft")
    assert at(page)[0] == 2
    page.keyboard.press("End")
    assert at(page)[0] == at(page)[1]


def test_the_slider_and_the_marks_lead_to_a_step(open_finding: Open) -> None:
    page = open_finding()
    slider = page.locator(f"{FILM} input[type=range]")
    slider.focus()
    page.keyboard.press("Home")
    assert at(page)[0] == 1
    page.keyboard.press("ArrowRight")
    assert at(page)[0] == 2
    assert slider.get_attribute("aria-valuetext") == "Event 1,103: clwb."
    mark = page.locator(f"{FILM} .mark.lost").first
    mark.click()
    assert "the power cut will take it" in step_text(page)
    assert "now" in (mark.get_attribute("class") or "").split()


def test_it_plays_from_the_start_and_stops_at_the_end(open_finding: Open) -> None:
    page = open_finding()
    page.clock.install()
    page.click(f"{FILM} [data-go=last]")
    page.click(f"{FILM} [data-go=play]")
    assert at(page)[0] == 1 and page.locator(f"{FILM} [data-go=play]").get_attribute("aria-label") == "Pause"
    page.clock.run_for(2300)
    assert at(page)[0] == 3
    page.click(f"{FILM} [data-go=play]")
    page.clock.run_for(5000)
    assert at(page)[0] == 3, "it waits"
    page.click(f"{FILM} [data-go=play]")
    page.clock.run_for(60_000)
    assert at(page)[0] == at(page)[1]
    assert page.locator(f"{FILM} [data-go=play]").get_attribute("aria-label") == "Play"


def test_who_wants_less_motion_steps_by_hand(open_finding: Open) -> None:
    page = open_finding(reduced_motion="reduce")
    assert not page.locator(f"{FILM} [data-go=play]").is_visible()
    assert page.locator(f"{FILM} [data-go=on]").is_visible()


def test_the_smallest_case_has_a_film_of_its_own(open_finding: Open) -> None:
    page = open_finding()
    page.click("summary:has-text('The smallest case step by step')")
    page.click("#run-1-1-minimal-film [data-go=first]")
    assert page.locator("#run-1-1-minimal-film .film-count").inner_text().startswith("1 of")
    assert at(page)[0] == at(page)[1] - 1, "the other one stays where it is"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_the_table_shows_what_the_cut_took(open_finding: Open) -> None:
    page = open_finding()
    grid = page.locator("#run-1-1 .grid").first
    assert [text.strip() for text in grid.locator(".when").all_inner_texts()] == ["before", "after", "both"]
    after = grid.locator("tbody").first.locator("tr").nth(1)
    classes = after.locator(".slot").nth(2).get_attribute("class").split()
    assert classes == ["slot", "asked", "item", "changed", "hit", "torn"], "it holds the key that was asked for"
    assert "hit by the power cut" in after.locator(".slot").nth(2).text_content()
    assert after.locator(".slot.gone").text_content().startswith("✕")


def test_commands_and_scenario_can_be_copied(open_finding: Open, explained: Raw) -> None:
    page = open_finding(permissions=["clipboard-read", "clipboard-write"])
    page.locator("#run-1-1 .reproduce .copy").first.click()
    page.wait_for_function("document.getElementById('toast').textContent.length > 0")
    assert page.evaluate("navigator.clipboard.readText()") == explained["reproduce"]
    page.click("summary:has-text('The scenario, to keep')")
    page.locator("#run-1-1 .scenario .copy").click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('schema'))")
    assert page.evaluate("navigator.clipboard.readText()") == explained["minimal"]["scenario"]


def test_without_script_every_step_is_in_a_table(open_finding: Open) -> None:
    page = open_finding(java_script_enabled=False)
    assert not page.locator(f"{FILM} .film-bar").is_visible() and not page.locator(f"{FILM} .film-now").is_visible()
    table = page.locator(f"{FILM} .film-table")
    assert table.is_visible() and "The power is cut before sfence" in table.inner_text()
    assert page.locator(f"{FILM} .film-sources pre").first.is_visible()
    body = page.locator("#run-1-1").inner_text()
    for words in ("Missing order: B before A.", "flush(the line of B);", "412 states", "57 → 3 operations"):
        assert words in body


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_nothing_is_wider_than_the_window(open_finding: Open, width: int) -> None:
    page = open_finding(viewport={"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_of(open_finding: Open, scheme: str) -> None:
    page = open_finding(color_scheme=scheme, bypass_csp=True)
    page.evaluate("document.querySelectorAll('#run-1-1 details').forEach((e) => { e.open = true; })")
    found = Axe().run(page, context="#run-1-1").response["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in found] == []


def test_hostile_text_stays_text(open_finding: Open, explained: Raw) -> None:
    poison = "<img src=x onerror=alert(1)>"
    kept = {"order", "flush-and-fence", "consistent", "complete", "store", "item", "word", "empty"}

    def poisoned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: poisoned(item) for name, item in value.items()}
        if isinstance(value, list):
            return [poisoned(item) for item in value]
        return poison if isinstance(value, str) and value not in kept else value

    for name in ("cause", "drawing", "minimal"):
        explained[name] = poisoned(explained[name])
    explained["sources"] = json.loads(json.dumps(explained["sources"]).replace("pc_clwb", poison))
    page = open_finding()
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    page.click(f"{FILM} [data-go=first]")
    page.click(f"{FILM} [data-go=on]")
    assert page.locator("img").count() == 0
    assert poison in page.locator(f"{FILM} .film-source").inner_text()
