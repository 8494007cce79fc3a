"""`powercut cc` and `powercut c++`: clang with the tracing pass, for `CC=` and `CXX=` of foreign builds.

Arguments go to clang untouched. `powercut.cli.main.main` therefore calls `forward` before the command line
is parsed; the commands here exist for `--help`, and for use through Typer.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
NAMES = ("cc", "c++")

Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="ARGUMENT", show_default=False, help="What clang is given.")
]


def register(app: typer.Typer) -> None:
    app.command("cc", context_settings=_SETTINGS)(cc)
    app.command("c++", context_settings=_SETTINGS)(cxx)


def cc(arguments: Arguments = None) -> None:
    """Compile or link C through the tracing pass.

    This is clang 19, 16, 15 or 14, the newest that is installed, with the pass and the runtime added.
    POWERCUT_CLANG names another executable, which may be a gcc: then inline assembly is not seen. Build a
    foreign code base with CC='powercut cc'.
    """
    raise typer.Exit(forward("cc", arguments or []))


def cxx(arguments: Arguments = None) -> None:
    """Compile or link C++ through the tracing pass.

    This is clang++ 19, 16, 15 or 14, the newest that is installed, with the pass and the runtime added.
    POWERCUT_CLANGXX names another executable, which may be a g++: then inline assembly is not seen. Build a
    foreign code base with CXX='powercut c++'.
    """
    raise typer.Exit(forward("c++", arguments or []))


def forward(name: str, arguments: Sequence[str]) -> int:
    """Runs the compiler and returns its exit status."""
    from powercut.compile import cc as wrapper

    main = wrapper.main_cc if name == "cc" else wrapper.main_cxx
    return int(main(list(arguments)))
