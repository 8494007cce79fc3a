"""Records of `powercut necessity`, `cost` and `fidelity` as tables. Fields that a record lacks are empty cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from powercut_reports.costs import COLUMNS
from powercut_reports.fidelity import last_run, verdict
from powercut_reports.raw import as_dict, as_dicts, as_float, as_int, as_text, as_texts
from powercut_reports.tables.table import Cell, Column, Table, table

Raw = Mapping[str, Any]
Pair = tuple[Raw, Raw]  # a record, and the part of it that is a row


def tables(*, necessity: Sequence[Raw] = (), costs: Sequence[Raw] = (), fidelity: Raw | None = None) -> list[Table]:
    """Returns the columns of which there is a record."""
    found = [necessity_table(necessity)] if necessity else []
    found += [cost_table(costs)] if costs else []
    return found + (fidelity_tables(fidelity) if fidelity else [])


def _subject(record: Raw) -> str:
    variant = as_text(record.get("variant"))
    return as_text(record.get("target")) + (f":{variant}" if variant else "")


def _number(value: object) -> int | float | None:
    return as_int(value) if as_int(value) is not None else as_float(value)


def _text_of(name: str, of: int) -> Any:
    """Fills a cell with a field of the record (0) or of the row (1)."""
    return lambda pair: as_text(pair[of].get(name))


_NECESSITY: tuple[Column[Pair], ...] = (
    Column(name="target", of=_text_of("target", 0), kind="code"),
    Column(name="variant", of=_text_of("variant", 0), kind="code"),
    Column(title="Target", of=lambda pair: _subject(pair[0]), kind="code", width=0.13),
    Column(name="model", of=_text_of("model", 0), kind="code"),
    Column(name="kind", of=_text_of("kind", 1)),
    Column(name="instruction", title="Kind", of=_text_of("name", 1), kind="code"),
    Column(name="site", title="Place", of=_text_of("site", 1), kind="code", width=0.22),
    Column(name="function", of=_text_of("function", 1), kind="code"),
    Column(name="source", of=_text_of("source", 1), kind="code"),
    Column(name="times", title="Times", of=lambda pair: as_int(pair[1].get("count")), kind="number"),
    Column(name="in_recovery", of=lambda pair: pair[1].get("in_recovery") is True, kind="truth"),
    Column(name="result", title="Result", of=_text_of("result", 1), width=0.11),
    Column(name="why", title="Shown by", of=_text_of("why", 1), width=0.33),
    Column(name="finding", of=lambda pair: as_text(as_dict(pair[1].get("finding")).get("fingerprint")), kind="code"),
    Column(name="scenarios", of=lambda pair: " ".join(as_texts(pair[1].get("scenarios")))),
)


def necessity_table(records: Sequence[Raw]) -> Table:
    """A row a site."""
    rows = [(record, site) for record in records for site in as_dicts(record.get("sites"))]
    return table("necessity", "Necessity of each flush and fence", _NECESSITY, rows)


#: Printed counts of an operation, with a short title.
_PRINTED = {
    "stores": "Stores", "lines": "Lines", "flushes": "Flushes",
    "fences": "Fences", "lines_read": "Read", "write_amplification": "Ampl.",
}  # fmt: skip


def cost_table(records: Sequence[Raw]) -> Table:
    """A row a kind of operation; averages, and modelled nanoseconds in a column for each latency model."""
    models = list(dict.fromkeys(as_text(one.get("name")) for record in records for one in as_dicts(record["latency"])))
    rows = [(record, one) for record in records for one in as_dicts(record.get("operations"))]
    columns: list[Column[Pair]] = [
        Column(name="target", of=_text_of("target", 0), kind="code"),
        Column(name="variant", of=_text_of("variant", 0), kind="code"),
        Column(title="Target", of=lambda pair: _subject(pair[0]), kind="code", width=0.12),
        Column(name="scenario", of=_text_of("scenario", 0), kind="code"),
        Column(name="seed", of=lambda pair: as_int(pair[0].get("seed")), kind="number"),
        Column(name="operation", title="Operation", of=_text_of("kind", 1), kind="code"),
        Column(name="count", title="Count", of=lambda pair: as_int(pair[1].get("count")), kind="number"),
        Column(name="items", of=lambda pair: _number(pair[1].get("items")), kind="number"),
    ]
    for name, _ in COLUMNS:
        columns.append(Column(name=name, title=_PRINTED.get(name, ""), of=_field(name), kind="number"))
    for model in models:
        columns.append(Column(name=f"ns {model}", title=f"ns, {model}", of=_latency(model), kind="number", width=0.075))
    return table("cost", "Cost of an operation: averages, and its time in a model", columns, rows)


def _field(name: str) -> Any:
    return lambda pair: _number(pair[1].get(name))


def _latency(model: str) -> Any:
    def of(pair: Pair) -> Cell:
        names = [as_text(one.get("name")) for one in as_dicts(pair[0].get("latency"))]
        values = pair[1].get("latency_ns")
        found = dict(zip(names, values if isinstance(values, list) else [], strict=False))
        return _number(found.get(model))

    return of


_FIGURES: tuple[Column[Raw], ...] = (
    Column(name="scheme", title="Scheme", of=lambda row: as_text(row.get("scheme")), kind="code"),
    Column(name="figure", title="Figure", of=lambda row: as_text(row.get("figure")), width=0.2),
    Column(name="paper", title="Paper", of=lambda row: _figure(row.get("paper")), width=0.12),
    Column(name="ours", title="Ours", of=lambda row: _figure(row.get("measured")), width=0.1),
    Column(name="unit", title="Unit", of=lambda row: as_text(row.get("unit")), width=0.1),
    Column(name="reproduced", title="Same", of=verdict),
    Column(name="note", title="Note", of=lambda row: as_text(row.get("note")), width=0.27),
)
_AT_PAPER_SIZE: tuple[Column[Raw], ...] = (
    *_FIGURES[:5],
    Column(name="reproduced", title="Same", of=lambda row: last_run(row)[0]),
    Column(name="last_run", title="Last run", of=lambda row: last_run(row)[1], width=0.27),
)
_RATIOS: tuple[Column[Raw], ...] = (
    Column(name="scheme", title="Scheme", of=lambda row: as_text(row.get("scheme")), kind="code"),
    Column(name="operation", title="Operation", of=lambda row: as_text(row.get("operation")), kind="code"),
    Column(name="paper", title="Paper", of=lambda row: as_text(row.get("paper"))),
    Column(name="ratio_200", title="Writes of 200 ns", of=lambda row: _ratio(row, 0), kind="number"),
    Column(name="ratio_600", title="600 ns", of=lambda row: _ratio(row, 1), kind="number"),
    Column(name="ratio_1000", title="1,000 ns", of=lambda row: _ratio(row, 2), kind="number"),
    Column(name="level", title="Level with", of=lambda row: as_text(row.get("level")), kind="code"),
    Column(name="reproduced", title="Same", of=verdict),
    Column(name="note", of=lambda row: as_text(row.get("note"))),
)


def fidelity_tables(raw: Raw) -> list[Table]:
    """The papers' figures, those at the papers' size where some are, and how much slower others are than Level
    hashing where that was measured."""
    figures = table("fidelity", "The papers' figures beside ours", _FIGURES, as_dicts(raw.get("figures")))
    large = table(
        "fidelity-paper-size", "Figures at the papers' size, of the last run", _AT_PAPER_SIZE,
        as_dicts(raw.get("paper_size")),
    )  # fmt: skip
    ratios = as_dicts(raw.get("ratios"))
    slower = "Times slower than Level hashing: the paper, and the model"
    return [
        figures,
        *([large] if large.rows else []),
        *([table("fidelity-ratios", slower, _RATIOS, ratios)] if ratios else []),
    ]


def _figure(value: object) -> Cell:
    number = _number(value)
    return as_text(value) if number is None else number


def _ratio(row: Raw, at: int) -> Cell:
    ratios = row.get("ratios")
    return _number(ratios[at]) if isinstance(ratios, list) and at < len(ratios) else None
