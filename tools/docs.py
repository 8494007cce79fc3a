"""Writes the page of the command line from the `--help` of every command: `python -m tools.docs FILE`.

The page is not committed: `tools/docs_site.py` has it made for the site, as `docs/cli.md`.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from powercut.cli.main import app

_HEADER = """\
# The command line

Written from the `--help` of every command.

Exit codes of every command: 0 clean and complete, 1 findings, 2 usage or configuration, 3 incomplete or
unknown. If there are several runs, the worst counts, in the order 2, 1, 3, 0. Data goes to stdout;
messages and progress go to stderr; `NO_COLOR` is honoured.
"""
_WIDTH = 100


def render() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(app)
    return "\n".join([_HEADER, *_sections(root, "powercut", parent=None)])


def _sections(command: Any, name: str, *, parent: Any) -> list[str]:
    """The command's own section, and those of its commands."""
    options = {"terminal_width": _WIDTH, "max_content_width": _WIDTH, "color": False}
    # resilient_parsing: nothing is run, and required arguments may be absent.
    with command.make_context(name, [], parent=parent, resilient_parsing=True, **options) as context:
        help_of = getattr(command, "get_help_all", command.get_help)
        text = "\n".join(line.rstrip() for line in help_of(context).rstrip().splitlines())
        sections = [f"## {context.command_path}\n\n```text\n{text}\n```\n"]
        for inner in command.list_commands(context) if hasattr(command, "list_commands") else ():
            sections += _sections(command.get_command(context, inner), inner, parent=context)
    return sections


def write(render: Callable[[], str]) -> int:
    """Writes a page to the file that the command line names."""
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(write(render))
