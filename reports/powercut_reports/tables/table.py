"""A table: what CSV and LaTeX share. Cells are values, which each format writes in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Row = TypeVar("Row")
Cell = str | int | float | bool | None
#: `count`: a natural number of any length, as digits. `code`: a name or a place of the program, set in its font.
Kind = Literal["text", "code", "number", "count", "truth"]


@dataclass(frozen=True, kw_only=True)
class Column(Generic[Row]):
    """One column, and how a row fills it."""

    name: str = ""  # in CSV; empty: print alone has the column
    of: Callable[[Row], Cell]
    kind: Kind = "text"
    title: str = ""  # in print; empty: CSV alone has the column
    width: float = 0.0  # in print, as a share of the line: a cell that is longer is broken. 0: as wide as its longest


@dataclass(frozen=True, kw_only=True)
class Head:
    """A column without its rows."""

    name: str
    kind: Kind
    title: str
    width: float


@dataclass(frozen=True, kw_only=True)
class Table:
    """`name` is that of its files, and of its label in a paper."""

    name: str
    title: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]


def table(name: str, title: str, columns: Iterable[Column[Row]], rows: Iterable[Row]) -> Table:
    """The table that the columns make of the rows."""
    given = tuple(columns)
    return Table(
        name=name,
        title=title,
        heads=tuple(Head(name=one.name, kind=one.kind, title=one.title, width=one.width) for one in given),
        rows=tuple(tuple(one.of(row) for one in given) for row in rows),
    )
