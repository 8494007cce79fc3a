"""Figures that are judged at their paper's size: the last result of `powercut fidelity --paper-size`.

The tables of such a run take minutes and gigabytes each, so no test and no continuous integration makes them. A file
of the package keeps the figures of the last run of each scheme, with its date and the version of powercut. `powercut
fidelity` shows them beside the figures of small tables. A figure without a kept result is told as not run.
"""

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from powercut import __version__
from powercut.base.output_files import write_json
from powercut.base.user_files import json_of

FILE = Path(__file__).with_name("paper_size.json")
VERSION = 1


class Kept(BaseModel):
    """A figure at its paper's size. Without a date nobody has run it."""

    model_config = ConfigDict(extra="forbid")

    scheme: str
    figure: str
    paper: str | float | None = None
    measured: str | float | None = None
    unit: str
    reproduced: bool | None = None
    note: str = ""
    #: The day of the run, and its powercut.
    date: str | None = None
    powercut: str | None = None


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid")

    paper_size: int
    figures: list[Kept]


def load(path: Path | None = None) -> list[Kept]:
    """Returns the kept figures; none if no run has kept any."""
    try:
        return _Content.model_validate(json_of(path or FILE)).figures
    except FileNotFoundError:
        return []


def keep(rows: Iterable[dict[str, Any]]) -> bool:
    """Keeps the figures of a run with `--paper-size` in the place of earlier ones of the same schemes.

    Returns whether there are such figures.
    """
    date = datetime.date.today().isoformat()
    new = [_kept(row, date=date, powercut=__version__) for row in rows if row["depends_on_size"]]
    schemes = {item.scheme for item in new}
    if new:
        older = [item for item in load() if item.scheme not in schemes]
        figures = sorted([*new, *older], key=lambda item: item.scheme)
        write_json(FILE, _Content(paper_size=VERSION, figures=figures).model_dump())
    return bool(new)


def beside(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each row that is judged at its paper's size alone: the kept result, or one without a date."""
    known = {(item.scheme, item.figure): item for item in load()}
    return [
        (known.get((row["scheme"], row["figure"])) or _not_run(row)).model_dump()
        for row in rows
        if row["depends_on_size"]
    ]


def _kept(row: dict[str, Any], *, date: str, powercut: str) -> Kept:
    return Kept(**{key: value for key, value in row.items() if key != "depends_on_size"}, date=date, powercut=powercut)


def _not_run(row: dict[str, Any]) -> Kept:
    return Kept(scheme=row["scheme"], figure=row["figure"], unit=row["unit"])
