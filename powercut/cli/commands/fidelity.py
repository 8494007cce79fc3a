"""`powercut fidelity`: the papers' figures beside ours."""

from pathlib import Path
from typing import Annotated, Any

import typer

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.base.output_files import write_json
from powercut.cli import companions, output, paper, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument, option
from powercut.cost import costs, media
from powercut.cost import fidelity as figures
from powercut.cost import paper_size as large
from powercut.runs.runner import prepare_out
from powercut_reports.fidelity import counted, last_run, verdict
from powercut_reports.html import Companions


def fidelity(
    scheme: Annotated[str | None, argument("SCHEME", "Only the figures of this scheme.")] = None,
    paper_size: Annotated[
        bool,
        option(
            "--paper-size",
            "Tables as large as the papers', where ours are smaller: an hour, and 6 to 9 GB of memory a core. A "
            "checkout keeps the result, and shows it beside those of small tables.",
        ),
    ] = False,
    json: shared.Json = False,
    out: Annotated[Path | None, option("--out DIR", "Write fidelity.json there, for the HTML report.")] = None,
    format: Annotated[
        str,
        option(
            "--format LIST",
            f"Reports to write: {', '.join(shared.RECORD_FORMATS)}. All but text needs --out.",
            show_default=True,
        ),
    ] = "text",
) -> None:
    """Measure the papers' figures that depend on no machine.

    Shows each figure beside the paper's number. Then shows the cost of each scheme's operations, and a model of their
    latency on persistent memory.

    A row says yes or no where a paper prints the figure. It says ours where no paper prints the figure, or where the
    paper's table is too small to judge it by. The last result of such a row at the paper's size stands in a table of
    its own, with its date; a row that was never run there says so.

    Exit code: 0 all figures were reproduced, 1 a figure was not, 3 a measurement failed.
    """
    formats = output.parse_formats(format, known=shared.RECORD_FORMATS)
    if out is None and formats - {"text"}:
        raise UsageError(
            "a format that makes files has no folder for them",
            where=f"--format {format}",
            next_step="Name the folder: --out DIR.",
        )
    rows = [*figures.measure(scheme, paper_size=paper_size), *media.measure(scheme)]
    if paper_size:
        _keep(rows)
    measured = costs.measure(scheme)
    at_paper_size = [] if paper_size else large.beside(rows)
    table = {"figures": rows, "paper_size": at_paper_size, **costs.as_json(measured)}
    table["rows"] = counted(verdict(row) for row in (*rows, *table["ratios"]))
    if out is not None:
        prepare_out(out)
        write_json(out / companions.FIDELITY_REPORT, table)
        for folder in paper.write(None, Companions(fidelity=table), out, formats):
            talk.say(f"Written: {folder}")
    if json:
        output.print_json(table)
    elif "text" in formats:
        _print(rows)
        _print_at_paper_size(at_paper_size)
        if measured:
            _print_costs(measured, table["ratios"])
        print("rows: " + ", ".join(f"{count} {name}" for name, count in table["rows"].items()))
    raise typer.Exit(ExitCode.FINDINGS if table["rows"]["no"] else ExitCode.CLEAN)


def _print(rows: list[dict[str, Any]]) -> None:
    titles = ("scheme", "figure", "paper", "ours", "unit", "reproduced", "note")
    output.print_table(titles, [_cells(row) for row in rows])


def _keep(rows: list[dict[str, Any]]) -> None:
    if paths.installed():
        talk.say("An installed package keeps no result at the papers' size; --out DIR writes this one.")
    elif large.keep(rows):
        talk.say(f"Kept: {paths.relative(large.FILE)}")


def _print_at_paper_size(rows: list[dict[str, Any]]) -> None:
    if rows:
        titles = ("scheme", "figure at the paper's size", "paper", "ours", "unit", "reproduced", "last run")
        output.print_table(titles, [(*_cells(row)[:-2], *last_run(row)) for row in rows])


def _print_costs(measured: list[costs.Cost], ratios: list[dict[str, Any]]) -> None:
    counts = ("stores", "nt_stores", "lines", "blocks", "flushes", "fences", "lines_read")
    titles = ("scheme", "operation", *(name.replace("_", " ") for name in counts), "ns at writes of 200/600/1000 ns")
    output.print_table(
        titles,
        [
            (
                cost.label,
                cost.operation,
                *(f"{getattr(cost, name):.2f}" for name in counts),
                " ".join(f"{cost.latency(ns):.0f}" for ns in costs.WRITE_NS),
            )
            for cost in measured
        ],
    )
    rows = [
        (
            row["scheme"],
            row["operation"],
            row["level"],
            _text(row["paper"]),
            " ".join(f"{ratio:.2f}" for ratio in row["ratios"]),
            verdict(row),
            row["note"],
        )
        for row in ratios
    ]
    if rows:
        slower = ("slower than Level: paper", "model at 200/600/1000 ns")
        output.print_table(("scheme", "operation", "Level with", *slower, "reproduced", "note"), rows)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    figures = (_text(row["paper"]), _text(row["measured"]))
    return (row["scheme"], row["figure"], *figures, row["unit"], verdict(row), row["note"])


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
