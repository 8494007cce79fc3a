"""One HTML file for a set of runs: no network, no companion files, readable without JavaScript.

Templates escape everything (Jinja2 autoescape). As a second wall the page carries a content security
policy that admits only the hashes of its own script and style, so that even markup that slipped through
from a target's string could neither run nor load anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from powercut_reports import format as fmt
from powercut_reports import json_report, story
from powercut_reports.fidelity import fidelity_view
from powercut_reports.finding_view import FindingView, finding_view
from powercut_reports.model import VERDICTS, Run
from powercut_reports.parse import own_frame, parse_run

REPORT_NAME = "report.html"
_HERE = Path(__file__).parent
# Files of one idea each; the page holds one style and one script of all of them, in this order.
_STYLES = ("report.css", "finding.css")
_SCRIPTS = ("mount.js", "finding.js", "report.js")


@dataclass(frozen=True)
class RunView:
    id: str
    run: Run
    findings: tuple[FindingView, ...]
    not_checked: tuple[str, ...]


@dataclass(frozen=True)
class Matrix:
    """One target: scenarios down, variants across; a cell may hold several runs (models, seeds) or none."""

    target: str
    runs: int
    inconsistent: int
    incomplete: int
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[RunView, ...], ...]], ...]


def write_report(
    runs: list[dict[str, Any]], out_dir: Path, *, title: str, fidelity: dict[str, Any] | None = None
) -> Path:
    """Writes `report.html` in `out_dir` (made if missing) and returns its path. Same runs, same bytes.

    `fidelity`: what `powercut fidelity --json` prints, for a section of its own.

    Raises OSError when the folder cannot be written; an older report is then untouched, since the new one
    is written beside it and renamed.
    """
    page = render(runs, title=title, fidelity=fidelity)
    out_dir.mkdir(parents=True, exist_ok=True)
    path = out_dir / REPORT_NAME
    draft = out_dir / f".{REPORT_NAME}.{os.getpid()}.tmp"
    try:
        # A lone surrogate (a file name that is not UTF-8) must not cost the report.
        draft.write_text(page, encoding="utf-8", errors="backslashreplace")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def render(runs: list[dict[str, Any]], *, title: str, fidelity: dict[str, Any] | None = None) -> str:
    """The page as one string."""
    views = tuple(_run_view(index, parse_run(raw)) for index, raw in enumerate(runs))
    style, theme, script = _joined(*_STYLES), _static("theme.js"), _joined(*_SCRIPTS)
    context = {
        "title": title,
        "fidelity": fidelity_view(fidelity) if fidelity else None,
        "runs": views,
        "matrices": tuple(_matrix(target, group) for target, group in _by_target(views).items()),
        "counts": {verdict: sum(view.run.verdict == verdict for view in views) for verdict in VERDICTS},
        "first_finding_run": next((view.id for view in views if view.findings), ""),
        "findings": sum(len(view.findings) for view in views),
        "incomplete": sum(view.run.coverage.kind != "complete" for view in views),
        "style": Markup(style),
        "theme_script": Markup(theme),
        "script": Markup(script),
        "policy": _policy(styles=[style], scripts=[theme, script]),
        "logo": Markup(_static("logo.svg")),
        "data": _embedded_json(json_report.runs_object(runs)),
    }
    return _environment().get_template("report.html.j2").render(context)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        grouped=fmt.grouped, power=fmt.power_of_ten, offset=fmt.offset, duration=fmt.seconds, visible=fmt.printable
    )
    environment.globals.update(
        plural=fmt.plural,
        coverage_words=story.coverage_words,
        coverage_sentence=story.coverage_sentence,
        verdict_sentence=story.verdict_sentence,
        fault_address=story.fault_address,
        program_rows=story.program_rows,
        cut_sentence=story.cut_sentence,
        nested_sentence=story.nested_sentence,
        own_frame=own_frame,
        standing=story.standing,
    )
    return environment


def _static(name: str) -> str:
    return (_HERE / "static" / name).read_text(encoding="utf-8").strip()


def _joined(*names: str) -> str:
    return "\n".join(map(_static, names))


def _policy(*, styles: Sequence[str], scripts: Sequence[str]) -> str:
    def sources(texts: Sequence[str]) -> str:
        hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
        return " ".join(f"'sha256-{value}'" for value in hashes)

    return (
        f"default-src 'none'; img-src data:; style-src {sources(styles)}; script-src {sources(scripts)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _embedded_json(value: object) -> Markup:
    """JSON that is inert inside a script element: no text in it can end the element or open another."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _run_view(index: int, run: Run) -> RunView:
    findings = tuple(finding_view(f"run-{index + 1}-{n + 1}", finding) for n, finding in enumerate(run.findings))
    return RunView(f"run-{index + 1}", run, findings, story.not_checked(run.not_checked))


def _by_target(views: tuple[RunView, ...]) -> dict[str, list[RunView]]:
    groups: dict[str, list[RunView]] = {}
    for view in views:
        groups.setdefault(view.run.target, []).append(view)
    return groups


def _matrix(target: str, views: Sequence[RunView]) -> Matrix:
    columns = tuple(dict.fromkeys(view.run.name for view in views))
    scenarios = dict.fromkeys(view.run.scenario for view in views)
    cells: dict[tuple[str, str], list[RunView]] = {}
    for view in views:
        cells.setdefault((view.run.scenario, view.run.name), []).append(view)
    return Matrix(
        target=target,
        runs=len(views),
        inconsistent=sum(view.run.verdict == "inconsistent" for view in views),
        incomplete=sum(view.run.coverage.kind != "complete" for view in views),
        columns=columns,
        rows=tuple((s, tuple(tuple(cells.get((s, name), ())) for name in columns)) for s in scenarios),
    )
