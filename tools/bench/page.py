"""docs/performance.md: what people wrote stays, what was measured stands between markers, a pair for each section."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.base.output_files import unwritable

#: Titles of columns that several sections have.
_TITLES = {"seconds": "explore s", "cpu_seconds": "CPU s", "peak_mib": "peak MiB"}


def cell(value: object) -> str:
    """A value as a table shows it: digits grouped, three significant ones of a fraction."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value).replace("|", "\\|")


def table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; columns of numbers are aligned to the right."""
    first = rows[0] if rows else ()
    right = [isinstance(value, int | float) and not isinstance(value, bool) for value in first]
    rule = ["---:" if number else "---" for number in right] if rows else ["---"] * len(titles)
    lines = [titles, rule, *[[cell(value) for value in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def columns(rows: Sequence[Mapping[str, Any]], *names: str, titles: Mapping[str, str] | None = None) -> str:
    """A table with a line for each row, and a column for each of these names of values.

    A title is the name in words, unless `titles` has another. The coverage stands beside the verdict; a value that is
    not there, or None, shows nothing.
    """
    words = {**_TITLES, **(titles or {})}
    return table(
        [words.get(name, name.replace("_", " ")) for name in names],
        [[_value(row, name) for name in names] for row in rows],
    )


def _value(row: Mapping[str, Any], name: str) -> object:
    value = row.get(name)
    if value is None:
        return ""
    return f"{value}, {row['coverage']}" if name == "verdict" else value


def write_section(page: Path, name: str, content: str) -> None:
    """Replaces what stands between the markers of the section `name`."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    try:
        text = page.read_text(encoding="utf-8")
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise UsageError(
                f"the page has no place for '{name}'",
                where=str(page),
                next_step=f"Add the lines '{begin}' and '{end}'.",
            )
        page.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8")
    except OSError as error:
        raise unwritable(page, error) from error


def write_file(path: Path, content: str) -> None:
    """Writes a chart beside the page."""
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error
