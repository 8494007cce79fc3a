"""`powercut confirm`: a finding of a folder, looked for on real file systems."""

from pathlib import Path
from typing import Annotated

import typer

from powercut.base import durations, paths
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli import output, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument, option
from powercut.confirm import confirm as confirming
from powercut.runs import reproduce
from powercut_reports import files_view


def confirm(
    finding: Annotated[Path, argument("FINDING.json", "A finding that 'powercut run --files DIR' wrote.")],
    *,
    on: Annotated[
        str | None,
        option("--on NAMES", "Look on these file systems: ext4,xfs,btrfs.  [default: those under which it is legal]"),
    ] = None,
    budget: Annotated[
        str, option("--budget TIME", "Time for each file system, such as 30s or 5m.", show_default=True)
    ] = f"{confirming.SECONDS:g}s",
    json: shared.Json = False,
    trust: shared.Trust = False,
) -> None:
    """Look for a finding of a folder on a real file system.

    The recorded command runs again on a fresh file system, over a disk that records every write and flush. Images that
    a power cut may leave of this disk are mounted, the moment of the finding first, and the finding's commands run on
    each. An image on which they fail in the same way confirms the finding. The finding's file keeps the answer, and
    'powercut report' shows it.

    This needs root, FUSE, loop devices, and the file systems' own mkfs. A finding that is not reproduced is not
    refuted: the kernel may write back in another order at another time.

    Exit code: 1 reproduced on some file system, 0 not reproduced, 2 it cannot be tried here, 3 powercut itself failed.
    """
    seconds = durations.parse_seconds(budget)
    if seconds is None:
        raise UsageError(f"'{budget}' is no time", where="--budget", next_step="Write it as 30s, 5m or 1h.")
    record = reproduce.load(finding, trusted=trust)
    confirming.recording_of(record)
    systems = confirming.chosen(on, record)
    answers = confirming.confirm(
        record,
        systems,
        budget=seconds,
        engine=paths.engine(),
        told=lambda answer: None if json else print(files_view.confirmed_words(answer), flush=True),
    )
    confirming.keep(finding, answers)
    if json:
        output.print_json([answer.model_dump() for answer in answers])
    else:
        talk.say(f"The answer is kept in {finding}.")
    raise typer.Exit(ExitCode.FINDINGS if any(answer.reproduced for answer in answers) else ExitCode.CLEAN)
