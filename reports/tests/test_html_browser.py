"""Opens the report in Chromium and uses it: links, filter, findings, copy, theme, keyboard, print.

Every page is watched: one message on the console, one script error or one request fails the test.
"""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from powercut_reports import html
from reports.tests.typed import runs_of

pytestmark = pytest.mark.browser

Raw = dict[str, Any]
Open = Callable[..., Any]

HOSTILE = [
    "<script>alert(1)</script>",
    '"]]><svg onload=alert(2)>',
    "</script><script>alert(3)</script><!--",
    "<img src=http://127.0.0.1:9/x onerror=alert(4)>",
    "javascript:alert(5)",
    "' onmouseover='alert(6)",
    "{{ 7 * 7 }}{% raw %}",
    "\x00\u2028\u2029\u202e\x1b[31m\udcff",
]


@pytest.fixture
def open_page(open_address: Open, tmp_path: Path) -> Open:
    """Writes a report of some runs and opens it; it may ask for nothing but itself."""

    def open_report(runs: list[Raw], fragment: str = "", **options: Any) -> Any:
        address = html.write_report(runs_of(runs), tmp_path / "out", title="Report under test").as_uri()
        return open_address(address + fragment, own=address, viewport={"width": 1200, "height": 800}, **options)

    return open_report


def shown_runs(page: Any) -> list[str]:
    """The runs that the filter shows, once it is applied and has searched all details."""
    page.wait_for_selector("#filters:not([aria-busy=true])", state="attached")
    # Not inner_text: a run outside the window has none until a frame is drawn (content-visibility).
    names: list[str] = page.locator("details.run:visible h3").all_text_contents()
    return [" ".join(name.split()) for name in names]


def test_the_overview_leads_to_runs_and_findings(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    assert page.title() == "Report under test"
    assert "2 of 8 runs" in page.locator(".lead").inner_text()
    assert page.locator("#matrix tbody tr").count() == 2, "a row is a variant"
    page.click('#matrix a[href="#run-7"]')
    assert page.evaluate("location.hash") == "#run-7"
    run = page.locator("#run-7")
    assert run.get_attribute("open") is not None
    body = run.inner_text()
    assert "sampled 12.3 %" in body and "≈ 4.7 × 10" in body.replace("\xa0", " ")
    assert "47,052,721,287,394,587,764" in body
    assert "no operation and no recovery reached" in body and "crash states were drawn with seed 1" in body
    page.go_back()
    assert page.evaluate("location.hash") == ""


def test_an_address_opens_what_it_names(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs, "#run-6-1")
    assert page.locator("#run-6-1").get_attribute("open") is not None
    assert page.locator("#run-6-1 .story").is_visible()
    assert page.evaluate("document.activeElement.parentElement.id") == "run-6-1"


def test_a_finding_tells_its_story(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    finding = page.locator("#run-4-1")
    assert finding.get_attribute("open") is not None, "the first finding is open from the start"
    body = finding.inner_text()
    for words in (
        "During update(17) the power was cut before sfence, at event 1,234 (crash point 97)",
        "the store at targets/level/update.cc:85 had persisted",
        "the store at targets/level/update.cc:80 was lost",
        "pc_memcpy(slot.value, value.data, value.size);",
        "16 bytes persisted (0x1090–0x109f); 16 bytes lost (0x10a0–0x10af)",
        "23 other keys as expected.",
    ):
        assert words in body
    # Lost stores stand before persisted ones.
    focus = finding.locator(".stores .src.focus").all_inner_texts()
    assert focus[0].strip().endswith("pc_memcpy(slot.value, value.data, value.size);")
    assert any(text.strip().endswith("pc_store64(&bucket->tokens, next);") for text in focus[1:])
    assert finding.locator(".this .b-lost").count() == 2
    page.click("#run-4-2 > summary")
    nested = page.locator("#run-4-2").inner_text()
    assert "then again inside recovery, after 2 stores of it" in nested and "torn-value" in nested
    assert page.locator("#run-4-2 .again").text_content() == "then cut in recovery"


def test_the_filter_narrows_and_lives_in_the_address(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    page.keyboard.press("/")
    page.keyboard.type("expand")
    assert shown_runs(page) == ["expand level:hardened", "expand level:published"]
    assert page.locator("#shown").inner_text() == "2 of 8 runs shown, with 1 finding"
    assert page.locator("#matrix .tile:visible").count() == 2
    page.locator("#filters label", has_text="inconsistent").click()
    assert shown_runs(page) == ["expand level:published"]
    assert page.evaluate("location.hash") == "#q=expand&verdict=inconsistent"
    page.click('#matrix a[href="#run-6"]:visible')
    assert page.evaluate("location.hash") == "#q=expand&verdict=inconsistent&at=run-6"

    page.reload()
    assert shown_runs(page) == ["expand level:published"]
    assert page.input_value("#filter") == "expand"
    page.fill("#filter", "nothing like this")
    assert shown_runs(page) == [] and page.locator("#none-shown").is_visible()
    page.go_back()
    assert shown_runs(page) == ["expand level:published"], "Back undoes what was typed in one step"
    page.click("#clear")
    assert len(shown_runs(page)) == 8 and page.evaluate("location.hash") == ""


def test_words_may_fit_the_run_and_a_finding_of_it(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs, "#q=published+recover.cc")
    # The first finding has "recover.cc" in its headline, the other one in a call stack of its details.
    page.wait_for_selector("#shown:text-is('2 of 8 runs shown, with 2 findings')")
    assert shown_runs(page) == ["update_full_bucket level:published", "expand level:published"]
    assert not page.locator("#run-4-1").is_visible() and page.locator("#run-4-2").is_visible()
    page.locator("#filter").press("Escape")
    assert len(shown_runs(page)) == 8


def test_copy_puts_the_command_on_the_clipboard(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs, permissions=["clipboard-read", "clipboard-write"])
    page.click("#run-4-1 .copy")
    page.wait_for_selector("#toast:has-text('Command copied.')")
    assert page.evaluate("navigator.clipboard.readText()") == "powercut reproduce .powercut/findings/7f3a91c2.json"


def test_without_a_clipboard_the_command_is_selected(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('denied')); }")
    page.click("#run-4-1 .copy")
    page.wait_for_selector("#toast:has-text('Ctrl+C')")
    assert page.evaluate("getSelection().toString()") == "powercut reproduce .powercut/findings/7f3a91c2.json"


def test_the_theme_follows_the_system_and_then_the_reader(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    assert page.locator("#theme").inner_text() == "Theme: system"
    page.click("#theme")
    assert page.locator("#theme").inner_text() == "Theme: light"
    light = page.evaluate(paper)
    assert light != dark
    # The browser writes what a page stores at a time of its own, and may never ask a page that is gone at once. The
    # test waits like a reader: it looks for a moment, and chooses again what was lost.
    for _ in range(20):
        page.wait_for_timeout(100)
        page.reload()
        if page.evaluate(paper) == light:
            break
        page.click("#theme")
    else:
        pytest.fail("the choice is not remembered")
    page.click("#theme")
    assert page.evaluate(paper) == dark
    page.click("#theme")
    assert page.locator("#theme").inner_text() == "Theme: system"


def test_everything_is_reachable_by_keyboard(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#runs"
    page.locator("#run-1 > summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("#run-1").get_attribute("open") is not None

    marks = page.locator("#run-4-1 .track").first.locator(".mark")
    assert [mark.get_attribute("tabindex") for mark in marks.all()] == ["0", *["-1"] * (marks.count() - 1)]
    marks.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("event 1,103: clwb")
    assert page.locator("#run-4-1 .film-step").inner_text() == "Event 1,103: clwb.", "the film strip goes along"


def test_controls_and_regions_have_names(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs, "#run-4-1")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, a, input, [role=region], [role=img], section')]
            .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.ariaLabelledByElements || e.labels?.length))
            .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(open_page: Open, sample_runs: list[Raw], scheme: str) -> None:
    """WCAG AA (4.5 : 1) for every colour that words are set in, on every ground they stand on."""
    page = open_page(sample_runs, color_scheme=scheme)
    pairs = {
        "ink": ["paper", "card", "sunken", "focus-line"], "soft": ["paper", "card", "sunken", "bad-wash", "warn-wash"],
        "good": ["paper", "card"], "bad": ["paper", "card", "bad-wash"], "warn": ["paper", "card", "warn-wash"],
        "accent": ["paper", "card"], "paper": ["ink"],
    }  # fmt: skip
    style = "getComputedStyle(document.documentElement).getPropertyValue('--' + name)"
    names = {name for name, grounds in pairs.items() for name in (name, *grounds)}
    color = {name: page.evaluate(f"(name) => {style}", name).strip() for name in names}
    poor = [(a, b) for a, grounds in pairs.items() for b in grounds if contrast(color[a], color[b]) < 4.5]
    assert poor == []


def contrast(one: str, other: str) -> float:
    """Relative contrast of two #rgb or #rrggbb colours (WCAG 2.2)."""

    def luminance(color: str) -> float:
        text = color.lstrip("#")
        text = "".join(c * 2 for c in text) if len(text) == 3 else text
        parts = [int(text[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_no_width_scrolls_sideways(open_page: Open, sample_runs: list[Raw], width: int) -> None:
    page = open_page(sample_runs)
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_stylesheet_is_understood_whole(open_page: Open, sample_runs: list[Raw]) -> None:
    """Chromium drops a rule that it cannot parse without a word, so the rules are counted."""
    page = open_page(sample_runs)
    static = Path(html.__file__).parent / "static"
    css = "\n".join(path.read_text(encoding="utf-8") for path in sorted(static.glob("*.css")))
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    depth = top = 0
    for brace in re.findall(r"[{}]", css):
        top += brace == "{" and depth == 0
        depth += 1 if brace == "{" else -1
    # `::-webkit-…` is known here; a rule with an unknown pseudo-element would vanish.
    assert depth == 0 and page.evaluate("document.styleSheets[0].cssRules.length") == top


def test_printing_opens_everything_and_puts_it_back(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    closed = "document.querySelectorAll('.run:not([open]), .finding:not([open])').length"
    before = page.evaluate(closed)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert before > 0 and page.evaluate(closed) == 0
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#filters").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(closed) == before


def test_the_data_can_be_taken_away(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs)
    with page.expect_download() as download:
        page.click("#download")
    data = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert [run["scenario"] for run in data["runs"]] == [run["scenario"] for run in sample_runs]


def poisoned(value: Any, poison: str) -> Any:
    """`value` with `poison` in place of every text, but for the words that the report itself decides on."""
    kept = {"consistent", "inconsistent", "unknown", "complete", "sampled", "persisted", "lost", "torn"}
    if isinstance(value, dict):
        return {name: poisoned(item, poison) for name, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, poison) for item in value]
    return poison if isinstance(value, str) and value not in kept else value


@pytest.mark.parametrize("poison", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_inert_wherever_it_stands(open_page: Open, sample_runs: list[Raw], poison: str) -> None:
    page = open_page([poisoned(run, poison) for run in deepcopy(sample_runs)])
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    page.fill("#filter", poison.split()[0].replace("\x00", ""))
    page.mouse.move(400, 400)
    assert page.locator("script").count() == 3, "theme, data, report"
    assert page.locator("img, [onload], [onerror], [onmouseover], a[href^='javascript']").count() == 0
    assert page.locator("h3", has_text="49").count() == 0
    if poison.isprintable():
        assert poison in page.locator(".run-scenario").first.text_content()


def test_the_policy_stops_even_markup_that_slipped_through(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()  # Not `open_page`: Chromium reports the violation on the console.
    page.goto(html.write_report(runs_of([]), tmp_path, title="Empty").as_uri())
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.slipped = true';
            document.addEventListener('securitypolicyviolation', () => { window.stopped = true; });
            document.body.append(script);
        }"""
    )
    page.wait_for_function("window.stopped === true")
    assert page.evaluate("window.slipped") is None
    page.close()


def test_without_javascript_the_text_is_all_there(open_page: Open, sample_runs: list[Raw]) -> None:
    page = open_page(sample_runs, java_script_enabled=False)
    assert page.locator("#run-4-1 .story").is_visible()
    assert page.locator("#run-4-1 svg.timeline").is_visible()
    assert not page.locator("#filters").is_visible() and not page.locator("#run-4-1 .copy").is_visible()
    page.click("#run-8 > summary")
    assert "640 of 901 crash states" in page.locator("#run-8").inner_text()


def test_two_hundred_findings_open_quickly(open_page: Open, sample_runs: list[Raw]) -> None:
    run = next(run for run in sample_runs if run["findings"])
    run["findings"] = [{**finding, "fingerprint": f"{n:08x}"} for n in range(100) for finding in run["findings"]]
    page = open_page([run], fresh=True)
    timing = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert page.locator("#bugs tbody tr").count() == 100
    # Far above what it takes (a fifth of a second), far below what annoys: no timed test, a guard.
    assert timing < 5000


def test_a_report_of_one_run_prints_on_two_pages(open_page: Open, explained: Raw, sample_runs: list[Raw]) -> None:
    run = next(run for run in sample_runs if run["findings"])
    run["findings"] = [explained, *run["findings"][1:]]
    page = open_page([run])
    assert page.locator(".left-out").is_hidden()

    def pages() -> int:
        return len(re.findall(rb"/Type /Page\b", page.pdf(format="A4")))

    assert pages() == 2
    page.emulate_media(media="print")
    assert page.locator(".left-out").is_visible() and not page.locator("#legend").is_visible()
    page.evaluate("() => { window.print = () => { window.printed = true; }; }")
    page.emulate_media(media="screen")
    page.click("#print-all")
    page.wait_for_function("window.printed")
    assert pages() > 2, "with all details it is longer"
