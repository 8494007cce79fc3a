"""`powercut explore`: judge a recorded trace."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from powercut.base import paths
from powercut.base import trust as trusting
from powercut.base.errors import UsageError
from powercut.base.option import RUN
from powercut.base.user_files import refuse_other_kinds
from powercut.cli.commands import help_groups, shared
from powercut.cli.commands.grouped import Only, Without, argument, grouped
from powercut.cli.commands.judge import Judging, judge
from powercut.cli.commands.spread import Spread
from powercut.program.options import JUDGING, ProgramOptions
from powercut.runs import program_requests as modes
from powercut.runs.run_request import Request


def register(app: typer.Typer) -> None:
    app.command(cls=help_groups.Grouped)(explore)


@grouped
def explore(
    file: Annotated[Path, argument("FILE", "A trace that 'powercut record' wrote.", group=RUN)],
    *,
    exploring: shared.Exploring,
    judging: Annotated[Judging, Without("since", "no_replay")],
    given: Annotated[ProgramOptions, Only(*JUDGING, "name", "cwd")],
    trust: shared.Trust = False,
    spread: Annotated[Spread, Without("shard")],
) -> None:
    """Explore every legal crash state of a recorded trace, and report.

    The trace holds the target and the scenario; the target's library must be the build that it was
    recorded with. The trace of a program needs its recovery: --recover CMD (docs/program-mode.md).
    Exit codes are those of 'powercut run'.
    """
    chosen = exploring.options()
    with judging.errors_reported() as gate:
        refuse_other_kinds(file, next_step="Name a trace that 'powercut record' wrote; it is read more than once.")
        if not file.is_file():
            raise UsageError(
                "no such trace",
                where=str(file),
                next_step="Record one with 'powercut record TARGET --scenario S -o FILE'.",
            )
        if given.named():
            given.refuse_with(resume=judging.resume)
            request = modes.explore_request(given, exploring.program_options(), file)
        else:
            trusting.require(trusting.of_trace(file), file=file, granted=trust)
            request = Request(
                name=file.name,
                slug=None,
                options=chosen,
                trace=file.absolute(),
                header={"command": f"powercut explore {file}"},
            )
        spread.refuse_with([request])
        explorers = spread.machines(paths.engine())
        once = replace(judging, no_replay=True)
        code = judge([request], once, gate=gate, title=f"powercut: {file.name}", machines=explorers)
    raise typer.Exit(code)
