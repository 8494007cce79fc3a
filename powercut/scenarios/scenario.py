"""Reads scenario files, and says what is wrong with them as a person would put it.

Every mistake is reported as `file:line: what. next step.`; a key that does not exist names the nearest
right one. Discovery and selection are in `catalog.py`; what the engine is given is in `plan.py`.
"""

from dataclasses import dataclass
from pathlib import Path

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.toml_lines import locate, tables
from powercut.base.user_files import read_text
from powercut.scenarios import collection
from powercut.scenarios.mistakes import checked
from powercut.scenarios.schema import SCHEMA_VERSION as SCHEMA_VERSION
from powercut.scenarios.schema import SCHEMA_VERSIONS, KnownBug, ScenarioFile
from powercut.scenarios.sections import ENTRIES, FIRST, text_from
from powercut.scenarios.variants import variants

#: Instead of the name of a scheme.
EVERY_MAP = "*"
MEASUREMENT = "measurement"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A scenario and the file it came from."""

    path: Path
    content: ScenarioFile
    #: Where it begins in a file of several scenarios; None in a file that it has for itself.
    line: int | None = None
    #: The folder that its own file would lie in; None if the file's folder is that.
    folder: Path | None = None

    @property
    def name(self) -> str:
        """The name of its file, or its own in a file of several."""
        return self.content.name

    @property
    def bug(self) -> KnownBug:
        """The known bug that it shows; only of a scenario that has one."""
        bug = self.content.known_bug
        assert bug is not None, self.place
        return bug

    @property
    def bug_id(self) -> str:
        """`<scheme>/<bug>`; only of a scenario with a known bug."""
        return f"{self.scheme}/{self.name}"

    @property
    def scheme(self) -> str:
        """The scheme that a known bug is about."""
        return self.content.targets[0]

    @property
    def place(self) -> str:
        """The file, relative to the project, and the line in a file of several scenarios."""
        file = paths.relative(self.path)
        return file if self.line is None else f"{file}:{self.line}"

    @property
    def own_path(self) -> Path:
        """The file that it would have for itself: by this it is sorted and selected."""
        return (self.folder or self.path.parent) / f"{self.name}.toml"

    def fits(self, target: str) -> bool:
        """True when the scenario is meant for the scheme `target`."""
        return target in self.content.targets or EVERY_MAP in self.content.targets

    @property
    def is_for_every_map(self) -> bool:
        """True of one that comes with powercut and names no scheme: a target may lack what it needs."""
        return EVERY_MAP in self.content.targets and self.path.is_relative_to(paths.scenario_dir())

    @property
    def is_measurement(self) -> bool:
        """True of one that is there to be counted, and long for that."""
        return self.content.purpose == MEASUREMENT


def load(path: Path) -> Scenario:
    """The first scenario of a file."""
    return load_all(path)[0]


def load_all(path: Path) -> list[Scenario]:
    """The scenario of a file and its variants, or the entries of a file of several.

    UsageError with `file:line` for everything that is wrong with it.
    """
    place = paths.relative(path)
    text = read_text(path, "this scenario", place=place, next_step="'powercut list scenarios' shows all.")
    table = tables(text, place=place, form="scenarios/SCHEMA.md shows the format.")
    if table.get("schema", SCHEMA_VERSION) not in SCHEMA_VERSIONS:
        raise UsageError(
            f"scenario version {table['schema']!r}, this build reads 1 to {SCHEMA_VERSION}",
            where=f"{place}:{locate(text, ['schema'])}",
            next_step="Bring the file to this version (scenarios/SCHEMA.md), or use the powercut it was written for.",
        )
    if any(kind in table for kind in ENTRIES):
        return [
            Scenario(path=path, content=content, line=start, folder=path.with_suffix(""))
            for content, start in collection.entries(table, text, place)
        ]
    table = {"name": path.stem, **table}
    given = table.pop("variant", [])
    own = text_from(text, FIRST)
    content = checked(table, place, lambda location: locate(own, location))
    if content.name != path.stem:
        raise UsageError(
            f"the scenario is named '{content.name}', its file '{path.stem}'",
            where=f"{place}:{locate(own, ['name'])}",
            next_step="Give both the same name.",
        )
    if given == []:
        return [Scenario(path=path, content=content)]
    found = [(content, FIRST), *variants(table, given, text, place, content)]
    return [Scenario(path=path, content=content, line=start) for content, start in found]
