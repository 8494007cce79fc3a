"""The tables that hold claims: `targets/<scheme>/claims.toml`, or the same tables in a scenario.

    [define]
    log_writes = { stores_in = ["*UpdateLogged*"] }     # stores with such a function in their call stack
    items_moved = { marks = ["move.*"] }                # marks that the scheme reaches (powercut/mark.h)

    [[claim]]
    claim = "insert.log_writes == 0"
    cites = "OSDI'18, section 3.3"
    variants = ["published"]        # globs; so are scenarios, models, and the values of options
    unless = ["expand.*"]           # leaves out operations that reach such a mark; `when` keeps only those

A scenario's claims come beside those of the scheme, and may use what the scheme defines.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from powercut.base import paths
from powercut.base.errors import PowercutError, UsageError
from powercut.base.toml_lines import locate, mistake, tables
from powercut.base.user_files import read_text
from powercut.claims.expression import COUNTS, ITEMS, OPERATIONS, STATES, ClaimError, Expression, parse
from powercut.scenarios import catalog, plan, targets
from powercut.scenarios.config import without_options
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.sections import FIRST, text_on
from powercut.scenarios.tables import ClaimTable, Definition, Name, Strict

FILE_NAME = "claims.toml"
_FORMAT = "checker/CLAIMS.md shows the format."


class _File(Strict):
    define: dict[Name, Definition] = Field(default_factory=dict)
    claim: list[ClaimTable] = Field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim and its place, `file:line`."""

    place: str
    table: ClaimTable
    expression: Expression

    def applies(self, *, variant: str, scenario: str, model: str, options: Mapping[str, str]) -> bool:
        """Whether a run is one that the claim is made of."""
        table = self.table
        fits = ((table.variants, variant), (table.scenarios, scenario), (table.models, model))
        return all(not globs or _any(globs, value) for globs, value in fits) and all(
            name in options and _any(globs, options[name]) for name, globs in table.options.items()
        )


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """All claims that concern a scheme in a scenario, and the names that they use."""

    claims: tuple[Claim, ...] = ()
    definitions: Mapping[str, Definition]


def _any(globs: Iterable[str], value: str) -> bool:
    return any(fnmatchcase(value, glob) for glob in globs)


def load(path: Path, *, commands: Collection[str] | None = None) -> Sheet:
    """Reads a scheme's file; UsageError with `file:line` for everything that is wrong with it."""
    place = paths.relative(path)
    text = read_text(path, "these claims", place=place, next_step=_FORMAT)
    try:
        content = _File.model_validate(tables(text, place=place, form=_FORMAT))
    except ValidationError as error:
        raise mistake(error, text, place=place, form=_FORMAT, of="claim", keys=_keys) from error
    return _sheet(content.define, content.claim, lambda _: text, place, commands=commands)


def of_scenario(scenario: Scenario, *, known: Mapping[str, Definition], commands: Collection[str] | None) -> Sheet:
    """The claims in a scenario's own tables; `known` are the scheme's definitions."""
    content = scenario.content
    if not content.claim and not content.define:
        return Sheet(definitions={})
    place = paths.relative(scenario.path)
    text = read_text(scenario.path, "this scenario", place=place, next_step=_FORMAT)

    def on(key: str) -> str:
        return text_on(text, scenario.line or FIRST, key)

    return _sheet({**known, **content.define}, content.claim, on, place, commands=commands)


def _sheet(
    definitions: Mapping[str, Definition],
    tables: Iterable[ClaimTable],
    said: Callable[[str], str],
    place: str,
    *,
    commands: Collection[str] | None,
) -> Sheet:
    """`said`: the text in which the tables of a key stand."""
    taken = {*COUNTS, *OPERATIONS, *STATES, ITEMS, "recovery", "mean"}
    for name in definitions:
        if name in taken:
            raise UsageError(
                f"'{name}' has a meaning of its own and cannot be defined",
                where=f"{place}:{locate(said('define'), ['define', name])}",
                next_step="Choose another name.",
            )
    claims = []
    for index, table in enumerate(tables):
        where = f"{place}:{_line_of(said('claim'), index)}"
        try:
            expression = parse(table.claim, defined=definitions, commands=commands)
        except ClaimError as error:
            raise UsageError(
                f"'{table.claim}': {error}", where=where, next_step=f"{error.hint} {_FORMAT}".strip()
            ) from error
        for quantity in expression.quantities:
            if quantity.widest and not definitions[quantity.name].stores_in:
                raise UsageError(
                    f"'{table.claim}': '{quantity.name}' counts marks, which have no bytes",
                    where=where,
                    next_step=f"Define it by 'stores_in'; {_FORMAT}",
                )
        claims.append(Claim(place=where, table=table, expression=expression))
    return Sheet(claims=tuple(claims), definitions=definitions)


def _line_of(text: str, index: int) -> int:
    """The line of the key `claim` in the table `[[claim]]` of this number, which is also called so."""
    start = locate(text, ["claim", index])
    lines = enumerate(text.splitlines()[start - 1 :], start)
    return next((number for number, line in lines if re.match(r"\s*claim\s*=", line)), start)


def _keys(location: Sequence[int | str]) -> Collection[str]:
    model: type[BaseModel] = Definition if location[0] == "define" else ClaimTable
    return (model if len(location) > 1 else _File).model_fields


def file_of(target: str, library: Path) -> Path | None:
    """The claims of a scheme: beside its source, or beside a library that lies outside the build."""
    outside = library.resolve().parent != paths.library_dir().resolve()
    path = (library.resolve().parent if outside else paths.home() / "targets" / target) / FILE_NAME
    return path if path.is_file() else None


@cache
def _loaded(path: Path, modified: int, commands: tuple[str, ...] | None) -> Sheet:
    del modified  # a file that changed is read again
    return load(path, commands=commands)


def of_run(wanted: Mapping[str, Any], scenario: Scenario | None) -> Sheet:
    """Everything that is claimed of a plan's run: by the scheme's file and, where it is known, by the scenario."""
    name, library = wanted["target"]["name"], Path(wanted["target"]["library"])
    commands = _commands(library)
    path = file_of(name, library)
    own = _loaded(path, path.stat().st_mtime_ns, commands) if path else Sheet(definitions={})
    if scenario is None:
        return own
    more = of_scenario(scenario, known=own.definitions, commands=commands)
    return Sheet(claims=own.claims + more.claims, definitions={**own.definitions, **more.definitions})


def _commands(library: Path) -> tuple[str, ...] | None:
    try:
        return tuple(targets.describe(library).description.commands)
    except PowercutError:
        return None


def scenario_of(wanted: Mapping[str, Any]) -> Scenario | None:
    """The project's scenario that a trace's plan was made of, by its name; None where it cannot be read."""
    try:
        name = without_options(wanted["scenario"]["name"])
        named = [item for item in catalog.everything() if item.name == name]
    except PowercutError:
        return None  # A trace can be explored anywhere.
    return next((item for item in named if item.fits(wanted["target"]["name"])), None)


def applicable(sheet: Sheet, wanted: Mapping[str, Any], *, model: str) -> list[Claim]:
    """The claims that are made of this run."""
    options = effective_options(wanted)
    variant, scenario = wanted["target"]["variant"], without_options(wanted["scenario"]["name"])
    return [
        claim
        for claim in sheet.claims
        if claim.applies(variant=variant, scenario=scenario, model=model, options=options)
    ]


def effective_options(wanted: Mapping[str, Any]) -> dict[str, str]:
    """The options of a plan, with the defaults of those that it leaves out (the first value that is listed)."""
    given = wanted["target"]["options"]
    try:
        known = plan.option_values(targets.describe(Path(wanted["target"]["library"])).description)
    except PowercutError:
        known = {}
    return {**{name: values[0] for name, values in known.items() if values}, **given}


def needs_lines_read(claims: Iterable[Claim]) -> bool:
    """Whether the loads of operations have to be counted while the run is recorded."""
    return any(item.name == "lines_read" for claim in claims for item in claim.expression.quantities)
