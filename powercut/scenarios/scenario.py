"""Reads scenario files, and says what is wrong with them as a person would put it.

Every mistake is reported as `file:line: what. next step.`; a key that does not exist names the nearest
right one. Discovery and selection are in `catalog.py`; what the engine is given is in `plan.py`.
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from powercut.base import paths
from powercut.base.errors import UsageError, nearest
from powercut.base.toml_lines import locate, tables
from powercut.base.user_files import read_text
from powercut.scenarios.schema import STEPS, KnownBug, ScenarioFile, keys_at

SCHEMA_VERSION = 1
#: Instead of the name of a scheme.
EVERY_MAP = "*"
MEASUREMENT = "measurement"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A scenario and the file it came from."""

    path: Path
    content: ScenarioFile

    @property
    def name(self) -> str:
        """Its name, which is its file's."""
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
        """The file, relative to the project."""
        return paths.relative(self.path)

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
    """Reads and validates one file; UsageError with `file:line` for everything that is wrong with it."""
    place = paths.relative(path)
    text = read_text(path, "this scenario", place=place, next_step="'powercut list scenarios' shows all.")
    table = tables(text, place=place, form="scenarios/SCHEMA.md shows the format.")
    if table.get("schema", SCHEMA_VERSION) != SCHEMA_VERSION:
        raise UsageError(
            f"scenario version {table['schema']!r}, this build reads {SCHEMA_VERSION}",
            where=f"{place}:{locate(text, ['schema'])}",
            next_step="Bring the file to this version (scenarios/SCHEMA.md), or use the powercut it was written for.",
        )
    try:
        content = ScenarioFile.model_validate({"name": path.stem, **table})
    except ValidationError as error:
        raise _explain(error, text, place) from error
    if content.name != path.stem:
        raise UsageError(
            f"the scenario is named '{content.name}', its file '{path.stem}'",
            where=f"{place}:{locate(text, ['name'])}",
            next_step="Give both the same name.",
        )
    return Scenario(path=path, content=content)


def _explain(error: ValidationError, text: str, place: str) -> UsageError:
    """The first mistake of a file as a person would put it."""
    # A misspelt key is often a missing one as well; its own name says more.
    mistakes = sorted(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    first = mistakes[0]
    location = [part for part in first["loc"] if part not in {model.__name__ for model in STEPS.values()}]
    shown_at = location[:-1] if first["type"] == "missing" else location
    where = f"{place}:{locate(text, shown_at)}"
    name = str(location[-1]) if location else ""
    table = ".".join(str(part) for part in location[:-1])
    inside = f" in '{table}'" if table else ""
    schema = "scenarios/SCHEMA.md lists every key."
    if first["type"] == "extra_forbidden":
        close = nearest(name, keys_at(first["loc"][:-1]), limit=1)
        hint = f"Did you mean '{close[0]}'? " if close else ""
        return UsageError(f"unknown key '{name}'{inside}", where=where, next_step=hint + schema)
    if first["type"] == "missing":
        return UsageError(f"the key '{name}' is missing{inside}", where=where, next_step=schema)
    what = first["msg"].removeprefix("Value error, ")
    shown = f"{'.'.join(str(part) for part in location)}: " if location else ""
    return UsageError(f"{shown}{what}", where=where, next_step=schema)
