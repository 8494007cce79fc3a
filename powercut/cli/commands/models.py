"""`powercut models`: what is believed of a file system, switch by switch, with the sources."""

from typing import Annotated

from powercut.base.errors import unknown_name
from powercut.cli import output
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument
from powercut.models import profiles, table

_MEDIA = ("files",)


def models(
    medium: Annotated[str, argument("files", "The medium, of which there is one with profiles.")],
    profile: Annotated[
        str | None, argument("PROFILE", "A profile's name, or a TOML file with one of your own; none lists all.")
    ] = None,
    json: shared.Json = False,
) -> None:
    """Print the profile of a file system: each switch with its value, its meaning and its sources."""
    if medium not in _MEDIA:
        raise unknown_name("medium", medium, _MEDIA, list_command="powercut models --help")
    if profile is not None:
        chosen = profiles.named(profile)
        if json:
            output.print_json(table.record(chosen))
        else:
            print(*table.lines(chosen), sep="\n")
        return
    found = [profiles.named(name) for name in profiles.names()]
    if json:
        output.print_json({"profiles": [table.record(each) for each in found]})
        return
    width = max(len(each.name) for each in found)
    for each in found:
        print(f"{each.name:<{width}}  {each.about}")
