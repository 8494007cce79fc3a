"""Files that crash tests leave behind: properties of JUnit reports, one folder for all workers of xdist, the summary.

Workers of pytest-xdist judge at the same time. Each worker has a folder of its own, `OUT/workers/<session>/<worker>/`,
with traces, runs, findings and scenarios. When all have ended, their files are moved to `OUT/`. Records, properties and
messages name files as they are called afterwards: `/workers/<session>/<worker>` is taken out of every text.
"""

import contextlib
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from powercut.base.output_files import write_json
from powercut.base.user_files import json_of, parse_json, text_of
from powercut.findings.finding_records import canonical_order
from powercut.testing.api import Result
from powercut_records.finding import VERDICTS, FindingRecord
from powercut_records.run import RunRecord
from powercut_reports import html, story

WORKERS = "workers"
RUN_PROPERTY = "powercut.run"


def properties(results: Iterable[Result], out: Path) -> list[tuple[str, str]]:
    """Names and values for `user_properties`, and so for the `<properties>` of JUnit XML."""
    rows: list[tuple[str, str]] = []
    seen: dict[str, FindingRecord] = {}
    for result in results:
        for run, file in zip(result.runs, result.files, strict=True):
            rows += [
                ("powercut.target", run.name),
                ("powercut.scenario", run.scenario),
                ("powercut.model", run.model),
                ("powercut.verdict", run.verdict),
                ("powercut.coverage", story.coverage_sentence(run)),
                (RUN_PROPERTY, str(file)),
            ]
            seen |= {finding.fingerprint: finding for finding in run.findings}
    for number, finding in enumerate(seen.values(), 1):
        named = {
            "fingerprint": finding.fingerprint,
            "invariant": finding.invariant,
            "site": finding.lost_site or finding.store_site or (finding.fault.site if finding.fault else ""),
            "reproduce": finding.reproduce,
            "json": finding.file,
            "html": str(out / html.REPORT_NAME),
        }
        rows += [(f"powercut.finding.{number}.{name}", value) for name, value in named.items()]
    return rows


def merge(folder: Path, out: Path) -> None:
    """Moves what the workers have left in `folder`, each in a folder of its own, to `out`; then removes `folder`.

    The least of two findings with one fingerprint is kept, and the worse of two records of one run.
    """
    moved: dict[Path, dict[str, Any]] = {}
    for worker in sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []:
        part = f"/{WORKERS}/{folder.name}/{worker.name}"
        for file in sorted(path for path in worker.rglob("*") if path.is_file() and not path.name.startswith(".")):
            place = out / file.relative_to(worker)
            if file.suffix != ".json" or place.parent.name not in ("runs", "findings"):
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(file, place)
                continue
            record = parse_json(text_of(file).replace(part, ""))
            if place not in moved or _rank(record) < _rank(moved[place]):
                write_json(place, record)
                moved[place] = record
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()  # unless other sessions have theirs there


def _rank(record: dict[str, Any]) -> Any:
    """Smaller is kept."""
    if "finding" in record:
        return canonical_order(FindingRecord.model_validate(record))
    return VERDICTS.index(record["verdict"])


def run_files(reported: Iterable[Sequence[tuple[str, Any]]]) -> list[Path]:
    """The run records that the properties of tests name, each once."""
    return list(dict.fromkeys(Path(str(value)) for rows in reported for name, value in rows if name == RUN_PROPERTY))


def summary(tests: int, files: Sequence[Path], out: Path) -> list[str]:
    """Writes the report of a session's runs; the lines that end it."""
    runs = [RunRecord.model_validate(json_of(file)) for file in files if file.is_file()]
    seen = {finding.fingerprint: finding for run in runs for finding in run.findings}
    lines = []
    for finding in seen.values():
        site = finding.lost_site or finding.store_site
        words = (finding.invariant, site, finding.subject, finding.scenario, finding.file)
        lines.append("  ".join(word for word in words if word))
    counts = [f"{tests} crash test{'s' if tests != 1 else ''}", f"{len(seen)} finding{'s' if len(seen) != 1 else ''}"]
    try:
        report = f"report: {html.write_report(runs, out, title='powercut: pytest')}"
    except Exception as error:  # whatever it is, the tests' own results must be told
        report = f"no report ({type(error).__name__}: {error}); 'powercut report {out}' makes it again"
    return [*lines, f"powercut: {', '.join(counts)}, {report}"]
