"""Writes docs/cli.md from the `--help` of every command: `python -m powercut.docs [FILE]`.

A test fails when the file does not say what the commands say, so no option stays undocumented.
"""

import sys
from pathlib import Path
from typing import Any

import typer

from powercut import paths
from powercut.cli import app

_HEADER = """\
# The command line

Written from `--help` by `make docs`; do not edit.

Exit codes of every command: 0 clean and complete, 1 findings, 2 usage or configuration, 3 incomplete or
unknown. Of several runs the worst counts, in the order 2, 1, 3, 0. Data goes to stdout; messages and
progress go to stderr; `NO_COLOR` is honoured.
"""
_WIDTH = 100


def render() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(app)
    sections = [_section(root, "powercut", parent=None)]
    with root.make_context("powercut", [], resilient_parsing=True) as context:
        for name in root.list_commands(context):
            sections.append(_section(root.get_command(context, name), name, parent=context))
    return "\n".join([_HEADER, *sections])


def _section(command: Any, name: str, *, parent: Any) -> str:
    options = {"terminal_width": _WIDTH, "max_content_width": _WIDTH, "color": False}
    title = name if parent is None else f"powercut {name}"
    # resilient_parsing: nothing is run, and required arguments may be absent.
    with command.make_context(name, [], parent=parent, resilient_parsing=True, **options) as context:
        text = "\n".join(line.rstrip() for line in command.get_help(context).rstrip().splitlines())
    return f"## {title}\n\n```text\n{text}\n```\n"


def page() -> Path:
    """Where the page lies."""
    return paths.home() / "docs" / "cli.md"


def main() -> int:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else page()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(), encoding="utf-8")
    print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
