"""The HTML report as a file: self-contained, the same for the same input, safe, never half written."""

import json
import re
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from powercut_reports import closing, html
from powercut_reports.pack import inflated, unpack
from reports.tests.typed import runs_of

large_report = runpy.run_path(str(Path(__file__).parent / "large_report.py"))["runs"]
Raw = dict[str, Any]
PACKAGE = Path(html.__file__).parent


def test_the_file_needs_nothing_else(sample_runs: list[Raw], tmp_path: Path) -> None:
    path = html.write_report(runs_of(sample_runs), tmp_path / "new" / "folder", title="Self-contained")
    page = path.read_text(encoding="utf-8")
    assert path.name == "report.html" and list(path.parent.iterdir()) == [path]
    # Base64 has slashes as well; it names nothing.
    markup = re.sub(r'(id="powercut-data">).*?(?=</script>)', r"\1", page, flags=re.DOTALL)
    assert len(markup) < len(page)
    assert re.findall(r"(?:https?:)?//[a-z][\w.]+", re.sub(r"^\s*//.*$", "", markup, flags=re.MULTILINE)) == []
    assert re.findall(r"\ssrc=|@import|<link(?! rel=\"icon\" href=\"data:,\")", page) == []


def test_the_same_runs_give_the_same_bytes(sample_runs: list[Raw]) -> None:
    assert html.render(runs_of(sample_runs), title="x") == html.render(
        runs_of(json.loads(json.dumps(sample_runs))), title="x"
    )


def test_the_embedded_data_is_the_json_report(sample_runs: list[Raw]) -> None:
    sample_runs[0]["scenario"] = "</script><!-- & \u2028"
    page = html.render(runs_of(sample_runs), title="x")
    found = re.search(r'id="powercut-data">(.*?)</script>', page, re.DOTALL)
    assert found and json.loads(inflated(json.loads(found[1])["report"])) == html.json_report.runs_object(
        runs_of(sample_runs)
    )
    assert not set("<>&\u2028") & set(found[1])


def test_a_finding_of_two_runs_is_counted_once_as_on_the_terminal(sample_runs: list[Raw]) -> None:
    run = next(run for run in sample_runs if run["findings"])
    again = [run, {**run, "scenario": "again"}]
    (told,) = re.findall(r">findings</span></dt><dd>(\d+)</dd>", html.render(runs_of(again), title="x"))
    assert int(told) == len({finding["fingerprint"] for finding in run["findings"]})
    assert f" {told} finding" in closing.render(runs_of(again), color=False)


def test_bugs_stand_at_the_top_and_lead_to_their_findings(sample_runs: list[Raw]) -> None:
    page = html.render(runs_of(sample_runs), title="x")
    listed = re.search(r'<section class="bugs".*?</section>', page, re.DOTALL)
    assert listed and page.index('id="bugs-title"') < page.index('id="common-title"') < page.index('id="matrix"')
    links = re.findall(r'<a href="#([^"]+)">', listed[0])
    assert f'<h2 id="bugs-title">{len(links)} bugs</h2>' in listed[0]
    assert len(links) == len(set(links))
    # By fingerprint, which stays when the runs before it change.
    fewer = html.render(runs_of(sample_runs[3:]), title="x")
    for link in links:
        assert re.fullmatch(r"finding-[0-9a-f]+", link)
        assert page.count(f'<span id="{link}"></span>') == 1 and f'<span id="{link}"></span>' in fewer
    alone = html.render(runs_of([next(run for run in sample_runs if run["findings"])]), title="x")
    assert alone.index('id="bugs-title"') < alone.index('id="runs-title"'), "one run lists its bugs at the top as well"
    assert 'class="bugs"' not in html.render(runs_of(sample_runs[:1]), title="x"), "there is none"


def test_pages_are_the_same_report_cut_up(sample_runs: list[Raw], tmp_path: Path) -> None:
    index = html.write_pages(runs_of(sample_runs), tmp_path, title="Pages")
    folder = index.parent
    assert index == tmp_path / "report" / "index.html" and list(tmp_path.iterdir()) == [folder]
    names = {path.name for path in folder.iterdir()}
    assert {"report.css", "report.js", "theme.js", "states.html", "level-published-expand-adr.html"} <= names
    assert len(names) == 5 + len(sample_runs)
    whole = html.render(runs_of(sample_runs), title="Pages")
    run = (folder / "level-published-update_full_bucket-adr.html").read_text(encoding="utf-8")
    for start in ('<p class="story">', '<div class="run-columns">', '<ol class="stores">'):
        part = run[run.index(start) :][:400]
        assert part in whole, f"{start} is rendered once, for both forms"
    targets = {link for page in folder.glob("*.html") for link in re.findall(r'href="([^"#:]+)', page.read_text())}
    assert targets - {"data"} <= names, "links are relative and lead somewhere"

    html.write_pages(runs_of(sample_runs[:2]), tmp_path, title="Fewer")
    assert len(list(folder.iterdir())) == 4 + 2, "pages of runs that are gone are gone"
    assert list(tmp_path.iterdir()) == [folder]


def test_every_run_has_a_page_of_its_own() -> None:
    odd = [{"target": "../x y", "scenario": "a/b"}, {"target": "..-x-y", "scenario": "a-b"}, {}, {"target": "index"}]
    pages = html.render_pages(runs_of(odd), title="x")
    names = [name for name in pages if name.endswith(".html")]
    assert len(names) == 5 and all(re.fullmatch(r"[\w-][\w.-]*", name) for name in names)


@pytest.mark.parametrize(
    "count", [pytest.param(120, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.long)]
)
def test_a_thousand_findings_stay_below_ten_megabytes(count: int, tmp_path: Path) -> None:
    runs = large_report(count)
    path = html.write_report(runs_of(runs), tmp_path, title="Large")
    assert path.stat().st_size <= 10_000 * count
    page = path.read_text(encoding="utf-8")
    # The page as it is has the headline, the story and the command of each finding.
    static = page[: page.index('id="powercut-data"')]
    assert len(re.findall(r'<p class="story">', static)) == len(re.findall(r"powercut reproduce ", static)) == count
    packed = json.loads(re.search(r'id="powercut-data">(.*?)</script>', page, re.DOTALL)[1])
    assert 'class="stores"' in unpack(packed, packed["details"]["run-30-2"])
    # Each is in the body of its run, that in the list of its scheme, and that in the page.
    body = packed["places"]["run-30-2"]
    assert 'id="run-30-2"' in unpack(packed, body) and 'id="run-30"' in unpack(packed, packed["parents"][str(body)])
    assert f'data-piece="{packed["parents"][str(body)]}"' in static


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of the templates that are compiled. Each report has an environment of its own, as in another process."""
    names: list[str] = []
    compiling = html.Environment.compile

    def compile(self: Any, source: str, name: str | None = None, *rest: Any, **more: Any) -> Any:
        names.append(name or "")
        return compiling(self, source, name, *rest, **more)

    monkeypatch.setattr(html.Environment, "compile", compile)
    monkeypatch.setattr(html, "_environment", html._environment.__wrapped__)
    yield names


def test_templates_are_compiled_once_and_after_a_change(
    sample_runs: list[Raw], compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACKAGE / "templates", tmp_path / "templates", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE / "static", tmp_path / "static")
    monkeypatch.setattr(html, "_HERE", tmp_path)

    def page() -> str:
        compiled.clear()
        return html.render(runs_of(sample_runs), title="x")

    first = page()
    assert "base.html.j2" in compiled
    assert page() == first and compiled == []
    base = tmp_path / "templates" / "base.html.j2"
    base.write_text(base.read_text(encoding="utf-8").replace("</body>", "<p>another</p></body>"), encoding="utf-8")
    assert "<p>another</p>" in page() and compiled == ["base.html.j2"]
    for kept in (tmp_path / "templates" / "__pycache__").iterdir():
        kept.write_bytes(kept.read_bytes()[:-40])
    assert "<p>another</p>" in page() and "base.html.j2" in compiled


def test_where_nothing_can_be_kept_the_report_is_written(
    sample_runs: list[Raw], compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PACKAGE / "templates", tmp_path / "templates", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "templates" / "__pycache__").write_text("no folder")
    shutil.copytree(PACKAGE / "static", tmp_path / "static")
    monkeypatch.setattr(html, "_HERE", tmp_path)
    assert html.render(runs_of(sample_runs), title="x") == html.render(runs_of(sample_runs), title="x")
    assert compiled.count("base.html.j2") == 2


def test_an_older_report_survives_a_failed_write(
    sample_runs: list[Raw], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = html.write_report(runs_of(sample_runs), tmp_path, title="old")
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        html.write_report(runs_of(sample_runs), tmp_path, title="new")
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("runs", [[], [{}], [{"findings": [{}], "performance_bugs": [{}], "coverage": {}}]])
def test_runs_that_say_nothing_still_render(runs: list[Raw]) -> None:
    page = html.render(runs_of(runs), title="Empty")
    assert ("Nothing was run." in page) == (not runs)


def test_a_run_without_a_verdict_is_not_called_clean(sample_runs: list[Raw]) -> None:
    unknown = [run for run in sample_runs if run["verdict"] == "unknown"]
    page = html.render(runs_of(unknown), title="x")
    assert "ended without a verdict" in page and "1 run did not cover every legal crash state" in page


def test_a_failure_of_powercut_itself_is_shown_as_such(sample_runs: list[Raw]) -> None:
    error = {"kind": "harness", "what": "the engine died", "where": "powercut-engine", "next": "Run it again."}
    page = html.render(runs_of([{**sample_runs[0], "verdict": "unknown", "error": error}]), title="x")
    assert "powercut itself failed.</strong> powercut-engine: the engine died. Run it again." in page


@pytest.mark.parametrize("path", sorted(p for p in PACKAGE.rglob("*.*") if p.parent.name in ("static", "templates")))
def test_assets_keep_the_rules_that_make_the_page_safe(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    # Inline handlers and styles would be stopped by the policy; the others could turn text into markup.
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\sstyle=|\son[a-z]+=\"|https?:"
    )
    assert re.findall(forbidden, text) == []
    assert [part for part in re.findall(r"\{\{.*?safe.*?\}\}", text) if '",<wbr>" | safe' not in part] == []
    lines = text.splitlines()
    assert [n for n, line in enumerate(lines, 1) if line != line.rstrip() or "\t" in line] == []
    assert text.endswith("\n")


def test_every_class_of_the_stylesheet_is_used() -> None:
    styles = "".join(path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "static").glob("*.css")))
    css = re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)
    selectors = re.sub(r"\{[^{}]*\}", " ", css)
    classes = set(re.findall(r"\.(-?[a-z][\w-]*)", selectors))
    users = [path for path in PACKAGE.rglob("*.*") if path.suffix in (".j2", ".svg", ".py", ".js")]
    used = "".join(path.read_text(encoding="utf-8") for path in users)
    assert {name for name in classes if not re.search(rf"\b{name.removeprefix('b-')}\b", used)} == set()


FIDELITY: Raw = {
    "figures": [
        {"scheme": "level", "figure": "maximum <load>", "paper": "> 0.90", "measured": 0.93, "unit": "items/slots",
         "reproduced": True, "note": "4 slots"},
        {"scheme": "cceh", "figure": "load", "paper": 0.7, "measured": "0.6", "unit": "", "reproduced": False},
        {"scheme": "cceh", "figure": "cost", "paper": None, "measured": "2", "unit": "", "reproduced": None},
    ],
    "paper_size": [
        {"scheme": "level", "figure": "Fig. 8", "paper": "> 0.90", "measured": 0.87, "unit": "items/slots",
         "reproduced": False, "date": "2026-01-02", "powercut": "0.2.0"},
        {"scheme": "path", "figure": "4.2.1", "unit": "items/cells"},
    ],
    "costs": [{"scheme": "level", "operation": "insert", "stores": 6.0, "latency_ns": {"200": 1400, "600": 2200}}],
    "ratios": [{"scheme": "bch", "operation": "insert", "paper": "> 3.0", "ratios": [1.5, 2.0],
                "level": "movement=late", "reproduced": False, "note": "Fig. 10b"}],
}  # fmt: skip


def test_fidelity_has_a_section(sample_runs: list[Raw]) -> None:
    page = html.render(runs_of(sample_runs), title="x", companions=html.Companions(fidelity=FIDELITY))
    for text in (
        "1 of 3 figures reproduced",
        "Without a verdict: 1 number of ours",
        "<td>ours</td>",
        "maximum &lt;load&gt;",
        "0.93",
        "not reproduced",
        "&gt; 3.0",
        "1.5, 2",
        "movement=late",
        "Fig. 10b",
        "2026-01-02, powercut 0.2.0",
        "<td>not run</td>",
    ):
        assert text in page, text
    assert "ns, writes 600 ns" in page and "2200" in page
    assert 'id="fidelity"' not in html.render(runs_of(sample_runs), title="x")
