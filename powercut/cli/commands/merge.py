"""`powercut merge`: the report of a command that was run in shards."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from powercut.cli import output
from powercut.cli.commands.grouped import Without, argument, grouped
from powercut.cli.commands.judge import Judging, judge
from powercut.cli.commands.run import Command
from powercut.machines import shards


@grouped
def merge(
    folders: Annotated[list[Path], argument("DIR…", "The folders of all shards, in any order.")],
    *,
    judging: Annotated[Judging, Without("since", "resume", "keep_going")],
) -> None:
    """Report what the shards of 'powercut run --shard I/N' found.

    Reports, records and exit code are those of the same command without --shard, byte for byte but for times. It is
    to run in the same checkout, with the same builds; the folders of the shards stay as they are.
    """
    with judging.errors_reported() as gate:
        merged = shards.merged(folders, out=judging.out)
        command = Command.from_json(merged.command)
        wanted, names = command.requests()
        code = judge(
            wanted,
            replace(judging, resume=True, keep_going=command.options.keep_going),
            gate=gate,
            title=output.report_title(names),
            machines=nullcontext(merged),
            prepare=lambda context: merged.bring(wanted, context),
        )
    raise typer.Exit(code)
