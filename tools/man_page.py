"""Writes the man page from the `--help` of every command: `python -m tools.man_page FILE`.

The page is not committed: `cmake --install` has it made.
"""

from collections.abc import Iterator
from typing import Any

import typer

from powercut import __version__
from powercut.cli.main import app
from tools.docs import write

_EXIT_CODES = """\
.TP
0
clean and complete
.TP
1
findings
.TP
2
usage or configuration
.TP
3
incomplete or unknown"""


def render() -> str:
    """The whole page, in the macros of man(7)."""
    root: Any = typer.main.get_command(app)
    with _context(root, "powercut", None) as context:
        lines = [
            f'.TH POWERCUT 1 "" "powercut {__version__}" "User Commands"',
            ".SH NAME",
            f"powercut \\- {_escaped(_first_sentence(root.help))}",
            ".SH SYNOPSIS",
            ".B powercut",
            "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
            ".SH DESCRIPTION",
            *_paragraphs(root.help),
            ".SH OPTIONS",
            *_options(root, context),
            ".SH COMMANDS",
        ]
        for name in root.list_commands(context):
            lines += _command(root.get_command(context, name), name, context)
    return "\n".join(
        [*lines, ".SH EXIT STATUS", "Several runs: the worst one counts, in the order 2, 1, 3, 0.", _EXIT_CODES, ""]
    )


def _command(command: Any, name: str, parent: Any) -> Iterator[str]:
    """One command, and then those below it."""
    with _context(command, name, parent) as context:
        usage = " ".join(command.collect_usage_pieces(context))
        yield f".SS {_escaped(f'{context.command_path} {usage}')}"
        yield from _paragraphs(command.help or "")
        yield from _options(command, context)
        for inner in command.list_commands(context) if hasattr(command, "list_commands") else ():
            yield from _command(command.get_command(context, inner), inner, context)


def _context(command: Any, name: str, parent: Any) -> Any:
    # resilient_parsing: nothing is run, and required arguments may be absent.
    return command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=1000)


def _options(command: Any, context: Any) -> Iterator[str]:
    """Arguments and options with their help."""
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) is not None:
            yield from (".TP", f"\\fB{_escaped(record[0])}\\fR", _escaped(" ".join(record[1].split())))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield from (".PP", _escaped(" ".join(paragraph.replace("\b", "").split())))


def _first_sentence(text: str) -> str:
    return text.split(".")[0].strip()


def _escaped(text: str) -> str:
    """`text` as troff prints it: a backslash, a hyphen that can be copied, no line that begins as a request does."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in escaped)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    raise SystemExit(write(render))
