"""Finds scenarios: all of them, those of a target, those that a glob names, and the gallery of known bugs."""

import fnmatch
from functools import cache
from pathlib import Path

from powercut import paths, scenario
from powercut.errors import UsageError, unknown_name
from powercut.scenario import Scenario

GALLERY = "known_bugs"
SELF_TEST = "self_test"
KNOWN_GOOD = "known_good"


@cache
def _files(root: Path) -> tuple[Path, ...]:
    if not root.is_dir():
        raise UsageError(
            "there is no folder of scenarios",
            where=str(root),
            next_step="Set POWERCUT_HOME to the project's folder, or name a scenario by its path.",
        )
    return tuple(sorted(root.rglob("*.toml")))


def forget() -> None:
    """Looks at the folder anew; for tests and long-lived processes."""
    _files.cache_clear()


def everything() -> list[Scenario]:
    """Every scenario outside the gallery, by path."""
    root = paths.scenario_dir()
    return [scenario.load(path) for path in _files(root) if path.relative_to(root).parts[0] != GALLERY]


def known_bugs() -> list[Scenario]:
    """Every scenario of the gallery, by path."""
    return _with_bug(GALLERY)


def self_tests() -> list[Scenario]:
    """One scenario for every invariant, on a target made to violate it; by path."""
    return _with_bug(SELF_TEST)


def _with_bug(folder: str) -> list[Scenario]:
    root = paths.scenario_dir()
    found = [scenario.load(path) for path in _files(root) if path.relative_to(root).parts[0] == folder]
    for item in found:
        if item.content.known_bug is None:
            raise UsageError(
                "a scenario of this folder has no [known_bug]",
                where=item.place,
                next_step=f"Add the table (scenarios/SCHEMA.md), or move the file out of {folder}/.",
            )
    return found


def known_good() -> list[Scenario]:
    """Patterns on which powercut must stay quiet."""
    root = paths.scenario_dir() / KNOWN_GOOD
    return [scenario.load(path) for path in _files(root)] if root.is_dir() else []


def core(target: str) -> list[Scenario]:
    """The scenarios that `powercut run TARGET` runs."""
    return [item for item in everything() if item.content.core and item.fits(target)]


def matching(pattern: str) -> list[Scenario]:
    """The scenarios that a glob or a file names.

    A pattern without '/' is compared with the names outside the gallery; one with '/' with the paths of
    all files, relative to the scenarios' folder or to the project. An existing file is taken as it is.
    """
    path = Path(pattern)
    if path.suffix == ".toml" and path.is_file():
        return [scenario.load(path.resolve())]
    if "/" not in pattern:
        pool = everything()
        found = [item for item in pool if fnmatch.fnmatchcase(item.name, pattern)]
    else:
        pool = everything() + known_bugs()
        found = [item for item in pool if any(fnmatch.fnmatchcase(name, pattern) for name in _spellings(item))]
    if not found:
        raise unknown_name("scenario", pattern, [item.name for item in pool], list_command="powercut list scenarios")
    return found


def _spellings(item: Scenario) -> list[str]:
    try:
        inside = item.path.relative_to(paths.scenario_dir())
    except ValueError:
        return [item.place]
    return [item.place, str(inside), str(inside.with_suffix("")), str(inside.parent)]
