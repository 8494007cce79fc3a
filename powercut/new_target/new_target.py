"""Writes the folder with which a foreign library becomes a target: adapter, scenario, test, Makefile, README.

The new target works as it is: the adapter drives a small persistent map that stands in for the library. The items of
the map have one size in a run, or mixed sizes. On NOR flash a small store stands in, which is handed a driver. The
texts are templates in the folder `templates`.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from powercut.base.errors import UsageError, unknown_name
from powercut.scenarios import targets

_TEMPLATES = Path(__file__).parent / "templates"
_LONGEST_NAME = 40


@dataclass(frozen=True, kw_only=True)
class Language:
    """How an adapter in one language is called and compiled."""

    suffix: str
    compiler: str
    flags: str


LANGUAGES = {
    "c": Language(suffix="c", compiler="cc", flags="-std=gnu17"),
    "c++": Language(suffix="cc", compiler="c++", flags="-std=gnu++20"),
}

#: The template of the map that stands in for the library, by the sizes of its keys and values.
SIZES = {"one": "example_map", "mixed": "mixed_map"}

#: Kinds of flash that a library may keep its data in, in the place of persistent memory.
FLASHES = ("nor",)


def generate(
    name: str, folder: Path, *, language: str = "c", sizes: str = "one", flash: str | None = None
) -> list[Path]:
    """Makes `folder` and returns what was written, README last. An existing `folder` is a UsageError."""
    texts = _render(_checked(name), language, sizes, flash)
    try:
        # Alone decides whether the folder is new: two calls at once cannot both succeed.
        folder.mkdir()
    except FileExistsError as error:
        raise UsageError(
            "this exists already, and is left as it is",
            where=str(folder),
            next_step="Name another folder with --dir, or remove this one.",
        ) from error
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        for relative, text in texts.items():
            path = folder / relative
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)  # all or nothing
        if isinstance(error, OSError):
            raise _unwritable(folder, error) from error
        raise
    return [folder / relative for relative in texts]


def _checked(name: str) -> str:
    if not re.fullmatch(rf"[a-z][a-z0-9_]{{0,{_LONGEST_NAME - 1}}}", name):
        raise UsageError(
            "this cannot be a target's name",
            where=repr(name),
            next_step=f"Take a letter, then letters, digits and '_', all lower case, at most {_LONGEST_NAME}.",
        )
    if name in targets.libraries():
        raise UsageError("a target of this name comes with powercut", where=repr(name), next_step="Take another name.")
    return name


def _render(name: str, language: str, sizes: str, flash: str | None) -> Mapping[str, str]:
    for kind, given, known in (
        ("language", language, LANGUAGES),
        ("value of --sizes", sizes, SIZES),
        ("value of --flash", flash or FLASHES[0], FLASHES),
    ):
        if given not in known:
            raise unknown_name(kind, given, known, list_command="powercut new-target --help")
    if flash is not None and sizes != "one":
        raise UsageError(
            "the template for flash has items of one size",
            where=f"--flash {flash} --sizes {sizes}",
            next_step="Leave out --sizes, or leave out --flash.",
        )
    chosen = LANGUAGES[language]
    # The name of the files of what stands in, and the templates of these files.
    stand_in, template = ("example_store", "nor_store") if flash else ("example_map", SIZES[sizes])
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # C, TOML and Markdown
    )
    files = {
        f"{name}_target.{chosen.suffix}": "nor_adapter.j2" if flash else "adapter.j2",
        f"{stand_in}.h": f"{template}.h.j2",
        f"{stand_in}.{chosen.suffix}": f"{template}.j2",
        f"scenarios/{name}.toml": "nor_scenario.toml.j2" if flash else "scenario.toml.j2",
        f"test_{name}.py": "test_target.py.j2",
        "Makefile": "Makefile.j2",
        "README.md": "README.md.j2",
    }
    values = {
        "name": name,
        "suffix": chosen.suffix,
        "compiler": chosen.compiler,
        "flags": chosen.flags,
        "mixed": sizes == "mixed",
        "flash": flash is not None,
        "stand_in": stand_in,
    }
    return {path: environment.get_template(template).render(values) for path, template in files.items()}


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot make this folder ({error.strerror})",
        where=str(error.filename or folder),
        next_step="Name a folder that can be made with --dir.",
    )
