"""The cache of a gate: complete run records, by what decided them (`OUT/cache`, for `--since REV`).

    v1/records/<two digits>/<key>.json     a run record with its findings
    v1/revisions/<commit>.json             the runs that were judged at a commit, and their keys

A *key* hashes everything that a run depends on (`run_keys`): the same key is the same run. `--since REV` takes a run
from here when REV was judged and the key is here; that is how "changed since REV" is exact.

Line numbers are not in a key, so an edited comment explores nothing again. But findings and performance bugs name
lines, and their fingerprints hold them: a record with either is only taken while the debug information is the
same as well.

Never believed: a file whose checksum is wrong, a record of another version, a run that was not complete, one that does
not fit the request. Each is explored again, with a warning. It is a cache: delete it at any time. The record that was
not used for longest goes when all records together exceed `LIMIT_BYTES`.
"""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from powercut.base import revisions
from powercut.base.errors import PowercutError
from powercut.base.output_files import write_text
from powercut.base.user_files import parse_json, text_of
from powercut.findings.collector import RUN_VERSION, blank_run
from powercut.runs.run_keys import Key, key_of
from powercut.runs.run_request import Request
from powercut.runs.runner import is_complete
from powercut_records import run as records
from powercut_records.base import changed, without
from powercut_records.run import RunRecord

CACHE_VERSION = 1
LIMIT_BYTES = 256 << 20
MOST_REVISIONS = 500
_MAGIC = "powercut-cache"
_MARKS = ("baseline", "known_as", "suppressed")

#: The change that each part of a key stands for; the first part that differs is named.
_REASONS = {
    "code": "its compiled code changed",
    "plan": "its scenario changed",
    "options": "the options changed",
    "engine": "the engine changed",
    "powercut": "powercut changed",
    "claims": "what is claimed of it changed",
}


@dataclass(frozen=True, kw_only=True)
class Since:
    """The revision of `--since`, and the parts of the keys of the runs that were judged there."""

    revision: str
    commit: str
    #: None: nothing was judged there, as far as the cache knows.
    runs: Mapping[str, Mapping[str, str]] | None


@dataclass
class RunCache:
    """The cache of one command. Runs ask from several threads."""

    folder: Path
    engine_path: Path
    warn: Callable[[str], None]
    #: None: records are kept, but none is taken.
    since: Since | None = None
    _kept: dict[str, dict[str, str]] = field(default_factory=dict)
    _requests: dict[str, Request] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def recall(self, request: Request) -> tuple[RunRecord | None, records.Since | None]:
        """A run record (with whole findings) in place of the run, or None; and `since` for the record of the run."""
        key = key_of(request, engine_path=self.engine_path)
        if self.since is None or key is None:
            return None, None
        told = records.Since(revision=self.since.revision, commit=self.since.commit, cached=False, why="")
        run, judged, why = self._usable(request, key)
        if run is None:
            return None, changed(told, why=why)
        self._remember(key)
        return run, changed(told, cached=True, key=key.digest, judged=judged)

    def _usable(self, request: Request, key: Key) -> tuple[RunRecord | None, str, str]:
        """The record and when it was judged; else why there is none."""
        assert self.since is not None
        if self.since.runs is None:
            return None, "", "nothing is cached for this revision"
        before = self.since.runs.get(key.name)
        path = self._record(key.digest)
        if before is None and not path.is_file():
            return None, "", "it was not judged there"
        if not path.is_file():
            reasons = (
                _REASONS.get(part, part) for part, value in key.parts.items() if (before or {}).get(part) != value
            )
            return None, "", next(reasons, "it was not complete there, or its record has been dropped")
        content = self._read(path)
        run = _record_of(content["run"], request) if content and "run" in content else None
        if content is None or run is None:
            if content is not None:
                self.warn(f"{path}: left aside, since it is no complete record of this run. It is explored again.")
            return None, "", "its cached record cannot be used"
        if _names_lines(run) and content.get("lines") != key.lines:
            return None, "", "lines of the source moved, and its findings name lines"
        os.utime(path)
        return run, str(content.get("judged") or ""), ""

    def settled(self, request: Request, run: RunRecord) -> None:
        """Keeps the record of a finished run, before its findings are marked, unless the record came from the cache."""
        with self._lock:
            self._requests[run.file] = request
        if not (run.since and run.since.cached):
            self.keep(request, run)

    def explained(self, run: RunRecord) -> None:
        """Findings of a settled run were explained: keeps that too, since it can take longer than the run."""
        request = self._requests.get(run.file)
        if request is not None and any(finding.cause or finding.drawing for finding in run.findings):
            self.keep(request, run)

    def keep(self, request: Request, run: RunRecord) -> None:
        """Keeps a run that is complete; of any other nothing may be said later."""
        if not is_complete(run) or run.interrupted or run.verdict == "unknown":
            return
        key = key_of(request, engine_path=self.engine_path)
        if key is None:
            return
        # Neither what this command's baseline and suppressions say, nor how its canary fared.
        found = [changed(without(finding, *_MARKS), plan=request.plan) for finding in run.findings]
        kept = changed(without(run, "since", "canary", "file", "replayed"), findings=found)
        judged = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            self._write(self._record(key.digest), {"run": kept.as_json(), "lines": key.lines, "judged": judged})
        except PowercutError as error:
            self.warn(f"not cached: {error.paragraph()}")
            return
        self._remember(key)

    def _remember(self, key: Key) -> None:
        with self._lock:
            self._kept[key.name] = dict(key.parts)

    def close(self) -> None:
        """Says under the commit that the working folder is at what was judged, and drops what is too much."""
        commit = revisions.head()
        try:
            if commit and self._kept:
                path = self._revision(commit)
                before = (self._read(path) or {}).get("runs") if path.is_file() else None
                earlier = before if isinstance(before, dict) else {}
                self._write(path, {"commit": commit, "runs": {**earlier, **self._kept}})
        except PowercutError as error:
            self.warn(f"not cached: {error.paragraph()}")
        prune(self.folder)

    def _record(self, digest: str) -> Path:
        return self.folder / "records" / digest[:2] / f"{digest}.json"

    def _revision(self, commit: str) -> Path:
        return self.folder / "revisions" / f"{commit}.json"

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        text = json.dumps(content, ensure_ascii=False, sort_keys=True) + "\n"
        write_text(path, f"{_MAGIC} {CACHE_VERSION} {hashlib.sha256(text.encode()).hexdigest()}\n{text}")

    def _read(self, path: Path) -> dict[str, Any] | None:
        """The content of a file of the cache; None, with a warning, for one that is not as it was written."""
        try:
            head, _, text = text_of(path).partition("\n")
            if head != f"{_MAGIC} {CACHE_VERSION} {hashlib.sha256(text.encode()).hexdigest()}":
                raise ValueError("its checksum is wrong")
            content = parse_json(text)
        except (OSError, ValueError) as error:
            self.warn(f"{path}: left aside ({error}). Its runs are explored again.")
            return None
        return content if isinstance(content, dict) else None


def open_cache(
    out: Path, *, engine_path: Path, since: str | None, warn: Callable[[str], None]
) -> RunCache:  # fmt: skip
    """The cache of an output folder. UsageError for a revision that there is not."""
    opened = RunCache(folder=out / "cache" / f"v{CACHE_VERSION}", engine_path=engine_path, warn=warn)
    if since is not None:
        commit = revisions.resolve(since)
        path = opened._revision(commit)
        content = opened._read(path) if path.is_file() else None
        runs = (content or {}).get("runs")
        opened.since = Since(revision=since, commit=commit, runs=runs if isinstance(runs, dict) else None)
    return opened


def _record_of(raw: Any, request: Request) -> RunRecord | None:
    """A cached record; None unless it is complete and of this run."""
    try:
        run = blank_run(raw)
    except (TypeError, ValidationError):
        return None
    same = all(getattr(run, name) == request.header[name] for name in ("target", "variant", "scenario"))
    same = same and all(getattr(run, name) == value for name, value in request.options.described().items())
    judged = run.verdict == ("inconsistent" if run.findings else "consistent")
    return run if same and judged and run.run == RUN_VERSION and is_complete(run) and not run.interrupted else None


def _names_lines(run: RunRecord) -> bool:
    return bool(run.findings or run.performance_bugs or any(claim.site for claim in run.claims))


def prune(folder: Path, *, limit: int = LIMIT_BYTES, revisions_kept: int = MOST_REVISIONS) -> None:
    """Drops the records that were not used for longest, and the oldest revisions."""
    records = _by_age(folder / "records")
    total = sum(size for _, size, _ in records)
    for _, size, path in records:
        if total <= limit:
            break
        path.unlink(missing_ok=True)
        total -= size
    for _, _, path in _by_age(folder / "revisions")[:-revisions_kept]:
        path.unlink(missing_ok=True)


def _by_age(folder: Path) -> list[tuple[int, int, Path]]:
    """(time of last use, bytes, path) of the files below a folder, oldest first."""
    found = []
    for path in folder.rglob("*.json") if folder.is_dir() else ():
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((status.st_mtime_ns, status.st_size, path))
    return sorted(found)


def summary(runs: Sequence[RunRecord]) -> dict[str, Any]:
    """`since` of the JSON report, of runs with `--since`; empty without."""
    told = [(run, run.since) for run in runs if run.since]
    if not told:
        return {}
    first = told[0][1]
    explored = [
        {"target": run.target, "variant": run.variant, "scenario": run.scenario, "why": since.why}
        for run, since in told
        if not since.cached
    ]
    return {
        "since": {
            "revision": first.revision,
            "commit": first.commit,
            "cached": len(told) - len(explored),
            "explored": explored,
        }
    }


def sentences(runs: Sequence[RunRecord]) -> list[str]:
    """The summary for people; empty without `--since`."""
    found = summary(runs).get("since")
    if not found:
        return []
    explored = found["explored"]
    lines = [
        f"Since {found['revision']} ({found['commit'][:12]}): {found['cached']} unchanged and taken from the cache, "
        f"{len(explored)} explored"
    ]
    for item in explored:
        target = f"{item['target']}:{item['variant']}" if item["variant"] else item["target"]
        lines.append(f"  {target} {item['scenario']}: {item['why']}")
    return lines
