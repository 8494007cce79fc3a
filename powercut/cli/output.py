"""Where results go: data on stdout, talk on stderr, reports in the output folder."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from powercut.base.errors import PowercutError, UsageError, nearest
from powercut.base.output_files import unwritable, write_json, write_text
from powercut.cli import paper, places, talk
from powercut.cli.companions import load
from powercut.gate import canary
from powercut.gate.gate import Gate
from powercut.runs import replays, run_cache
from powercut_records.run import RunRecord
from powercut_reports import closing, json_report, text
from powercut_reports.gate_formats import FILES, RENDERERS
from powercut_reports.medium import with_program

FORMATS = ("text", "html", "pages", "json", *paper.FORMATS, *RENDERERS)
JSON_REPORT = "report.json"
_NAMED_TARGETS = 4


def parse_formats(value: str, *, known: Sequence[str] = FORMATS) -> frozenset[str]:
    """The formats of `--format text,html,json`, each one of those `known`."""
    formats = [word.strip() for word in value.split(",") if word.strip()]
    for name in formats:
        if name not in known:
            close = nearest(name, known)
            hint = f"Did you mean {' or '.join(repr(word) for word in close)}? " if close else ""
            raise UsageError(
                f"unknown format '{name}'", where="--format", next_step=f"{hint}There are {', '.join(known)}."
            )
    if not formats:
        raise UsageError("no format was named", where="--format", next_step=f"Name some of {', '.join(known)}.")
    return frozenset(formats)


def print_json(value: object) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False), flush=True)


def colored() -> bool:
    """True when stdout is a terminal whose user wants colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def print_run(run: RunRecord, page: Path | None = None) -> None:
    """Prints the bugs of a run and its summary, as text on stdout. A finding that a gate accepts has a line in the
    summary only.

    `page` is the HTML report that the command makes.

    `print_closing` prints the assumptions of the run.
    """
    color = colored()
    findings = [finding for finding in with_program(run).findings if finding.counts]
    told = text.render_bugs(findings, color=color, page=str(page or ""))
    summary = text.render_run(run, color=color, assumptions=False)
    # The table of file systems comes first.
    print("\n\n".join([summary, *told] if run.profiles else [*told, summary]))
    if earlier := replays.sentence(run):
        print(f"  Earlier findings: {earlier}")
        for row in run.replayed or []:
            if row.note:
                print(f"    {row.invariant}  {row.site}  {row.state}: {row.note}")
    if run.error:
        error = run.error
        print(f"  Not finished: {error.where}: {error.what}. {error.next}")
    print(flush=True)


def page_of(out: Path, formats: frozenset[str]) -> Path | None:
    """The HTML report in the folder `out` that shows all findings; None where none is made."""
    if "html" not in formats:
        return None
    from powercut_reports import html

    return out / html.REPORT_NAME


def _html_forms(formats: frozenset[str]) -> list[Callable[..., Path]]:
    """The writers of the HTML that `formats` ask for: one file, or a page a run.

    Text alone needs neither the templates nor the charts, whose modules take 0.04 s to load.
    """
    if formats.isdisjoint(("html", "pages")):
        return []
    from powercut_reports import html

    forms: dict[str, Callable[..., Path]] = {"html": html.write_report, "pages": html.write_pages}
    return [write for name, write in forms.items() if name in formats]


def print_closing(runs: Sequence[RunRecord], *, took: float | None = None) -> None:
    """A table for each target, and what the verdicts stand on. `took`: seconds of the command that explored them."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if words := closing.render(runs, color=colored(), width=width, took=took):
        print(words, flush=True)


def print_gate(gate: Gate, runs: Sequence[RunRecord]) -> None:
    """How the findings of the runs stand to the baseline and the suppressions, what was cached, and the canary."""
    for line in [*gate.lines(runs), *run_cache.sentences(runs), *canary.sentences(runs)]:
        print(line, flush=True)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on stdout: framed on a terminal, else plain columns of full width that grep and cut can read."""
    if sys.stdout.isatty():
        from rich import box
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table(*titles, box=box.SIMPLE)
        for row in rows:
            table.add_row(*(escape(cell) for cell in row))
        Console().print(table)
        return
    lines = [titles, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def report_title(targets: Sequence[str]) -> str:
    """Names the targets of a report, or the first of many. The counts of a report are in its totals."""
    more = f" and {len(targets) - _NAMED_TARGETS} more" if len(targets) > _NAMED_TARGETS else ""
    return f"powercut: {', '.join(targets[:_NAMED_TARGETS])}{more}"


def write_reports(
    runs: Sequence[RunRecord], out: Path, formats: frozenset[str], *, title: str, gate: Gate
) -> list[Path]:
    """Writes the files of the formats that have files, and returns their paths."""
    written: list[Path] = []
    forms = _html_forms(formats)
    companions = load(out, say=talk.say) if forms or not formats.isdisjoint(paper.FORMATS) else None
    for write in forms:
        try:
            written.append(write(runs, out, title=title, companions=companions))
        except OSError as error:
            raise unwritable(out, error) from error
    if "json" in formats:
        path = out / JSON_REPORT
        write_json(path, runs_object(runs, gate=gate))
        written.append(path)
    return written + (paper.write(runs, companions, out, formats) if companions else [])


def write_gate_reports(
    runs: Sequence[RunRecord],
    out: Path,
    formats: frozenset[str],
    *,
    fail_on: frozenset[str],
    errors: Sequence[PowercutError] = (),
    gate: Gate | None = None,
) -> list[Path]:
    """Writes the files that a CI gate reads, and returns the paths; `errors` are of requests that came to no run.

    `gate`: how the marked runs stand to it is said for people.
    """
    said = [error.paragraph() for error in errors]
    placed = places.in_repository(runs) if "sarif" in formats else []
    written: list[Path] = []
    for name, file in FILES.items():
        if name in formats:
            path = out / file
            write_text(
                path,
                RENDERERS[name](
                    placed if name == "sarif" else runs,
                    fail_on=fail_on,
                    errors=said,
                    **({"standing": gate.lines(runs)} if gate and name == "markdown" else {}),
                ),
            )
            written.append(path)
    return written


def print_annotations(
    runs: Sequence[RunRecord],
    formats: frozenset[str],
    *,
    fail_on: frozenset[str],
    errors: Sequence[PowercutError] = (),
    as_json: bool = False,
) -> None:
    """Prints the format `github`: on stderr, where a workflow finds it too, when stdout is for JSON alone."""
    if "github" in formats:
        said = [error.paragraph() for error in errors]
        commands = RENDERERS["github"](places.in_repository(runs), fail_on=fail_on, errors=said)
        print(commands, end="", file=sys.stderr if as_json else sys.stdout, flush=True)


def runs_object(runs: Sequence[RunRecord], *, gate: Gate) -> dict[str, Any]:
    """The object that --json prints."""
    around = {**run_cache.summary(runs), **canary.summary(runs)}
    return {**json_report.runs_object(runs), **gate.summary(runs), **around}
