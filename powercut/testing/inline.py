"""A scenario made in Python: what `powercut.check` runs.

It is a scenario like any other, and lies in `OUT/scenarios/` as a file, so that the command which a report names runs
it again. The engine would refuse an option or a command that the target does not have, without saying where. Such names
are refused here, with the nearest right name.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from powercut.base.errors import UsageError, nearest
from powercut.base.output_files import write_text
from powercut.scenarios import toml_text as scenario_toml
from powercut.scenarios.clients import for_threads
from powercut.scenarios.config import Config, checked_config
from powercut.scenarios.scenario import SCHEMA_VERSION, Scenario
from powercut.scenarios.schema import Data, ScenarioFile
from powercut.scenarios.sizes import Size, Sizes
from powercut.scenarios.steps import KeyStep, MaintainStep
from powercut.scenarios.targets import Selection, Target, configured
from powercut.testing import operations
from powercut.testing.operations import Step

FOLDER = "scenarios"
_LONGEST_NAME = 100
_WORD = 8


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Operations on an empty table: a warm-up that is not explored, then threads and operations that are."""

    operations: Iterable[object]
    warmup: Iterable[object] = ()
    #: Operations of each of several threads at the same time, after the warm-up and before the operations.
    threads: Iterable[Iterable[object]] = ()
    config: Config | None = None
    #: Cut the power when the explored operations first reach this mark, and go on after recovery.
    cut_at: str | None = None
    #: Marks that the explored operations must reach.
    expect_marks: tuple[str, ...] = ()
    #: Bytes, or a text such as "256KiB"; None: what scenario files have.
    pool: int | str | None = None
    key_size: Size | None = None
    value_size: Size | None = None


def build(selection: Selection, workload: Workload, *, name: str, folder: Path) -> Scenario:
    """The scenario of a workload, to lie in `folder`; UsageError for what is wrong with it."""
    target, where = selection.target, "powercut.check"
    warmup = operations.steps(workload.warmup, where=f"{where}: warmup")
    explored = operations.steps(workload.operations, where=f"{where}: operations")
    threads = _threads(workload.threads, where)
    if not explored and not threads:
        raise UsageError("there are no operations, so nothing would be judged", where=where, next_step="Add one.")
    _refuse_unknown_commands(target, [*warmup, *explored, *(step for thread in threads for step in thread)], where)
    config = checked_config(target, workload.config or {}, where=where)
    phases: list[dict[str, Any]] = [{"name": "warm-up", "explore": False, "steps": warmup}] if warmup else []
    if threads:
        declared = tuple(target.description.sizes)
        tried = sizes_to_try(declared, key_size=workload.key_size, value_size=workload.value_size)
        config, _ = for_threads(selection, config, tried=tried)
        phases.append({"name": "threads", "threads": threads})
    if explored:
        phases.append({"name": "operations", "cut_at": workload.cut_at, "steps": explored})
    sizes: dict[str, Size | None] = {"key_size": workload.key_size, "value_size": workload.value_size}
    if None in sizes.values():
        sizes = fitting_sizes(
            target.library,
            selection.variant,
            tuple(config.items()),
            tuple(target.description.sizes),
            key_size=workload.key_size,
            value_size=workload.value_size,
        )
    content: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "name": file_name(name),
        "summary": f"Operations of {name}.",
        "targets": [target.name],
        "expect_marks": list(workload.expect_marks),
        "config": config,
        "data": {key: size for key, size in sizes.items() if size is not None},
        "phase": phases,
    }
    if workload.pool is not None:
        content["pool"] = {"size": workload.pool}
    try:
        made = ScenarioFile.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        raise UsageError(
            f"{place}: {what}" if place else what,
            where=where,
            next_step="scenarios/SCHEMA.md says what each of them may be.",
        ) from error
    return Scenario(path=folder / f"{made.name}.toml", content=made)


def _threads(threads: Iterable[Iterable[object]], where: str) -> list[list[Step]]:
    if isinstance(threads, str | Mapping) or not isinstance(threads, Iterable):
        raise UsageError(
            f"threads are a list of lists of operations, and not {threads!r}",
            where=where,
            next_step='Write threads=[[("insert", 1)], [("lookup", 1)]].',
        )
    made = [operations.steps(steps, where=f"{where}: threads[{number}]") for number, steps in enumerate(threads)]
    for number, thread in enumerate(made):
        for place, step in enumerate(thread):
            if not isinstance(step, KeyStep | MaintainStep):
                raise UsageError(
                    f"'{step.op}' is no operation of a thread",
                    where=f"{where}: threads[{number}][{place}]",
                    next_step="There are insert, update, erase, lookup, increment and maintain.",
                )
    return made


def sizes_to_try(
    declared: tuple[tuple[int, int], ...], *, key_size: Size | None = None, value_size: Size | None = None
) -> tuple[Sizes, ...]:
    """Bytes of keys and values, in the order of preference: declared ones, the usual ones, those of a word.

    A size that is given stays.
    """
    usual = Data()
    pairs: tuple[Sizes, ...] = (*declared, usual.sizes, (_WORD, _WORD))
    # A declared pair that has the given size comes before one that would have to be changed.
    fits = [pair for pair in declared if key_size in (None, pair[0]) and value_size in (None, pair[1])]
    changed = [(key_size or key, value_size or value) for key, value in pairs]
    return tuple(dict.fromkeys([*fits, *changed]))


def fitting_sizes(
    library: Path,
    variant: str,
    config: tuple[tuple[str, str], ...],
    declared: tuple[tuple[int, int], ...],
    *,
    key_size: Size | None = None,
    value_size: Size | None = None,
) -> dict[str, Size | None]:
    """The first of `sizes_to_try` that a target takes in a configuration.

    None, which is the usual, where the target takes none of them: the engine then says why.
    """
    known = configured(library, variant, config, sizes_to_try(declared, key_size=key_size, value_size=value_size))
    fitted = known.sizes if known else (key_size, value_size)
    return {"key_size": fitted[0], "value_size": fitted[1]}


def write(scenario: Scenario, *, comment: str = "") -> None:
    """Puts the scenario where its path says."""
    write_text(scenario.path, scenario_toml.render(scenario.content, comment=comment))


def file_name(text: str) -> str:
    """`text` as the name of a scenario, which is that of its file as well."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).strip("._-") or "inline"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _refuse_unknown_commands(target: Target, steps: list[Step], where: str) -> None:
    commands = target.description.commands
    for step in steps:
        if isinstance(step, MaintainStep) and step.command not in commands:
            close = nearest(step.command, commands, limit=1)
            known = f"There are {', '.join(commands)}." if commands else "It has none."
            hint = f"Did you mean '{close[0]}'?" if close else known
            raise UsageError(f"'{target.name}' has no command '{step.command}'", where=where, next_step=hint)
