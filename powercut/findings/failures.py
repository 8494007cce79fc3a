"""The failure database: where earlier runs of a scenario went wrong, to be looked at first by the next one.

    OUT/failures/<target>-<variant>-<scenario>-<model>/<fingerprint>.json

An entry is the *choice* that led to a finding, not the finding: the plan, the crash point, and what each pending line
held (for a cut inside recovery, at that cut as well). Given the trace, these decide everything else, as the choice
sequence does in Hypothesis' example database (https://hypothesis.readthedocs.io, "The example database").

It is a cache. Deleting it, or a part of it, loses nothing but time; entries of another version are left out with a
sentence, damaged ones with a warning, and the oldest go when there are too many. Commands that run at once may share
it: an entry is written beside its place and renamed, and one that is no longer there is passed over.

Known inaccuracy: recency is the file's time of change, so a copied database has lost it.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from powercut.base.output_files import replace_text
from powercut.base.user_files import json_of
from powercut.findings.fingerprint import store_sites
from powercut_records.base import DEFERRED
from powercut_records.finding import FindingRecord, ImageLine

FAILURES_VERSION = 1
FOLDER = "failures"
#: Entries of one scenario, model and target that are kept; as many are replayed at most.
KEPT = 20
#: Entries in all.
KEPT_IN_ALL = 2000
#: Bytes of the longest entry: a recovery that stored ten thousand times before its cut.
_LONGEST = 1 << 20


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=DEFERRED)


class _Line(_Strict):
    offset: int
    bytes: str
    decided: bool


class _Store(_Strict):
    offset: int
    size: int


class _Nested(_Strict):
    after_return: bool
    recovery_stores: list[_Store]
    lines: list[_Line]


class _CrashPoint(_Strict):
    index: int
    event: int
    when: str
    depth: int


class _Query(_Strict):
    kind: str
    text: str


class _Engine(_Strict):
    model: str
    atoms: str


class Failure(_Strict):
    """One entry. Fields that the engine reads have the names and the shape of a finding record (checker/RUN.md)."""

    failure: Literal[1]
    fingerprint: str = Field(pattern=r"^[0-9a-f]{12}$")
    invariant: str
    underlying: str | None
    operation: str
    #: Decisive stores as `fate function file:line`.
    sites: list[str]
    target: str
    variant: str
    scenario: str
    engine: _Engine
    plan: dict[str, Any]
    crash_point: _CrashPoint
    query: _Query
    image: list[_Line]
    nested_image: list[_Nested]

    @property
    def identity(self) -> tuple[str, ...]:
        """Returns the name of a finding that stays when lines of source move: its fingerprint without line numbers."""
        places = sorted({site.rpartition(":")[0] for site in self.sites})
        return (self.invariant, self.underlying or "", self.operation, self.query.kind, *places)

    def is_of(self, plan: Mapping[str, Any], *, atoms: str, nested: int) -> bool:
        """Whether a run of `plan` explores the state of this entry: same plan, same atoms, deep enough."""
        return (
            comparable(self.plan) == comparable(plan)
            and self.engine.atoms == atoms
            and self.crash_point.depth <= nested
        )


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The entries of one run, newest first, and a sentence for each thing that was left out."""

    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Failures:
    """The database of one output folder. `replay`: whether runs begin with its entries."""

    folder: Path
    replay: bool = True
    #: Sentences that this command has said: a run that a budget splits into rounds replays in each of them.
    _said: set[str] = field(default_factory=set, compare=False)

    def is_news(self, sentence: str) -> bool:
        """True the first time."""
        news = sentence not in self._said
        self._said.add(sentence)
        return news

    def load(self, name: str) -> Loaded:
        """The entries of the run that is called `name`. Nothing in the files can make this fail."""
        failures: list[Failure] = []
        warnings: list[str] = []
        others: set[str] = set()
        for path in _newest_first(self.folder / name):
            try:
                content = _read(path)
                version = content.get("failure") if isinstance(content, dict) else None
                if isinstance(version, int) and version != FAILURES_VERSION:
                    others.add(str(version))
                    continue
                failures.append(Failure.model_validate(content))
            except FileNotFoundError:
                continue  # another command has removed it
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(str(part) for part in first["loc"]) or "the whole file"
                warnings.append(f"{path}: left out, since it is no entry ({field}: {first['msg']}). It can be deleted.")
            except (OSError, ValueError) as error:
                warnings.append(f"{path}: left out, since it cannot be read ({error}). It can be deleted.")
        if others:
            warnings.append(
                f"{self.folder / name}: entries of version {', '.join(sorted(others))} are left out, this build reads "
                f"{FAILURES_VERSION}. They can be deleted."
            )
        return Loaded(failures=tuple(failures[:KEPT]), warnings=tuple(warnings))

    def keep(self, name: str, failure: Failure) -> None:
        """Adds an entry, or makes it the newest. A database that cannot be written is no reason to fail."""
        text = failure.model_dump_json()
        folder = self.folder / name
        if len(text) > _LONGEST:
            return
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            replace_text(folder / f"{failure.fingerprint}.json", text + "\n")
            for path in _newest_first(folder)[KEPT:]:
                path.unlink(missing_ok=True)

    def forget(self, name: str, fingerprint: str) -> None:
        """Removes an entry whose finding is gone."""
        with contextlib.suppress(OSError):
            (self.folder / name / f"{fingerprint}.json").unlink(missing_ok=True)

    def prune(self) -> None:
        """Removes the oldest entries beyond `KEPT_IN_ALL`, and folders that have become empty."""
        with contextlib.suppress(OSError):
            folders = [path for path in self.folder.iterdir() if path.is_dir()] if self.folder.is_dir() else []
            entries = sorted((entry for folder in folders for entry in _dated(folder)), reverse=True)
            for _, path in entries[KEPT_IN_ALL:]:
                Path(path).unlink(missing_ok=True)
            for folder in folders:
                with contextlib.suppress(OSError):
                    folder.rmdir()  # fails unless it is empty


def of_folder(out: Path, *, replay: bool = True) -> Failures:
    """The database of an output folder, within its bounds."""
    database = Failures(folder=out / FOLDER, replay=replay)
    database.prune()
    return database


def entry(finding: FindingRecord, plan: Mapping[str, Any]) -> Failure | None:
    """The entry of a finding record that was made on `plan`; None for a record that the engine could not replay."""
    point, query = finding.crash_point, finding.query
    try:
        return Failure.model_validate(
            {
                **{
                    name: getattr(finding, name)
                    for name in ("fingerprint", "invariant", "target", "variant", "scenario")
                },
                "failure": FAILURES_VERSION,
                "underlying": finding.underlying or None,
                "operation": finding.operation.kind,
                "sites": store_sites(finding.stores),
                "engine": finding.engine.as_json(),
                "plan": dict(plan),
                "crash_point": point.as_json(),
                "query": {"kind": query.kind, "text": query.text},
                "image": [_line(line) for line in finding.image],
                "nested_image": [
                    {**nested.as_json(), "lines": [_line(line) for line in nested.lines]}
                    for nested in finding.nested_image
                ],
            }
        )
    except ValidationError:
        return None


def comparable(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan without where the library lies, as JSON gives it back."""
    target = {key: value for key, value in plan.get("target", {}).items() if key != "library"}
    copied: dict[str, Any] = json.loads(json.dumps({**plan, "target": target}))
    return copied


def _line(line: ImageLine) -> dict[str, Any]:
    return {"offset": line.offset, "bytes": line.bytes, "decided": line.decided}


def _read(path: Path) -> Any:
    if path.stat().st_size > 2 * _LONGEST:
        raise ValueError("it is too long for an entry")
    return json_of(path)


def _newest_first(folder: Path) -> list[Path]:
    return [Path(path) for _, path in sorted(_dated(folder), reverse=True)]


def _dated(folder: Path) -> Iterator[tuple[int, str]]:
    """(time of change, path) of every entry of a folder; nothing for a folder that is not there."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for item in found:
            if item.name.endswith(".json") and not item.name.startswith("."):
                with contextlib.suppress(OSError):
                    yield item.stat().st_mtime_ns, item.path
