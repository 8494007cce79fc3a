"""The report as HTML: one file for everything, or a folder with a page a run. Readable without JavaScript.

`report.html` is one self-contained file: no network, no companion files. `report/index.html` and its neighbours are
the same templates cut into pages, for suites whose runs nobody wants in one file; their style and script lie beside
them. Both work from `file://`.

A page that would hold more than a reader's browser lays out at once packs its runs and findings (page_parts.py).
Without JavaScript it has the overview, the list of bugs and all verdicts, stories and commands.

Templates escape everything (Jinja2 autoescape). As a second wall each page carries a content security policy that
admits only its own script and style. Even markup that slipped through from a target's string could neither run nor load
anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from powercut_records.finding import VERDICTS
from powercut_records.places import own_frame
from powercut_records.run import RunRecord
from powercut_reports import files_view, glossary, json_report, overview, page_parts, research, story
from powercut_reports import format as fmt
from powercut_reports.audit import Audits, parse_audits
from powercut_reports.bugs import bugs
from powercut_reports.finding_view import finding_view
from powercut_reports.medium import medium_of, with_program
from powercut_reports.overview import RunView
from powercut_reports.pack import deflated, pack
from powercut_reports.research import Section

REPORT_NAME = "report.html"
PAGES_NAME = "report"
#: Bytes of details that a page holds as they are (page_parts.py).
INLINE_LIMIT = page_parts.INLINE_LIMIT
#: Bugs that the list at the top shows before it is asked for all: of one run, and of several.
_LISTED_OF_ONE, _LISTED = 6, 12
_HERE = Path(__file__).parent
# Files of one idea each; the page holds one style and one script of all of them, in this order.
_STYLES = (
    *("report.css", "summary.css", "runs.css", "overview.css", "research.css"),
    *("finding.css", "film.css", "files.css", "cause.css", "print.css"),
)
_SCRIPTS = ("mount.js", "pieces.js", "terms.js", "sort.js", "finding.js", "search.js", "filter.js", "report.js")


@dataclass(frozen=True, kw_only=True)
class Companions:
    """Files of other commands in the output folder, as these wrote them (checker/RUN.md)."""

    fidelity: Mapping[str, Any] | None = None
    audit: Mapping[str, Any] | None = None
    necessity: Sequence[Mapping[str, Any]] = ()
    costs: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class _Links:
    """Where a page's links lead: within the one file, or from page to page."""

    pages: Mapping[str, str]  # by run id; empty in one file
    here: str = ""  # the id of the run whose page this is

    @property
    def paged(self) -> bool:
        return bool(self.pages)

    def section(self, name: str) -> str:
        if not self.paged:
            return f"#{name}"
        return f"index.html#{name}" if name in ("top", "overview", "runs", "legend") else f"{name}.html"

    def run(self, identifier: str) -> str:
        return f"{self.pages[identifier]}#{identifier}" if self.paged and identifier != self.here else f"#{identifier}"

    def finding(self, identifier: str, name: str = "") -> str:
        """To a finding, by its id or by another `name` that it has."""
        owner = identifier.rpartition("-")[0]
        name = name or identifier
        return f"{self.pages[owner]}#{name}" if self.paged and owner != self.here else f"#{name}"


def write_report(runs: Sequence[RunRecord], out_dir: Path, *, title: str, companions: Companions | None = None) -> Path:
    """Writes `report.html` in `out_dir` (made if missing) and returns its path. Same records, same bytes.

    Raises OSError when the folder cannot be written; an older report is then untouched, since the new one
    is written beside it and renamed.
    """
    page = render(runs, title=title, companions=companions)
    out_dir.mkdir(parents=True, exist_ok=True)
    path = out_dir / REPORT_NAME
    draft = out_dir / f".{REPORT_NAME}.{os.getpid()}.tmp"
    try:
        _write(draft, page)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def write_pages(runs: Sequence[RunRecord], out_dir: Path, *, title: str, companions: Companions | None = None) -> Path:
    """Writes `report/index.html` with a page a run beside it, and returns the path of the index.

    Raises OSError as `write_report`; the folder of an older report is replaced only by a whole new one.
    """
    pages = render_pages(runs, title=title, companions=companions)
    out_dir.mkdir(parents=True, exist_ok=True)
    folder, draft, old = (out_dir / name for name in (PAGES_NAME, f".{PAGES_NAME}.new", f".{PAGES_NAME}.old"))
    for left in (draft, old):
        shutil.rmtree(left, ignore_errors=True)
    try:
        draft.mkdir()
        for name, page in pages.items():
            _write(draft / name, page)
        if folder.exists():
            folder.replace(old)
        draft.replace(folder)
    finally:
        for left in (draft, old):
            shutil.rmtree(left, ignore_errors=True)
    return folder / "index.html"


def render(runs: Sequence[RunRecord], *, title: str, companions: Companions | None = None) -> str:
    """The one file as a string."""
    report = _Report(runs, title, companions or Companions())
    return report.page("report.html.j2", _Links({}), report.views, report.views, data=report.data)


def render_pages(runs: Sequence[RunRecord], *, title: str, companions: Companions | None = None) -> dict[str, str]:
    """The pages by file name, style and scripts among them."""
    report = _Report(runs, title, companions or Companions())
    names = _page_names(report.views, [section.id for section in report.sections])
    pages = {
        "report.css": _joined(*_STYLES) + "\n",
        "report.js": _joined(*_SCRIPTS) + "\n",
        "theme.js": _static("theme.js") + "\n",
        "index.html": report.page("report.html.j2", _Links(names), (), report.views, data=report.data),
    }
    for view in report.views:
        links = _Links(names, view.id)
        pages[names[view.id]] = report.page("page_run.html.j2", links, (view,), (view,), data=None, view=view)
    for section in report.sections:
        name = f"{section.id}.html"
        pages[name] = report.page("page_section.html.j2", _Links(names), (), (), data=None, section=section)
    return pages


class _Report:
    """State that all pages of a report share."""

    def __init__(self, runs: Sequence[RunRecord], title: str, companions: Companions) -> None:
        audits = parse_audits(companions.audit)
        self.views = tuple(run_view(index, run, audits) for index, run in enumerate(runs))
        self.data = json_report.runs_object(runs)
        self.sections = research.sections(
            runs,
            fidelity=companions.fidelity,
            necessity=companions.necessity,
            costs=companions.costs,
        )
        self.environment = _environment()
        self.parts = self.environment.get_template("parts.html.j2").module
        views = self.views
        found = sorted(
            bugs(item.finding for view in views for item in view.findings),
            key=lambda bug: bug.told.needs_power_cut,  # what needs none is to be mended first
        )
        items = {id(item.finding): item for view in views for item in view.findings}
        named: dict[str, str] = {}
        for item in items.values():
            named.setdefault(item.anchor, item.id)
        self.context: dict[str, Any] = {
            "title": title,
            "runs": views,
            "sections": self.sections,
            "matrix": overview.matrix(views),
            "common": overview.common(views, audits),
            "filters": overview.filters(views),
            "has_baseline": any(item.finding.baseline for view in views for item in view.findings),
            "counts": {verdict: sum(view.run.verdict == verdict for view in views) for verdict in VERDICTS},
            "findings": sum(bug.symptoms for bug in found),
            "bugs": len(found),
            "permanent": {identifier: name for name, identifier in named.items() if name},
            "bug_rows": [(bug, items[id(bug.told)]) for bug in found],
            "listed": _LISTED_OF_ONE if len(views) == 1 else _LISTED,
            "functional": sum(not all(f.needs_power_cut for f in view.run.findings) for view in views),
            "by_cut": sum(any(f.needs_power_cut for f in view.run.findings) for view in views),
            "incomplete": sum(view.run.coverage.kind != "complete" for view in views),
            "one_schedule": sum(story.is_of_one_schedule(view.run.coverage) for view in views),
            "logo": Markup(_static("logo.svg")),
            "parts": self.parts,
        }

    def page(
        self,
        template: str,
        links: _Links,
        detailed: Sequence[RunView],
        views: Sequence[RunView],
        *,
        data: object,
        **more: Any,
    ) -> str:
        """A page of the runs `views`, with the details of `detailed`, and `data` to take away."""
        first = next((item.id for view in detailed for item in view.findings), "")
        context = {**self.context, "links": links, "first_finding": first}
        groups = self.context["matrix"].groups if template == "report.html.j2" else ()
        made = page_parts.content(
            self.environment,
            context,
            detailed=detailed,
            groups=groups,
            views=views,
            sections=self.sections if template == "report.html.j2" and not links.paged else (),
            limit=INLINE_LIMIT,
        )
        payload: dict[str, Any] = {**pack(made.pieces)}
        if made.packed:
            payload |= {"places": made.places, "parents": made.parents, "details": made.details}
        payload["names"] = {
            self.context["permanent"][item.id]: item.id
            for view in views
            for item in view.findings
            if item.id in self.context["permanent"]
        }
        if groups:
            payload["filter"] = deflated(_json(self.filter_data()))
        theme, style, script = _static("theme.js"), _joined(*_STYLES), _joined(*_SCRIPTS)
        return self.environment.get_template(template).render(
            {
                **context,
                "content": made.parts,
                "packed": made.packed,
                "style": Markup(style),
                "theme_script": Markup(theme),
                "script": Markup(script),
                "policy": _policy(styles=[style], scripts=[theme, script]) if not links.paged else _PAGES_POLICY,
                "data": _embedded_json({**payload, "report": deflated(_json(data)) if data is not None else ""}),
                **more,
            }
        )

    def filter_data(self) -> list[dict[str, Any]]:
        """Data by which runs and findings are chosen, whether they are in the page yet or packed."""
        bug_of = {id(finding): bug.anchor for bug, _ in self.context["bug_rows"] for finding in bug.findings}
        return [
            {
                "id": view.id,
                "verdict": view.run.verdict,
                "scheme": view.run.target,
                "variant": view.run.variant,
                "model": view.run.model,
                "coverage": view.run.coverage.kind,
                "text": _searched(view.run.scenario, view.run.name, view.bug_words, view.run.model, view.label),
                "findings": [
                    {
                        "id": item.id,
                        "invariant": item.finding.invariant,
                        "new": item.finding.baseline == "new",
                        "bug": bug_of[id(item.finding)],
                        "text": _searched(
                            item.finding.invariant,
                            item.headline,
                            item.site,
                            story.standing(item.finding),
                            item.story,
                            item.finding.reproduce,
                        ),
                    }
                    for item in view.findings
                ],
            }
            for view in self.views
        ]


class _Compiled(FileSystemBytecodeCache):
    """The code of the templates, beside them, as Python keeps its own: to compile them took half of a small report.

    Jinja compares a template with the one that its code is of. Where nothing can be written, nothing is kept.
    """

    def __init__(self) -> None:
        super().__init__(str(_HERE / "templates" / "__pycache__"), f"%s.{sys.implementation.cache_tag}.jinja")

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)


@cache
def _environment() -> Environment:
    environment = Environment(
        bytecode_cache=_Compiled(),
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        grouped=fmt.grouped,
        power=fmt.power_of_ten,
        offset=fmt.offset,
        duration=fmt.seconds,
        visible=fmt.printable,
        visible_lines=fmt.printable_lines,
    )
    environment.globals.update(
        plural=fmt.plural,
        coverage_words=story.coverage_words,
        coverage_sentence=story.coverage_sentence,
        verdict_sentence=story.verdict_sentence,
        fault_address=story.fault_address,
        program_rows=story.program_rows,
        cut_sentence=story.cut_sentence,
        without_cut=story.without_cut,
        cause_search=story.cause_search,
        nested_sentence=story.nested_sentence,
        own_frame=own_frame,
        standing=story.standing,
        legal_under=files_view.legal_under,
        inner_heading=files_view.inner_heading,
        call_fates=files_view.FATES,
        confirmed_words=files_view.confirmed_words,
        other_paths=files_view.others,
        profile_rows=files_view.profile_rows,
        profile_titles=files_view.PROFILE_TITLES,
        tree_headings=files_view.TREES,
        term=glossary.term,
        list_name=page_parts.list_name,
        body_name=page_parts.body_name,
        more_name=page_parts.more_name,
    )
    return environment


def _searched(*texts: str) -> str:
    return "\n".join(fmt.printable(text) for text in texts if text).lower()


def _write(path: Path, text: str) -> None:
    # A lone surrogate (a file name that is not UTF-8) must not cost the report.
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def _static(name: str) -> str:
    return (_HERE / "static" / name).read_text(encoding="utf-8").strip()


def _joined(*names: str) -> str:
    return "\n".join(map(_static, names))


_POLICY = (
    "default-src 'none'; img-src data:; style-src {styles}; script-src {scripts}; base-uri 'none'; form-action 'none'"
)
# From a file, 'self' is nobody: the scheme is named. Inline script and style stay forbidden.
_PAGES_POLICY = _POLICY.format(styles="'self' file:", scripts="'self' file:")


def _policy(*, styles: Sequence[str], scripts: Sequence[str]) -> str:
    def sources(texts: Sequence[str]) -> str:
        hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
        return " ".join(f"'sha256-{value}'" for value in hashes)

    return _POLICY.format(styles=sources(styles), scripts=sources(scripts))


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def _embedded_json(value: object) -> Markup:
    """JSON that is inert inside a script element: no text in it can end the element or open another."""
    text = _json(value)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def run_view(index: int, run: RunRecord, audits: Audits) -> RunView:
    run = with_program(run)
    findings = tuple(finding_view(f"run-{index + 1}-{n + 1}", finding) for n, finding in enumerate(run.findings))
    return RunView(
        id=f"run-{index + 1}",
        run=run,
        scenario=overview.short_scenario(run),
        findings=findings,
        not_checked=story.not_checked(run.not_checked, medium_of(run)),
        audit=audits.of(run),
    )


def _page_names(views: Sequence[RunView], reserved: Sequence[str]) -> dict[str, str]:
    """A file a run, named as its record; names that files cannot bear are mended, and none is given twice."""
    names: dict[str, str] = {}
    taken = {"index", *reserved}
    for view in views:
        run = view.run
        whole = "-".join(part for part in (run.target, run.variant, run.scenario, run.model) if part)
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", whole).strip(".-")[:100] or view.id
        name = stem if stem not in taken else f"{stem}-{view.id}"
        taken.add(name)
        names[view.id] = f"{name}.html"
    return names


__all__ = [
    "PAGES_NAME",
    "REPORT_NAME",
    "Companions",
    "Section",
    "render",
    "render_pages",
    "write_pages",
    "write_report",
]
