"""The media of the reference. The rules of each stand in its folder; here each has one line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from .crashes import CrashPoint, Rules
from .program import Program, ProgramError

MEDIA = (
    "memory",
    "block",
    "flash",
    "nor",
)
#: The rules of every model, by its name.
MODELS: dict[str, type[Rules]] = {
    name: rules
    for medium in MEDIA
    for name, rules in import_module(f"replayer.media.{medium}.reference").MODELS.items()
}


def rules_of(program: Program, models: Mapping[str, type[Rules]] = MODELS) -> Rules:
    """The rules of the program's model before its first event. ProgramError where there are none, or the program has an
    instruction of another model."""
    rules = models.get(program.model)
    if rules is None:
        raise ProgramError(f"model '{program.model}' is unknown; use {', '.join(models)}.")
    for index, event in enumerate(program.events):
        if event.kind and event.kind not in rules.kinds:
            where = f"event {index} ({event.op})"
            raise ProgramError(f"{where}: '{event.kind}' is no instruction of the model {program.model}.")
    return rules(program)


def crash_points(program: Program, model: Rules | None = None) -> list[CrashPoint]:
    """Every crash point of the program, in order. `model` replaces the model's rules (tests pass broken ones)."""
    return list((model or rules_of(program)).crash_points())


def answer(program: Program) -> dict[str, Any]:
    return {"crash_points": [point.to_json() for point in crash_points(program)]}
