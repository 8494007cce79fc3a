"""Tables of the records: CSV that reads back, LaTeX whose foreign text cannot escape, columns as the page says."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from powercut_reports.charts import _THEME
from powercut_reports.research import sections
from powercut_reports.tables import as_csv, as_latex, of_research, of_runs
from powercut_reports.tables.table import Column, Table, table
from reports.tests.test_research import CLAIM, NECESSITY, cost
from reports.tests.typed import runs_of

ROOT = Path(__file__).resolve().parents[2]
Raw = dict[str, Any]
FIDELITY: Raw = {
    "figures": [
        {"scheme": "level", "figure": f"Fig. {n}: the load factor of the table when its first resize begins, 3 slots",
         "paper": "> 0.90", "measured": 0.75 + n, "unit": "items/slots", "reproduced": n > 0, "note": "50% of it"}
        for n in range(3)
    ] + [
        {"scheme": "level", "figure": "erase", "paper": None, "measured": "1 flush", "unit": "", "reproduced": None}
    ],
    "paper_size": [
        {"scheme": "level", "figure": "Fig. 8", "paper": "> 0.90", "measured": 0.93, "unit": "items/slots",
         "reproduced": True, "date": "2026-01-02", "powercut": "0.2.0"},
        {"scheme": "level", "figure": "Fig. 9", "unit": "items/slots"},
    ],
    "ratios": [{"operation": "insert", "scheme": "bch", "paper": "1.4 to 3.0", "ratios": [1.5, 2.25],
                "level": "movement=eager", "reproduced": False, "note": "Fig. 10b"}],
}  # fmt: skip
HOSTILE = "[*] \\end{longtable} $x$ & 50% #1 _a^b ~ <-- ``q'' \x1b[31m \n ☃ ü ≤ Щ"


def everything(runs: list[Raw]) -> list[Table]:
    runs[0]["claims"] = [CLAIM]
    research = of_research.tables(necessity=[NECESSITY], costs=[cost("level", 2), cost("bch", 4)], fidelity=FIDELITY)
    return [*of_runs.tables(runs_of(runs)), *research]


def read(one: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv.render(one))))


def test_csv_reads_back_what_the_records_have(sample_runs: list[Raw]) -> None:
    rows = {one.name: read(one) for one in everything(sample_runs)}
    verdicts = rows["verdicts"]
    assert [row["scenario"] for row in verdicts] == [run["scenario"] for run in sample_runs]
    assert [row["crash_states"] for row in verdicts] == [str(run["crash_states"]) for run in sample_runs], "exactly"
    findings = [finding["fingerprint"] for run in sample_runs for finding in run["findings"]]
    assert [row["fingerprint"] for row in rows["findings"]] == findings
    assert {row["anchor"] for row in rows["bugs"]} == {f"finding-{name}" for name in findings}
    assert rows["claims"][0]["state"] == "holds" and rows["claims"][0]["measured"] == "2"
    assert [row["result"] for row in rows["necessity"]] == ["redundant", "necessary", "not shown by this workload"]
    assert rows["necessity"][1]["finding"] == "0a1b" and rows["necessity"][0]["in_recovery"] == "yes"
    assert rows["cost"][2]["ns OSDI'18"] == "2400" and rows["cost"][2]["write_amplification"] == "8.5"
    assert [row["reproduced"] for row in rows["fidelity"]] == ["no", "yes", "yes", "ours"]
    large = [(row["reproduced"], row["last_run"], row["ours"]) for row in rows["fidelity-paper-size"]]
    assert large == [("yes", "2026-01-02, powercut 0.2.0", "0.93"), ("–", "not run", "")]
    assert rows["fidelity-ratios"][0]["ratio_600"] == "2.25" and rows["fidelity-ratios"][0]["ratio_1000"] == ""
    assert rows["fidelity-ratios"][0]["reproduced"] == "no"


def test_a_run_without_findings_leaves_tables_that_say_so() -> None:
    empty = of_runs.tables(runs_of([]))
    assert [one.name for one in empty] == ["verdicts", "bugs", "findings", "performance-bugs", "claims"]
    for one in empty:
        assert as_csv.render(one).count("\n") == 1, "a header, so that no older table stays"
        assert "{None.} \\\\" in as_latex.render(one)
    assert of_research.tables() == []


@pytest.mark.parametrize("kind", ["text", "code"])
def test_foreign_text_stays_text(kind: Any) -> None:
    columns = [Column[str](name="a", title="A", of=lambda row: row, kind=kind)]
    one = table("t", "T & t", columns, [HOSTILE])
    assert read(one) == [{"a": HOSTILE.replace("\n", " ").replace("\x1b", "\\x1b")}]
    told = as_latex.render(one).splitlines()[-2].replace(r"\allowbreak{}", "")
    shown = (
        r"{[}{*}{]} \textbackslash{}end\{longtable\} \$x\$ \& 50\% \#1 \_a\textasciicircum{}b \textasciitilde{} "
        r"\textless{}-{}- \`{}\`{}q'{}' \textbackslash{}x1b{[}31m   {[}U+2603{]} ü $\leq$ {[}U+0429{]}"
    )
    assert told == (rf"\texttt{{{shown}}} \\" if kind == "code" else rf"{shown} \\")
    assert r"\caption{T \& t}\label{tab:powercut-t}" in as_latex.render(one)


def test_numbers_in_print() -> None:
    columns = [
        Column[Any](name="n", title="N", of=lambda row: row, kind="number"),
        Column[Any](name="c", title="C", of=lambda row: str(row) if isinstance(row, int) else None, kind="count"),
        Column[Any](name="hidden", of=lambda _: "in CSV alone"),
    ]
    rows = as_latex.render(table("t", "T", columns, [10**9, 0.00004, 2.5, None, 1234567])).splitlines()
    assert rows[-6:] == [
        r"1,000,000,000 & $1.0 \times 10^{9}$ \\", r"0 & \textendash{} \\", r"2.5 & \textendash{} \\",
        r"\textendash{} & \textendash{} \\", r"1,234,567 & 1,234,567 \\", r"\end{longtable}}",
    ]  # fmt: skip


def test_every_column_is_in_the_page_of_runs(sample_runs: list[Raw]) -> None:
    page = (ROOT / "checker" / "RUN.md").read_text(encoding="utf-8").partition("\n## Tables and charts\n")[2]
    told = dict(re.findall(r"^\| `([a-z-]+)` \| (.+?) \|", page.partition("\n## ")[0], re.MULTILINE))
    for one in everything(sample_runs):
        names = [head.name for head in one.heads if head.name and not head.name.startswith("ns ")]
        assert re.findall(r"`([a-z_0-9]+)`", told[one.name]) == names, one.name


def test_charts_as_files_are_whole_and_of_both_themes(sample_runs: list[Raw]) -> None:
    found = sections(
        runs_of(sample_runs), fidelity=FIDELITY, necessity=[NECESSITY], costs=[cost("level", 2), cost("bch", 4)]
    )
    charts = [chart for section in found for chart in section.charts]
    assert {chart.name.partition("-")[0] for chart in charts} == {"states", "costs", "fidelity", "necessity"}
    for chart in charts:
        assert chart.file.startswith('<svg xmlns="http://www.w3.org/2000/svg"') and "var(--" not in chart.file
        assert "prefers-color-scheme: dark" in chart.file
    static = ROOT / "reports" / "powercut_reports" / "static"
    css = "".join((static / name).read_text().partition("@media print")[0] for name in ("report.css", "research.css"))
    for name, colors in _THEME.items():
        assert tuple(dict.fromkeys(re.findall(rf"\s--{name}: (#[0-9a-f]+);", css))) == colors, name


def test_no_label_of_a_chart_is_cut(sample_runs: list[Raw]) -> None:
    (section,) = sections(runs_of([]), fidelity=FIDELITY, necessity=[], costs=[])
    (chart,) = section.charts
    words = " ".join(re.findall(r"<t(?:ext|span)[^>]*>([^<]+)<", str(chart.svg)))
    assert "…" not in words
    assert "erase" not in words, "a number of ours has no ratio to a paper's"
    for row in FIDELITY["figures"][:3]:
        assert f"level: {row['figure']}" in re.sub(r"\s+", " ", words)
