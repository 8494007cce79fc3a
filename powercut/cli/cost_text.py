"""Cost records as tables for people: one a target, then scheme beside scheme where there are several.

On a terminal the latencies have bars; without one the columns are plain, for grep and cut.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from powercut.cost.costs import OPERATIONS
from powercut_reports.costs import COLUMNS

#: Where a column of the HTML report would be wide.
_SHORT = {"nt_stores": "nt", "write_amplification": "write amp."}
_TITLES = tuple((name, _SHORT.get(name, title)) for name, title in COLUMNS)
_BAR_CELLS = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def bar(value: float, largest: float, *, cells: int = _BAR_CELLS) -> str:
    """A bar of block characters, to an eighth of a cell."""
    eighths = round(value / largest * cells * 8) if largest else 0
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def number(value: float | None) -> str:
    """Two decimals where they say something; a dash for a missing number."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value == int(value) else f"{value:.2f}"


def heading(record: dict[str, Any]) -> str:
    """Returns the subject of a table."""
    return f"{record['target']}:{record['variant']} {record['scenario']}: {record['summary']}"


def table(record: dict[str, Any], *, bars: bool) -> Table:
    """The operations of one record: averages, then the least and the most."""
    names = [item["name"] for item in record["latency"]]
    largest = max((max(row["latency_ns"]) for row in record["operations"]), default=0)
    titles = ["operation", "count", *(title for _, title in _TITLES), *(f"ns, {name}" for name in names)]
    rows = []
    for row in record["operations"]:
        latencies = [f"{value:.0f}" for value in row["latency_ns"]]
        cells = [row["kind"], str(row["count"]), *(number(row[name]) for name, _ in _TITLES), *latencies]
        if bars:
            cells.append(bar(row["latency_ns"][0], largest))
        rows.append(cells)
    return aligned([*titles, names[0]] if bars else titles, rows, left=(0, len(titles)))


def spread(record: dict[str, Any]) -> Table:
    """The least and the most of single operations, and which one costs most."""
    titles = ("operation", "stores", "lines", "flushes", "fences", "lines read", "ns", "costs most")
    rows = []
    for row in record["operations"]:
        least, most, worst = row["least"], row["most"], row["costliest"]
        spans = [_span(least[name], most[name]) for name in ("stores", "lines", "flushes", "fences", "lines_read")]
        key = f" of key {worst['key']}" if worst["key"] else ""
        which = f"{worst['kind']}{key} (operation {worst['index']}, {worst['items']} items in the table)"
        rows.append((row["kind"], *spans, _span(least["latency_ns"][0], most["latency_ns"][0]), which))
    return aligned(titles, rows, left=(0, len(titles) - 1))


def _span(least: float, most: float) -> str:
    return number(least) if least == most else f"{number(least)}..{number(most)}"


def compared(records: Sequence[dict[str, Any]], *, bars: bool) -> Iterator[tuple[str, Table]]:
    """For each kind of operation that several records have, scheme beside scheme, the fastest first.

    Operations on the whole table are compared by item in it, since the tables hold different numbers of items.
    """
    kinds = dict.fromkeys(row["kind"] for record in records for row in record["operations"])
    for kind in kinds:
        found = [(record, row) for record in records for row in record["operations"] if row["kind"] == kind]
        if len({(record["target"], record["variant"]) for record, _ in found}) < 2:
            continue
        by_item = kind not in OPERATIONS and all(row["items"] for _, row in found)
        placed = sorted((_one(record, row, by_item=by_item) for record, row in found), key=lambda one: one[0])
        least, largest = placed[0][0], placed[-1][0]
        titles = ["scheme", "scenario", *(title for _, title in _TITLES), f"ns, {records[0]['latency'][0]['name']}"]
        titles.append("times")
        rows = []
        for value, cells in placed:
            cells += [f"{value:.0f}", f"{value / least:.2f}" if least else "-"]
            rows.append([*cells, bar(value, largest)] if bars else cells)
        yield (
            f"{kind}, by item in the table" if by_item else kind,
            aligned([*titles, ""] if bars else titles, rows, left=(0, 1, len(titles))),
        )


def _one(record: dict[str, Any], row: dict[str, Any], *, by_item: bool) -> tuple[float, list[str]]:
    divisor = row["items"] if by_item else 1
    numbers = [None if row[name] is None else row[name] / divisor for name, _ in _TITLES]
    name = f"{record['target']}:{record['variant']}"
    return row["latency_ns"][0] / divisor, [name, record["scenario"], *map(number, numbers)]


def aligned(titles: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int]) -> Table:
    """Numbers to the right, columns of `left` as they are."""
    widths = [max(len(line[column]) for line in (titles, *rows)) for column in range(len(titles))]

    def line(cells: Sequence[str]) -> list[str]:
        return [cell if at in left else cell.rjust(widths[at]) for at, cell in enumerate(cells)]

    return line(titles), [line(row) for row in rows]
