"""`powercut doctor`: the parts that this installation has and lacks."""

from dataclasses import asdict

import typer

from powercut.base.exit_codes import ExitCode
from powercut.cli import doctor as examination
from powercut.cli import output
from powercut.cli.commands import shared


def doctor(json: shared.Json = False) -> None:
    """Say what this installation has and lacks, each with the next step.

    Exit code: 0 everything that judging needs is there, 2 something is missing.
    """
    checks = examination.examine()
    if json:
        output.print_json({"checks": [asdict(check) for check in checks]})
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            state = "ok" if check.ok else ("missing" if check.required else "absent")
            print(f"{state:<8} {check.name:<{width}}  {check.detail}{'. ' if check.next_step else ''}{check.next_step}")
    ready = all(check.ok for check in checks if check.required)
    raise typer.Exit(ExitCode.CLEAN if ready else ExitCode.USAGE)
