"""Operations of tests that are written in Python: plain tuples, and what makes steps of a scenario of them.

    insert(1)  insert(1, 2, "zeros")  insert(range(1, 13))  insert(1, value_size=40)  update(…)  erase(…)  lookup(…)
    increment(1, by=-2)
    maintain("expand")  fill(200)  until("move.top", 200)  mix(100, read=0.5, update=0.5)

`insert(1)` is `("insert", 1)`: either may be written, and a failing test prints the tuples.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from pydantic import ValidationError

from powercut.base.errors import UsageError, nearest
from powercut.scenarios.steps import STEPS, FillStep, KeyOp, KeyStep, MaintainStep, MixStep, UntilStep, parse_key

#: A key: its number, from 1 on, "zeros" or "ones".
Key: TypeAlias = int | str
#: ("insert", key, …), ("update", key, …, {"value_size": bytes}), ("increment", key, …, {"by": difference}),
#: ("maintain", command), ("fill", limit), ("until", mark, limit), ("mix", operations, {shares}).
Operation: TypeAlias = tuple[Any, ...]
Step: TypeAlias = KeyStep | MaintainStep | FillStep | UntilStep | MixStep

#: Operations of maps; tables of counters have `increment` in the place of the first two.
KEY_OPERATIONS: tuple[str, ...] = ("insert", "update", "erase", "lookup")
_EXAMPLE = 'Write ("insert", 1), ("maintain", "expand"), or powercut.insert(1).'


def insert(*keys: Key | Iterable[Key], value_size: int | None = None) -> Operation:
    """Inserts keys that are absent. `value_size`: bytes of each value, where the values of the check differ in size."""
    return ("insert", *_flat(keys), *_sized(value_size))


def update(*keys: Key | Iterable[Key], value_size: int | None = None) -> Operation:
    """Gives keys that are present a new value. `value_size`: bytes of each value, as for `insert`."""
    return ("update", *_flat(keys), *_sized(value_size))


def _sized(value_size: int | None) -> list[dict[str, int]]:
    return [] if value_size is None else [{"value_size": value_size}]


def erase(*keys: Key | Iterable[Key]) -> Operation:
    """Erases keys that are present."""
    return ("erase", *_flat(keys))


def lookup(*keys: Key | Iterable[Key]) -> Operation:
    """Looks keys up."""
    return ("lookup", *_flat(keys))


def increment(*keys: Key | Iterable[Key], by: int = 1) -> Operation:
    """Adds `by` to the sums of keys, in a table of counters."""
    return ("increment", *_flat(keys), {"by": by})


def maintain(command: str) -> Operation:
    """A command of the target, such as "expand" ('powercut list targets' names them)."""
    return ("maintain", command)


def fill(limit: int) -> Operation:
    """Inserts fresh keys until the table is full, or `limit` of them."""
    return ("fill", limit)


def until(mark: str, limit: int) -> Operation:
    """Inserts fresh keys until the target reached the place that it calls `mark`, or `limit` of them."""
    return ("until", mark, limit)


def mix(operations: int, **shares: float | str) -> Operation:
    """Draws operations among the live keys: shares `read`, `update`, `insert`, `erase`, `rmw` that add up to 1, and
    `distribution` ("zipfian", "uniform", "latest") and `theta`."""
    return ("mix", operations, shares)


def steps(operations: Iterable[object], *, where: str) -> list[Step]:
    """The steps of a scenario; UsageError with the place of the first value that is no operation."""
    if isinstance(operations, str | Mapping) or not isinstance(operations, Iterable):
        raise UsageError(f"operations are a list, and not {operations!r}", where=where, next_step=_EXAMPLE)
    return [_step(operation, f"{where}[{number}]") for number, operation in enumerate(operations)]


def _flat(keys: Sequence[Key | Iterable[Key]]) -> list[Key]:
    flat: list[Key] = []
    for key in keys:
        if isinstance(key, str) or not isinstance(key, Iterable):
            flat.append(key)
        else:
            flat += key
    return flat


def _step(operation: object, where: str) -> Step:
    if isinstance(operation, str) or not isinstance(operation, Sequence) or not operation:
        raise UsageError(f"{operation!r} is no operation", where=where, next_step=_EXAMPLE)
    name, *rest = operation
    if name not in STEPS:
        close = nearest(str(name), STEPS)
        hint = f"Did you mean '{close[0]}'?" if close else f"There are {', '.join(STEPS)}."
        raise UsageError(f"unknown operation {name!r}", where=where, next_step=hint)
    try:
        return _of_keys(name, rest) if name in get_args(KeyOp) else _other(name, rest)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{name}: {f'{field}: ' if field else ''}{what}", where=where, next_step=_EXAMPLE) from error
    except ValueError as error:
        raise UsageError(f"{name}: {error}", where=where, next_step=_EXAMPLE) from error


def _of_keys(name: str, rest: Sequence[Any]) -> KeyStep:
    more = dict(rest[-1]) if rest and isinstance(rest[-1], Mapping) else {}
    keys = _flat(rest[: len(rest) - bool(more)])
    if not keys:
        raise ValueError("no key was named")
    return KeyStep.model_validate({"op": name, "keys": [parse_key(key) for key in keys], **more})


def _other(name: str, rest: Sequence[Any]) -> Step:
    shapes: dict[str, tuple[type[MaintainStep | FillStep | UntilStep], list[str]]] = {
        "maintain": (MaintainStep, ["command"]),
        "fill": (FillStep, ["limit"]),
        "until": (UntilStep, ["mark", "limit"]),
    }
    if name == "mix":
        number, shares = [*rest, {}][:2] if rest else (None, {})
        if len(rest) > 2 or not isinstance(shares, Mapping):
            raise ValueError("it takes a number of operations and a dictionary of shares")
        return MixStep.model_validate({"op": name, "operations": number, **shares})
    model, fields = shapes[name]
    if len(rest) != len(fields):
        raise ValueError(f"it takes {' and '.join(fields)}, and not {list(rest)!r}")
    return model.model_validate({"op": name, **dict(zip(fields, rest, strict=True))})
