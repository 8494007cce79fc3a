"""Variants: scenarios that say only how they differ from the scenario of their file (scenarios/SCHEMA.md)."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from powercut.base.errors import UsageError, nearest
from powercut.base.toml_lines import locate
from powercut.scenarios.mistakes import checked, explain
from powercut.scenarios.schema import VARIANTS, ScenarioFile
from powercut.scenarios.sections import line_in

Tables = Mapping[str, Any]


def overlaid(base: Tables, over: Tables) -> dict[str, Any]:
    """The tables of `base` with all that `over` says instead.

    `over` replaces a single key of a table or of a phase, and any other value as a whole. Phases are by name, in order.
    """
    whole = {**base, **over}
    for key, value in over.items():
        known = base.get(key)
        if not (isinstance(value, dict) and isinstance(known, dict)):
            continue
        whole[key] = {**known, **value}
        if key == "phase":
            whole[key] |= {name: {**known.get(name, {}), **phase} for name, phase in value.items()}
    return whole


def with_phases_in_order(tables: Tables) -> dict[str, Any]:
    """The tables as a file of one scenario has them: its phases are a list."""
    return {**tables, "phase": [{"name": name, **phase} for name, phase in tables.get("phase", {}).items()]}


def variants(
    base: dict[str, Any], given: Any, text: str, place: str, first: ScenarioFile
) -> list[tuple[ScenarioFile, int]]:
    """The variants of the scenario `first`, whose tables are `base`, and the line of each."""
    starts = [locate(text, ["variant", index]) for index in range(len(given))] if isinstance(given, list) else []
    try:
        VARIANTS.validate_python(given)
    except ValidationError as error:
        raise explain(
            error, place, lambda location: _line_of_variant(text, starts, location), inside="variant"
        ) from error
    by_name = {**base, "phase": {phase["name"]: phase for phase in base["phase"]}}
    found = [(_variant(by_name, one, text, start, place), start) for start, one in zip(starts, given, strict=True)]
    _refuse_repetition(first, found, text, place)
    return found


def _line_of_variant(text: str, starts: Sequence[int], location: Sequence[int | str]) -> int:
    """The line of a mistake in the list of variants."""
    if len(location) < 2:
        return locate(text, ["variant"])
    return line_in(text, starts[int(location[1])], location[2:])


def _variant(base: dict[str, Any], variant: dict[str, Any], text: str, start: int, place: str) -> ScenarioFile:
    phases = list(base["phase"])
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

    return checked(with_phases_in_order(overlaid(base, variant)), place, line)


def _refuse_repetition(first: ScenarioFile, found: Sequence[tuple[ScenarioFile, int]], text: str, place: str) -> None:
    """UsageError for a variant that has the name of another, or differs from the file's scenario in words alone."""
    names = {first.name}
    for content, start in found:
        if content.name in names:
            raise UsageError(
                f"two scenarios of this file are named '{content.name}'",
                where=f"{place}:{line_in(text, start, ['name'])}",
                next_step="Give each variant a name of its own; the first scenario has the file's name.",
            )
        names.add(content.name)
        words = {"name": first.name, "summary": first.summary}
        if content.model_copy(update=words) == first:
            raise UsageError(
                f"the variant '{content.name}' changes nothing",
                where=f"{place}:{start}",
                next_step=f"Let it differ from '{first.name}' (config.KEY = VALUE, for example), or delete it.",
            )
