"""Options that several commands share, as one object: a dataclass whose fields are options.

    @grouped
    def explore(file: File, *, exploring: Exploring, judging: Annotated[Judging, Without("since")]) -> None: ...

Typer sees one option for each field, in the order of the parameters; the command is given the objects. The field says
how its option is spelt, as a row (`powercut.base.option`) or in its type (`Annotated[..., option(...)]`). The
field's default is the option's.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from powercut.base.option import Option, option_of


class Only:
    """The fields of a group that a command has; the others keep their defaults."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def chosen(self, names: list[str]) -> list[str]:
        """Returns the options of the command among the fields `names`; an unknown name is a mistake in the command."""
        assert set(self.names) <= set(names), set(self.names) - set(names)
        return [name for name in names if name in self.names]


class Without(Only):
    """The fields of a group that a command does not have."""

    def chosen(self, names: list[str]) -> list[str]:
        """Returns the fields that are not named here."""
        super().chosen(names)
        return [name for name in names if name not in self.names]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Returns the command with one parameter for each option of its groups."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        hint = hints[parameter.name]
        bare, *rest = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if not dataclasses.is_dataclass(bare):
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        fields = {field.name: field for field in dataclasses.fields(bare)}
        choice = next((item for item in rest if isinstance(item, Only)), Without())
        types = get_type_hints(bare, include_extras=True)
        names = choice.chosen(list(fields))
        groups[parameter.name] = (bare, names)
        for name in names:
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=fields[name].default,
                    annotation=_annotation(fields[name], types[name]),
                )
            )

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        objects = {key: made(**{name: given.pop(name) for name in names}) for key, (made, names) in groups.items()}
        command(**given, **objects)

    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


def _annotation(field: dataclasses.Field[Any], hint: Any) -> Any:
    """Returns the type of an option as Typer reads it."""
    row = option_of(field)
    return hint if row is None else Annotated[hint, _typer_option(row)]


def add_group(app: typer.Typer, name: str, help: str, **commands: Callable[..., None]) -> None:
    """Adds a command that has commands of its own."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=help)
    for inner, command in commands.items():
        group.command(inner)(command)
    app.add_typer(group, name=name)


def option(spelling: str, help: str, **said: Any) -> Any:
    """Returns the option of a parameter, which says of itself what a row of a table does (`powercut.base.option`)."""
    return _typer_option(Option(spelling=spelling, help=help, **said))


def argument(metavar: str, help: str, *, group: str | None = None) -> Any:
    """Returns the argument of a parameter; its help shows no default."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, rich_help_panel=group)


def _typer_option(row: Option) -> Any:
    complete = (
        (lambda incomplete: [word for word in row.choices if word.startswith(incomplete)]) if row.choices else None
    )
    return typer.Option(
        *row.flags,
        metavar=row.metavar,
        help=row.help,
        min=row.least,
        max=row.most,
        show_default=row.show_default,
        autocompletion=complete if row.choices else None,
        rich_help_panel=row.group,
    )
