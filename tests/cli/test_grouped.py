"""A command's groups of options."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from powercut.cli.commands.grouped import Only, Without, grouped

Count = Annotated[int, typer.Option("--count", help="How many.")]
Loud = Annotated[bool, typer.Option("--loud", help="With noise.")]


@dataclass(frozen=True, kw_only=True)
class Group:
    count: Count = 3
    loud: Loud = False


def answered(command: Any, *words: str) -> str:
    app = typer.Typer()
    app.command()(grouped(command))
    done = CliRunner().invoke(app, list(words))
    return f"{done.exit_code} {done.output.strip()}"


def test_each_field_is_an_option_and_the_command_gets_the_object() -> None:
    def command(name: Annotated[str, typer.Argument()], *, group: Group) -> None:
        print(name, group)

    assert answered(command, "a", "--count", "7", "--loud") == "0 a Group(count=7, loud=True)"
    assert answered(command, "a") == "0 a Group(count=3, loud=False)"
    assert answered(command, "--count", "7").startswith("2 ")


def test_a_command_may_have_some_of_them() -> None:
    def some(*, group: Annotated[Group, Only("loud")]) -> None:
        print(group)

    def most(*, group: Annotated[Group, Without("loud")]) -> None:
        print(group)

    assert answered(some, "--loud") == "0 Group(count=3, loud=True)"
    assert answered(some, "--count", "7").startswith("2 ")
    assert answered(most, "--count", "7") == "0 Group(count=7, loud=False)"
    assert answered(most, "--loud").startswith("2 ")


def test_a_field_that_is_none_is_a_mistake() -> None:
    def command(*, group: Annotated[Group, Only("lout")]) -> None: ...

    with pytest.raises(AssertionError, match="lout"):
        grouped(command)
