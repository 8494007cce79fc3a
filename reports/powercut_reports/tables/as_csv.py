"""A table as CSV (RFC 4180): one header line, then a line a row, UTF-8, lines that end in LF.

Truths are `yes` and `no`, and what there is not is an empty cell. Numbers are exact and not grouped; crash states may
have thousands of digits. Text of the program under test is on one line, with control characters spelled out.
"""

from __future__ import annotations

import csv
import io

from powercut_reports.format import printable
from powercut_reports.tables.table import Cell, Table


def render(table: Table) -> str:
    """The file's text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    kept = [at for at, head in enumerate(table.heads) if head.name]
    writer.writerow(table.heads[at].name for at in kept)
    writer.writerows([_cell(row[at]) for at in kept] for row in table.rows)
    return text.getvalue()


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return printable(cell) if isinstance(cell, str) else repr(cell)
