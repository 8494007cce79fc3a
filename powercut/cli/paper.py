"""Output for papers and spreadsheets: the records as tables in CSV and LaTeX, the report's charts as SVG."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from powercut.base.output_files import write_text
from powercut_records.run import RunRecord

if TYPE_CHECKING:
    from powercut_reports.html import Companions
    from powercut_reports.tables.table import Table

#: For each format of tables: the suffix of its files, and the module that renders a table, loaded when it is asked for.
TABLE_FORMATS = {"csv": (".csv", "as_csv"), "latex": (".tex", "as_latex")}
FORMATS = (*TABLE_FORMATS, "svg")
TABLES, CHARTS = "tables", "charts"


def write(runs: Sequence[RunRecord] | None, companions: "Companions", out: Path, formats: frozenset[str]) -> list[Path]:
    """Writes the files of `formats`, and returns the folders. Without `runs`: of what the companions hold alone."""
    folders = []
    if not formats.isdisjoint(TABLE_FORMATS):
        from powercut_reports.tables import of_research, of_runs

        tables = of_runs.tables(runs) if runs is not None else []
        tables += of_research.tables(
            necessity=companions.necessity, costs=companions.costs, fidelity=companions.fidelity
        )
        folders.append(write_tables(tables, out / TABLES, formats))
    if "svg" in formats:
        folders += _write_charts(runs or (), companions, out / CHARTS)
    return folders


def write_tables(tables: Iterable["Table"], folder: Path, formats: Iterable[str]) -> Path:
    """Writes each table in each format that is one of tables, and returns the folder."""
    for name in formats:
        if name in TABLE_FORMATS:
            suffix, module = TABLE_FORMATS[name]
            render = import_module(f"powercut_reports.tables.{module}").render
            for table in tables:
                write_text(folder / f"{table.name}{suffix}", render(table))
    return folder


def _write_charts(runs: Sequence[RunRecord], companions: "Companions", folder: Path) -> list[Path]:
    from powercut_reports import research

    sections = research.sections(
        runs, fidelity=companions.fidelity, necessity=companions.necessity, costs=companions.costs
    )
    charts = [chart for section in sections for chart in section.charts]
    for chart in charts:
        write_text(folder / f"{chart.name}.svg", chart.file)
    return [folder] if charts else []
