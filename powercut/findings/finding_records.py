"""Finding records (checker/RUN.md), made from events."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from powercut.engine.events import Module
from powercut.findings import bugs
from powercut.findings.fingerprint import fingerprint
from powercut.symbols import flush_helpers, source
from powercut.symbols.place_identity import identity_of
from powercut.symbols.symbolize import Frame, Symbolizer, site_frame
from powercut_records.finding import FindingRecord
from powercut_records.run import PerformanceBug, RunRecord

FINDING_VERSION = 1


def symbolised(
    raw: dict[str, Any],
    modules: Sequence[Module],
    symbolizer: Symbolizer,
    *,
    with_source: bool = False,
    outside: Callable[[Sequence[Frame]], Sequence[Frame]] = lambda frames: frames,
) -> dict[str, Any]:
    """`raw` with its `stack` as frames, and the `site` and `function` of the innermost user's frame.

    With source also its `identity`, which is what edits leave of the site, and the source around it; for a fault,
    around every frame. `outside` leaves the frames that the site is one of.
    """
    fault = "signal" in raw
    frames = symbolizer.stack(modules, raw.get("stack") or [], fault=fault)
    chosen = site_frame(outside(frames))
    return {
        **raw,
        "stack": [_frame(frame, with_source=with_source and (fault or _at(frame, chosen))) for frame in frames],
        "site": chosen.place if chosen else None,
        "function": chosen.function if chosen else None,
        **({"identity": known.record()} if with_source and (known := identity_of(chosen)) else {}),
    }


def _at(frame: Frame, chosen: Frame | None) -> bool:
    return chosen is not None and frame.place == chosen.place


def _frame(frame: Frame, *, with_source: bool) -> dict[str, Any]:
    lines = source.context(frame.file, frame.line) if with_source and frame.file and frame.belongs_to_user else None
    return {**frame.record(), "source": lines} if lines else frame.record()


def performance_bug(
    raw: dict[str, Any],
    modules: Sequence[Module],
    symbolizer: Symbolizer,
    *,
    flushes: Callable[[Frame], bool] = lambda frame: False,
) -> PerformanceBug | None:
    """The row of a `performance_bug` event. A useless flush or fence stands where its helper is called.

    `flushes` knows the run's helpers by what they do.

    None for a fence of the C library, which streams to ordinary memory; its syncs are asked for.
    """
    by_caller = raw["kind"] in ("redundant-flush", "redundant-fence")
    helpers = partial(flush_helpers.outside, flushes=flushes) if by_caller else partial(flush_helpers.outside, usual=())
    fields = symbolised(raw, modules, symbolizer, outside=helpers)
    row = PerformanceBug.model_validate({name: value for name, value in fields.items() if name != "event"})
    if row.kind == "redundant-fence" and row.stack and flush_helpers.is_for_ordinary_memory(row.stack[0]):
        return None
    return row


def make_record(
    raw: dict[str, Any], modules: Sequence[Module], symbolizer: Symbolizer, *, run: RunRecord
) -> FindingRecord:
    """The finding record of a `finding` event. `run` gives target, variant, scenario, model and engine options."""
    fields: dict[str, Any] = {**raw, "finding": FINDING_VERSION}
    for name in ("target", "variant", "scenario", "model"):
        fields[name] = getattr(run, name)
    fields["engine"] = {name: getattr(run, name) for name in ("model", "strategy", "atoms", "nested", "seed")}
    fields["stores"] = [_store(store, modules, symbolizer) for store in raw.get("stores") or []]
    if raw.get("fault"):
        fields["fault"] = symbolised(raw["fault"], modules, symbolizer, with_source=True)
    if raw.get("last_store"):
        fields["last_store"] = symbolised(raw["last_store"], modules, symbolizer)
    fields["turns"] = [symbolised(turn, modules, symbolizer) for turn in raw.get("turns") or []]
    fields["nested_image"] = [
        {
            **nested,
            "recovery_stores": [
                symbolised(store, modules, symbolizer, with_source=True)
                for store in nested.get("recovery_stores") or []
            ],
        }
        for nested in raw.get("nested_image") or []
    ]
    if raw.get("timeline"):
        fields["timeline"] = {
            **raw["timeline"],
            "lines": [
                {**line, "events": [symbolised(event, modules, symbolizer) for event in line.get("events") or []]}
                for line in raw["timeline"].get("lines") or []
            ],
        }
    if raw.get("files"):
        told = {
            name: [_call(call, modules, symbolizer) for call in raw["files"].get(name) or []]
            for name in ("calls", "around")
        }
        fields["files"] = {**raw["files"], **told}
    record = FindingRecord.model_validate(fields)
    bugs.settle([record])
    record.sources = source.table(_sites_told(record))
    record.fingerprint = fingerprint(record)
    return record


def _store(store: dict[str, Any], modules: Sequence[Module], symbolizer: Symbolizer) -> dict[str, Any]:
    """A store. A call on a folder is known by its place and by what it was called with, or by the latter alone."""
    placed = symbolised(store, modules, symbolizer, with_source=True)
    if "text" not in store:
        return placed
    call = store["identity"]["text"]
    known = placed["identity"]
    text = call if known is store["identity"] else f"{known['text']} {call}"
    return {**placed, "site": placed["site"] or store["text"], "identity": {**known, "text": text}}


def _call(call: dict[str, Any], modules: Sequence[Module], symbolizer: Symbolizer) -> dict[str, Any]:
    """A call of the story of a folder, with its line of source in the place of its stack."""
    placed = symbolised(call, modules, symbolizer)
    return {name: value for name, value in placed.items() if name not in ("stack", "function")}


def _sites_told(record: FindingRecord) -> Iterator[str]:
    """Where the stores, flushes and fences of the story stand, recovery's among them."""
    for line in record.timeline.lines:
        yield from (event.site for event in line.events)
    for nested in record.nested_image:
        yield from (store.site for store in nested.recovery_stores)


def canonical_order(record: FindingRecord) -> tuple[int, int, int, int, str, str, str]:
    """Which of several records with one fingerprint is kept: the earliest crash, then the image that has lost least (a
    torn store is half lost), then by what it shows and where; the key, which depends on the build, comes last.
    """
    point = record.crash_point
    lost = sum({"persisted": 0, "torn": 1}.get(store.fate, 2) for store in record.stores)
    return record.operation.index or 0, point.depth, point.index or 0, lost, record.found, str(record.query), record.key
