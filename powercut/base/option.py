"""One option of the command line, as a row of a table: its spelling, its help, and where its help stands.

A table of options is a frozen dataclass. Each of its fields is a row: the field's name, its type and its default are
those of the option, and `row()` says the rest. The command line, its help, its documentation and its completion in a
shell come from the rows (`powercut.cli.commands.grouped`).
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: The headings of `powercut run --help`, in their order.
RUN, JUDGE, FAR, PRINT = GROUPS = ("What to run", "What to judge", "How far", "What to print")

_KEY = "option"


@dataclass(frozen=True, kw_only=True)
class Option:
    """The part of a row beside the name, the type and the default of its field."""

    #: Flags and value, as help shows them: `--jobs -j N`.
    spelling: str
    #: The first sentence is all that a short help shows of it.
    help: str
    #: The heading under which help shows it.
    group: str | None = None
    least: int | None = None
    most: int | None = None
    #: Values that a shell completes; the option may take others as well.
    choices: tuple[str, ...] = ()
    #: Whether help shows the default of the field, or what it shows instead.
    show_default: bool | str = False
    #: Whether giving it means program mode.
    of_program: bool = False
    #: Whether it says how crash images are judged, and nothing of a recording.
    judging: bool = False
    #: Whether the command that finds the same again has it: never, where it was given, or always.
    again: str = "given"

    @property
    def flags(self) -> tuple[str, ...]:
        """The ways to write the option, as help shows them."""
        return tuple(word for word in self.spelling.split() if word.startswith("-"))

    @property
    def flag(self) -> str:
        """The way to write the option that messages use."""
        return self.flags[0]

    @property
    def metavar(self) -> str | None:
        """The name of the option's value; None for an option without a value."""
        last = self.spelling.split()[-1]
        return None if last in self.flags else last


def row(spelling: str, help: str, *, default: Any = None, **said: Any) -> Any:
    """A field of a table: an option with this default."""
    return dataclasses.field(default=default, metadata={_KEY: Option(spelling=spelling, help=help, **said)})


def program_row(spelling: str, help: str, **said: Any) -> Any:
    """A row of program mode, as its help says first."""
    return row(spelling, f"Program mode: {help}", of_program=True, **said)


def recording_row(spelling: str, help: str, **said: Any) -> Any:
    """A row of program mode that says what is recorded."""
    return program_row(spelling, help, **{"group": RUN, **said})


def judging_row(spelling: str, help: str, **said: Any) -> Any:
    """A row of program mode that says how crash images are judged."""
    return program_row(spelling, help, **{"group": JUDGE, "judging": True, **said})


def option_of(field: dataclasses.Field[Any]) -> Option | None:
    """The row that a field is; None for a field that is no row."""
    found: Option | None = field.metadata.get(_KEY)
    return found


def rows(table: Any) -> Iterable[tuple[dataclasses.Field[Any], Option]]:
    """The fields of a table with their options, in order."""
    for field in dataclasses.fields(table):
        if (option := option_of(field)) is not None:
            yield field, option


def is_given(value: object, default: object) -> bool:
    """Whether an option was given: it has a value, and another one than its default."""
    return value is not None and value is not False and value != [] and value != default
