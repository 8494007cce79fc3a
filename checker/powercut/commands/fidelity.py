"""`powercut fidelity`: the papers' figures beside ours."""

from typing import Annotated, Any

import typer

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
    titles = ("scheme", "figure", "paper", "ours", "unit", "reproduced", "note")
    output.print_table(titles, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    reproduced = "yes" if row["reproduced"] else "NO"
    figures = (_text(row["paper"]), _text(row["measured"]))
    return (row["scheme"], row["figure"], *figures, row["unit"], reproduced, row["note"])


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
