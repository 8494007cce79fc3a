"""Compares the claims that are made of a run with what the run did.

Claims about operations are measured on the trace by `powercut-engine measure`, which names the worst operation and the
event that took it too far. Which stores a defined name means is known by function only, so the frames of the trace's
stores are symbolised first. Claims about states compare with the maxima that exploration has kept.

Operations of threads are not measured: the trace is a tree of schedules, and papers count one operation alone. A claim
never decides the verdict. A count that cannot be measured is `holds: null` with a note that says why.
"""

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from powercut.base.errors import PowercutError
from powercut.claims.expression import COUNTS, ITEMS, Expression, Quantity
from powercut.claims.sheet import Claim, Sheet
from powercut.engine import engine, events
from powercut.engine.events import Module
from powercut.scenarios.tables import Definition
from powercut.symbols.symbolize import Symbolizer, site_frame
from powercut_records import run as records
from powercut_records.base import changed
from powercut_records.run import RunRecord

_NOT_DONE = {
    "lines_read": "the lines that operations read were not counted: only the compiler pass records them",
}
_THREADS = "operations of threads are not measured: each takes another course in every schedule"
NO_OPERATION = "no explored operation of this run is one that the claim is about"
_NO_STATE = "this run has not asked for it: the target cannot tell, or no crash state was explored"
_SAMPLED = "over the crash states that were explored; not all were"


def check(
    sheet: Sheet,
    claims: Sequence[Claim],
    run: RunRecord,
    *,
    engine_path: Path,
    symbolizer: Symbolizer,
    loads: Path | None = None,
    interrupt: engine.Interrupt | None = None,
) -> list[records.Claim]:
    """The field `claims` of a run record (checker/RUN.md), in the order of the claims."""
    measured: list[dict[str, Any] | None] = [None] * len(claims)
    places = [number for number, claim in enumerate(claims) if not claim.expression.quantity.state]
    failure = _THREADS if run.coverage.schedules else ""
    if places and run.trace and not failure:
        try:
            answers = _measure(
                sheet, [claims[number] for number in places], Path(run.trace),
                engine_path=engine_path, symbolizer=symbolizer, loads=loads, interrupt=interrupt,
            )  # fmt: skip
            for number, answer in zip(places, answers, strict=True):
                measured[number] = answer
        except (PowercutError, engine.Interrupted, OSError) as error:
            failure = "interrupted" if isinstance(error, engine.Interrupted) else f"it could not be measured: {error}"
    return [
        _state(claim, run) if claim.expression.quantity.state else _operation(claim, answer, failure)
        for claim, answer in zip(claims, measured, strict=True)
    ]


def _row(claim: Claim) -> records.Claim:
    return records.Claim(
        claim=str(claim.expression),
        cites=claim.table.cites,
        place=claim.place,
        holds=None,
        measured=None,
        operation="",
        site="",
        note=claim.table.note,
    )


def _with_note(row: records.Claim, note: str) -> records.Claim:
    return changed(row, note=f"{row.note}; {note}" if row.note else note)


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else round(value, 4)


def _state(claim: Claim, run: RunRecord) -> records.Claim:
    row = _row(claim)
    most = run.maxima.get(claim.expression.quantity.name)
    if most is None:
        return _with_note(row, _NO_STATE)
    row.measured = most["value"]
    row.holds = claim.expression.holds(most["value"])
    row.operation = state_words(most)
    row.site = most.get("site") or ""
    if row.holds and run.coverage.kind != "complete":
        return _with_note(row, _SAMPLED)
    return row


def state_words(most: Mapping[str, Any]) -> str:
    """ "recovery after a cut in update(17), before sfence (crash point 41)" """
    operation, point = most["operation"], most["crash_point"]
    within = "in" if operation.get("in_flight") else "after"
    words = (
        f"recovery after a cut {within} {operation_words(operation)}, {point['when']} (crash point {point['index']})"
    )
    return f"copies of key {most['key']}, {words}" if most.get("key") is not None else words


def operation_words(operation: Mapping[str, Any]) -> str:
    """ "insert(17)", "expand" """
    if operation.get("key") is not None:
        return f"{operation['kind']}({operation['key']})"
    return str(operation.get("text") or operation["kind"])


def _operation(claim: Claim, measured: Mapping[str, Any] | None, failure: str) -> records.Claim:
    row = _row(claim)
    if measured is None:
        return _with_note(row, failure or "there is no trace to measure")
    if measured["value"] is None:
        return _with_note(row, _NOT_DONE.get(measured["unknown"] or "", NO_OPERATION))
    row.measured = _number(measured["value"])
    row.holds = claim.expression.holds(measured["value"])
    row.operation = operation_words(measured["operation"])
    row.site = measured["site"] or ""
    return row


# ---- the engine ------------------------------------------------------------------------------------


def _measure(
    sheet: Sheet,
    claims: Sequence[Claim],
    trace: Path,
    *,
    engine_path: Path,
    symbolizer: Symbolizer,
    loads: Path | None,
    interrupt: engine.Interrupt | None,
) -> list[dict[str, Any] | None]:
    names = sorted({item.name for claim in claims for item in claim.expression.quantities} & sheet.definitions.keys())
    functions = {name: sheet.definitions[name] for name in names}
    frames = _frames(functions, trace, engine_path=engine_path, symbolizer=symbolizer)
    request = {
        "selectors": [{"frames": frames[name], "marks": functions[name].marks} for name in names],
        "measures": [
            {
                "id": number,
                "mean": claim.expression.mean,
                "quantity": _quantity(claim.expression.quantity, names, functions),
                **_per(claim.expression, names, functions),
                "comparison": claim.expression.comparison,
                "number": claim.expression.number,
                "when": claim.table.when,
                "unless": claim.table.unless,
            }
            for number, claim in enumerate(claims)
        ],
    }
    answers: list[dict[str, Any] | None] = [None] * len(claims)
    modules: list[Module] = []
    with tempfile.TemporaryDirectory(prefix="powercut-claims-") as folder:
        file = Path(folder) / "request.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        arguments = ["measure", "--trace", str(trace), "--request", str(file)]
        arguments += ["--loads", str(loads)] if loads is not None and loads.is_file() else []
        for event, raw in engine.stream(engine_path, arguments, interrupt=interrupt):
            if isinstance(event, events.Modules):
                modules = event.modules
            elif isinstance(event, events.Measured):
                site = None
                if event.at is not None:
                    chosen = site_frame(symbolizer.stack(modules, event.at.stack))
                    site = chosen.place if chosen else None
                answers[event.id] = {**raw, "site": site}
    return answers


def _per(expression: Expression, names: Sequence[str], functions: Mapping[str, Definition]) -> dict[str, Any]:
    return {} if expression.per is None else {"per": _quantity(expression.per, names, functions, expression)}


def _quantity(
    quantity: Quantity,
    names: Sequence[str],
    functions: Mapping[str, Definition],
    owner: Expression | None = None,
) -> dict[str, Any]:
    """As the engine reads it. `items` is of the operation that it divides."""
    metric = quantity.name
    selector = -1
    if metric not in COUNTS and metric != ITEMS:
        selector = names.index(metric)
        metric = "marks" if functions[quantity.name].marks else "widest" if quantity.widest else "stores"
    of = owner.quantity if owner is not None and quantity.name == ITEMS else quantity
    return {
        "metric": metric,
        "operation": "maintain" if of.is_command else of.operation,
        "command": of.operation if of.is_command else "",
        "selector": selector,
    }


def _frames(
    functions: Mapping[str, Definition], trace: Path, *, engine_path: Path, symbolizer: Symbolizer
) -> dict[str, list[tuple[int, int]]]:
    """For each name, yields the frames of the trace's stores in which one of its functions runs."""
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in functions}
    if not any(item.stores_in for item in functions.values()):
        return found
    arguments = ["export-pmemcheck", "--trace", str(trace), "--frames"]
    event, _ = engine.single(engine_path, arguments, events.StoreFrames)
    assert isinstance(event, events.StoreFrames)
    for frame in event.frames:
        running = [item.function for item in symbolizer.stack(event.modules, [frame])]
        for name, item in functions.items():
            if _runs(item.stores_in, running):
                found[name].append(frame)
    return found


def _runs(globs: Iterable[str], functions: Iterable[str]) -> bool:
    return any(fnmatchcase(function, glob) for function in functions for glob in globs)
