"""Says what is wrong with a scenario as a person would put it: `file:line: what. next step.`"""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import ValidationError

from powercut.base.errors import UsageError, nearest
from powercut.scenarios.schema import ScenarioFile, keys_at
from powercut.scenarios.steps import STEPS

#: The line of a file that a location in its tables means.
Line = Callable[[Sequence[int | str]], int]


def checked(table: dict[str, Any], place: str, line: Line, *, owner: str = "") -> ScenarioFile:
    """The scenario that `table` holds. `owner`: the entry of the file that messages name, such as "bug 'x'"."""
    try:
        return ScenarioFile.model_validate(table)
    except ValidationError as error:
        raise explain(error, place, line, table=table, owner=owner) from error


def explain(
    error: ValidationError,
    place: str,
    line: Line,
    *,
    inside: str = "",
    table: dict[str, Any] | None = None,
    owner: str = "",
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
    of = f"{owner}: " if owner else ""
    schema = "scenarios/SCHEMA.md lists every key."
    if first["type"] == "extra_forbidden":
        close = nearest(name, keys_at(full[:-1]), limit=1)
        hint = f"Did you mean '{close[0]}'? " if close else ""
        return UsageError(f"{of}unknown key '{name}'{within}", where=where, next_step=hint + schema)
    if first["type"] == "missing":
        return UsageError(f"{of}the key '{name}' is missing{within}", where=where, next_step=schema)
    what = first["msg"].removeprefix("Value error, ")
    shown = [thread, ".".join(str(part) for part in rest)]
    return UsageError(of + ": ".join([*filter(None, shown), what]), where=where, next_step=schema)


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
