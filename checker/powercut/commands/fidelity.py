"""`powercut fidelity`: the papers' figures beside ours."""

from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from powercut import fidelity as figures
from powercut import output
from powercut.commands import shared
from powercut.exit_codes import ExitCode


def register(app: typer.Typer) -> None:
    app.command()(fidelity)


def fidelity(
    scheme: Annotated[
        str | None, typer.Argument(metavar="SCHEME", show_default=False, help="Only the figures of this scheme.")
    ] = None,
    json: shared.Json = False,
) -> None:
    """Measure the papers' figures that depend on no machine.

    Each is shown beside the paper's number.

    Exit code: 0 all reproduced, 1 one was not, 3 a measurement failed.
    """
    rows = figures.measure(scheme)
    if json:
        output.print_json({"figures": rows})
    else:
        _print(rows)
    raise typer.Exit(ExitCode.CLEAN if all(row["reproduced"] for row in rows) else ExitCode.FINDINGS)


def _print(rows: list[dict[str, Any]]) -> None:
    table = Table(box=box.SIMPLE)
    for title in ("scheme", "figure", "paper", "ours", "unit", "reproduced", "note"):
        table.add_column(title, overflow="fold")
    for row in rows:
        reproduced = "yes" if row["reproduced"] else "NO"
        cells = (row["scheme"], row["figure"], _text(row["paper"]), _text(row["measured"]), row["unit"], reproduced)
        table.add_row(*cells, row["note"])
    Console().print(table)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
