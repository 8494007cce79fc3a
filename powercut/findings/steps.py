"""The steps of recovery in a finding record: what `reproduce --steps` told, with sites in place of stacks."""

from collections.abc import Mapping, Sequence
from typing import Any

from powercut.engine.events import Module
from powercut.symbols import source
from powercut.symbols.symbolize import Symbolizer, site_frame
from powercut_records.steps import RecoverySteps


def placed(raw: Mapping[str, Any], modules: Sequence[Module], symbolizer: Symbolizer) -> RecoverySteps:
    """The field `steps` of a finding record, of the `Steps` of the engine."""
    steps = []
    for step in raw["steps"]:
        frame = site_frame(symbolizer.stack(modules, step["stack"]))
        place = {"site": frame.place, "function": frame.function} if frame else {}
        steps.append({name: value for name, value in step.items() if name != "stack"} | place)
    return RecoverySteps.model_validate({"all": raw["all"], "steps": steps})


def with_sources(known: Mapping[str, Mapping[int, str]], steps: RecoverySteps) -> dict[str, dict[int, str]]:
    """`sources` of a finding record, with the lines around the site of each step."""
    added = source.table(step.site for step in steps.steps if step.site)
    return {file: {**added.get(file, {}), **known.get(file, {})} for file in sorted({*known, *added})}
