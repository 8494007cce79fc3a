"""`powercut necessity`: which flushes and fences are needed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from powercut import necessity as analysing
from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli import necessity_text, output, paper, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import Only, argument, grouped, option
from powercut.necessity.record import NECESSITY_VERSION, command_line
from powercut.runs import requests
from powercut.runs.applicability import SetAside, sentences
from powercut.runs.runner import open_context
from powercut.scenarios import targets
from powercut_reports.html import Companions

#: The budget of one exploration: without a flush, a run can have so many crash states that it would take hours.
DEFAULT_BUDGET = "60s"
EachBudget = Annotated[
    str,
    option(
        "--budget LIMIT",
        "Limit of each exploration without a flush or a fence: a time (60s, 5m, 1h) or executions (20000x). One "
        "that reaches it proves nothing but its findings.",
        show_default=True,
    ),
]


@grouped
def necessity(
    target: Annotated[list[str], argument("TARGET[:VARIANT]...", "What to analyse.")],
    scenario: shared.Scenarios = None,
    *,
    exploring: Annotated[shared.Exploring, Only("model", "nested", "seed", "atoms")],
    budget: EachBudget = DEFAULT_BUDGET,
    helper: Annotated[
        list[str] | None,
        option(
            "--helper NAME",
            "A function that flushes or fences for its callers, by name or glob: its calls are the sites; "
            "may be repeated.",
        ),
    ] = None,
    jobs: shared.Jobs = None,
    out: shared.Out = shared.DEFAULT_OUT,
    format: shared.RecordFormat = "text",
    json: shared.Json = False,
) -> None:
    """Drop each flush and each fence in turn, explore again, and tell which are needed.

    A site is a place that flushes or fences. It is necessary if a run without it has a finding that no run with it
    has. It is redundant if every run that reaches it provably has the same crash states without it. In all other cases
    it is not shown by this workload (docs/necessity.md). Scenarios are chosen as for 'powercut run'. Each necessary
    site comes with the finding that proves it, which 'powercut reproduce' replays.

    The record goes to OUT/necessity, and 'powercut report OUT' shows it.

    Exit code: 0 every site was judged completely, 2 usage, 3 incomplete or interrupted.
    """
    formats = output.parse_formats(format, known=shared.RECORD_FORMATS)
    chosen = replace(exploring, budget=budget).options()
    work = [
        (item, requests.for_run([item], scenario or [], options=chosen, explicit=True))
        for item in targets.select(target)
    ]
    console = Console(highlight=False, no_color=bool(os.environ.get("NO_COLOR")))
    records: list[dict[str, Any]] = []
    with open_context(paths.engine(), out) as context:
        for item, wanted in work:
            header = {
                "target": item.target.name,
                "variant": item.variant,
                "paper": item.target.description.paper,
                **chosen.described(),
                "helpers": helper or [],
                "command": command_line(
                    item.target.spelling, item.variant, scenario or [], chosen.described(), helper or []
                ),
            }
            with _bar(f"{item.target.name}:{item.variant}") as progress:
                made = analysing.analyse(
                    wanted,
                    header=header,
                    context=context,
                    jobs=jobs or shared.default_jobs(),
                    patterns=scenario or [],
                    progress=progress,
                )
            records.append(made)
            if "text" in formats and not json:
                necessity_text.render(made, console)
                for line in sentences([SetAside(**item) for item in made.get("not_applicable", ())]):
                    talk.say(line)
                console.print()
            if context.interrupt.requested:
                talk.say("Interrupted: what was judged is kept.")
                break
    for folder in paper.write(None, Companions(necessity=records), out, formats):
        talk.say(f"Written: {folder}")
    if json:
        output.print_json({"necessity": NECESSITY_VERSION, "records": records})
    complete = len(records) == len(work) and all(record["complete"] for record in records)
    raise typer.Exit(ExitCode.CLEAN if complete else ExitCode.INCOMPLETE)


class _Bar:
    """One bar on stderr, first for the unchanged runs, then for the sites."""

    def __init__(self, bars: Progress, name: str) -> None:
        self._bars = bars
        self._name = name
        self._task: TaskID | None = None

    def stage(self, name: str, of: int) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._task = self._bars.add_task(f"{self._name}: {name}", total=of)

    def advanced(self) -> None:
        if self._task is not None:
            self._bars.advance(self._task)


@contextmanager
def _bar(name: str) -> Iterator[analysing.Progress]:
    if not sys.stderr.isatty():
        with nullcontext(analysing.Silent()) as silent:
            yield silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield _Bar(bars, name)
