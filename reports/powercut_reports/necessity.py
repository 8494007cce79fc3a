"""Which flushes and fences a scheme needs: the necessity records (checker/RUN.md) as tables and a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from powercut_reports.charts import Chart, bars
from powercut_reports.raw import as_dict, as_dicts, as_int, as_text, as_texts

RESULTS = ("necessary", "redundant", "not shown by this workload")


@dataclass(frozen=True)
class Proof:
    invariant: str
    message: str
    scenario: str
    fingerprint: str
    file: str


@dataclass(frozen=True)
class SiteRow:
    kind: str
    name: str
    site: str
    function: str
    source: str
    count: int | None
    in_recovery: bool
    result: str
    why: str
    proof: Proof | None

    @property
    def mark(self) -> str:
        """The result as one word for the style."""
        return {"necessary": "necessary", "redundant": "redundant"}.get(self.result, "open")


@dataclass(frozen=True)
class Analysis:
    name: str
    model: str
    scenarios: tuple[str, ...]
    verdict: str
    crash_states: str
    executions: int | None
    sites: tuple[SiteRow, ...]
    counts: tuple[int, ...]  # as RESULTS
    command: str


@dataclass(frozen=True)
class NecessityView:
    analyses: tuple[Analysis, ...]
    results: tuple[str, ...]
    charts: tuple[Chart, ...]


def necessity_view(records: Sequence[Mapping[str, Any]]) -> NecessityView | None:
    analyses = tuple(_analysis(record) for record in records)
    if not analyses:
        return None
    rows = [
        {"label": analysis.name, "part": result, "sites": count}
        for analysis in analyses
        for result, count in zip(RESULTS, analysis.counts, strict=True)
    ]
    drawn = any(row["sites"] for row in rows)
    title = "Flush and fence sites by scheme"
    chart = (
        bars(rows, value="sites", axis="sites", parts=RESULTS, name="necessity-sites", title=title) if drawn else None
    )
    return NecessityView(analyses, RESULTS, (chart,) if chart else ())


def _analysis(record: Mapping[str, Any]) -> Analysis:
    sites = tuple(_site(raw) for raw in as_dicts(record.get("sites")))
    unedited = as_dict(record.get("unedited"))
    variant = as_text(record.get("variant"))
    found = [site.result for site in sites]
    return Analysis(
        name=as_text(record.get("target")) + (f":{variant}" if variant else ""),
        model=as_text(record.get("model")),
        scenarios=as_texts(record.get("scenarios")),
        verdict=as_text(unedited.get("verdict")),
        crash_states=as_text(unedited.get("crash_states")),
        executions=as_int(unedited.get("executions")),
        sites=tuple(sorted(sites, key=lambda site: RESULTS.index(site.result) if site.result in RESULTS else 9)),
        # A site whose result nobody knows was not shown.
        counts=(found.count(RESULTS[0]), found.count(RESULTS[1]), sum(word not in RESULTS[:2] for word in found)),
        command=as_text(record.get("command")),
    )


def _site(raw: Mapping[str, Any]) -> SiteRow:
    proof = as_dict(raw.get("finding"))
    return SiteRow(
        kind=as_text(raw.get("kind")),
        name=as_text(raw.get("name")),
        site=as_text(raw.get("site")),
        function=as_text(raw.get("function")),
        source=as_text(raw.get("source")).strip(),
        count=as_int(raw.get("count")),
        in_recovery=raw.get("in_recovery") is True,
        result=as_text(raw.get("result")) or "unknown",
        why=as_text(raw.get("why")),
        proof=Proof(*(as_text(proof.get(name)) for name in ("invariant", "message", "scenario", "fingerprint", "file")))
        if proof
        else None,
    )
