"""`powercut litmus`: hold the persistency models against their litmus tests."""

import typer

from powercut.cli.commands import shared


def litmus(json: shared.Json = False) -> None:
    """Run the litmus tests of the persistency models.

    Exit code: 0 all passed, 1 one failed, 3 the harness failed. Tests out of scope are listed and counted
    neither as passed nor as failed.
    """
    from powercut.litmus import litmus as suite

    raise typer.Exit(suite.run(json=json))
