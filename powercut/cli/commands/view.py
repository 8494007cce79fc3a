"""`powercut view`: what a recorded program did to the files below a folder."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.cli import output
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument
from powercut.files import calls
from powercut.files.survey import Survey, survey


def view(
    trace: Annotated[Path, argument("TRACE", "A trace that 'powercut record --files' wrote.")],
    *,
    json: shared.Json = False,
) -> None:
    """Show the calls of a recorded program on its files, and what it never synced.

    Each call has a number, its thread, and the inode that a name leads to. No recovery is run.
    """
    found = survey(calls.calls(paths.engine(), trace))
    if not found.ended:
        raise UsageError(
            "this is no recording of a folder", where=str(trace), next_step="Record one with 'powercut record --files'."
        )
    if json:
        output.print_json({**asdict(found), "trace": str(trace)})
        return
    for line in _lines(found):
        print(line)


def _lines(found: Survey) -> list[str]:
    return [
        *found.lines,
        f"The program ended: {found.ended}.",
        *(f"Unsynced at the end: {what}." for what in found.unsynced),
        *(f"Nothing to make durable: {what}." for what in found.idle_syncs),
        *(f"Note: {what}." for what in found.notes),
        *(f"Not complete: {what}." for what in found.missed),
    ]
