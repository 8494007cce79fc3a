"""`powercut baseline`: the findings that `--baseline` accepts."""

from pathlib import Path
from typing import Annotated

import typer

from powercut.cli.commands import shared
from powercut.cli.commands.grouped import add_group, argument, option
from powercut.findings import run_records
from powercut.gate import baseline
from powercut.gate.gate import open_gate
from powercut.symbols.place_identity import SOURCE


def register(app: typer.Typer) -> None:
    add_group(
        app, "baseline", "Accept findings that are known, so that only new ones fail (checker/RUN.md).", update=update
    )


def update(
    file: Annotated[Path, argument("FILE", "The baseline; it is made when it is missing.")],
    out: Annotated[Path, option("--out DIR", "The output folder of the runs.", show_default=True)] = (
        shared.DEFAULT_OUT
    ),
    suppressions: shared.Suppressions = None,
) -> None:
    """Write the findings of an output folder into a baseline.

    Entries of the folder's complete runs are replaced, all others kept. Suppressed findings are left out.
    """
    before = baseline.load(file, to_update=True) if file.exists() else baseline.Baseline(path=file)
    gate = open_gate(None, suppressions)
    runs = run_records.load_all(out)
    for run in runs:
        before.mark(run)
        gate.mark(run)
    after = before.updated(runs)
    after.write()
    old, new = ({(entry.bug, entry.scenario) for entry in entries} for entries in (before.entries, after.entries))
    print(f"{file}: {len(new - old)} added, {len(old - new)} removed, {len(new)} in all")
    if left_out := sum(finding.is_suppressed for run in runs for finding in run.findings):
        print(f"  {left_out} suppressed left out")
    if unread := sum(entry.named_by != SOURCE for entry in after.entries):
        print(f"  {unread} named without their source text: an edit of their functions makes them new")
