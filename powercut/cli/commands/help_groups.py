"""The help of a command with many options: `--help` shows the usual ones on one screen, `--help-all` shows all.

    app.command(cls=help_groups.command({"target": "What to judge.", "budget": "A time, such as 5m."}))(run)

    def run(target: Target, *, help_all: help_groups.HelpAll = False) -> None: ...

In both, options stand under the headings of `powercut.base.option.GROUPS`.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from powercut.base.option import GROUPS

_ALL = "powercut.help_all"
_OTHER = "Other options"


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    command: Any = ctx.command
    if wanted and not ctx.resilient_parsing:
        typer.echo(command.get_help_all(ctx))
        raise typer.Exit


#: The option of a command with a short help; the command itself has no use for its value.
HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all", callback=_show_all, is_eager=True, help="Show every option, with all that it says, and exit."
    ),
]


class Grouped(TyperCommand):
    """A command whose help has headings, and a short form."""

    #: The parameters that the short help shows, in its order, with a text for each; empty: help has one form.
    usual: Mapping[str, str] = {}

    def get_help_all(self, ctx: Any) -> str:
        """Returns the help with every option."""
        ctx.meta[_ALL] = True
        return self.get_help(ctx)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Writes the docstring; in the short help its first paragraph alone."""
        if not self._short(ctx):
            super().format_help_text(ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text((self.help or "").split("\n\n")[0])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the options under their headings."""
        every = {item.name: item for item in self.get_params(ctx)}
        shown = [every[name] for name in self.usual] if self._short(ctx) else list(every.values())
        for heading in (*GROUPS, _OTHER):
            records = [record for item in shown if _heading(item) == heading and (record := self._record(item, ctx))]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if self._short(ctx):
            formatter.write_paragraph()
            formatter.write_text(f"More with --help-all: {len(every) - len(shown)} other options.")

    def _short(self, ctx: Any) -> bool:
        return bool(self.usual) and _ALL not in ctx.meta

    def _record(self, item: Any, ctx: Any) -> tuple[str, str] | None:
        record: tuple[str, str] | None = item.get_help_record(ctx)
        if record is None or not self._short(ctx):
            return record
        return re.sub(r" <.*>$", "", record[0]), self.usual[item.name]


def command(usual: Mapping[str, str]) -> type[Grouped]:
    """Returns the class of a command whose short help shows these parameters."""
    return type("Grouped", (Grouped,), {"usual": usual})


def _heading(item: Any) -> str:
    return getattr(item, "rich_help_panel", None) or _OTHER
