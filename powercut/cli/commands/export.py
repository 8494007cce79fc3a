"""`powercut export`: traces for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from powercut.base.errors import UsageError
from powercut.cli import output, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import add_group, argument, option
from powercut.program import pmemcheck


def register(app: typer.Typer) -> None:
    add_group(app, "export", "Write a trace as another tool reads it.", pmemcheck=export_pmemcheck)


def export_pmemcheck(
    trace: Annotated[Path, argument("TRACE", "The trace to read.")],
    output_file: Annotated[Path, option("-o --output LOG", "The log to write.")],
    pools: Annotated[
        Path | None,
        option(
            "--pools DIR",
            "Write the pools as they were before the run into this folder; the log then names these files.",
        ),
    ] = None,
    stacks: Annotated[
        bool, option("--stacks/--no-stacks", "Write the call stack of every store.", show_default=True)
    ] = True,
    json: shared.Json = False,
) -> None:
    """Write a trace as a pmemcheck store log, which pmreorder replays.

    pmreorder works on the files that the log names, and needs their bytes from before the run: let --pools make them.
    """
    if output_file.is_dir():
        raise UsageError("this is a folder", where=str(output_file), next_step="Name the log's file with -o.")
    done = pmemcheck.export_log(trace, output_file.absolute(), stacks=stacks, pools=pools)
    if json:
        output.print_json(done.model_dump(exclude={"event": True, "pools": {"__all__": {"content_known"}}}))
        return
    talk.say(f"{output_file}: {done.entries} entries for {', '.join(pool.path for pool in done.pools)}.")
    if pools is None:
        talk.say("Before pmreorder runs, these files must hold what they held before the run; --pools DIR makes them.")
    if done.threads > 1:
        talk.say(f"A log knows no threads: the fence of one of the {done.threads} counts for the flushes of all.")
