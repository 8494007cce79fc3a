"""Finding records (checker/RUN.md): made from events, written to disk before anyone hears of them.

A record is written beside its place, synced and renamed, so a reader sees a whole record or none, and
`kill -9` of the engine or of this process loses no finding that was announced.
"""

import json
import os
import secrets
import shlex
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from powercut.base.errors import HarnessError, UsageError
from powercut.engine.events import Module
from powercut.findings import bugs
from powercut.findings.fingerprint import fingerprint
from powercut.symbols import source
from powercut.symbols.place_identity import identity_of
from powercut.symbols.symbolize import Frame, Symbolizer, site_frame
from powercut_reports.records.base import Record, changed
from powercut_reports.records.finding import FindingRecord
from powercut_reports.records.run import RunError, RunRecord

FINDING_VERSION = 1


def symbolised(
    raw: dict[str, Any], modules: Sequence[Module], symbolizer: Symbolizer, *, with_source: bool = False
) -> dict[str, Any]:
    """`raw` with its `stack` as frames, and the `site` and `function` of the innermost user's frame.

    With source also its `identity`, which is what edits leave of the site.
    """
    fault = "signal" in raw
    frames = symbolizer.stack(modules, raw.get("stack") or [], fault=fault)
    chosen = site_frame(frames)
    return {
        **raw,
        "stack": [_frame(frame, with_source=with_source) for frame in frames],
        "site": chosen.place if chosen else None,
        "function": chosen.function if chosen else None,
        **({"identity": known.record()} if with_source and (known := identity_of(chosen)) else {}),
    }


def _frame(frame: Frame, *, with_source: bool) -> dict[str, Any]:
    lines = source.context(frame.file, frame.line) if with_source and frame.file and frame.belongs_to_user else None
    return {**frame.record(), "source": lines} if lines else frame.record()


def make_record(
    raw: dict[str, Any], modules: Sequence[Module], symbolizer: Symbolizer, *, run: RunRecord
) -> FindingRecord:
    """The finding record of a `finding` event. `run` gives target, variant, scenario, model and engine options."""
    fields: dict[str, Any] = {**raw, "finding": FINDING_VERSION}
    for name in ("target", "variant", "scenario", "model"):
        fields[name] = getattr(run, name)
    fields["engine"] = {name: getattr(run, name) for name in ("model", "strategy", "atoms", "nested", "seed")}
    fields["stores"] = [symbolised(store, modules, symbolizer, with_source=True) for store in raw.get("stores") or []]
    if raw.get("fault"):
        fields["fault"] = symbolised(raw["fault"], modules, symbolizer, with_source=True)
    if raw.get("last_store"):
        fields["last_store"] = symbolised(raw["last_store"], modules, symbolizer)
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
    record = FindingRecord.model_validate(fields)
    bugs.settle([record])
    record.sources = source.table(_sites_told(record))
    record.fingerprint = fingerprint(record)
    return record


def _sites_told(record: FindingRecord) -> Iterator[str]:
    """Where the stores, flushes and fences of the story stand, recovery's among them."""
    for line in record.timeline.lines:
        yield from (event.site for event in line.events)
    for nested in record.nested_image:
        yield from (store.site for store in nested.recovery_stores)


def canonical_order(record: FindingRecord) -> tuple[int, int, int, int, str]:
    """Which of several records with one fingerprint is kept: the earliest crash, then the least image."""
    point = record.crash_point
    lost = sum(store.fate != "persisted" for store in record.stores)
    return record.operation.index or 0, point.depth, point.index or 0, lost, record.key


def write_json(path: Path, value: object) -> None:
    """Writes `value` durably and as a whole: a reader sees the old file or the new one."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_record(path: Path, record: Record) -> None:
    """Writes a record as `write_json`."""
    write_json(path, record.as_json())


def write_text(path: Path, text: str) -> None:
    """Writes a file durably and as a whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    except OSError as error:
        raise unwritable(path, error) from error


def replace_text(path: Path, text: str) -> None:
    """Writes a file durably and as a whole, with the permissions that the umask leaves; OSError.

    A path that is not UTF-8 stands in a text as surrogates. They are written as JSON escapes them.
    """
    name = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    # Not mkstemp(): its files are private whatever the umask says, and a chmod() knows no umask.
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def unwritable(path: Path, error: OSError) -> UsageError:
    """The error for an output that cannot be written."""
    return UsageError(
        f"cannot write here ({error.strerror or error})",
        where=str(path),
        next_step="Choose another folder with --out, or correct its permissions.",
    )


def contradict(run: RunRecord, what: str, missed: Iterable[FindingRecord]) -> None:
    """Makes a clean run `unknown`, which looked at all images and does not have the findings `missed`."""
    files = ", ".join(finding.file for finding in missed)
    run.verdict = "unknown"
    error = HarnessError(
        f"{what} ({files})",
        where="powercut-engine",
        next_step="One of the two is wrong. This is a defect of powercut; please report it with the trace.",
    )
    run.error = RunError.model_validate(error.described())


class FindingStore:
    """The folder `findings/` of one command, shared by its runs.

    Runs may find the same bug. The record of the first run in the command's order keeps the file,
    whichever run came first in time: the folder's content does not depend on --jobs.
    """

    def __init__(self, out: Path) -> None:
        self.folder = out / "findings"
        self._lock = threading.Lock()
        self._candidates: dict[str, dict[int, FindingRecord]] = {}

    def put(self, record: FindingRecord, *, order: int) -> FindingRecord:
        """Completes the record of run number `order` with its file and command; on disk when it returns."""
        name = record.fingerprint
        path = self.folder / f"{name}.json"
        complete = changed(record, file=str(path), reproduce=f"powercut reproduce {shlex.quote(str(path))}")
        with self._lock:
            candidates = self._candidates.setdefault(name, {})
            candidates[order] = complete
            if order == min(candidates):
                write_record(path, complete)
        return complete

    def withdraw(self, name: str, *, order: int) -> None:
        """Run `order` replaced its finding `name` by a better one, which is on disk already."""
        path = self.folder / f"{name}.json"
        with self._lock:
            candidates = self._candidates.get(name, {})
            if candidates.pop(order, None) is None:
                return
            if candidates:
                write_record(path, candidates[min(candidates)])
            else:
                path.unlink(missing_ok=True)
