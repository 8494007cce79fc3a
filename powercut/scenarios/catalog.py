"""Finds scenarios: all scenarios, those of a target, those that a glob names, and the bug corpus."""

import fnmatch
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from powercut.base import paths
from powercut.base.errors import UsageError, unknown_name
from powercut.base.user_files import refuse_other_kinds
from powercut.scenarios import scenario
from powercut.scenarios.scenario import Scenario

CORPUS = "known_bugs"
SELF_TEST = "self_test"
KNOWN_GOOD = "known_good"
#: Beside a target library that lies outside the build.
OWN_FOLDER = "scenarios"


@cache
def _files(root: Path) -> tuple[Path, ...]:
    if not root.is_dir():
        raise UsageError(
            "there is no folder of scenarios",
            where=str(root),
            next_step="Set POWERCUT_HOME to the project's folder, or name a scenario by its path.",
        )
    return tuple(sorted(root.rglob("*.toml")))


@cache
def _as_it_was(path: Path, changed: int) -> list[Scenario]:
    del changed  # part of the key: a file that was written again is read again
    return scenario.load_all(path)


def _load(path: Path) -> list[Scenario]:
    """A file of the scenarios' folder, read once: a collection of tests asks for all of them many times."""
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return scenario.load_all(path)  # says what is wrong
    return _as_it_was(path, changed)


def _of(files: Iterable[Path]) -> list[Scenario]:
    """The scenarios of the files, sorted as if each had a file for itself; two of a folder cannot share a name."""
    found: dict[Path, Scenario] = {}
    for item in (item for path in files for item in _load(path)):
        other = found.setdefault(item.own_path, item)
        if other is not item:
            raise UsageError(
                f"there is another scenario '{item.name}' in this folder",
                where=item.place,
                next_step=f"Give one of the two another name; the other is {other.place}.",
            )
    return [found[path] for path in sorted(found)]


def forget() -> None:
    """Looks at the folder anew; for tests and long-lived processes."""
    _files.cache_clear()
    _as_it_was.cache_clear()


def everything() -> list[Scenario]:
    """Every scenario outside the bug corpus, by path."""
    root = paths.scenario_dir()
    return _of(path for path in _files(root) if not _is_in(path, CORPUS))


def _is_in(path: Path, folder: str) -> bool:
    """Whether a file is one of this folder of scenarios, or the one file that stands for the folder."""
    return path.relative_to(paths.scenario_dir()).with_suffix("").parts[0] == folder


def known_bugs() -> list[Scenario]:
    """Every scenario of the bug corpus, by path."""
    return _with_bug(CORPUS)


def self_tests() -> list[Scenario]:
    """One scenario for every invariant, on a target made to violate it; by path."""
    return _with_bug(SELF_TEST)


def _with_bug(folder: str) -> list[Scenario]:
    root = paths.scenario_dir()
    found = _of(path for path in _files(root) if _is_in(path, folder))
    for item in found:
        if item.content.known_bug is None:
            raise UsageError(
                "a scenario of this folder has no [known_bug]",
                where=item.place,
                next_step=f"Add the table (scenarios/SCHEMA.md), or move the scenario out of {folder}.",
            )
    return found


def known_good() -> list[Scenario]:
    """Patterns on which powercut must stay quiet."""
    return _of(path for path in _files(paths.scenario_dir()) if _is_in(path, KNOWN_GOOD))


def own(library: Path) -> list[Scenario] | None:
    """The scenarios in the folder beside a target library; None for a library without one, or of the build."""
    folder = library.resolve().parent / OWN_FOLDER
    if library.resolve().parent == paths.library_dir().resolve() or folder == paths.scenario_dir():
        return None
    return _of(folder.rglob("*.toml")) if folder.is_dir() else None


def core(target: str, library: Path | None = None) -> list[Scenario]:
    """The scenarios that `powercut run TARGET` runs: its library's own, where there are such, else the project's."""
    beside = own(library) if library is not None else None
    pool = everything() if beside is None else beside
    fitting = [item for item in pool if item.content.core and item.fits(target)]
    # One that counts is for tables of counters, which no scenario for maps fits.
    counts = any(item.content.counts and target in item.content.targets for item in fitting)
    return [item for item in fitting if not (counts and item.is_for_every_map)]


def spelling(item: Scenario) -> str:
    """Returns a scenario's name on any command line: its name, or its file where the name would not lead to it."""
    root = paths.scenario_dir()
    if not item.path.is_relative_to(root):
        file = paths.relative(item.path, root=Path.cwd())
        return file if item.line is None else f"{file}:{item.name}"
    own = item.own_path.relative_to(root)
    if own.parts[0] not in (CORPUS, KNOWN_GOOD):
        return item.name
    return item.place if item.line is None else str(own.with_suffix(""))


def matching(pattern: str, *, beside: Sequence[Scenario] = (), measurements: bool = False) -> list[Scenario]:
    """The scenarios that a glob or a file names.

    A pattern without '/' is compared with the names outside the bug corpus; one with '/' with the paths of
    all files, relative to the scenarios' folder or to the project. An existing file is taken as it is, with its
    variants; `FILE.toml:NAME` is one scenario of it.
    `beside`: scenarios that belong to the targets in question, which can be named as well. A glob leaves measurements
    out, unless it names nothing else or `measurements` are what is asked for.
    """
    file, name = _file_of(pattern)
    if file is None and pattern.endswith(".toml"):
        refuse_other_kinds(Path(pattern), next_step="Name the file of a scenario.")
    if file is not None:
        inside = scenario.load_all(file.resolve())
        if name and name not in (item.name for item in inside):
            raise UsageError(
                f"this file has no scenario '{name}'",
                where=str(file),
                next_step=f"It has {', '.join(item.name for item in inside)}.",
            )
        return [item for item in inside if name in ("", item.name)]
    if "/" not in pattern:
        pool = [*beside, *everything()]
        found = [item for item in pool if fnmatch.fnmatchcase(item.name, pattern)]
    else:
        pool = [*beside, *everything(), *known_bugs()]
        found = [item for item in pool if any(fnmatch.fnmatchcase(name, pattern) for name in _spellings(item))]
    if not found:
        raise unknown_name("scenario", pattern, [item.name for item in pool], list_command="powercut list scenarios")
    if is_glob(pattern) and not measurements:
        return [item for item in found if not item.is_measurement] or found
    return found


def _file_of(pattern: str) -> tuple[Path | None, str]:
    """The existing file that a pattern names, and the scenario of it that the pattern names; "" where it names none."""
    file, _, name = (pattern, "", "") if Path(pattern).is_file() else pattern.rpartition(":")
    return (Path(file), name) if Path(file).suffix == ".toml" and Path(file).is_file() else (None, "")


def is_glob(pattern: str) -> bool:
    """True for a pattern that leaves the choice to what there is."""
    return any(character in pattern for character in "*?[")


def is_optional(item: Scenario, patterns: Sequence[str]) -> bool:
    """True of a scenario for every map that came without being named, so that it need not fit the target."""
    return item.is_for_every_map and not is_named(item, patterns)


def is_named(item: Scenario, patterns: Sequence[str]) -> bool:
    """True if a pattern names the scenario or its file; a glob of scenarios names none."""
    named = [pattern for pattern in patterns if not is_glob(pattern) or _file_of(pattern)[0]]
    if item.path in [file.absolute() for file, _ in map(_file_of, named) if file]:
        return True
    names = [item.name, str(item.path), *_spellings(item)]
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in named for name in names)


def _spellings(item: Scenario) -> list[str]:
    """The paths that name a scenario: of its file, and as if it had one for itself."""
    root = paths.scenario_dir()
    files = {item.path, item.own_path}
    found = [*map(str, files), *map(paths.relative, files)]
    if item.path.is_relative_to(root):
        own = item.own_path.relative_to(root)
        found += [*(str(path.relative_to(root)) for path in files), str(own.with_suffix("")), str(own.parent)]
    return found
