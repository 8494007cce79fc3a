"""Uses the overview, packed details and the pages of a report in Chromium, by mouse, by keyboard and by address."""

import json
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


@pytest.fixture
def new_page(open_address: Open) -> Open:
    """Opens addresses of files; at the end nothing may have been logged, asked for or thrown."""

    def opened(address: str, **options: Any) -> Any:
        return open_address(address, **{"viewport": {"width": 1200, "height": 800}, **options})

    return opened


def written(runs: list[Raw], folder: Path, **more: Any) -> str:
    return html.write_report(runs_of(runs), folder, title="Report under test", **more).as_uri()


def shown(page: Any) -> list[str]:
    # Not inner_text: a run outside the window has none until a frame is drawn (content-visibility).
    names: list[str] = page.locator("details.run:visible h3").all_text_contents()
    return [" ".join(name.split()) for name in names]


def address(page: Any) -> str:
    hash_: str = page.evaluate("location.hash")
    return hash_


def test_each_choice_is_in_the_address_and_back_undoes_it(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path
) -> None:
    for run in sample_runs:
        for number, finding in enumerate(run["findings"]):
            finding["baseline"] = "new" if number else "known"
    page = new_page(written(sample_runs, tmp_path))
    page.select_option("select[name=variant]", "published")
    page.select_option("select[name=coverage]", "complete")
    assert len(shown(page)) == 3 and address(page) == "#variant=published&coverage=complete"
    page.select_option("select[name=invariant]", "not-idempotent")
    assert shown(page) == ["update_full_bucket level:published"]
    page.check("input[name=new]")
    assert address(page) == "#variant=published&coverage=complete&invariant=not-idempotent&new=1"
    assert page.locator("#shown").inner_text() == "1 of 8 runs shown, with 1 finding"
    assert page.locator("#run-4-2").is_visible() and not page.locator("#run-4-1").is_visible()
    assert page.locator("#matrix .tile:visible").count() == 1

    other = new_page(page.url)
    assert shown(other) == ["update_full_bucket level:published"] and other.is_checked("input[name=new]")
    assert other.input_value("select[name=invariant]") == "not-idempotent"
    other.click("#clear")
    assert len(shown(other)) == 8 and address(other) == ""


def test_back_goes_through_the_choices(new_page: Open, sample_runs: list[Raw], tmp_path: Path) -> None:
    page = new_page(written(sample_runs, tmp_path))
    page.select_option("select[name=variant]", "hardened")
    page.select_option("select[name=coverage]", "sampled")
    assert shown(page) == ["ycsb_a level:hardened"]
    page.go_back()
    assert len(shown(page)) == 4 and page.input_value("select[name=coverage]") == ""
    page.go_back()
    assert len(shown(page)) == 8 and page.input_value("select[name=variant]") == ""
    page.go_forward()
    assert len(shown(page)) == 4


def test_a_choice_that_the_report_does_not_have_is_dropped(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path
) -> None:
    page = new_page(written(sample_runs, tmp_path) + "#variant=gone&invariant=%3Cx%3E&new=1&verdict=odd")
    assert len(shown(page)) == 8


def test_the_matrix_is_used_by_keyboard(new_page: Open, sample_runs: list[Raw], tmp_path: Path) -> None:
    page = new_page(written(sample_runs, tmp_path))
    tile = page.locator('#matrix .tile[data-run="run-6"]')
    assert tile.get_attribute("aria-label") == "expand, level:published, adr: inconsistent, 1 finding, complete"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.run") == "run-6":
            break
    assert page.locator("#pointed").inner_text() == tile.get_attribute("aria-label")
    page.keyboard.press("Enter")
    assert address(page) == "#run-6" and page.locator("#run-6").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.parentElement.id") == "run-6"
    page.keyboard.press("/")
    page.keyboard.type("ycsb")
    page.keyboard.press("Escape")
    assert len(shown(page)) == 8


# ---- packed details ----


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "INLINE_LIMIT", 0)


def test_packed_details_are_the_same_as_those_that_are_not(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = new_page(written(sample_runs, tmp_path / "plain") + "#run-6-1")
    monkeypatch.setattr(html, "INLINE_LIMIT", 0)
    page = new_page(written(sample_runs, tmp_path / "packed") + "#run-6")
    page.wait_for_selector("#run-6-1")
    assert page.locator("#run-6-1 [data-piece]").count() == 1
    page.click("#run-6-1 > summary")
    page.wait_for_selector("#run-6-1 .piece")
    assert page.locator("#run-6-1 [data-piece]").count() == 0
    texts = [" ".join(view.locator("#run-6-1").text_content().split()) for view in (plain, page)]
    assert texts[0] == texts[1]
    assert page.locator("#run-6-1 h6").count() == plain.locator("#run-6-1 h6").count() > 3


def test_an_address_opens_a_packed_finding(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path, packed: None
) -> None:
    page = new_page(written(sample_runs, tmp_path) + "#run-4-2")
    page.wait_for_selector("#run-4-2 .piece")
    page.wait_for_selector("#run-4 > .run-body > .piece")
    assert page.evaluate("document.activeElement.parentElement.id") == "run-4-2"
    with page.expect_download() as download:
        page.click("#download")
    data = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert len(data["runs"]) == 8


def test_packed_text_is_as_inert_as_any_other(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path, packed: None
) -> None:
    for run in sample_runs:
        for finding in run["findings"]:
            finding["found"] = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    page = new_page(written(sample_runs, tmp_path) + "#run-4-1")
    page.wait_for_selector("#run-4-1 .piece")
    assert "<img src=x" in page.locator("#run-4-1 .found").inner_text()
    assert page.locator("img, #run-4-1 script").count() == 0


def test_printing_with_all_details_fills_them_in(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path, packed: None
) -> None:
    page = new_page(written(sample_runs, tmp_path))
    page.evaluate("() => { window.print = () => { window.printed = true; }; }")
    assert page.locator("[data-piece]").count() > 0
    page.click("#print-all")
    for _ in range(100):
        if page.evaluate("window.printed"):
            break
        page.wait_for_timeout(50)
    assert page.evaluate("window.printed") and page.locator("[data-piece]").count() == 0


def test_the_matrix_fits_on_paper(new_page: Open, sample_runs: list[Raw], tmp_path: Path) -> None:
    shared = [f"a_scenario_of_all_{n}" for n in range(16)]
    runs = [
        {**sample_runs[0], "target": f"scheme{n}", "scenario": name}
        for n in range(6)
        for name in [*shared, *(f"own_{n}_{m}" for m in range(20))]
    ]
    page = new_page(written(runs, tmp_path), viewport={"width": 700, "height": 900}, color_scheme="dark")
    assert page.evaluate("document.getElementById('matrix').getBoundingClientRect().right") > 700
    page.emulate_media(media="print")
    assert page.evaluate("document.getElementById('matrix').getBoundingClientRect().right") <= 700
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#filters").is_visible() and not page.locator("nav").is_visible()


def test_without_javascript_a_packed_report_still_says_what_happened(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path, packed: None
) -> None:
    page = new_page(written(sample_runs, tmp_path), java_script_enabled=False)
    runs = page.locator(".run.plain")
    assert runs.count() == 8 and "powercut reproduce" in runs.nth(3).inner_text()
    assert runs.nth(3).locator(".story").first.is_visible()
    assert page.locator("#bugs tbody tr:visible").count() == 3
    assert page.locator("#matrix .tile").count() == 8


# ---- pages ----


def test_pages_lead_from_the_index_to_a_finding_and_back(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path
) -> None:
    index = html.write_pages(runs_of(sample_runs), tmp_path, title="Pages under test")
    page = new_page(index.as_uri())
    page.select_option("select[name=variant]", "published")
    page.click('#matrix .tile[data-run="run-4"]')
    assert page.url.endswith("/level-published-update_full_bucket-adr.html#run-4")
    assert page.locator("h1").inner_text().startswith("update_full_bucket")
    assert page.locator("#run-4-1 .story").is_visible() and page.locator("details.run").count() == 1
    page.click("#theme")
    page.wait_for_timeout(250)  # Until the browser has it.
    page.go_back()
    assert len(shown(page)) == 4, "the filter is still in the address"
    assert page.locator("#theme").inner_text() == "Theme: light"
    page.click("#run-6 > summary")
    page.click("#run-6-1 > summary")
    page.click("#run-6-1 >> text=The page of this finding")
    assert page.url.endswith("expand-adr.html#run-6-1")
    page.click("nav >> text=State space")
    page.wait_for_selector("#states svg.plot >> nth=1")
    page.click("nav >> text=Overview")
    page.wait_for_selector("#matrix")
    assert page.url.endswith("/index.html#overview")


def test_pages_admit_no_script_of_anyone_else(browser: Any, sample_runs: list[Raw], tmp_path: Path) -> None:
    page = browser.new_page()  # Not `new_page`: Chromium reports the violation on the console.
    page.goto(html.write_pages(runs_of(sample_runs[:1]), tmp_path, title="Pages").as_uri())
    page.evaluate(
        """() => new Promise((resolve) => {
            document.addEventListener('securitypolicyviolation', resolve);
            const script = document.createElement('script');
            script.textContent = 'window.slipped = true';
            document.body.append(script);
        })"""
    )
    assert page.evaluate("window.slipped") is None
    page.close()


# ---- everyone can read it ----

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Any, part: str | None = None) -> list[str]:
    """Returns axe-core's complaints about the page, or a part of it, as it is with everything opened."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is missing: run 'make setup'")
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    found = (
        axe.Axe()
        .run(page, context=part, options={"resultTypes": ["violations"], "runOnly": RULES, "preload": False})
        .response["violations"]
    )
    return [f"{item['id']}: {node['html'][:120]}" for item in found for node in item["nodes"][:3]]


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [
        ("report.html", "light", 1200),
        ("report.html", "dark", 1200),
        ("report.html", "light", 390),
        ("report/index.html", "dark", 390),
        ("report/level-published-expand-adr.html", "light", 1200),
    ],
)
def test_axe_finds_nothing(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path, name: str, scheme: str, width: int
) -> None:
    html.write_report(runs_of(sample_runs), tmp_path, title="Report under test")
    html.write_pages(runs_of(sample_runs), tmp_path, title="Report under test")
    page = new_page((tmp_path / name).as_uri(), color_scheme=scheme, viewport={"width": width, "height": 800})
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page does not scroll sideways"


def test_a_target_is_24_pixels_high_wherever_its_neighbours_stand(
    new_page: Open, sample_runs: list[Raw], tmp_path: Path
) -> None:
    """axe takes a lower target for good where the space around it suffices, which every new width or font changes."""
    page = new_page(written(sample_runs, tmp_path), viewport={"width": 390, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    heights = page.eval_on_selector_all(
        "summary, button, [type=range]", "all => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert sum(height > 0 for height in heights) > 20
    assert [height for height in heights if 0 < height < 24] == []


def test_axe_notices_what_it_should(new_page: Open, sample_runs: list[Raw], tmp_path: Path) -> None:
    page = new_page(written(deepcopy(sample_runs), tmp_path))
    page.evaluate("document.getElementById('theme').textContent = ''")
    assert [found for found in violations(page, "#theme") if found.startswith("button-name")]


@pytest.mark.parametrize("height", [800, 900])
def test_a_single_run_shows_its_finding_on_the_first_screen(
    new_page: Open, explained: Raw, sample_runs: list[Raw], tmp_path: Path, height: int
) -> None:
    """The headline, the story, the command, and both stores of the cause, without scrolling."""
    run = {**next(run for run in sample_runs if run["findings"]), "findings": [explained]}
    page = new_page(written([run], tmp_path), viewport={"width": 1400, "height": height})
    finding = page.locator(".finding[open]")
    seen = [".story", ".reproduce", ".cause-sentence", ".order .place:first-child .store-head"]
    seen += [".order .place:last-child .store-head"] + [".order .source .focus"] * (height == 900)
    for part in seen:
        box = finding.locator(part).first.bounding_box()
        assert box and box["y"] + box["height"] <= height, part
    assert page.evaluate("scrollY") == 0
