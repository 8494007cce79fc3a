"""Parts of an appendix: the records of a target, and the conditions of its results."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from powercut import __version__
from powercut.base import paths, revisions
from powercut.engine.options import ExploreOptions
from powercut_records.run import RunRecord
from powercut_reports import closing
from powercut_reports import format as fmt
from powercut_reports.tables import of_research, of_runs
from powercut_reports.tables.appendix import Part


@dataclass(kw_only=True)
class Measured:
    """The records of all parts; `missing` says of a part why it has none, or not all."""

    runs: list[RunRecord] = field(default_factory=list)
    necessity: list[dict[str, Any]] = field(default_factory=list)
    costs: list[dict[str, Any]] = field(default_factory=list)
    fidelity: list[dict[str, Any]] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)

    def lacks(self, part: str, why: str) -> None:
        """Notes why a part has no record, or lacks one."""
        self.missing.setdefault(part, []).append(why)

    def parts(self) -> list[Part]:
        """In the order of an appendix."""
        claims = of_runs.claims(self.runs)
        if not claims.rows:
            self.lacks("Claims", "No claim is written down for this target.")
        found = {
            "Claims": [claims] if claims.rows else [],
            "Necessity": of_research.tables(necessity=self.necessity),
            "Cost": of_research.tables(costs=self.costs),
            "Fidelity": of_research.tables(fidelity={"figures": self.fidelity}) if self.fidelity else [],
            "Verdicts": [table for table in of_runs.tables(self.runs) if table.name != "claims"],
        }
        return [
            Part(title=title, tables=tuple(tables), notes=(*_leads(title, self), *self.missing.get(title, ())))
            for title, tables in found.items()
        ]


def _leads(title: str, measured: Measured) -> tuple[str, ...]:
    """Yields notes that a reader of the tables must know."""
    if title == "Necessity":
        return tuple(
            f"{record['target']}:{record['variant']}: {len(record['sites'])} of {record['sites_total']} sites judged "
            f"in {fmt.plural(len(record['scenarios']), 'scenario')}, "
            f"{'completely' if record['complete'] else 'not completely'}."
            for record in measured.necessity
        )
    if title == "Cost":
        models = {one["name"]: one for record in measured.costs for one in record["latency"]}
        return tuple(
            f"{name}: a line read {one['read_ns']} ns, a line written back {one['write_ns']} ns, "
            f"a fence {one['fence_ns']} ns."
            for name, one in models.items()
        )
    return ()


def facts(names: Sequence[str], measured: Measured, options: ExploreOptions, command: str) -> list[tuple[str, str]]:
    """Returns the conditions of the results: versions, target, model, options, seed, coverage, assumptions."""
    runs = measured.runs
    complete = sum(run.coverage.kind == "complete" for run in runs)
    described = options.described()
    assumed = list(dict.fromkeys(text for run in runs for text in run.assumptions))
    papers = list(dict.fromkeys(run.paper for run in runs if run.paper))
    rows = [
        ("Versions", f"powercut {__version__}, engine {_engine_version()}"),
        ("Revision", revisions.head() or "not a commit: the folder is no git repository, or has changes"),
        ("Target", ", ".join(names)),
        ("Paper", "; ".join(papers)),
        ("Persistency model", str(described["model"])),
        ("Options", ", ".join(f"{name} {value}" for name, value in described.items() if name not in ("model", "seed"))),
        ("Seed", str(described["seed"])),
        ("Coverage", f"{complete} of {fmt.plural(len(runs), 'run')} complete. {closing.total(runs)}."),
        ("Assumed", "; ".join(assumed)),
        ("Command", command),
    ]
    return [(name, words) for name, words in rows if words]


def _engine_version() -> str:
    try:
        done = subprocess.run([paths.engine(), "--version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"
