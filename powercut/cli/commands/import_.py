"""`powercut import`: traces from recordings of other tools."""

from pathlib import Path
from typing import Annotated

import typer

from powercut.base.errors import UsageError
from powercut.cli import output, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import add_group, argument, option
from powercut.program import pmemcheck


def register(app: typer.Typer) -> None:
    add_group(app, "import", "Make a trace of what another tool recorded.", pmemcheck=import_pmemcheck)


def import_pmemcheck(
    log: Annotated[Path, argument("LOG", "Log of 'valgrind --tool=pmemcheck --log-stores=yes'.")],
    output_file: Annotated[Path, option("-o --output TRACE", "The trace to write.")],
    pool: Annotated[
        list[str] | None,
        option(
            "--pool FILE=SNAPSHOT",
            "A pool of the log, and a copy of it from before the run. Without one it counts as zeros; may be repeated.",
        ),
    ] = None,
    json: shared.Json = False,
) -> None:
    """Make a trace of a pmemcheck store log.

    TRACE is replaced only when the whole log was read.
    """
    if output_file.is_dir():
        raise UsageError("this is a folder", where=str(output_file), next_step="Name the trace's file with -o.")
    done = pmemcheck.import_log(log, output_file.absolute(), snapshots=_snapshots(pool or []))
    if json:
        output.print_json(done.model_dump(exclude={"event"}))
        return
    talk.say(f"{output_file}: {done.events} events of {done.entries} entries.")
    for file in done.pools:
        if not file.content_known:
            talk.say(f"{file.path} counts as zeros before the run: give its bytes with --pool {file.path}=SNAPSHOT.")
    if done.stores_outside:
        talk.say(f"{done.stores_outside} stores lie in no registered file; they are left out.")
    if done.unnamed_frames:
        talk.say(f"{done.unnamed_frames} frames have no name: a trace holds 65,000 different ones.")
    talk.say(f"Explore it with 'powercut explore {output_file} --recover COMMAND'.")


def _snapshots(pools: list[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in pools:
        path, equals, snapshot = text.rpartition("=")
        if not (path and equals and snapshot):
            raise UsageError(
                f"'{text}' names no snapshot",
                where="--pool",
                next_step="Write FILE=SNAPSHOT: the path in the log, and a copy of the file from before the run.",
            )
        found[path] = Path(snapshot)
    return found
