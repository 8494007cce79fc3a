"""Reads scenario files, and says what is wrong with them as a person would put it.

Every mistake is reported as `file:line: what. next step.`; a key that does not exist names the nearest
right one. Discovery and selection are in `catalog.py`; what the engine is given is in `plan.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from powercut.base import paths
from powercut.base.errors import UsageError, nearest
from powercut.base.toml_lines import locate, tables
from powercut.base.user_files import read_text
from powercut.scenarios.schema import SCHEMA_VERSION as SCHEMA_VERSION
from powercut.scenarios.schema import SCHEMA_VERSIONS, STEPS, VARIANTS, KnownBug, ScenarioFile, keys_at
from powercut.scenarios.variants import FIRST, line_in, overlaid, text_from

#: Instead of the name of a scheme.
EVERY_MAP = "*"
MEASUREMENT = "measurement"

#: The line of a file that a location in its tables means.
Line = Callable[[Sequence[int | str]], int]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A scenario and the file it came from."""

    path: Path
    content: ScenarioFile
    #: Where it begins in a file with variants; None in a file that it has for itself.
    line: int | None = None

    @property
    def name(self) -> str:
        """Its name: its file's, or of a variant its own."""
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
        """The file, relative to the project, and the line in a file with variants."""
        file = paths.relative(self.path)
        return file if self.line is None else f"{file}:{self.line}"

    @property
    def own_path(self) -> Path:
        """The file that it would have for itself: by this it is sorted and selected."""
        return self.path.with_name(f"{self.name}.toml")

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
    """The scenario of a file, without its variants."""
    return load_all(path)[0]


def load_all(path: Path) -> list[Scenario]:
    """The scenario of a file and its variants; UsageError with `file:line` for everything that is wrong with it."""
    place = paths.relative(path)
    text = read_text(path, "this scenario", place=place, next_step="'powercut list scenarios' shows all.")
    table = {"name": path.stem, **tables(text, place=place, form="scenarios/SCHEMA.md shows the format.")}
    if table.get("schema", SCHEMA_VERSION) not in SCHEMA_VERSIONS:
        raise UsageError(
            f"scenario version {table['schema']!r}, this build reads 1 to {SCHEMA_VERSION}",
            where=f"{place}:{locate(text, ['schema'])}",
            next_step="Bring the file to this version (scenarios/SCHEMA.md), or use the powercut it was written for.",
        )
    given = table.pop("variant", [])
    own = text_from(text, FIRST)
    content = _checked(table, place, lambda location: locate(own, location))
    if content.name != path.stem:
        raise UsageError(
            f"the scenario is named '{content.name}', its file '{path.stem}'",
            where=f"{place}:{locate(own, ['name'])}",
            next_step="Give both the same name.",
        )
    if given == []:
        return [Scenario(path=path, content=content)]
    starts = [locate(text, ["variant", index]) for index in range(len(given))] if isinstance(given, list) else []
    try:
        VARIANTS.validate_python(given)
    except ValidationError as error:
        raise _explain(
            error, place, lambda location: _line_of_variant(text, starts, location), inside="variant"
        ) from error
    found = [Scenario(path=path, content=content, line=FIRST)]
    for start, variant in zip(starts, given, strict=True):
        found.append(Scenario(path=path, content=_variant(table, variant, text, start, place), line=start))
    _refuse_repetition(found, text)
    return found


def _line_of_variant(text: str, starts: Sequence[int], location: Sequence[int | str]) -> int:
    """The line of a mistake in the list of variants."""
    if len(location) < 2:
        return locate(text, ["variant"])
    return line_in(text, starts[int(location[1])], location[2:])


def _variant(base: dict[str, Any], variant: dict[str, Any], text: str, start: int, place: str) -> ScenarioFile:
    phases = [phase["name"] for phase in base["phase"]]
    for name in variant.get("phase", {}):
        if name not in phases:
            close = nearest(name, phases, limit=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"There are {', '.join(phases)}."
            raise UsageError(
                f"the file has no phase '{name}' that a variant could change",
                where=f"{place}:{line_in(text, start, ['phase', name])}",
                next_step=hint,
            )

    def line(location: Sequence[int | str]) -> int:
        """Phases have names in a variant."""
        if location[:1] == ["phase"] and len(location) > 1:
            location = ["phase", phases[int(location[1])], *location[2:]]
        return line_in(text, start, location)

    return _checked(overlaid(base, variant), place, line)


def _refuse_repetition(found: Sequence[Scenario], text: str) -> None:
    """UsageError for a variant that has the name of another, or differs from the file's scenario in words alone."""
    first, names = found[0], {found[0].name}
    for item in found[1:]:
        if item.name in names:
            raise UsageError(
                f"two scenarios of this file are named '{item.name}'",
                where=f"{paths.relative(item.path)}:{line_in(text, item.line or FIRST, ['name'])}",
                next_step="Give each variant a name of its own; the first scenario has the file's name.",
            )
        names.add(item.name)
        words = {"name": first.name, "summary": first.content.summary}
        if item.content.model_copy(update=words) == first.content:
            raise UsageError(
                f"the variant '{item.name}' changes nothing",
                where=item.place,
                next_step=f"Let it differ from '{first.name}' (config.KEY = VALUE, for example), or delete it.",
            )


def _checked(table: dict[str, Any], place: str, line: Line) -> ScenarioFile:
    try:
        return ScenarioFile.model_validate(table)
    except ValidationError as error:
        raise _explain(error, place, line, table=table) from error


def _explain(
    error: ValidationError, place: str, line: Line, *, inside: str = "", table: dict[str, Any] | None = None
) -> UsageError:
    """The first mistake as a person would put it. `inside`: the key of the file that was read; `table`: the file."""
    # A misspelt key is often a missing one as well; its own name says more.
    mistakes = sorted(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    first = mistakes[0]
    steps = {model.__name__ for model in STEPS.values()}
    full = [*([inside] if inside else []), *first["loc"]]
    location = [part for part in full if part not in steps]
    where = f"{place}:{line(location[:-1] if first['type'] == 'missing' else location)}"
    name = str(location[-1]) if location else ""
    holder = ".".join(str(part) for part in location[:-1])
    thread, rest = _thread(location, table)
    within = f" in {thread}" if thread else f" in '{holder}'" if holder else ""
    schema = "scenarios/SCHEMA.md lists every key."
    if first["type"] == "extra_forbidden":
        close = nearest(name, keys_at(full[:-1]), limit=1)
        hint = f"Did you mean '{close[0]}'? " if close else ""
        return UsageError(f"unknown key '{name}'{within}", where=where, next_step=hint + schema)
    if first["type"] == "missing":
        return UsageError(f"the key '{name}' is missing{within}", where=where, next_step=schema)
    what = first["msg"].removeprefix("Value error, ")
    shown = [thread, ".".join(str(part) for part in rest)]
    return UsageError(": ".join([*filter(None, shown), what]), where=where, next_step=schema)


def _thread(location: Sequence[int | str], table: dict[str, Any] | None) -> tuple[str, Sequence[int | str]]:
    """Which thread a mistake is in, as a person counts, and its place in there; "" and `location` outside threads."""
    match location:
        case ["phase", int(phase), "threads", int(thread), *rest] if table is not None:
            name = f"thread {thread + 1} of the phase '{table['phase'][phase].get('name', phase)}'"
            match rest:
                case [int(step), *rest]:
                    return f"step {step + 1} of {name}", rest
            return name, rest
    return "", location
