"""`powercut new-target`: the beginning of a target of one's own."""

from pathlib import Path
from typing import Annotated

from powercut.cli import output, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument, option
from powercut.new_target.new_target import FLASHES, LANGUAGES, SIZES, generate


def new_target(
    name: Annotated[str, argument("NAME", "Name of the target: lower case letters, digits, '_'.")],
    dir: Annotated[Path | None, option("--dir DIR", "Folder to make.  [default: NAME]")] = None,
    language: Annotated[
        str, option("--language L", f"Language of the adapter: {' or '.join(LANGUAGES)}.", show_default=True)
    ] = "c",
    sizes: Annotated[
        str,
        option("--sizes S", f"Items of one size in a run, or of mixed sizes: {' or '.join(SIZES)}.", show_default=True),
    ] = "one",
    flash: Annotated[
        str | None,
        option("--flash F", f"A library on raw flash, which is handed a driver: {' or '.join(FLASHES)}."),
    ] = None,
    json: shared.Json = False,
) -> None:
    """Write an adapter for a library of yours, with a scenario and a test.

    The folder works as it is, on a small map that stands in for the library (with --flash, a small store); its
    README.md says how to build and run it, and what to replace. An existing folder is left alone.
    """
    folder = dir or Path(name)
    written = generate(name, folder, language=language, sizes=sizes, flash=flash)
    if json:
        output.print_json({"folder": str(folder), "files": [str(path.relative_to(folder)) for path in written]})
    else:
        talk.say(f"{folder}: {', '.join(str(path.relative_to(folder)) for path in written)}.")
        talk.say(f"Next: cd {folder} && make && powercut run ./lib{name}.so")
