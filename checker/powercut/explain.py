"""Findings made ready to act on: the smallest case that shows each, its root cause, and a fix that was tried.

This comes after a run: its findings are on disk already, and are written again with the fields `minimal` and `cause`
(checker/RUN.md). A finding that several runs of a command have in common is explained once, in the first of them, so
that what is explained does not depend on how many ran at a time.
"""

import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from powercut import engine, findings, minimise, runner
from powercut.cause import find_cause, unexplained
from powercut.errors import PowercutError
from powercut.reproduce import load

#: Findings of each run that are explained unless --explain says otherwise.
DEFAULT_MOST = 3
#: Where the traces of minimal cases are kept: OUT/minimal/<fingerprint>/
FOLDER = "minimal"
#: Of one finding; the search for a smaller case says so when it ends here.
LIMITS = minimise.Limits(considered=400, seconds=60.0)
#: For the listener: explanations are no runs.
_ORDER = 1_000_000

Name = tuple[str, str, str]


@dataclass(kw_only=True)
class Explainer:
    """Explains the findings of one command's runs, `most` of each."""

    context: runner.Context
    most: int
    jobs: int = 1
    _known: dict[Name, dict[str, Any]] = field(default_factory=dict)

    def run(self, run: dict[str, Any]) -> None:
        """Explains findings of a run record, and writes them and the record again.

        Left alone are findings of programs, whose workload is not ours, and those that do not count.
        """
        chosen = [finding for finding in run["findings"] if findings.counts(finding)][: self.most]
        chosen = [finding for finding in chosen if not finding.get("cause")]  # one of the cache is explained already
        if not chosen or run["program"] or run["interrupted"]:
            return
        new = [finding for finding in chosen if _name(finding) not in self._known]
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            self._known |= zip(map(_name, new), pool.map(self._explained, range(len(new)), new), strict=True)
        for finding in chosen:
            fields = self._known[_name(finding)]
            finding |= fields
            _write_again(Path(finding["file"]), fields)
        findings.write_json(Path(run["file"]), run)

    def _explained(self, number: int, finding: dict[str, Any]) -> dict[str, Any]:
        order = _ORDER + number
        self.context.listener.started(order, f"explaining {finding['fingerprint']}")
        try:
            record = json.loads(Path(finding["file"]).read_text(encoding="utf-8"))
            return explained(record, context=self.context)
        except engine.Interrupted:
            return {"minimal": None, "cause": None}
        finally:
            self.context.listener.ended(order)


def _name(finding: dict[str, Any]) -> Name:
    return finding["fingerprint"], finding["variant"], finding["model"]


def _write_again(file: Path, fields: dict[str, Any]) -> None:
    record = json.loads(file.read_text(encoding="utf-8"))
    if any(record.get(name) != value for name, value in fields.items()):
        findings.write_json(file, {**record, **fields})


def explained(record: dict[str, Any], *, context: runner.Context, limits: minimise.Limits = LIMITS) -> dict[str, Any]:
    """The fields `minimal` and `cause` of a finding record with its plan. What cannot be had is null or says why."""
    minimal = _minimal(record, context, limits)
    whole = Path(record["trace"]) if record.get("trace") else None
    shown, trace = (minimal.finding, minimal.trace) if minimal else (record, whole)
    with tempfile.TemporaryDirectory(prefix="powercut-explain-") as folder:
        try:
            if trace is None or not trace.is_file():
                return {"minimal": None, "cause": None}
            cause = find_cause(
                shown, trace, context=context, folder=Path(folder), whole=whole if minimal and whole != trace else None
            )
        except PowercutError as error:
            cause = unexplained(f"It could not be looked for: {error.what}.")
    return {"minimal": minimal.as_json() if minimal else None, "cause": cause}


def _minimal(record: dict[str, Any], context: runner.Context, limits: minimise.Limits) -> minimise.Minimal | None:
    """A case that does not shrink, or shows something else when it is recorded again, is left as it is."""
    folder = context.out / FOLDER / record["fingerprint"]
    try:
        return minimise.minimise(record, context=context, folder=folder, limits=limits)
    except PowercutError:
        shutil.rmtree(folder, ignore_errors=True)
        return None


def explain_file(file: Path, *, context: runner.Context) -> dict[str, Any]:
    """Explains a finding that lies on disk, and writes it again, as well as the run records beside it."""
    record = load(file)
    minimise.refuse_without_plan(record)
    fields = explained(record, context=context)
    findings.write_json(file, {**record, **fields})
    for path in sorted((context.out / "runs").glob("*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        same = [item for item in run.get("findings", ()) if _name(item) == _name(record)]
        for item in same:
            item |= fields
        if same:
            findings.write_json(path, run)
    return {**record, **fields}
